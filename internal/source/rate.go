package source

import (
	"context"
	"io"
	"time"
)

// rateWindow is what the minimum rate is averaged over.
const rateWindow = 10 * time.Second

// pace judges whether a body comes fast enough, by the time spent waiting for
// it since its first byte. It is pure.
type pace struct {
	need  int64 // bytes in a window; 0 judges nothing
	begun bool
	got   int64
	spent time.Duration
}

// left is how long the next read may still take, if that is limited.
func (p *pace) left() (time.Duration, bool) {
	if !p.begun || p.got >= p.need {
		return 0, false
	}
	return rateWindow - p.spent, true
}

// note takes down a read, and is false when the body was too slow.
func (p *pace) note(n int, took time.Duration) bool {
	p.got += int64(n)
	if p.begun {
		p.spent += took
	}
	p.begun = p.begun || n > 0
	if p.spent < rateWindow {
		return true
	}
	enough := p.got >= p.need
	p.got, p.spent = 0, 0
	return enough
}

// timedReader cancels the transfer when a single Read takes too long, or many
// of them bring too little. Its clocks do not run while the caller is busy
// elsewhere.
type timedReader struct {
	in         io.Reader
	transfer   *transfer
	pace       pace
	idle, slow *time.Timer
}

func newTimedReader(in io.Reader, t *transfer) *timedReader {
	need := max(t.cfg.MinRate, 0) * int64(rateWindow/time.Second)
	return &timedReader{in: in, transfer: t, pace: pace{need: need}}
}

// Read implements io.Reader.
func (r *timedReader) Read(p []byte) (int, error) {
	if r.transfer.ctx.Err() != nil {
		return 0, context.Cause(r.transfer.ctx)
	}
	r.idle = r.arm(r.idle, r.transfer.cfg.IdleTimeout, errIdle)
	defer r.idle.Stop()
	if left, limited := r.pace.left(); limited {
		r.slow = r.arm(r.slow, left, errSlow)
		defer r.slow.Stop()
	}
	begun := time.Now()
	n, err := r.in.Read(p)
	if !r.pace.note(n, time.Since(begun)) && err == nil {
		r.transfer.cancel(errSlow)
	}
	return n, err
}

// arm starts a clock that ends the transfer for a reason.
func (r *timedReader) arm(clock *time.Timer, after time.Duration, reason error) *time.Timer {
	if clock == nil {
		return time.AfterFunc(after, func() { r.transfer.cancel(reason) })
	}
	clock.Reset(after)
	return clock
}
