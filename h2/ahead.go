package h2

import "time"

// How much may lie unsent in the kernel. A record is the least: with less the
// link could run dry between two writes. Over a fast link a record is gone in
// microseconds, and waking a goroutine for each costs more than the record
// itself: bodies of a MiB over loopback took 1.4 times the CPU. There it is what
// the link carries in the time of one frame of a screen, at most maxUnsent.
const (
	minUnsent = recordSize
	maxUnsent = 4 << 20
	frameTime = 16 * time.Millisecond
	// watchSpan is how long the link is watched before anything changes: what
	// an empty socket swallows at once must not pass for the speed of the link.
	watchSpan = 100 * time.Millisecond
)

// An ahead finds out how fast a connection takes what it is given. Time in which
// nothing was given makes a link look slower than it is, never faster.
type ahead struct {
	since  time.Time // when the span began
	bytes  int64     // written in it
	unsent int       // what the kernel was told; 0 is minUnsent
}

// wrote counts a write that has ended now. When more or less than before is to
// lie in the kernel, it gives the new bound and true.
func (p *ahead) wrote(n int, now time.Time) (unsent int, changed bool) {
	p.bytes += int64(n)
	span := now.Sub(p.since)
	if span < watchSpan {
		return 0, false
	}
	before := max(p.unsent, minUnsent)
	unsent = int(min(max(p.bytes*int64(frameTime)/int64(span), minUnsent), maxUnsent))
	p.since, p.bytes = now, 0
	if unsent < 2*before && before < 2*unsent {
		return 0, false
	}
	p.unsent = unsent
	return unsent, true
}

// longWrite is how much is chosen at once where a link takes it in 4 ms or less:
// one system call, and larger segments, instead of four.
const longWrite = 64 << 10

// batch is how much is chosen for one write. Over TLS a record is a system call
// of its own whatever a write holds, so there nothing is gained by more.
func (c *conn) batch() int {
	if c.secure == nil && c.ahead.unsent >= 4*longWrite {
		return longWrite
	}
	return recordSize
}
