package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

// lowestAged is the rank that ageing ends at: those before it are for somebody
// who waits.
const lowestAged = 4

// Age lowers ranks of jobs that have waited.
func (s *Store) Age(ctx context.Context, every time.Duration, limit int) (int, error) {
	interval := every.Milliseconds()
	if interval <= 0 {
		return 0, nil
	}
	queues, err := read(ctx, s, func(ctx context.Context, r *statements) ([]string, error) {
		return all(ctx, r, "ready_queues", nil, one[string])
	})
	aged := 0
	for _, queue := range queues {
		ids, err := inSteps(limit-aged, func(most int) ([]jobs.ID, error) {
			return write(ctx, s, most, func(ctx context.Context, t *tx) ([]jobs.ID, error) {
				return t.age(ctx, queue, interval, most)
			})
		})
		aged += len(ids)
		if err != nil {
			return aged, err
		}
	}
	return aged, err
}

func (t *tx) age(ctx context.Context, queue string, interval int64, most int) ([]jobs.ID, error) {
	list, err := all(ctx, t.statements, "to_age", []any{queue, t.now, interval, most}, func(row scanner) (d due, err error) {
		err = row.Scan(&d.ID, &d.Priority, &d.Rank, &d.Tenant, &d.EstimatedSeconds, &d.since)
		d.Queue = queue
		return d, err
	})
	if err != nil {
		return nil, err
	}
	var aged []jobs.ID
	for _, d := range list {
		rank := max(lowestAged, d.Priority-int((t.now-d.since)/interval))
		tag, err := t.freshTag(ctx, d.Spec, rank)
		if err != nil {
			return nil, err
		}
		if _, err := t.exec(ctx, "age", d.ID, rank, tag); err != nil {
			return nil, err
		}
		aged = append(aged, d.ID)
	}
	return aged, nil
}

const (
	// keepMetrics is how long metrics of workers are kept.
	keepMetrics = 24 * time.Hour
	// prunedRows is how many rows one operation deletes, and prunedJobs how many jobs.
	prunedRows = 500
	prunedJobs = 25
)

// Prune deletes what was kept for long enough, a few rows at a time.
func (s *Store) Prune(ctx context.Context, keep jobs.Retention, limit int) (int, error) {
	pruned := 0
	for _, kind := range []struct {
		state jobs.State
		keep  time.Duration
	}{{jobs.Succeeded, keep.Succeeded}, {jobs.Failed, keep.Failed}, {jobs.Cancelled, keep.Cancelled}} {
		for more := true; more && pruned < limit; {
			p, err := write(ctx, s, batchWeight, func(ctx context.Context, t *tx) (progress, error) {
				return t.pruneJobs(ctx, kind.state, t.now-kind.keep.Milliseconds(), min(prunedJobs, limit-pruned))
			})
			pruned += p.jobs
			more = p.more
			if err != nil {
				return pruned, err
			}
		}
	}
	return pruned, errors.Join(s.pruneWorkers(ctx, keep.Failed), s.pruneLedger(ctx))
}

// pruneLedger deletes decisions and entries that nobody will ask for any more.
func (s *Store) pruneLedger(ctx context.Context) error {
	_, err := write(ctx, s, batchWeight, func(ctx context.Context, t *tx) (int64, error) {
		for kind, keep := range fleet.KeepDecisions() {
			if n, err := t.exec(ctx, "prune_decisions", string(kind), t.now-keep.Milliseconds(), prunedRows); err != nil {
				return n, err
			}
		}
		return t.exec(ctx, "prune_entries", t.now-fleet.KeepSpending.Milliseconds(), prunedRows)
	})
	return err
}

// progress is what one operation of Prune has done.
type progress struct {
	jobs int
	more bool
}

func (t *tx) pruneJobs(ctx context.Context, state jobs.State, until int64, most int) (progress, error) {
	ids, err := all(ctx, t.statements, "to_prune", []any{string(state), until, most}, one[jobs.ID])
	if err != nil {
		return progress{}, err
	}
	p, rows := progress{more: len(ids) == most}, int64(prunedRows)
	for _, id := range ids {
		gone, err := t.exec(ctx, "prune_checkpoints", id, rows)
		if err != nil {
			return p, err
		}
		if rows -= gone; rows == 0 { // perhaps not all of them; the job goes with the last
			p.more = true
			break
		}
		for _, statement := range []string{"prune_attempts", "prune_params", "prune_webhook", "prune_job"} {
			if _, err := t.exec(ctx, statement, id); err != nil {
				return p, err
			}
		}
		p.jobs++
	}
	return p, nil
}

// pruneWorkers deletes old metrics, and workers that went long ago.
func (s *Store) pruneWorkers(ctx context.Context, keep time.Duration) error {
	for more := true; more; {
		gone, err := write(ctx, s, batchWeight, func(ctx context.Context, t *tx) (int64, error) {
			return t.exec(ctx, "prune_metrics", t.now-keepMetrics.Milliseconds(), prunedRows)
		})
		if err != nil {
			return err
		}
		more = gone == prunedRows
	}
	_, err := write(ctx, s, batchWeight, func(ctx context.Context, t *tx) (int64, error) {
		return t.exec(ctx, "prune_workers", t.now-keep.Milliseconds(), step)
	})
	return err
}

// BuryWorkers terminates those that nobody has heard of.
func (s *Store) BuryWorkers(ctx context.Context, after time.Duration) ([]string, error) {
	return write(ctx, s, 1, func(ctx context.Context, t *tx) ([]string, error) {
		return all(ctx, t.statements, "bury_workers", []any{t.now, t.now - after.Milliseconds()}, one[string])
	})
}
