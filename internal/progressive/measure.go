package progressive

import (
	"errors"
	"io"

	"github.com/spillway-media/spillway/h2/priority"
)

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

// measureStep is how much is read at once.
const measureStep = 16 << 10

// MeasureReader is Measure for a file of total bytes that is read from its
// beginning, as far as it takes.
func MeasureReader(format string, r io.Reader, total int64) (sizes Sizes, err error) {
	c := NewCutter(format, total)
	buffer, left := make([]byte, min(measureStep, total)), total
	for left > 0 && !last(c.phase) {
		n, err := r.Read(buffer[:min(int64(len(buffer)), left)])
		for p := buffer[:n]; len(p) > 0; {
			walked, phase := c.Next(p)
			sizes[phase] += int64(walked)
			left -= int64(walked)
			p = p[walked:]
		}
		switch {
		case left == 0: // what comes behind the last byte is nobody's concern
		case errors.Is(err, io.EOF):
			return sizes, io.ErrUnexpectedEOF
		case err != nil:
			return sizes, err
		}
	}
	sizes[c.phase] += left
	return sizes, nil
}

// last tells whether no other phase follows.
func last(phase priority.Phase) bool {
	return phase == priority.Body || phase == priority.Rest
}

// Expected is about how long a phase of a progressive JPEG is that begins after
// so many bytes, -1 where these do not tell. Photographs of 300 to 4,000 pixels
// have five times as many bytes of good as of preview, and three quarters of
// both of rest.
func Expected(phase priority.Phase, sent int64) int64 {
	switch phase {
	case priority.Good:
		return 5 * sent
	case priority.Rest:
		return sent * 3 / 4
	}
	return -1
}
