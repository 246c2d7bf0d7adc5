package postgres

import (
	"context"
	_ "embed" // the statements
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/jobs.sql
var jobsSQL string

//go:embed sql/attempts.sql
var attemptsSQL string

//go:embed sql/queues.sql
var queuesSQL string

const (
	defaultPage = 50
	mostPage    = 200
)

// ask runs a question of a person or a program. Questions have half of the
// connections, because one may take seconds, and heartbeats must not wait behind
// them until leases are lost.
func ask[T any](ctx context.Context, s *Store, verb string, read pgx.RowToFunc[T], text string, args ...any) ([]T, error) {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case s.questions <- struct{}{}:
		defer func() { <-s.questions }()
	case <-limited.Done():
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", verb, context.Cause(ctx))
		}
		return nil, fmt.Errorf("%s: %w: too many questions at once", verb, jobs.ErrUnavailable)
	}
	return list(ctx, s, verb, read, text, args...)
}

// Job implements jobs.QueryStore.
func (s *Store) Job(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	found, err := ask(ctx, s, "read job", asJob, "SELECT {job} FROM processing_jobs WHERE id = @id", pgx.NamedArgs{"id": id})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read job: %w", jobs.ErrNotFound)
	}
	if err != nil {
		return jobs.Job{}, err
	}
	return found[0], nil
}

// Jobs implements jobs.QueryStore.
func (s *Store) Jobs(ctx context.Context, f jobs.Filter) ([]jobs.Job, error) {
	if f.Limit < 1 {
		f.Limit = defaultPage
	}
	if f.Before < 1 {
		f.Before = math.MaxInt64
	}
	return ask(ctx, s, "list jobs", asJob, jobsSQL, pgx.NamedArgs{
		"state": clean(string(f.State)), "queue": clean(f.Queue), "type": clean(f.Type), "tenant": clean(f.Tenant),
		"before": f.Before, "most": min(f.Limit, mostPage),
	})
}

// Attempts implements jobs.QueryStore.
func (s *Store) Attempts(ctx context.Context, id jobs.ID) ([]jobs.Attempt, error) {
	read := func(row pgx.CollectableRow) (jobs.Attempt, error) {
		var a jobs.Attempt
		var finished *time.Time
		err := row.Scan(&a.JobID, &a.Number, &a.WorkerID, &a.Status, &a.StartedAt, &finished, &a.Code, &a.Reason)
		a.StartedAt, a.FinishedAt = a.StartedAt.UTC(), moment(finished)
		return a, err
	}
	return ask(ctx, s, "read attempts", read, attemptsSQL, pgx.NamedArgs{"id": id})
}

// Versions implements jobs.QueryStore.
func (s *Store) Versions(ctx context.Context, ids []jobs.ID) (map[jobs.ID]int64, error) {
	numbers := make([]int64, len(ids))
	for i, id := range ids {
		numbers[i] = int64(id)
	}
	versions := make(map[jobs.ID]int64, len(ids))
	read := func(row pgx.CollectableRow) (id jobs.ID, err error) {
		var version int64
		err = row.Scan(&id, &version)
		versions[id] = version
		return id, err
	}
	_, err := ask(ctx, s, "read versions", read,
		"SELECT id, version FROM processing_jobs WHERE id = ANY (@ids::bigint[])", pgx.NamedArgs{"ids": numbers})
	return versions, err
}

// Queues implements jobs.QueryStore.
func (s *Store) Queues(ctx context.Context, most int) ([]jobs.QueueStats, error) {
	read := func(row pgx.CollectableRow) (jobs.QueueStats, error) { return scanQueue(row, int64(most)) }
	all, err := ask(ctx, s, "count queues", read, queuesSQL, pgx.NamedArgs{"most": most})
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	return all, nil
}

func scanQueue(row pgx.CollectableRow, most int64) (jobs.QueueStats, error) {
	var q jobs.QueueStats
	var ranks []int16
	var depths []int64
	err := row.Scan(&q.Queue, &ranks, &depths, &q.Delayed, &q.Running, &q.OldestAge, &q.OldestInteractive)
	for i, rank := range ranks {
		// The one beyond the bound only shows that there are more.
		depth := min(depths[i], most-q.Depth)
		q.More = q.More || depth < depths[i]
		q.Depth += depth
		q.Priorities[rank-1] = depth
	}
	q.More = q.More || q.Delayed > most || q.Running > most
	q.Delayed, q.Running = min(q.Delayed, most), min(q.Running, most)
	return q, err
}
