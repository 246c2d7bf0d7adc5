package sqlite

import (
	"context"

	"github.com/spillway-media/spillway/jobs"
)

// Finish carries out o under the lease.
func (s *Store) Finish(ctx context.Context, l jobs.Lease, o jobs.Outcome) error {
	if err := o.Validate(); err != nil {
		return err
	}
	_, err := write(ctx, s, 1, func(ctx context.Context, t *tx) (struct{}, error) {
		c, err := single(ctx, t.statements, "running_under", jobs.ErrLeaseLost, []any{l.ID, l.Token}, scanCurrent)
		if err != nil {
			return struct{}{}, err
		}
		becomes := o
		if c.CancelAsked && o.State == jobs.Queued {
			becomes = cancelled(c.cancelReason, o.Attempt)
			becomes.Progress = o.Progress
		}
		if err := t.leave(ctx, c, becomes); err != nil {
			return struct{}{}, err
		}
		_, err = t.exec(ctx, "worker_completed", c.WorkerID, t.now)
		return struct{}{}, err
	})
	return err
}

// cancelled is the outcome of who is cancelled instead of being queued again.
func cancelled(reason string, attempt jobs.AttemptStatus) jobs.Outcome {
	if attempt != jobs.AttemptLost {
		attempt = jobs.AttemptCancelled
	}
	if reason == "" {
		reason = "The job was cancelled."
	}
	return jobs.Outcome{State: jobs.Cancelled, Attempt: attempt, Code: jobs.CodeCancelled, Reason: reason}
}

// leave takes a job out of running.
func (t *tx) leave(ctx context.Context, c current, o jobs.Outcome) error {
	if o.State == jobs.Cancelled && c.cancelReason != "" {
		o.Reason = c.cancelReason // who asked has said why
	}
	if o.Progress != nil {
		if _, err := t.exec(ctx, "set_progress", c.ID, o.Progress.Done, o.Progress.Total, o.Progress.Note); err != nil {
			return err
		}
	}
	if _, err := t.exec(ctx, "end_attempt", c.ID, c.Deliveries, string(o.Attempt), t.now, o.Code, o.Reason); err != nil {
		return err
	}
	if o.State == jobs.Queued {
		return t.requeue(ctx, c.Job, o)
	}
	return t.end(ctx, c.Job, o)
}

// requeue gives a job back, at once or after the delay of its backoff.
func (t *tx) requeue(ctx context.Context, j jobs.Job, o jobs.Outcome) error {
	eligible, tag := t.now+max(0, o.Delay.Milliseconds()), 0.0
	ready := eligible <= t.now
	if ready {
		last, head, err := t.tags(ctx, j.Queue, j.Rank, j.Tenant)
		if err != nil {
			return err
		}
		tag = jobs.FairAgain(j.Fair, last, head, j.Cost())
	}
	attempts, lost := o.Counters(j.Attempts, j.Lost)
	_, err := t.exec(ctx, "requeue_job", j.ID, ready, tag, eligible, attempts, lost, o.Code, o.Reason)
	return err
}

// end puts a job, running or not, into a final state, and its notice down.
func (t *tx) end(ctx context.Context, j jobs.Job, o jobs.Outcome) error {
	attempts, lost := o.Counters(j.Attempts, j.Lost)
	if j.State != jobs.Running {
		attempts, lost = j.Attempts, j.Lost // no attempt ends with it
	}
	_, err := t.exec(ctx, "end_job", j.ID, string(o.State), t.now, attempts, lost, orNull(string(o.Result)), o.Code, o.Reason)
	if err != nil || j.Webhook == "" {
		return err
	}
	_, err = t.exec(ctx, "insert_webhook", j.ID, j.Webhook, t.now)
	return err
}
