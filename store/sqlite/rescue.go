package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spillway-media/spillway/jobs"
)

// step is how many jobs maintenance changes in one operation, so that a claim
// that comes meanwhile waits for milliseconds.
const step = 50

// inSteps calls change, each time with how many it may change, until limit is
// reached or there are fewer.
func inSteps[T any](limit int, change func(most int) ([]T, error)) ([]T, error) {
	var changed []T
	for len(changed) < limit {
		most := min(step, limit-len(changed))
		some, err := change(most)
		changed = append(changed, some...)
		if err != nil || len(some) < most {
			return changed, err
		}
	}
	return changed, nil
}

// Expired reads every running job, of which there are no more than slots.
func (s *Store) Expired(ctx context.Context, limit int) ([]jobs.Job, error) {
	return read(ctx, s, func(ctx context.Context, r *statements) ([]jobs.Job, error) {
		now, err := clock(ctx, r, s.offset)
		if err != nil {
			return nil, err
		}
		return all(ctx, r, "expired", []any{now, limit}, job)
	})
}

// Rescue carries out o for a job whose lease is over.
func (s *Store) Rescue(ctx context.Context, l jobs.Lease, o jobs.Outcome) (bool, error) {
	if err := o.Validate(); err != nil {
		return false, err
	}
	return write(ctx, s, 1, func(ctx context.Context, t *tx) (bool, error) {
		c, err := single(ctx, t.statements, "expired_under", jobs.ErrLeaseLost, []any{l.ID, l.Token, t.now}, scanCurrent)
		if errors.Is(err, jobs.ErrLeaseLost) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		becomes := o
		if c.CancelAsked {
			becomes = cancelled(c.cancelReason, o.Attempt)
		}
		return true, t.leave(ctx, c, becomes)
	})
}

// due is a delayed job whose time has come.
type due struct {
	jobs.Job
	since int64
}

func scanDue(row scanner) (d due, err error) {
	err = row.Scan(&d.ID, &d.Queue, &d.Rank, &d.Tenant, &d.EstimatedSeconds, &d.since)
	return d, err
}

// Promote makes delayed jobs ready.
func (s *Store) Promote(ctx context.Context, limit int) ([]jobs.Moved, error) {
	return inSteps(limit, func(most int) ([]jobs.Moved, error) {
		return write(ctx, s, most, func(ctx context.Context, t *tx) ([]jobs.Moved, error) {
			list, err := t.due(ctx, most)
			if err != nil {
				return nil, err
			}
			var moved []jobs.Moved
			for _, d := range list {
				tag, err := t.freshTag(ctx, d.Spec, d.Rank)
				if err != nil {
					return nil, err
				}
				if _, err := t.exec(ctx, "promote", d.ID, tag); err != nil {
					return nil, err
				}
				moved = append(moved, jobs.Moved{ID: d.ID, Queue: d.Queue, State: jobs.Queued, Ready: true})
			}
			return moved, nil
		})
	})
}

// due lists the jobs of all queues that have been due the longest.
func (t *tx) due(ctx context.Context, most int) ([]due, error) {
	queues, err := all(ctx, t.statements, "delayed_queues", nil, one[string])
	if err != nil {
		return nil, err
	}
	var list []due
	for _, queue := range queues {
		some, err := all(ctx, t.statements, "due_in_queue", []any{queue, t.now, most}, scanDue)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	slices.SortFunc(list, func(a, b due) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.ID, b.ID)) })
	return list[:min(most, len(list))], nil
}

// GiveUp fails jobs that have waited for too long.
func (s *Store) GiveUp(ctx context.Context, limit int) ([]jobs.Moved, error) {
	return inSteps(limit, func(most int) ([]jobs.Moved, error) {
		return write(ctx, s, most, func(ctx context.Context, t *tx) ([]jobs.Moved, error) {
			list, err := all(ctx, t.statements, "given_up", []any{t.now, most}, job)
			if err != nil {
				return nil, err
			}
			var moved []jobs.Moved
			for _, j := range list {
				reason := fmt.Sprintf("Nobody could begin it within %s.", j.WaitLimit)
				if err := t.end(ctx, j, jobs.Outcome{State: jobs.Failed, Code: jobs.CodeWaitLimit, Reason: reason}); err != nil {
					return nil, err
				}
				moved = append(moved, jobs.Moved{ID: j.ID, Queue: j.Queue, State: jobs.Failed})
			}
			return moved, nil
		})
	})
}
