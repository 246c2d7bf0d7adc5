package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Cancel ends a job, or asks its worker to.
func (s *Store) Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Job, error) {
	return s.change(ctx, id, func(ctx context.Context, t *tx, c current) error {
		return t.cancel(ctx, c, reason)
	})
}

// change decides on a job as it is, and answers what it has become; as it was
// when it is refused.
func (s *Store) change(ctx context.Context, id jobs.ID, decide func(context.Context, *tx, current) error) (jobs.Job, error) {
	return write(ctx, s, 1, func(ctx context.Context, t *tx) (jobs.Job, error) {
		c, err := single(ctx, t.statements, "job_to_change", jobs.ErrNotFound, []any{id}, scanCurrent)
		if err != nil {
			return jobs.Job{}, err
		}
		if err := decide(ctx, t, c); err != nil {
			return c.Job, err
		}
		return single(ctx, t.statements, "job_by_id", errVanished, []any{id}, job)
	})
}

func (t *tx) cancel(ctx context.Context, c current, reason string) error {
	switch c.State {
	case jobs.Cancelled:
		return nil
	case jobs.Queued:
		return t.end(ctx, c.Job, cancelled(reason, jobs.AttemptCancelled))
	case jobs.Running:
		if c.Token == "" || c.LeaseUntil.IsZero() || !c.LeaseUntil.After(at(t.now)) {
			return t.leave(ctx, c, cancelled(reason, jobs.AttemptLost)) // nobody is there to be asked
		}
		_, err := t.exec(ctx, "ask_cancel", c.ID, reason)
		return err
	default:
		return fmt.Errorf("it is %s: %w", c.State, jobs.ErrState)
	}
}

// Retry queues a failed or cancelled job anew.
func (s *Store) Retry(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	return s.change(ctx, id, func(ctx context.Context, t *tx, c current) error {
		if c.State != jobs.Failed && c.State != jobs.Cancelled {
			return fmt.Errorf("it is %s: %w", c.State, jobs.ErrState)
		}
		return t.retry(ctx, c.Job)
	})
}

func (t *tx) retry(ctx context.Context, j jobs.Job) error {
	if j.UniqueKey != "" {
		var other jobs.ID
		err := t.row(ctx, "by_unique_key", []any{j.UniqueKey}, &other)
		if err == nil {
			return fmt.Errorf("its unique key is that of job %s by now: %w", other, jobs.ErrState)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	tag, err := t.freshTag(ctx, j.Spec, j.Priority)
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, "retry_job", j.ID, tag, t.now); err != nil {
		return err
	}
	// A notice of the end that was none is not sent any more.
	_, err = t.exec(ctx, "prune_webhook", j.ID)
	return err
}

// standing is where a worker stands, as far as steering it goes.
type standing struct {
	status jobs.WorkerStatus
	ending bool // it has left, or its provider was asked to end it
}

// Drain asks a worker to take no more jobs.
func (s *Store) Drain(ctx context.Context, workerID string, within time.Duration) error {
	return s.changeWorker(ctx, workerID, func(ctx context.Context, t *tx, _ standing) error {
		_, err := t.exec(ctx, "drain_worker", workerID, t.now+within.Milliseconds())
		return err
	})
}

// Undrain lets a worker take jobs again; one that is active does anyway.
func (s *Store) Undrain(ctx context.Context, workerID string) error {
	return s.changeWorker(ctx, workerID, func(ctx context.Context, t *tx, w standing) error {
		if w.ending {
			return fmt.Errorf("undrain a worker that is being ended: %w", jobs.ErrState)
		}
		_, err := t.exec(ctx, "undrain_worker", workerID)
		return err
	})
}

// changeWorker leaves terminated workers as they are.
func (s *Store) changeWorker(ctx context.Context, workerID string, decide func(context.Context, *tx, standing) error) error {
	_, err := write(ctx, s, 1, func(ctx context.Context, t *tx) (struct{}, error) {
		w, err := single(ctx, t.statements, "worker_status", jobs.ErrNotFound, []any{workerID}, func(row scanner) (w standing, err error) {
			return w, row.Scan(&w.status, &w.ending)
		})
		if err == nil && w.status == jobs.WorkerTerminated {
			err = fmt.Errorf("it is %s: %w", w.status, jobs.ErrState)
		}
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, decide(ctx, t, w)
	})
	return err
}
