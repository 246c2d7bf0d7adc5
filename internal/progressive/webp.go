package progressive

import (
	"encoding/binary"

	"github.com/spillway-media/spillway/h2/priority"
)

// webpHead is where a lossless picture's size ends; that of the other kinds
// does five bytes on (RFC 9649, 2.5 to 2.7).
const (
	webpHead = 25
	webpMore = 5
)

// webpAnimated is the bit in the flags of VP8X.
const webpAnimated = 2

// openWebP is about what follows the first bytes. The rows of a still come one
// after the other; of an animation the first frame is a preview.
func openWebP(head []byte) (walker, priority.Phase) {
	switch string(head[12:16]) {
	case "VP8 ":
		return lay(part{priority.Header, webpMore}, part{phase: priority.Body})
	case "VP8X":
		if head[20]&webpAnimated != 0 {
			return &chunks{phase: priority.Header, left: webpMore}, priority.Header
		}
		return lay(part{priority.Header, webpMore}, part{phase: priority.Body})
	}
	return rows{}, priority.Body
}

// chunks follows those of an animation.
type chunks struct {
	phase priority.Phase
	left  int64 // of the present chunk
	head  [8]byte
	have  int
	first bool // the present chunk is the first frame
}

func (c *chunks) walk(p []byte) (int, priority.Phase) {
	if c.phase == priority.Rest {
		return len(p), c.phase
	}
	if c.left > 0 {
		n := int(min(int64(len(p)), c.left))
		if c.left -= int64(n); c.left == 0 {
			c.next()
		}
		return n, c.phase
	}
	n := copy(c.head[c.have:], p)
	if c.have += n; c.have == len(c.head) {
		c.have = 0
		size := int64(binary.LittleEndian.Uint32(c.head[4:]))
		c.left, c.first = size+size&1, string(c.head[:4]) == "ANMF"
		if c.left == 0 {
			c.next()
		}
	}
	return n, c.phase
}

// next is at the end of a chunk.
func (c *chunks) next() {
	switch {
	case c.phase == priority.Header:
		c.phase = priority.Preview
	case c.first:
		c.phase = priority.Rest
	}
}
