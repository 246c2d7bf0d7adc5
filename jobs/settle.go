package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
	"unicode/utf8"
)

// verdict is how a handler ended.
type verdict struct {
	result json.RawMessage
	err    error
}

// settle writes what becomes of the job. Without the lease nothing is written,
// and nothing is counted as done that the store has not confirmed.
func (w *Worker) settle(ctx context.Context, d *delivery, v verdict) {
	cause := d.close()
	w.poke() // its place at the gate is free
	if errors.Is(cause, ErrLeaseLost) {
		w.report(d, Outcome{}, cause)
		return
	}
	o := d.outcome(v, cause)
	err := d.persist(ctx, func(ctx context.Context) error { return w.store.Finish(ctx, d.lease.Lease, o) })
	if err != nil {
		d.lease.lose()
		w.report(d, Outcome{}, err)
		return
	}
	w.count(o.tally)
	w.report(d, o, v.err)
	if o.State == Queued && o.Delay == 0 {
		w.bell.Ring(ctx, d.job.Queue, 1)
	}
}

// close ends the time for reasons to stop, and answers the one that there was.
func (d *delivery) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stage = settling
	return d.cause
}

// outcome decides what becomes of the job. Work that was done counts, whatever
// was asked for meanwhile.
func (d *delivery) outcome(v verdict, cause error) Outcome {
	if v.err == nil {
		v.err = checkResult(v.result)
	}
	o := Outcome{State: Succeeded, Attempt: AttemptSucceeded, Result: v.result}
	if v.err != nil {
		o = AfterFailure(&d.job, v.err, cause, rand.Float64()) //nolint:gosec // spreads retries; nothing is guarded by it
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	o.Progress, o.Reason = d.progress, clip(o.Reason, maxReason)
	return o
}

// Limits of what a handler says, because it is in a row that every list of jobs
// reads.
const (
	maxResult = 1 << 20
	maxReason = 2000
	maxNote   = 500
)

// checkResult keeps out what no store could keep.
func checkResult(result json.RawMessage) error {
	if len(result) > maxResult {
		return &Failure{Code: CodeFailed, Reason: fmt.Sprintf("The handler's result has %d bytes; at most %d are kept.", len(result), maxResult)}
	}
	var object map[string]json.RawMessage
	if result == nil || json.Unmarshal(result, &object) == nil && object != nil && utf8.Valid(result) {
		return nil
	}
	return &Failure{Code: CodeFailed, Reason: "The handler's result is not a JSON object in UTF-8."}
}

// clip cuts a text that is too long, between two characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	for most -= len(more); most > 0 && !utf8.RuneStart(text[most]); {
		most--
	}
	return text[:most] + more
}

func (o Outcome) tally(t *tally) {
	switch {
	case o.State == Succeeded:
		t.succeeded++
	case o.State == Cancelled:
		t.cancelled++
	case o.State == Failed:
		t.failed++
	case o.Attempt == AttemptReleased:
		t.released++
	default:
		t.retried++
	}
}

// report says in the log how an attempt ended: lost when there is no outcome.
func (w *Worker) report(d *delivery, o Outcome, err error) {
	d.mu.Lock()
	began := d.began
	d.mu.Unlock()
	facts := []any{
		"job_id", d.job.ID, "queue", d.job.Queue, "type", d.job.Type, "attempt", d.job.Deliveries,
		"outcome", or(o.Attempt, AttemptLost),
	}
	if !began.IsZero() {
		facts = append(facts, "duration_ms", w.cfg.Clock().Sub(began).Milliseconds())
	}
	if o.State != "" {
		facts = append(facts, "state", o.State)
	}
	if o.Code != "" {
		facts = append(facts, "code", o.Code)
	}
	if err != nil {
		facts = append(facts, "error", err)
	}
	w.log.Info("attempt ended", facts...)
}

// maxRefusals is how often a call is made again that the store answers with a
// fault of its own. More would be the same.
const maxRefusals = 3

// persist calls the store for a job until it answers, as long as the lease
// holds; ErrLeaseLost is all that is left when it does not. The end of ctx ends
// the waiting, but no call: what a handler has done when it is told to stop
// should be saved.
func (d *delivery) persist(ctx context.Context, call func(context.Context) error) error {
	for try, refusals := 1, 0; ; try++ {
		if err := d.Fence(); err != nil {
			return err
		}
		err := d.w.ask(context.WithoutCancel(ctx), call)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrLeaseLost), errors.Is(err, ErrNotFound), errors.Is(err, ErrState):
			d.w.count(func(t *tally) { t.fenced++ })
			d.lease.lose()
			return ErrLeaseLost
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !away(err):
			if refusals++; refusals >= maxRefusals {
				return err
			}
		}
		pause(ctx, retryWait(try))
	}
}

// ask bounds a call in time, so that a server that does not answer is one that
// is away.
func (w *Worker) ask(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, min(w.cfg.Lease/4, 10*time.Second))
	defer cancel()
	return call(ctx)
}

// away tells what time may heal from what is wrong with the request.
func away(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// retryWait is the wait after the nth failure (n from 1): 100 ms, doubled each
// time, at most 5 s, with jitter.
func retryWait(n int) time.Duration {
	return Jitter(min(100*time.Millisecond<<min(n-1, 10), 5*time.Second), rand.Float64()) //nolint:gosec // jitter is no secret
}
