package jobstest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// mostTerminated is how many terminated workers are listed.
const mostTerminated = 200

type worker struct {
	row     jobs.WorkerRow
	metrics []jobs.WorkerMetric // in the order they came
	maxRank int                 // of what it may claim; 0 all
}

// silent says that a worker was not heard of for longer than after. One that
// was asked for and has not come yet is not.
func (w *worker) silent(now time.Time, after time.Duration) bool {
	is := w.row.Status == jobs.WorkerActive || w.row.Status == jobs.WorkerDraining
	return is && now.Sub(w.row.LastHeartbeat) > after
}

func (w *worker) end(now time.Time) {
	w.row.Status, w.row.TerminatedAt, w.row.CurrentJobs = jobs.WorkerTerminated, now, 0
}

// Register is of jobs.WorkerStore.
func (s *Store) Register(ctx context.Context, w jobs.WorkerRow) error {
	return do(ctx, s, "Register", func(now time.Time) error {
		w.Queues = slices.Clone(w.Queues)
		w.Status, w.RegisteredAt, w.LastHeartbeat = jobs.WorkerActive, now, now
		w.CurrentJobs, w.Stale, w.Latest = 0, false, nil
		w.LastJobCompletedAt, w.DrainDeadline, w.TerminatedAt = time.Time{}, time.Time{}, time.Time{}
		maxRank := 0
		if before := s.workers[w.ID]; before != nil {
			maxRank = before.maxRank
		}
		s.workers[w.ID] = &worker{row: w, maxRank: maxRank}
		return nil
	})
}

// Record is of jobs.WorkerStore.
func (s *Store) Record(ctx context.Context, workerID string, m jobs.WorkerMetric) error {
	return do(ctx, s, "Record", func(now time.Time) error {
		w := s.workers[workerID]
		if w == nil {
			return jobs.ErrNotFound
		}
		m.At = now
		w.metrics = append(w.metrics, m)
		return nil
	})
}

// Leave is of jobs.WorkerStore.
func (s *Store) Leave(ctx context.Context, workerID string) error {
	return do(ctx, s, "Leave", func(now time.Time) error {
		w := s.workers[workerID]
		if w == nil {
			return jobs.ErrNotFound
		}
		if w.row.Status != jobs.WorkerTerminated {
			w.end(now)
		}
		return nil
	})
}

// Workers is of jobs.WorkerStore.
func (s *Store) Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error) {
	return call(ctx, s, "Workers", func(now time.Time) ([]jobs.WorkerRow, error) {
		var here, gone []jobs.WorkerRow
		for _, id := range slices.Sorted(maps.Keys(s.workers)) {
			w := s.workers[id].shown(now)
			if w.Status == jobs.WorkerTerminated {
				gone = append(gone, w)
			} else {
				here = append(here, w)
			}
		}
		if !all {
			return here, nil
		}
		slices.SortStableFunc(gone, func(a, b jobs.WorkerRow) int { return b.TerminatedAt.Compare(a.TerminatedAt) })
		return append(here, gone[:min(mostTerminated, len(gone))]...), nil
	})
}

func (w *worker) shown(now time.Time) jobs.WorkerRow {
	r := w.row
	r.Queues = slices.Clone(r.Queues)
	r.Stale = w.silent(now, jobs.StaleAfter)
	if n := len(w.metrics); n > 0 {
		latest := w.metrics[n-1]
		r.Latest = &latest
	}
	return r
}
