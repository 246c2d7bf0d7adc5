package elastic

import (
	"context"
	"sync/atomic"
)

// slot is one worker, from its creation until its goroutine has ended.
type slot[T any] struct {
	idx    int64
	born   int64
	ctx    context.Context //nolint:containedctx // the worker's life, which spans many calls
	cancel context.CancelCauseFunc
	retire chan struct{} // closed to ask the worker to leave when idle

	// Guarded by the pool's mutex.
	retiring bool
	retireBy int64 // when the nudge is due; 0 once it was given
	exited   bool  // its goroutine is past its last use of anything

	// Written by the worker alone.
	current atomic.Pointer[entry[T]] // set under the pool's mutex
	started atomic.Int64             // when current began; 0: idle
	tally   tally
	ended   int64 // when its last job did; 0: none has; the worker's own
}

// tally counts what a worker did. It is read while it is written.
type tally struct {
	done, failed, panicked atomic.Uint64
	busy                   atomic.Int64 // ns spent in jobs that have ended
}

// registry holds every worker that exists, in order of creation, the newest at
// the end. It is the only record of them: every count is a scan. Guarded by
// the pool's mutex.
type registry[T any] struct {
	slots []*slot[T]
	next  int64  // number of the next worker
	past  totals // what workers did that are gone
}

// totals is a sum of tallies.
type totals struct {
	done, failed, panicked uint64
	busy                   int64
}

func (t *totals) add(from *tally) {
	t.done += from.done.Load()
	t.failed += from.failed.Load()
	t.panicked += from.panicked.Load()
	t.busy += from.busy.Load()
}

func (r *registry[T]) total() int { return len(r.slots) }

func (r *registry[T]) live() int {
	n := 0
	for _, s := range r.slots {
		if !s.retiring {
			n++
		}
	}
	return n
}

func (r *registry[T]) busy() int {
	n := 0
	for _, s := range r.slots {
		if s.started.Load() != 0 {
			n++
		}
	}
	return n
}

func (r *registry[T]) sum() totals {
	sum := r.past
	for _, s := range r.slots {
		sum.add(&s.tally)
	}
	return sum
}

// worked is the time all workers together have spent in jobs, those that run
// now included. A job that ends during the scan may be missed until the next.
func (r *registry[T]) worked(now int64) int64 {
	worked := r.past.busy
	for _, s := range r.slots {
		worked += s.tally.busy.Load()
		if began := s.started.Load(); began != 0 {
			worked += now - began
		}
	}
	return worked
}

// newestLive is the next to retire; nil when all are on their way out.
func (r *registry[T]) newestLive() *slot[T] {
	for i := len(r.slots) - 1; i >= 0; i-- {
		if !r.slots[i].retiring {
			return r.slots[i]
		}
	}
	return nil
}

// onCPU is how many are in the CPU stage of their job.
func (r *registry[T]) onCPU() int {
	n := 0
	for _, s := range r.slots {
		if e := s.current.Load(); e != nil && e.turn.Load() != nil {
			n++
		}
	}
	return n
}

// provenSince tells whether a worker younger than that has done a job.
func (r *registry[T]) provenSince(moment int64) bool {
	for _, s := range r.slots {
		if s.born >= moment && s.tally.done.Load() > 0 {
			return true
		}
	}
	return false
}

// reap drops the workers that have really ended and returns those of them that
// nobody had asked to.
func (r *registry[T]) reap() (lost []*slot[T]) {
	kept := r.slots[:0]
	for _, s := range r.slots {
		if !s.exited {
			kept = append(kept, s)
			continue
		}
		r.past.add(&s.tally)
		if !s.retiring {
			lost = append(lost, s)
		}
	}
	clear(r.slots[len(kept):])
	r.slots = kept
	return lost
}
