package elastic

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Option says more about one job.
type Option struct {
	kind  optionKind
	value int64
	at    time.Time
}

type optionKind uint8

const (
	optClass optionKind = iota + 1
	optWeight
	optDeadline
)

// Class gives the job a priority, 0 (first, and the default) to Classes-1.
// Others are taken for the nearest.
func Class(class int) Option { return Option{kind: optClass, value: int64(class)} }

// Weight is the memory, in bytes, that the job's CPU stage will hold; the gate
// keeps the sum of all within its budget.
func Weight(bytes int64) Option { return Option{kind: optWeight, value: bytes} }

// Deadline is when the job is no longer wanted: it is refused when it would
// still be waiting then, returned when it is, and stopped when it runs.
func Deadline(at time.Time) Option { return Option{kind: optDeadline, at: at} }

// Submit queues a job, waits until it has ended and returns its error: the
// handler's, a *PanicError, or one of the Err values of this package. When ctx
// ends while the job is queued, the job is given up and never runs; when it
// ends while the job runs, the job's context ends and Submit still waits for
// the handler, which may be using what the caller owns.
//
// It never waits for room in the queue: ErrQueueFull comes at once.
// Costs one allocation with neither deadline nor cancellation asked for.
func (p *DynamicScaler[T]) Submit(ctx context.Context, job T, options ...Option) error {
	if inside, ok := ctx.Value(taskKey{}).(*task); ok && inside.member == p.member {
		return ErrNested
	}
	e := p.newEntry(ctx, job, options)
	signal, _ := p.signals.Get().(chan struct{})
	e.done = signal
	if err := p.admit(e); err != nil {
		p.signals.Put(signal)
		return err
	}
	if gone := ctx.Done(); gone != nil {
		select {
		case <-signal:
		case <-gone:
			p.giveUp(e, fmt.Errorf("given up while queued: %w", context.Cause(ctx)))
			<-signal
		}
	} else {
		<-signal
	}
	p.signals.Put(signal) // it carried its one message
	return e.err
}

// TrySubmit queues a job whose outcome nobody waits for and returns at once:
// with nil the job will run, unless ctx ends, its deadline passes or the pool
// shuts down before its turn.
func (p *DynamicScaler[T]) TrySubmit(ctx context.Context, job T, options ...Option) error {
	e := p.newEntry(ctx, job, options)
	if ctx.Done() != nil {
		e.watch = true
	}
	return p.admit(e)
}

// Ticket is the claim to the outcome of a job.
type Ticket struct {
	done     chan struct{}
	err      error
	withdraw func() bool
}

// Enqueue queues a job and returns at once. The job is given up, or its
// context ended, when ctx ends, so ctx must outlive the call.
func (p *DynamicScaler[T]) Enqueue(ctx context.Context, job T, options ...Option) (*Ticket, error) {
	e := p.newEntry(ctx, job, options)
	t := &Ticket{done: make(chan struct{})}
	t.withdraw = func() bool { return p.giveUp(e, ErrWithdrawn) }
	e.watch = ctx.Done() != nil
	e.onEnd = func(err error) {
		t.err = err
		close(t.done)
	}
	if err := p.admit(e); err != nil {
		return nil, err
	}
	return t, nil
}

// Done is closed when the job has ended.
func (t *Ticket) Done() <-chan struct{} { return t.done }

// Err is the job's outcome once Done is closed, as Submit would return it.
func (t *Ticket) Err() error {
	select {
	case <-t.done:
		return t.err
	default:
		return nil
	}
}

// Wait blocks until the job has ended and returns its outcome, or until ctx
// ends, which leaves the job alone.
func (t *Ticket) Wait(ctx context.Context) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the job: %w", context.Cause(ctx))
	}
}

// Withdraw takes the job back while it is queued. False means that it has
// begun or ended.
func (t *Ticket) Withdraw() bool { return t.withdraw() }

func (p *DynamicScaler[T]) newEntry(ctx context.Context, job T, options []Option) *entry[T] {
	e := &entry[T]{job: job}
	e.caller = ctx
	e.member = p.member
	for _, o := range options {
		switch o.kind {
		case optClass:
			e.class = int(min(max(o.value, 0), int64(p.cfg.Classes-1)))
		case optWeight:
			e.weight = max(o.value, 0)
		case optDeadline:
			e.deadline = o.at
		}
	}
	return e
}

// admit puts the job into the queue or says why not.
func (p *DynamicScaler[T]) admit(e *entry[T]) error {
	if err := e.caller.Err(); err != nil {
		return fmt.Errorf("not queued: %w", context.Cause(e.caller))
	}
	if p.member.tooHeavy(e.weight) {
		return p.refuse(ErrTooHeavy)
	}
	at, timed := e.Deadline()
	p.mu.Lock()
	now := p.now()
	if err := p.admissible(now, at, timed); err != nil {
		p.mu.Unlock()
		return p.refuse(err)
	}
	e.arrived = now
	p.arm(e)
	p.queue.push(e)
	p.mu.Unlock()
	p.rouse()
	return nil
}

func (p *DynamicScaler[T]) admissible(now int64, deadline time.Time, timed bool) error {
	if p.phase != accepting {
		return ErrShuttingDown
	}
	if p.queue.length >= p.cfg.QueueSize {
		return ErrQueueFull
	}
	if !timed {
		return nil
	}
	left := p.at(deadline) - now
	if left <= 0 {
		return ErrDeadline
	}
	if expected := int64(p.queue.length) * p.pace.Load(); expected > left {
		return fmt.Errorf("%w: %s expected, %s left", ErrWouldWait,
			time.Duration(expected).Round(time.Millisecond), time.Duration(left).Round(time.Millisecond))
	}
	return nil
}

// arm has the job returned when its time is up and nobody waits who would do
// it. Both timers may fire at once: they take the pool's mutex first.
func (p *DynamicScaler[T]) arm(e *entry[T]) {
	if !e.deadline.IsZero() {
		left := p.at(e.deadline) - p.now()
		e.timer = time.AfterFunc(time.Duration(left), func() { p.giveUp(e, ErrDeadline) })
	}
	if e.watch {
		e.stopWatch = context.AfterFunc(e.caller, func() {
			p.giveUp(e, fmt.Errorf("given up while queued: %w", context.Cause(e.caller)))
		})
	}
}

// giveUp ends a job that is still queued and reports whether it was.
func (p *DynamicScaler[T]) giveUp(e *entry[T], why error) bool {
	p.mu.Lock()
	mine := e.state.CompareAndSwap(queued, ended)
	if mine {
		p.queue.remove(e)
		p.returned++
	}
	p.mu.Unlock()
	if mine {
		e.end(why)
	}
	return mine
}

// newSignals recycles the channels Submit waits on: each carries exactly one
// message a job, so it is empty when it comes back.
func newSignals() *sync.Pool {
	return &sync.Pool{New: func() any { return make(chan struct{}, 1) }}
}
