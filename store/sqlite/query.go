package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// read runs a query on a connection that only reads. A file that is busy, which
// it is for readers only while it is being recovered, is waited for.
func read[T any](ctx context.Context, s *Store, query func(context.Context, *statements) (T, error)) (T, error) {
	var out T
	err := retry(ctx, func() (bool, error) {
		var err error
		out, err = query(ctx, s.reads)
		if busy(err) {
			return false, nil
		}
		return true, err
	})
	if ctx.Err() != nil && err != nil {
		return out, ctx.Err()
	}
	return out, unavailable(err)
}

// Job reads one.
func (s *Store) Job(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	return read(ctx, s, func(ctx context.Context, r *statements) (jobs.Job, error) {
		return single(ctx, r, "job_by_id", jobs.ErrNotFound, []any{id}, job)
	})
}

const (
	defaultPage = 50
	mostPage    = 200
)

// Jobs lists newest first.
func (s *Store) Jobs(ctx context.Context, f jobs.Filter) ([]jobs.Job, error) {
	args := []any{before(f.Before), f.Queue, f.Type, string(f.State), bounded(f.Limit, defaultPage, mostPage)}
	list := "list_all"
	switch {
	case f.Tenant != "":
		list = "list_tenant"
		args = append(args, f.Tenant)
	case f.State == jobs.Queued:
		list = "list_queued"
	case f.State == jobs.Running:
		list = "list_running"
	case f.State == jobs.Failed, f.State == jobs.Cancelled:
		list = "list_dead"
	}
	return read(ctx, s, func(ctx context.Context, r *statements) ([]jobs.Job, error) {
		return all(ctx, r, list, args, job)
	})
}

// Attempts lists those of one job in order.
func (s *Store) Attempts(ctx context.Context, id jobs.ID) ([]jobs.Attempt, error) {
	return read(ctx, s, func(ctx context.Context, r *statements) ([]jobs.Attempt, error) {
		return all(ctx, r, "attempts", []any{id}, func(row scanner) (jobs.Attempt, error) {
			a := jobs.Attempt{JobID: id}
			var start, end moment
			err := row.Scan(&a.Number, &a.WorkerID, &a.Status, &start, &end, &a.Code, &a.Reason)
			a.StartedAt, a.FinishedAt = start.Time, end.Time
			return a, err
		})
	})
}

// Versions reads those of the jobs that exist.
func (s *Store) Versions(ctx context.Context, ids []jobs.ID) (map[jobs.ID]int64, error) {
	numbers := make([]int64, len(ids)) // an ID is a string in JSON
	for i, id := range ids {
		numbers[i] = int64(id)
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return nil, fmt.Errorf("encode job ids: %w", err)
	}
	return read(ctx, s, func(ctx context.Context, r *statements) (map[jobs.ID]int64, error) {
		versions := make(map[jobs.ID]int64, len(ids))
		_, err := all(ctx, r, "versions", []any{string(list)}, func(row scanner) (struct{}, error) {
			var id jobs.ID
			var version int64
			err := row.Scan(&id, &version)
			versions[id] = version
			return struct{}{}, err
		})
		return versions, err
	})
}

// Queues counts each queue that has jobs which are not final.
func (s *Store) Queues(ctx context.Context, most int) ([]jobs.QueueStats, error) {
	return read(ctx, s, func(ctx context.Context, r *statements) ([]jobs.QueueStats, error) {
		now, err := clock(ctx, r, s.offset)
		if err != nil {
			return nil, err
		}
		names, err := all(ctx, r, "busy_queues", nil, one[string])
		if err != nil {
			return nil, err
		}
		var list []jobs.QueueStats
		for _, name := range names {
			q, err := count(ctx, r, name, int64(most), at(now))
			if err != nil {
				return nil, err
			}
			list = append(list, q)
		}
		return list, nil
	})
}

// count counts one more than most, to know whether there are more.
func count(ctx context.Context, r *statements, queue string, most int64, now time.Time) (jobs.QueueStats, error) {
	q := jobs.QueueStats{Queue: queue}
	_, err := all(ctx, r, "depth", []any{queue, most + 1}, func(row scanner) (struct{}, error) {
		var rank int
		var n int64
		err := row.Scan(&rank, &n)
		if q.Depth+n > most {
			n, q.More = most-q.Depth, true
		}
		if err == nil && n > 0 {
			q.Priorities[rank-1] = n
			q.Depth += n
		}
		return struct{}{}, err
	})
	if err != nil {
		return q, err
	}
	for _, c := range []struct {
		statement string
		into      *int64
	}{{"delayed", &q.Delayed}, {"running", &q.Running}} {
		if err := r.row(ctx, c.statement, []any{queue, most + 1}, c.into); err != nil {
			return q, err
		}
		if *c.into > most {
			*c.into, q.More = most, true
		}
	}
	var oldest, interactive moment
	if err := r.row(ctx, "oldest", []any{queue}, &oldest, &interactive); err != nil {
		return q, err
	}
	q.OldestAge, q.OldestInteractive = age(now, oldest), age(now, interactive)
	return q, nil
}

// age is 0 for who does not wait.
func age(now time.Time, since moment) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since.Time))
}
