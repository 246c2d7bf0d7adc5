package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// centParts is how many units of WorkerRow.CostPerHour make a cent.
const centParts = 10_000

// Register inserts the worker, or takes over the row of its id.
func (s *Store) Register(ctx context.Context, w jobs.WorkerRow) error {
	if w.Queues == nil {
		w.Queues = []string{}
	}
	queues, err := json.Marshal(w.Queues)
	if err != nil {
		return fmt.Errorf("encode queues: %w", err)
	}
	_, err = write(ctx, s, 1, func(ctx context.Context, t *tx) (int64, error) {
		return t.exec(ctx, "register", w.ID, w.Hostname, w.Provider, w.Region, w.InstanceID, w.InstanceType,
			string(w.Market), string(queues), w.Slots, w.Version, float64(w.CostPerHour)/centParts, t.now)
	})
	return err
}

// Record stores a metric.
func (s *Store) Record(ctx context.Context, workerID string, m jobs.WorkerMetric) error {
	return s.ofWorker(ctx, func(ctx context.Context, t *tx) (int64, error) {
		return t.exec(ctx, "record", workerID, t.now, m.CPUPercent, m.MemoryBytes, m.MemoryLimit, m.JobsRunning)
	})
}

// Leave marks a worker as terminated.
func (s *Store) Leave(ctx context.Context, workerID string) error {
	return s.ofWorker(ctx, func(ctx context.Context, t *tx) (int64, error) {
		return t.exec(ctx, "leave", workerID, t.now)
	})
}

// ofWorker answers ErrNotFound when nothing was changed.
func (s *Store) ofWorker(ctx context.Context, do func(context.Context, *tx) (int64, error)) error {
	_, err := write(ctx, s, 1, func(ctx context.Context, t *tx) (struct{}, error) {
		n, err := do(ctx, t)
		if err == nil && n == 0 {
			err = jobs.ErrNotFound
		}
		return struct{}{}, err
	})
	return err
}

// Workers lists them with their latest metrics.
func (s *Store) Workers(ctx context.Context, gone bool) ([]jobs.WorkerRow, error) {
	return read(ctx, s, func(ctx context.Context, r *statements) ([]jobs.WorkerRow, error) {
		now, err := clock(ctx, r, s.offset)
		if err != nil {
			return nil, err
		}
		list, err := all(ctx, r, "workers_here", nil, worker)
		if err != nil {
			return nil, err
		}
		if gone {
			more, err := all(ctx, r, "workers_gone", nil, worker)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
		for i := range list {
			if err := complete(ctx, r, &list[i], at(now)); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

func worker(row scanner) (jobs.WorkerRow, error) {
	var (
		w                                     jobs.WorkerRow
		queues                                string
		cents                                 float64
		registered, heard, done, drain, ended moment
	)
	err := row.Scan(&w.ID, &w.Hostname, &w.Provider, &w.Region, &w.InstanceID, &w.InstanceType, &w.Market, &queues,
		&w.Slots, &w.Version, &cents, &w.Status, &w.CurrentJobs, &registered, &heard, &done, &drain, &ended)
	if err != nil {
		return w, err
	}
	w.CostPerHour = int64(math.Round(cents * centParts))
	w.RegisteredAt, w.LastHeartbeat, w.LastJobCompletedAt = registered.Time, heard.Time, done.Time
	w.DrainDeadline, w.TerminatedAt = drain.Time, ended.Time
	if err := json.Unmarshal([]byte(queues), &w.Queues); err != nil {
		return w, fmt.Errorf("read queues of worker %s: %w", w.ID, err)
	}
	return w, nil
}

// complete adds what is not in the row of the worker.
func complete(ctx context.Context, r *statements, w *jobs.WorkerRow, now time.Time) error {
	alive := w.Status == jobs.WorkerActive || w.Status == jobs.WorkerDraining
	w.Stale = alive && now.Sub(w.LastHeartbeat) > jobs.StaleAfter
	m, err := single(ctx, r, "latest_metric", jobs.ErrNotFound, []any{w.ID}, func(row scanner) (m jobs.WorkerMetric, err error) {
		var recorded moment
		err = row.Scan(&recorded, &m.CPUPercent, &m.MemoryBytes, &m.MemoryLimit, &m.JobsRunning)
		m.At = recorded.Time
		return m, err
	})
	if errors.Is(err, jobs.ErrNotFound) {
		return nil
	}
	w.Latest = &m
	return err
}
