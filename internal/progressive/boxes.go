package progressive

import (
	"encoding/binary"

	"github.com/spillway-media/spillway/h2/priority"
)

// boxes follows the outer boxes of a file (ISO/IEC 14496-12, 4.2) as long as
// they are header.
type boxes struct {
	// enter decides at the head of a box, of which size bytes follow: how many
	// of them are header still, and who takes over behind them; nil: it goes on
	// with the next box.
	enter func(kind string, size int64) (header int64, then walker, phase priority.Phase)

	head  [16]byte
	have  int
	done  int64 // bytes of header
	left  int64 // of the box that are header
	then  walker
	phase priority.Phase // with which then begins
}

func (b *boxes) walk(p []byte) (int, priority.Phase) {
	switch {
	case b.left > 0:
		n := int(min(int64(len(p)), b.left))
		b.left -= int64(n)
		return n, b.now()
	case b.then != nil:
		return b.then.walk(p)
	}
	need := 8
	if b.have >= 8 {
		need = 16
	}
	n := copy(b.head[b.have:need], p)
	if b.have += n; b.have == need {
		b.begin()
	}
	return n, b.now()
}

// now is the phase of the next byte.
func (b *boxes) now() priority.Phase {
	if b.left == 0 && b.then != nil {
		return b.phase
	}
	return priority.Header
}

// begin is called when a box has said how long it is, or that it says so in
// eight bytes more.
func (b *boxes) begin() {
	size := int64(binary.BigEndian.Uint32(b.head[:]))
	if size == 1 && b.have == 8 {
		return
	}
	if b.have == 16 {
		size = int64(min(binary.BigEndian.Uint64(b.head[8:]), 1<<62))
	}
	size -= int64(b.have)
	b.done += int64(b.have)
	b.left, b.then, b.phase = b.enter(string(b.head[4:8]), size)
	if size < 0 || b.done+b.left > headerLimit { // to the end, broken, or much
		b.left, b.then, b.phase = 0, rows{}, priority.Body
	}
	b.done += b.left
	b.have = 0
}

// enterAVIF: the box "meta" has the size, and where the picture is; it is shown
// when all of that is there.
func enterAVIF(kind string, size int64) (header int64, then walker, phase priority.Phase) {
	switch kind {
	case "ftyp", "free":
		return size, nil, 0
	case "meta":
		return size, rows{}, priority.Body
	}
	return 0, rows{}, priority.Body
}
