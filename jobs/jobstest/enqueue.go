package jobstest

import (
	"bytes"
	"context"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Enqueue is of jobs.EnqueueStore.
func (s *Store) Enqueue(ctx context.Context, specs []jobs.Spec) ([]jobs.Enqueued, error) {
	return call(ctx, s, "Enqueue", func(now time.Time) ([]jobs.Enqueued, error) {
		entered := make([]jobs.Enqueued, 0, len(specs))
		for _, spec := range specs {
			r, existing := s.namesake(spec), true
			if r == nil {
				r, existing = s.insert(spec, now), false
			}
			entered = append(entered, jobs.Enqueued{Job: r.copied(), Existing: existing})
		}
		return entered, nil
	})
}

// namesake is the earlier job that a key of the spec belongs to.
func (s *Store) namesake(spec jobs.Spec) *row {
	if id, ok := s.kept[spec.IdempotencyKey]; ok && spec.IdempotencyKey != "" {
		return s.rows[id]
	}
	if id, ok := s.unique[spec.UniqueKey]; ok && spec.UniqueKey != "" {
		return s.rows[id]
	}
	return nil
}

func (s *Store) insert(spec jobs.Spec, now time.Time) *row {
	s.lastID++
	due := now.Add(spec.Delay)
	if spec.RunAt.After(now) {
		due = spec.RunAt.Round(0).UTC()
	}
	spec.Params = bytes.Clone(spec.Params)
	spec.RunAt, spec.Delay = time.Time{}, 0 // EligibleAt has them
	r := &row{
		job: jobs.Job{ID: s.lastID, Spec: spec, State: jobs.Queued, Rank: spec.Priority, Version: 1,
			CreatedAt: now, EligibleAt: due},
		parts: map[string]jobs.Checkpoint{},
	}
	s.rows[s.lastID] = r
	if spec.IdempotencyKey != "" {
		s.kept[spec.IdempotencyKey] = s.lastID
	}
	if spec.UniqueKey != "" {
		s.unique[spec.UniqueKey] = s.lastID
	}
	if !due.After(now) {
		s.admit(r, false)
	}
	return r
}
