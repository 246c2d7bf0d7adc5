package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// role is one thing that a Keeper does again and again.
type role struct {
	name  string
	every time.Duration
	step  func(context.Context) error
	// longest is the most that it rests after failures.
	longest time.Duration
	log     *slog.Logger

	runs, failures atomic.Uint64
	failed         atomic.Uint32 // in a row; only run writes it
}

// RoleStats tells how a role of a Keeper is.
type RoleStats struct {
	Name     string
	Runs     uint64
	Failures uint64
	Failing  bool // since its latest run
}

func (r *role) stats() RoleStats {
	return RoleStats{Name: r.name, Runs: r.runs.Load(), Failures: r.failures.Load(), Failing: r.failed.Load() > 0}
}

// run takes a step at once, and then one after each interval, until ctx ends.
func (r *role) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.step(ctx)
		if ctx.Err() == nil {
			r.note(err)
		}
		pause(ctx, Jitter(rest(r.every, r.longest, r.failed.Load()), rand.Float64())) //nolint:gosec // jitter is no secret
	}
}

// note counts, and logs what differs from the step before.
func (r *role) note(err error) {
	r.runs.Add(1)
	failed := r.failed.Load()
	switch {
	case err != nil && failed == 0:
		r.log.Warn("maintenance of jobs fails", "role", r.name, "error", err)
	case err == nil && failed > 0:
		r.log.Info("maintenance of jobs works again", "role", r.name, "failures", failed)
	}
	if err == nil {
		r.failed.Store(0)
		return
	}
	r.failures.Add(1)
	r.failed.Store(failed + 1)
}

// rest is the wait after a step when the latest n have failed: the interval,
// doubled with each, within longest.
func rest(every, longest time.Duration, n uint32) time.Duration {
	return min(every<<min(n, 10), longest)
}

// pause waits, and tells whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// batches calls take until it did less than full, but no longer than for the
// time given: what is left is for the next step. Between two batches it rests,
// so that no claim waits for housekeeping.
func batches(ctx context.Context, full int, within, between time.Duration, take func(context.Context) (int, error)) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		n, err := bounded(ctx, take)
		if err != nil || n < full {
			return err
		}
		select {
		case <-deadline.C:
			return nil
		default:
		}
		if between > 0 && !pause(ctx, between) {
			return nil
		}
	}
}

// bounded gives one call of the store its time.
func bounded[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	return call(ctx)
}
