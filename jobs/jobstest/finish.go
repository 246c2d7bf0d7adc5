package jobstest

import (
	"bytes"
	"context"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// askedReason is what a cancelled job says when nobody gave a reason.
const askedReason = "The job was cancelled."

// Finish is of jobs.FinishStore.
func (s *Store) Finish(ctx context.Context, l jobs.Lease, o jobs.Outcome) error {
	return do(ctx, s, "Finish", func(now time.Time) error {
		if err := o.Validate(); err != nil {
			return err
		}
		r, err := s.held(l)
		if err != nil {
			return err
		}
		if r.job.CancelAsked && o.State == jobs.Queued {
			o = r.asCancelled(jobs.AttemptCancelled, o.Progress)
		}
		if w := s.workers[r.job.WorkerID]; w != nil {
			w.row.LastJobCompletedAt = now
		}
		s.settle(r, o, now)
		return nil
	})
}

// Rescue is of jobs.RescueStore.
func (s *Store) Rescue(ctx context.Context, l jobs.Lease, o jobs.Outcome) (bool, error) {
	return call(ctx, s, "Rescue", func(now time.Time) (bool, error) {
		if err := o.Validate(); err != nil {
			return false, err
		}
		r := s.rows[l.ID]
		if r == nil || !r.orphaned(now) || r.job.Token != l.Token {
			return false, nil
		}
		if r.job.CancelAsked {
			o = r.asCancelled(jobs.AttemptLost, o.Progress)
		}
		s.settle(r, o, now)
		return true, nil
	})
}

// asCancelled is the end of a running job that somebody cancelled. The reason
// they gave is kept in the row since they asked.
func (r *row) asCancelled(attempt jobs.AttemptStatus, p *jobs.Progress) jobs.Outcome {
	reason := r.job.Reason
	if reason == "" {
		reason = askedReason
	}
	return jobs.Outcome{State: jobs.Cancelled, Attempt: attempt, Code: jobs.CodeCancelled, Reason: reason, Progress: p}
}

// settle carries an outcome out for a running job.
func (s *Store) settle(r *row, o jobs.Outcome, now time.Time) {
	j := &r.job
	j.Attempts, j.Lost = o.Counters(j.Attempts, j.Lost)
	if o.Progress != nil {
		j.Progress = *o.Progress
	}
	last := &r.attempts[len(r.attempts)-1]
	last.Status, last.FinishedAt, last.Code, last.Reason = o.Attempt, now, o.Code, o.Reason
	if o.State == jobs.Queued {
		s.requeue(r, o, now)
	} else {
		s.end(r, o, now)
	}
}

func (s *Store) requeue(r *row, o jobs.Outcome, now time.Time) {
	j := &r.job
	j.State, j.Code, j.Reason = jobs.Queued, o.Code, o.Reason
	j.Token, j.LeaseUntil = "", time.Time{}
	j.EligibleAt = now.Add(o.Delay)
	j.Version++
	if o.Delay <= 0 {
		s.admit(r, true)
	}
}

// end makes a job final, whatever it was.
func (s *Store) end(r *row, o jobs.Outcome, now time.Time) {
	s.withdraw(r)
	j := &r.job
	j.State, j.Code, j.Reason, j.Result = o.State, o.Code, o.Reason, bytes.Clone(o.Result)
	j.Token, j.LeaseUntil, j.FinishedAt = "", time.Time{}, now
	j.CancelAsked = false
	j.Version++
	if s.unique[j.UniqueKey] == j.ID {
		delete(s.unique, j.UniqueKey)
	}
	if j.Webhook != "" {
		r.notice = &notice{due: now}
	}
}
