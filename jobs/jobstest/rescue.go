package jobstest

import (
	"context"
	"slices"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Expired is of jobs.RescueStore.
func (s *Store) Expired(ctx context.Context, limit int) ([]jobs.Job, error) {
	return call(ctx, s, "Expired", func(now time.Time) ([]jobs.Job, error) {
		found := s.oldest(len(s.rows), func(r *row) bool { return r.orphaned(now) })
		slices.SortStableFunc(found, func(a, b *row) int { return a.job.LeaseUntil.Compare(b.job.LeaseUntil) })
		return copies(found[:min(limit, len(found))]), nil
	})
}

// Promote is of jobs.RescueStore.
func (s *Store) Promote(ctx context.Context, limit int) ([]jobs.Moved, error) {
	return call(ctx, s, "Promote", func(now time.Time) ([]jobs.Moved, error) {
		due := s.oldest(len(s.rows), func(r *row) bool { return !r.ready && r.job.Ready(now) })
		slices.SortStableFunc(due, func(a, b *row) int { return a.job.EligibleAt.Compare(b.job.EligibleAt) })
		var moved []jobs.Moved
		for _, r := range due[:min(limit, len(due))] {
			s.admit(r, false)
			r.job.Version++
			moved = append(moved, jobs.Moved{ID: r.job.ID, Queue: r.job.Queue, State: jobs.Queued, Ready: true})
		}
		return moved, nil
	})
}

// GiveUp is of jobs.RescueStore.
func (s *Store) GiveUp(ctx context.Context, limit int) ([]jobs.Moved, error) {
	return call(ctx, s, "GiveUp", func(now time.Time) ([]jobs.Moved, error) {
		var moved []jobs.Moved
		for _, r := range s.oldest(limit, func(r *row) bool {
			return r.ready && r.job.WaitLimit > 0 && now.Sub(r.job.EligibleAt) > r.job.WaitLimit
		}) {
			s.end(r, jobs.Outcome{State: jobs.Failed, Code: jobs.CodeWaitLimit,
				Reason: "Nobody could start it within " + r.job.WaitLimit.String() + "."}, now)
			moved = append(moved, jobs.Moved{ID: r.job.ID, Queue: r.job.Queue, State: jobs.Failed})
		}
		return moved, nil
	})
}
