package jobs

import (
	"context"
	"fmt"
	"time"
)

// drainage is why and until when a worker drains. It may begin here (Drain, or
// the end of Run's context, which is final) or in the worker's row.
type drainage struct {
	final bool
	local bool      // begun here
	told  bool      // the row says so, too
	asked bool      // the row says so
	until time.Time // of what began here
	limit time.Time // of the row's
}

func (d *drainage) on() bool { return d.local || d.asked }

// untold says whether the row is still to be told.
func (d *drainage) untold() bool { return d.local && !d.told }

// begin drains from here on. A drain is never made longer.
func (d *drainage) begin(until time.Time, final bool) {
	if !d.local || until.Before(d.until) {
		d.until, d.told = until, false
	}
	d.local, d.final = true, d.final || final
}

// ask drains for the row's sake.
func (d *drainage) ask(limit time.Time) { d.asked, d.limit = true, limit }

// undo ends it because the row says so. What the row was not told of yet, it
// does not undo, nor the end of the process.
func (d *drainage) undo() {
	d.asked = false
	if d.local && d.told && !d.final {
		*d = drainage{}
	}
}

// deadline is the earliest.
func (d *drainage) deadline() time.Time {
	switch {
	case !d.asked:
		return d.until
	case !d.local || d.limit.Before(d.until):
		return d.limit
	}
	return d.until
}

// Drain has the worker claim no more, and be done within the time: for a notice
// that a spot machine will be taken away, or at an operator's wish. What still
// runs then is released with its checkpoints and burns no attempt. Whoever sets
// the worker's status to active again, after it became draining, undoes it.
func (w *Worker) Drain(within time.Duration, reason string) { w.drain(within, reason, false) }

func (w *Worker) drain(within time.Duration, reason string, final bool) {
	w.mu.Lock()
	w.drainage.begin(w.cfg.Clock().Add(max(0, within)), final)
	w.mu.Unlock()
	nudge(w.tell)
	w.beginDrain(reason)
}

// beginDrain wakes those that wait for something else.
func (w *Worker) beginDrain(reason string) {
	w.log.Info("drain begins", "reason", reason)
	w.awake()
}

// awake ends the wait for the bell, and has both loops look again.
func (w *Worker) awake() {
	w.mu.Lock()
	hush := w.hush
	w.mu.Unlock()
	if hush != nil {
		hush()
	}
	w.poke()
}

// untilDrained returns when the worker drains and nothing is in flight, or when
// too many handlers are stuck; then what runs is stopped first.
func (w *Worker) untilDrained(ctx context.Context) error {
	ending := ctx.Done()
	var failure error
	for {
		if stuck := w.Stats().Stuck; stuck >= w.cfg.Slots && failure == nil {
			failure = fmt.Errorf("work: %d handlers did not return when told to stop; only a new process helps", stuck)
			w.drain(0, "too many handlers are stuck", true)
		}
		wait, over := w.drainStep()
		if over {
			return failure
		}
		timer := time.NewTimer(wait)
		select {
		case <-ending:
			ending = nil
			w.drain(w.cfg.DrainTimeout, "the process is told to end", true)
		case <-w.moved:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// never is a wait that something else ends.
const never = 24 * time.Hour

// drainStep tells to stop what still runs at the deadline. It answers how long
// nothing is due, or that all is over.
func (w *Worker) drainStep() (wait time.Duration, over bool) {
	w.mu.Lock()
	on, deadline := w.drainage.on(), w.drainage.deadline()
	idle := len(w.held) == 0 && !w.claiming
	w.mu.Unlock()
	if !on {
		return never, false
	}
	if idle {
		return 0, true
	}
	if left := deadline.Sub(w.cfg.Clock()); left > 0 {
		return left, false
	}
	for _, d := range w.deliveries() {
		d.stop(ErrDraining)
	}
	return never, false
}
