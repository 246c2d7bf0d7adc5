package jobstest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Pages of Jobs.
const (
	pageSize    = 50
	largestPage = 200
)

// Job is of jobs.QueryStore.
func (s *Store) Job(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	return call(ctx, s, "Job", func(time.Time) (jobs.Job, error) {
		if r := s.rows[id]; r != nil {
			return r.copied(), nil
		}
		return jobs.Job{}, jobs.ErrNotFound
	})
}

// Jobs is of jobs.QueryStore.
func (s *Store) Jobs(ctx context.Context, f jobs.Filter) ([]jobs.Job, error) {
	return call(ctx, s, "Jobs", func(time.Time) ([]jobs.Job, error) {
		limit := min(f.Limit, largestPage)
		if limit < 1 {
			limit = pageSize
		}
		found := s.oldest(len(s.rows), func(r *row) bool { return chosen(&r.job, f) })
		slices.Reverse(found)
		return copies(found[:min(limit, len(found))]), nil
	})
}

func chosen(j *jobs.Job, f jobs.Filter) bool {
	return (f.State == "" || j.State == f.State) && (f.Queue == "" || j.Queue == f.Queue) &&
		(f.Type == "" || j.Type == f.Type) && (f.Tenant == "" || j.Tenant == f.Tenant) &&
		(f.Before == 0 || j.ID < f.Before)
}

// Attempts is of jobs.QueryStore.
func (s *Store) Attempts(ctx context.Context, id jobs.ID) ([]jobs.Attempt, error) {
	return call(ctx, s, "Attempts", func(time.Time) ([]jobs.Attempt, error) {
		if r := s.rows[id]; r != nil {
			return slices.Clone(r.attempts), nil
		}
		return nil, nil
	})
}

// Versions is of jobs.QueryStore.
func (s *Store) Versions(ctx context.Context, ids []jobs.ID) (map[jobs.ID]int64, error) {
	return call(ctx, s, "Versions", func(time.Time) (map[jobs.ID]int64, error) {
		versions := map[jobs.ID]int64{}
		for _, id := range ids {
			if r := s.rows[id]; r != nil {
				versions[id] = r.job.Version
			}
		}
		return versions, nil
	})
}

// Queues is of jobs.QueryStore.
func (s *Store) Queues(ctx context.Context, most int) ([]jobs.QueueStats, error) {
	return call(ctx, s, "Queues", func(now time.Time) ([]jobs.QueueStats, error) {
		queues := map[string]*jobs.QueueStats{}
		for _, r := range s.oldest(len(s.rows), func(r *row) bool { return !r.job.State.Final() }) {
			q := queues[r.job.Queue]
			if q == nil {
				q = &jobs.QueueStats{Queue: r.job.Queue}
				queues[r.job.Queue] = q
			}
			tally(q, r, now, int64(most))
		}
		list := make([]jobs.QueueStats, 0, len(queues))
		for _, name := range slices.Sorted(maps.Keys(queues)) {
			list = append(list, *queues[name])
		}
		return list, nil
	})
}

// tally counts one job, unless its count is at the bound.
func tally(q *jobs.QueueStats, r *row, now time.Time, most int64) {
	count := &q.Delayed
	switch {
	case r.job.State == jobs.Running:
		count = &q.Running
	case r.ready:
		count = &q.Depth
		age := now.Sub(r.job.EligibleAt)
		q.OldestAge = max(q.OldestAge, age)
		if r.job.Priority < lowestAged {
			q.OldestInteractive = max(q.OldestInteractive, age)
		}
	}
	if *count >= most {
		q.More = true
		return
	}
	*count++
	if r.ready {
		q.Priorities[r.job.Rank-1]++
	}
}
