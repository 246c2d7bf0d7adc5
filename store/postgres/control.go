package postgres

import (
	"context"
	_ "embed" // the statements
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/lock_job.sql
var lockJobSQL string

//go:embed sql/cancel_queued.sql
var cancelQueuedSQL string

//go:embed sql/cancel_running.sql
var cancelRunningSQL string

//go:embed sql/cancel_orphan.sql
var cancelOrphanSQL string

//go:embed sql/retry.sql
var retrySQL string

//go:embed sql/drain.sql
var drainSQL string

//go:embed sql/undrain.sql
var undrainSQL string

// Cancel implements jobs.ControlStore.
func (s *Store) Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Job, error) {
	return s.change(ctx, "cancel job", id, func(ctx context.Context, tx pgx.Tx, job jobs.Job, orphan bool) (jobs.Job, error) {
		var text string
		switch {
		case job.State == jobs.Queued:
			text = cancelQueuedSQL
		case orphan:
			text = cancelOrphanSQL
		case job.State == jobs.Running && !job.CancelAsked:
			text = cancelRunningSQL
		case job.State == jobs.Running, job.State == jobs.Cancelled:
			return job, nil
		default:
			return job, fmt.Errorf("it is %s: %w", job.State, jobs.ErrState)
		}
		return s.changed(ctx, tx, text, pgx.NamedArgs{"id": id, "code": jobs.CodeCancelled, "reason": clean(reason)})
	})
}

// Retry implements jobs.ControlStore.
func (s *Store) Retry(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	return s.change(ctx, "retry job", id, func(ctx context.Context, tx pgx.Tx, job jobs.Job, _ bool) (jobs.Job, error) {
		if job.State != jobs.Failed && job.State != jobs.Cancelled {
			return job, fmt.Errorf("it is %s: %w", job.State, jobs.ErrState)
		}
		again, err := s.changed(ctx, tx, retrySQL, pgx.NamedArgs{"id": id})
		if is(err, uniqueViolation) {
			return job, fmt.Errorf("another job that is not over has its unique key: %w", jobs.ErrState)
		}
		return again, err
	})
}

// change decides on a job while nobody else can change it.
func (s *Store) change(ctx context.Context, verb string, id jobs.ID,
	decide func(ctx context.Context, tx pgx.Tx, job jobs.Job, orphan bool) (jobs.Job, error),
) (jobs.Job, error) {
	var changed jobs.Job
	err := s.call(ctx, verb, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			job, orphan, err := s.lockJob(ctx, tx, id)
			if err != nil {
				return err
			}
			changed, err = decide(ctx, tx, job, orphan)
			return err
		})
	})
	return changed, err
}

func (s *Store) lockJob(ctx context.Context, tx pgx.Tx, id jobs.ID) (job jobs.Job, orphan bool, err error) {
	rows, err := tx.Query(ctx, s.sql(lockJobSQL), pgx.NamedArgs{"id": id})
	if err != nil {
		return job, false, err
	}
	job, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (jobs.Job, error) {
		return scanJob(row, &orphan)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = jobs.ErrNotFound
	}
	return job, orphan, err
}

// changed runs a statement that answers the job as it has become.
func (s *Store) changed(ctx context.Context, tx pgx.Tx, text string, args pgx.NamedArgs) (jobs.Job, error) {
	rows, err := tx.Query(ctx, s.sql(text), args)
	if err != nil {
		return jobs.Job{}, err
	}
	return pgx.CollectExactlyOneRow(rows, asJob)
}

// Drain implements jobs.ControlStore.
func (s *Store) Drain(ctx context.Context, workerID string, within time.Duration) error {
	return s.changeWorker(ctx, "drain worker", drainSQL, pgx.NamedArgs{"id": clean(workerID), "within": within.Microseconds()})
}

// Undrain implements jobs.ControlStore.
func (s *Store) Undrain(ctx context.Context, workerID string) error {
	return s.changeWorker(ctx, "let worker go on", undrainSQL, pgx.NamedArgs{"id": clean(workerID)})
}

// changeWorker runs a statement that leaves workers as they are whose status does
// not allow it.
func (s *Store) changeWorker(ctx context.Context, verb, text string, args pgx.NamedArgs) error {
	n, err := s.exec(ctx, verb, text, args)
	if err != nil || n == 1 {
		return err
	}
	status, err := one(ctx, s, verb, pgx.RowTo[string], "SELECT status FROM workers WHERE id = @id", args)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: it is %s: %w", verb, status, jobs.ErrState)
}
