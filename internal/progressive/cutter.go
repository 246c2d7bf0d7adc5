package progressive

import "github.com/spillway-media/spillway/h2/priority"

// walker knows one format.
type walker interface {
	// walk goes through bytes of the present phase: how many of p, at least
	// one, and the phase of what follows them. p has at least one byte.
	walk(p []byte) (n int, next priority.Phase)
}

// Cutter tells the phases of one picture as its bytes go by.
type Cutter struct {
	walker walker
	phase  priority.Phase // of the next byte
}

// NewCutter is for a file of a format, named as in media.Format, from its first
// byte. total is its length, -1 when it is not known: the phases of interlaced
// PNG and of JPEG XL are estimated from it.
func NewCutter(format string, total int64) *Cutter {
	w, first := walkerOf(format, total)
	return &Cutter{walker: w, phase: first}
}

// Next tells the phase of the first n bytes of p, which follow what it was
// given before. n is at least 1 unless p is empty, and smaller than len(p) only
// where another phase begins. Which bytes are of which phase does not depend on
// how they are split.
func (c *Cutter) Next(p []byte) (n int, phase priority.Phase) {
	phase = c.phase
	for n < len(p) && c.phase == phase {
		var walked int
		walked, c.phase = c.walker.walk(p[n:])
		n += walked
	}
	return n, phase
}
