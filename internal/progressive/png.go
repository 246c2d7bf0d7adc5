package progressive

import (
	"encoding/binary"

	"github.com/spillway-media/spillway/h2/priority"
)

// pngHead is the signature and the first chunk, which holds the size.
const pngHead = 8 + 12 + 13

// What the passes of Adam7 take of a file. The first three have a sixteenth of
// the pixels, which compress a little worse than their neighbours do; the first
// six have half of them.
const (
	adam7Preview = 8
	adam7Good    = 53
)

func openPNG(head []byte, total int64) (walker, priority.Phase) {
	ihdr := head[16:]
	if string(head[12:16]) != "IHDR" || ihdr[12] != 1 {
		return rows{}, priority.Body
	}
	if total < 0 {
		total = guessPNG(ihdr)
	}
	return estimated(total, pngHead, adam7Preview, adam7Good)
}

// guessPNG is the length of a file before it is made: half of its pixels', as
// photographs take.
func guessPNG(ihdr []byte) int64 {
	width, height := int64(binary.BigEndian.Uint32(ihdr)), int64(binary.BigEndian.Uint32(ihdr[4:]))
	samples := int64(1) // gray, and indices of a palette
	switch ihdr[9] {
	case 2:
		samples = 3
	case 4:
		samples = 2
	case 6:
		samples = 4
	}
	const most = 1 << 40 // what no file reaches; sides have 31 bits
	return min(width, most/max(height, 1)) * height / 8 * samples * int64(ihdr[8]) / 2
}
