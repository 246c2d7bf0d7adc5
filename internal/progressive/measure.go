package progressive

import "github.com/spillway-media/spillway/h2/priority"

// Sizes is how many bytes of a picture are of each phase.
type Sizes [priority.Rest + 1]int64

// Of is the size of one phase.
func (s Sizes) Of(phase priority.Phase) int64 { return s[phase] }

// Measure tells the phases of a whole file, as a Cutter does that knows its
// length.
func Measure(format string, data []byte) (sizes Sizes) {
	c := NewCutter(format, int64(len(data)))
	for len(data) > 0 {
		n, phase := c.Next(data)
		sizes[phase] += int64(n)
		data = data[n:]
	}
	return sizes
}
