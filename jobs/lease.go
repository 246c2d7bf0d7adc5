package jobs

import (
	"sync"
	"time"
)

// hold is the worker's own view of a lease. It counts from before the claim or
// the beat was sent, on the monotonic clock, which goes on while the process is
// stopped: when it says that the lease holds, no store has given it to another.
type hold struct {
	Lease // never changes
	clock func() time.Time
	lost  func() // called once, when it is lost

	mu    sync.Mutex
	until time.Time
	gone  bool // lost, or ended
	timer *time.Timer
}

// newHold begins a lease that is over at until, unless extended.
func newHold(l Lease, clock func() time.Time, until time.Time, lost func()) *hold {
	h := &hold{Lease: l, clock: clock, lost: lost, until: until}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(until.Sub(clock()), h.look)
	return h
}

// look is what the timer does: lose the lease, or look again when it was
// extended meanwhile.
func (h *hold) look() {
	h.mu.Lock()
	left := h.until.Sub(h.clock())
	if left > 0 && !h.gone {
		h.timer.Reset(left)
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	h.lose()
}

// lose ends it, at the store's word or by time.
func (h *hold) lose() {
	h.mu.Lock()
	first := !h.gone
	h.gone = true
	h.timer.Stop()
	h.mu.Unlock()
	if first {
		h.lost()
	}
}

// end is for a job that is over: nothing is lost any more.
func (h *hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = true
	h.timer.Stop()
}

// extend moves the end of a lease that still holds. One that was lost stays so,
// whatever the store says: the handler has been told.
func (h *hold) extend(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone && until.After(h.until) {
		h.until = until
	}
}

// holds says whether nobody else can have the job.
func (h *hold) holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.gone && h.clock().Before(h.until)
}
