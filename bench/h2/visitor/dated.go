package visitor

import (
	"io"
	"time"
)

// dated remembers when the bytes of the frame that is being read came, so
// that a byte in the middle of a large frame is dated by its own arrival, as a
// browser would see it, and not by the end of the frame.
type dated struct {
	source io.Reader
	read   int64
	came   []arrival
}

// arrival: all bytes before upTo had come by then.
type arrival struct {
	upTo int64
	at   time.Time
}

// Read implements io.Reader.
func (d *dated) Read(p []byte) (int, error) {
	n, err := d.source.Read(p)
	if n > 0 {
		d.read += int64(n)
		d.came = append(d.came, arrival{d.read, time.Now()})
	}
	return n, err
}

// when tells when the first upTo bytes of the connection were all there.
func (d *dated) when(upTo int64) time.Time {
	for _, a := range d.came {
		if a.upTo >= upTo {
			return a.at
		}
	}
	return time.Time{}
}

// forget starts anew with the next frame.
func (d *dated) forget() { d.came = d.came[:0] }
