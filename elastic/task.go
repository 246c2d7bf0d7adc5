package elastic

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A task is queued, then it runs, then it has ended; or it ends while queued.
const (
	queued int32 = iota
	running
	ended
)

// task is all of a job but the job itself. It is also the context its handler
// gets: most handlers never ask whether they are cancelled, so what costs an
// allocation is made on the first such question (inner).
type task struct {
	// Set before it is queued.
	caller   context.Context //nolint:containedctx // a job carries its caller's context: that is what gives it up
	deadline time.Time       // zero: the caller's only
	member   *member         // the pool's place at its gate
	class    int
	weight   int64
	watch    bool          // returned from the queue when caller ends
	arrived  int64         // on the pool's clock
	done     chan struct{} // one message when it has ended; nil: nobody waits
	onEnd    func(error)   // instead of done

	state atomic.Int32
	err   error // set by whoever moves state to ended, before done

	timer     *time.Timer // returns it at its deadline; nil without one
	stopWatch func() bool // ends the watch over caller

	mu    sync.Mutex // for making inner
	inner atomic.Pointer[cancellation]
	turn  atomic.Pointer[turn] // held at the gate
}

type cancellation struct {
	ctx    context.Context //nolint:containedctx // the lazily made part of a context
	cancel context.CancelCauseFunc
}

// taskKey finds the task in any context derived from it.
type taskKey struct{}

func (t *task) cancellation() *cancellation {
	if c := t.inner.Load(); c != nil {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.inner.Load(); c != nil {
		return c
	}
	ctx, stopTimer := t.caller, func() {}
	if !t.deadline.IsZero() {
		ctx, stopTimer = context.WithDeadlineCause(ctx, t.deadline, ErrDeadline)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &cancellation{ctx: ctx, cancel: func(cause error) { cancel(cause); stopTimer() }}
	t.inner.Store(c)
	if t.state.Load() == ended { // asked by something the job left behind
		c.cancel(context.Canceled)
	}
	return c
}

// Deadline is the earlier of the caller's and the job's.
func (t *task) Deadline() (time.Time, bool) {
	at, ok := t.caller.Deadline()
	if !t.deadline.IsZero() && (!ok || t.deadline.Before(at)) {
		return t.deadline, true
	}
	return at, ok
}

// Done implements context.Context.
func (t *task) Done() <-chan struct{} { return t.cancellation().ctx.Done() }

// Err implements context.Context. As long as nothing has asked for more than
// the error, and nothing has stopped the job, its caller's is all there is; a
// deadline of its own needs a clock.
func (t *task) Err() error {
	untouched := t.inner.Load() == nil && t.state.Load() != ended
	if untouched && t.deadline.IsZero() {
		return t.caller.Err()
	}
	return t.cancellation().ctx.Err()
}

// Value implements context.Context.
func (t *task) Value(key any) any {
	if key == (taskKey{}) {
		return t
	}
	if c := t.inner.Load(); c != nil {
		return c.ctx.Value(key)
	}
	return t.caller.Value(key)
}

// stop cancels the context of a running job.
func (t *task) stop(cause error) { t.cancellation().cancel(cause) }

// end is called by whoever has moved state to ended, exactly once.
func (t *task) end(err error) {
	t.err = err
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.stopWatch != nil {
		t.stopWatch()
	}
	if c := t.inner.Load(); c != nil {
		c.cancel(context.Canceled)
	}
	if t.onEnd != nil {
		t.onEnd(err)
	}
	if t.done != nil {
		t.done <- struct{}{}
	}
}
