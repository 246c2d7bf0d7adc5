package jobstest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// keepMetrics is how long a worker's metrics are kept.
const keepMetrics = 24 * time.Hour

// lowestAged is the best rank that waiting gives.
const lowestAged = 4

// Age is of jobs.KeepStore.
func (s *Store) Age(ctx context.Context, every time.Duration, limit int) (int, error) {
	return call(ctx, s, "Age", func(now time.Time) (int, error) {
		if every <= 0 {
			return 0, nil
		}
		aged := func(r *row) int {
			return max(lowestAged, r.job.Priority-int(now.Sub(r.job.EligibleAt)/every))
		}
		old := s.oldest(limit, func(r *row) bool {
			return r.ready && r.job.Priority >= lowestAged && aged(r) < r.job.Rank
		})
		for _, r := range old {
			s.withdraw(r)
			r.job.Rank = aged(r)
			r.job.Version++
			s.admit(r, false)
		}
		return len(old), nil
	})
}

// Prune is of jobs.KeepStore.
func (s *Store) Prune(ctx context.Context, keep jobs.Retention, limit int) (int, error) {
	return call(ctx, s, "Prune", func(now time.Time) (int, error) {
		times := map[jobs.State]time.Duration{
			jobs.Succeeded: keep.Succeeded, jobs.Failed: keep.Failed, jobs.Cancelled: keep.Cancelled,
		}
		old := s.oldest(limit, func(r *row) bool {
			return r.job.State.Final() && now.Sub(r.job.FinishedAt) > times[r.job.State]
		})
		for _, r := range old {
			delete(s.rows, r.job.ID)
			if s.kept[r.job.IdempotencyKey] == r.job.ID {
				delete(s.kept, r.job.IdempotencyKey)
			}
		}
		s.pruneWorkers(now, keep.Failed)
		return len(old), nil
	})
}

func (s *Store) pruneWorkers(now time.Time, keep time.Duration) {
	for id, w := range s.workers {
		w.metrics = slices.DeleteFunc(w.metrics, func(m jobs.WorkerMetric) bool { return now.Sub(m.At) > keepMetrics })
		if w.row.Status == jobs.WorkerTerminated && now.Sub(w.row.TerminatedAt) > keep {
			delete(s.workers, id)
		}
	}
}

// BuryWorkers is of jobs.KeepStore.
func (s *Store) BuryWorkers(ctx context.Context, after time.Duration) ([]string, error) {
	return call(ctx, s, "BuryWorkers", func(now time.Time) ([]string, error) {
		var buried []string
		for _, id := range slices.Sorted(maps.Keys(s.workers)) {
			if w := s.workers[id]; w.silent(now, after) {
				w.end(now)
				buried = append(buried, id)
			}
		}
		return buried, nil
	})
}
