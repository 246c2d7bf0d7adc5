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
	since  time.Time     // when the span began
	bytes  int64         // written in it
	waited time.Duration // in it, for the socket
	unsent int           // what the kernel was told; 0 is minUnsent
	turn   int           // what the link carries in turnTime; 0 is not known
}

// wrote counts a write that took so long and has ended now. When more or less
// than before is to lie in the kernel, it gives the new bound and true.
func (p *ahead) wrote(n int, took time.Duration, now time.Time) (unsent int, changed bool) {
	p.bytes += int64(n)
	p.waited += took
	span := now.Sub(p.since)
	if span < watchSpan {
		return 0, false
	}
	before := max(p.unsent, minUnsent)
	unsent = int(min(max(p.bytes*int64(frameTime)/int64(span), minUnsent), maxUnsent))
	p.turn = 0
	if p.waited > span/2 { // it was the link that took the time
		p.turn = max(int(p.bytes*int64(turnTime)/int64(span)), 1) // known, however little
	}
	p.since, p.bytes, p.waited = now, 0, 0
	if unsent < 2*before && before < 2*unsent {
		return 0, false
	}
	p.unsent = unsent
	return unsent, true
}

// longWrite is how much is chosen at once where a link takes it in 4 ms or less:
// one system call, and larger segments, instead of four.
const longWrite = 64 << 10

// shortWrite is the least that is chosen at once: two or three packets.
const (
	shortWrite = 4 << 10
	turnTime   = 4 * time.Millisecond
)

// batch is how much is chosen for one write. Over TLS a record is a system call
// of its own whatever a write holds, so there nothing is gained by more.
//
// Over a slow link it is less than a record: what is more urgent in the next
// moment has to wait for all of it.
func (c *conn) batch() int {
	switch turn := c.ahead.turn; {
	case c.secure == nil && c.ahead.unsent >= 4*longWrite:
		return longWrite
	case turn > 0 && turn < recordSize:
		return max(turn, shortWrite)
	}
	return recordSize
}
