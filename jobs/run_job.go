package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// CodeTooHeavy is the end of a job that needs more memory than a worker has.
const CodeTooHeavy = "too-heavy"

// unknownDelay is how long a job of an unknown type is left to others: a worker
// of a newer release may know it.
const unknownDelay = time.Minute

// errDeaf is what is known of a handler that was given up. The cause that ended
// its context says more.
var errDeaf = errors.New("handler did not return when it was told to stop")

// perform is one job from the pool to its outcome. It always returns, even when
// the handler does not.
func (w *Worker) perform(pool context.Context, d *delivery) error {
	defer w.drop(d)
	ctx, cancel := d.start(pool)
	defer cancel()
	v := w.attempt(ctx, d)
	w.settle(context.WithoutCancel(pool), d, v)
	return nil
}

// attempt takes the job through the gate to its handler.
func (w *Worker) attempt(ctx context.Context, d *delivery) verdict {
	if d.handler == nil {
		return verdict{err: &Failure{Code: CodeUnknownType, Reason: "This worker does not know the type; another may.", Release: unknownDelay}}
	}
	if d.refused != nil {
		return verdict{err: d.refused}
	}
	if d.need.CPU {
		d.move(atGate)
		leave, err := elastic.EnterCPU(ctx, d.need.Memory)
		if err != nil {
			return verdict{err: w.notEntered(d, err)}
		}
		defer leave() // before the outcome is written
	}
	if ctx.Err() != nil {
		return verdict{err: context.Cause(ctx)}
	}
	d.move(inHandler)
	w.log.Info("attempt began", "job_id", d.job.ID, "queue", d.job.Queue, "type", d.job.Type, "attempt", d.job.Deliveries)
	return w.mind(ctx, d, w.begin(ctx, d))
}

// notEntered: a larger worker may take what is too heavy here, so it is tried
// again; its attempts bound how often.
func (w *Worker) notEntered(d *delivery, err error) error {
	if !errors.Is(err, elastic.ErrTooHeavy) {
		return err
	}
	return &Failure{Code: CodeTooHeavy, Cause: err, Reason: fmt.Sprintf("It needs %d bytes of memory; the worker has %d.",
		d.need.Memory, w.cfg.Gate.Stats().Memory)}
}

// begin runs the handler on a goroutine of its own, so that one that never
// returns costs a goroutine and no slot.
func (w *Worker) begin(ctx context.Context, d *delivery) <-chan verdict {
	ended := make(chan verdict, 1)
	go func() {
		// What is left when the handler ends its goroutine.
		v := verdict{err: &Failure{Code: CodePanic, Reason: "The handler ended its goroutine."}}
		defer func() {
			if r := recover(); r != nil {
				v.err = panicked(r)
				w.log.Error("handler panicked", "job_id", d.job.ID, "queue", d.job.Queue, "type", d.job.Type,
					"reason", fmt.Sprint(r), "stack", string(debug.Stack()))
			}
			ended <- v
			w.cameBack(d)
		}()
		result, err := d.handler.Do(ctx, NewTask(d.job, d))
		v = verdict{result, err}
	}()
	return ended
}

// panicked hides the value, which may hold anything, from those who ask for the job.
func panicked(value any) error {
	return &Failure{Code: CodePanic, Reason: "The handler panicked; the worker's log has the stack.", Cause: fmt.Errorf("panic: %v", value)}
}

// mind waits for the handler, ends its context at the job's limit, and gives it
// up when it does not return within the grace after that or any other end.
func (w *Worker) mind(ctx context.Context, d *delivery, ended <-chan verdict) verdict {
	limit := time.NewTimer(or(d.job.WorkLimit, defaultWork))
	defer limit.Stop()
	select {
	case v := <-ended:
		return v
	case <-ctx.Done():
	case <-limit.C:
		d.stop(ErrWorkLimit)
	}
	grace := time.NewTimer(w.cfg.Grace)
	defer grace.Stop()
	select {
	case v := <-ended:
		return v
	case <-grace.C:
	}
	if !w.giveUp(d) {
		return <-ended
	}
	return verdict{err: errDeaf}
}

// giveUp counts a handler as stuck, unless it has come back just now.
func (w *Worker) giveUp(d *delivery) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.returned {
		return false
	}
	d.given = true
	w.count(func(t *tally) { t.stuck++ })
	w.log.Error("handler given up", "job_id", d.job.ID, "queue", d.job.Queue, "type", d.job.Type, "reason", d.cause)
	return true
}

// cameBack is the last thing that a handler's goroutine does.
func (w *Worker) cameBack(d *delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.returned = true
	if d.given {
		w.count(func(t *tally) { t.stuck-- })
	}
}
