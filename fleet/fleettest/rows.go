package fleettest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Fleet is of fleet.Rows.
func (s *Store) Fleet(ctx context.Context) ([]fleet.Worker, error) {
	return call(ctx, s, "Fleet", func(time.Time) ([]fleet.Worker, error) {
		var list []fleet.Worker
		for _, id := range slices.Sorted(maps.Keys(s.workers)) {
			if w := s.workers[id]; w.Status != fleet.Terminated {
				list = append(list, s.shown(w))
			}
		}
		return list, nil
	})
}

func (s *Store) shown(w *fleet.Worker) fleet.Worker {
	copied := *w
	copied.Queues = slices.Clone(w.Queues)
	copied.Claimed = s.claimed(w.ID)
	return copied
}

// Worker is a row, whatever its status, and when it was terminated.
func (s *Store) Worker(id string) (w fleet.Worker, terminatedAt time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.workers[id]
	if row == nil {
		return fleet.Worker{}, time.Time{}, false
	}
	return s.shown(row), s.ended[id], true
}

// Provision is of fleet.Rows.
func (s *Store) Provision(ctx context.Context, w fleet.Worker) error {
	return act(ctx, s, "Provision", func(now time.Time) error {
		if s.workers[w.ID] != nil {
			return nil
		}
		w.Status, w.ProvisionedAt, w.Queues = fleet.Provisioning, now, slices.Clone(w.Queues)
		s.workers[w.ID] = &w
		return nil
	})
}

// Attach is of fleet.Rows.
func (s *Store) Attach(ctx context.Context, workerID string, m fleet.Machine, o fleet.Offer) error {
	return s.change(ctx, "Attach", workerID, func(w *fleet.Worker, _ time.Time) {
		w.InstanceID, w.Place, w.LaunchedAt = m.ID, m.Place, m.LaunchedAt
		w.Rate, w.Ceiling, w.Granularity = o.Price+o.Surcharge, o.Rate(), o.Granularity
	})
}

// Terminating is of fleet.Rows.
func (s *Store) Terminating(ctx context.Context, workerID string) error {
	return s.change(ctx, "Terminating", workerID, func(w *fleet.Worker, now time.Time) {
		w.Status = fleet.Draining
		if w.TerminateAt.IsZero() {
			w.TerminateAt = now
		}
	})
}

// Gone is of fleet.Rows.
func (s *Store) Gone(ctx context.Context, workerID string, at time.Time) ([]int64, error) {
	return call(ctx, s, "Gone", func(now time.Time) ([]int64, error) {
		w := s.workers[workerID]
		if w == nil {
			return nil, fmt.Errorf("worker %s: %w", workerID, fleet.ErrNotFound)
		}
		if w.Status != fleet.Terminated {
			w.Status, s.ended[workerID] = fleet.Terminated, at
		}
		return s.requeue(workerID, now), nil
	})
}

// Drain is of fleet.Drains.
func (s *Store) Drain(ctx context.Context, workerID string, within time.Duration) error {
	return s.change(ctx, "Drain", workerID, func(w *fleet.Worker, now time.Time) {
		if until := now.Add(within); w.Status != fleet.Draining || w.DrainDeadline.IsZero() || until.Before(w.DrainDeadline) {
			w.DrainDeadline = until
		}
		w.Status = fleet.Draining
	})
}

// Undrain is of fleet.Drains. One that is being terminated cannot come back.
func (s *Store) Undrain(ctx context.Context, workerID string) error {
	return act(ctx, s, "Undrain", func(time.Time) error {
		w, err := s.living(workerID)
		if err != nil {
			return err
		}
		if !w.TerminateAt.IsZero() || !w.LeftAt.IsZero() {
			return fmt.Errorf("undrain worker %s, which is ending: %w", workerID, fleet.ErrState)
		}
		if w.Status == fleet.Draining {
			w.Status, w.DrainDeadline = fleet.Active, time.Time{}
			if w.RegisteredAt.IsZero() {
				w.Status = fleet.Provisioning
			}
		}
		return nil
	})
}

// Restrict is of fleet.Drains.
func (s *Store) Restrict(ctx context.Context, workerID string, maxRank int) error {
	return s.change(ctx, "Restrict", workerID, func(w *fleet.Worker, _ time.Time) { w.MaxRank = maxRank })
}

func (s *Store) change(ctx context.Context, method, workerID string, to func(*fleet.Worker, time.Time)) error {
	return act(ctx, s, method, func(now time.Time) error {
		w, err := s.living(workerID)
		if err == nil {
			to(w, now)
		}
		return err
	})
}

func (s *Store) living(workerID string) (*fleet.Worker, error) {
	w := s.workers[workerID]
	switch {
	case w == nil:
		return nil, fmt.Errorf("worker %s: %w", workerID, fleet.ErrNotFound)
	case w.Status == fleet.Terminated:
		return nil, fmt.Errorf("worker %s is terminated: %w", workerID, fleet.ErrState)
	}
	return w, nil
}

// Put writes a row as it is, over whatever was there: a VPS worker, or the state
// that a test begins with.
func (s *Store) Put(w fleet.Worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Queues = slices.Clone(w.Queues)
	s.workers[w.ID] = &w
}

// Register is what a worker does when it begins: its row becomes active, unless
// it drains or is gone. It answers false when there is none to begin with.
func (s *Store) Register(workerID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.living(workerID)
	if err != nil || !w.LeftAt.IsZero() {
		return false
	}
	now := s.now()
	if w.RegisteredAt.IsZero() {
		w.RegisteredAt = now
	}
	w.LastHeartbeat = now
	if w.Status == fleet.Provisioning {
		w.Status = fleet.Active
	}
	return true
}

// Beat is a worker's sign of life, with its use of CPU.
func (s *Store) Beat(workerID string, cpuPercent float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, err := s.living(workerID); err == nil {
		w.LastHeartbeat, w.CPUAt, w.CPUPercent = s.now(), s.now(), cpuPercent
	}
}

// Leave is what a worker does when its process ends. The row of one that was
// provisioned stays, as draining: its machine is still there.
func (s *Store) Leave(workerID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.requeue(workerID, now)
	w, err := s.living(workerID)
	if err != nil || !w.LeftAt.IsZero() {
		return
	}
	if w.ProvisionedAt.IsZero() {
		w.Status, s.ended[workerID] = fleet.Terminated, now
		return
	}
	w.Status, w.LeftAt, w.DrainDeadline = fleet.Draining, now, now
}
