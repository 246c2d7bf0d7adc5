package jobstest

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Cancel is of jobs.ControlStore.
func (s *Store) Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Job, error) {
	return call(ctx, s, "Cancel", func(now time.Time) (jobs.Job, error) {
		r := s.rows[id]
		if r == nil {
			return jobs.Job{}, jobs.ErrNotFound
		}
		if reason == "" {
			reason = askedReason
		}
		o := jobs.Outcome{State: jobs.Cancelled, Attempt: jobs.AttemptLost, Code: jobs.CodeCancelled, Reason: reason}
		switch j := &r.job; {
		case j.State == jobs.Queued:
			s.end(r, o, now)
		case r.orphaned(now):
			s.settle(r, o, now)
		case j.State == jobs.Running && !j.CancelAsked:
			j.CancelAsked, j.Reason = true, reason
			j.Version++
		case j.State == jobs.Succeeded, j.State == jobs.Failed:
			return r.copied(), jobs.ErrState
		}
		return r.copied(), nil
	})
}

// Retry is of jobs.ControlStore.
func (s *Store) Retry(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	return call(ctx, s, "Retry", func(now time.Time) (jobs.Job, error) {
		r := s.rows[id]
		if r == nil {
			return jobs.Job{}, jobs.ErrNotFound
		}
		j := &r.job
		_, taken := s.unique[j.UniqueKey]
		if j.State != jobs.Failed && j.State != jobs.Cancelled || taken && j.UniqueKey != "" {
			return r.copied(), jobs.ErrState
		}
		if j.UniqueKey != "" {
			s.unique[j.UniqueKey] = id
		}
		j.State, j.Rank, j.EligibleAt, j.FinishedAt = jobs.Queued, j.Priority, now, time.Time{}
		j.Attempts, j.Lost, j.CancelAsked = 0, 0, false
		j.Code, j.Reason, j.Result = "", "", nil
		j.Version++
		r.notice = nil // of an end that is none any more
		s.admit(r, false)
		return r.copied(), nil
	})
}

// Drain is of jobs.ControlStore.
func (s *Store) Drain(ctx context.Context, workerID string, within time.Duration) error {
	return s.steer(ctx, "Drain", workerID, func(w *jobs.WorkerRow, now time.Time) {
		if until := now.Add(within); w.Status != jobs.WorkerDraining || until.Before(w.DrainDeadline) {
			w.DrainDeadline = until
		}
		w.Status = jobs.WorkerDraining
	})
}

// Undrain is of jobs.ControlStore.
func (s *Store) Undrain(ctx context.Context, workerID string) error {
	return s.steer(ctx, "Undrain", workerID, func(w *jobs.WorkerRow, _ time.Time) {
		w.Status, w.DrainDeadline = jobs.WorkerActive, time.Time{}
	})
}

// Restrict bounds what a worker may claim to ranks up to maxRank; 0 all, less
// than 0 none.
func (s *Store) Restrict(ctx context.Context, workerID string, maxRank int) error {
	return do(ctx, s, "Restrict", func(time.Time) error {
		w := s.workers[workerID]
		if w == nil {
			return jobs.ErrNotFound
		}
		w.maxRank = maxRank
		return nil
	})
}

func (s *Store) steer(ctx context.Context, method, workerID string, change func(*jobs.WorkerRow, time.Time)) error {
	return do(ctx, s, method, func(now time.Time) error {
		w := s.workers[workerID]
		if w == nil {
			return jobs.ErrNotFound
		}
		if w.row.Status == jobs.WorkerTerminated {
			return jobs.ErrState
		}
		change(&w.row, now)
		return nil
	})
}
