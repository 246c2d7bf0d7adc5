package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Options is the world that the settings are tried in. Zero values mean what
// the comments say.
type Options struct {
	Name string // of the result
	// Boot is how long a machine takes from its launch until its worker claims
	// jobs (3 min), BootSpread how much longer it takes at most, evenly spread.
	Boot, BootSpread time.Duration
	// Slots is how many jobs a machine runs at once where its offer says
	// nothing (1), VPSSlots the same for the VPS worker (1, and at least the
	// slots that baseline_workers keep).
	Slots, VPSSlots int
	// Packed gives each job to the VPS worker if it is free, and else to the
	// machine that was started first, so that the others become idle; otherwise
	// the worker gets it that has waited the longest, as with Redis.
	Packed bool
	// Interruptions is how many times an hour a spot machine is taken away.
	Interruptions float64
	// Shortage is the part of launches on spot that find no capacity, 0 to 1.
	Shortage float64
	// Checkpoint is how much work a long job loses at most that resumes (1 min).
	Checkpoint time.Duration
	// Tail is how long the replay goes on after the last job came, for what
	// still waits (24 h).
	Tail time.Duration
	Seed uint64
}

func (o Options) withDefaults() Options {
	o.Boot = orElse(o.Boot, 3*time.Minute)
	o.Slots = orElse(o.Slots, 1)
	o.VPSSlots = orElse(o.VPSSlots, 1)
	o.Checkpoint = orElse(o.Checkpoint, time.Minute)
	o.Tail = orElse(o.Tail, 24*time.Hour)
	return o
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// ErrEmpty means that a trace has no job.
var ErrEmpty = errors.New("there is no job in it")

// Run replays a trace. Jobs of queues that the settings do not name are an error,
// because nothing would ever run them.
func Run(ctx context.Context, trace Trace, cfg fleet.Config, o Options) (Result, error) {
	w := newWorld(cfg, o.withDefaults())
	last := time.Duration(0)
	for past, err := range trace {
		if err != nil {
			return Result{}, fmt.Errorf("read trace: %w", err)
		}
		if w.start.IsZero() {
			w.begin(past.At)
		}
		at := past.At.Sub(w.start)
		if at < last {
			return Result{}, fmt.Errorf("read trace: the job of %s comes after one of %s; jobs must be in order of time", past.At, w.start.Add(last))
		}
		last = at
		if err := w.advance(ctx, at); err != nil {
			return Result{}, err
		}
		if err := w.enqueue(past); err != nil {
			return Result{}, fmt.Errorf("read trace: %w", err)
		}
	}
	if w.start.IsZero() {
		return Result{}, fmt.Errorf("read trace: %w", ErrEmpty)
	}
	if err := w.finish(ctx, last+w.o.Tail); err != nil {
		return Result{}, err
	}
	return w.conclude(), nil
}

// advance lets everything happen that is due before a time.
func (w *world) advance(ctx context.Context, until time.Duration) error {
	for {
		due := w.nextTick
		event := len(w.agenda.events) > 0 && w.agenda.events[0].at <= due
		if event {
			due = w.agenda.events[0].at
		}
		if due > until {
			w.now = until
			return nil
		}
		w.now = due
		if event {
			w.happen(w.agenda.next())
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		w.tick()
		w.nextTick += w.interval
	}
}

// finish goes on until no job and no machine is left, or the time is up.
func (w *world) finish(ctx context.Context, limit time.Duration) error {
	for w.now < limit && w.busy() {
		if err := w.advance(ctx, min(limit, w.now+w.interval)); err != nil {
			return err
		}
	}
	return nil
}

// busy says whether there is something left to come.
func (w *world) busy() bool {
	for i := range w.queues {
		if w.queues[i].waiting+w.queues[i].running > 0 {
			return true
		}
	}
	return len(w.live) > 1 // the VPS worker stays
}
