package jobs

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// ProcessBell is the Doorbell of one process: who enqueues in it wakes who works
// in it. It keeps no depth, which is the store's to tell, only the rings that
// nobody has answered yet. Rings of other processes are not heard; polls find
// their jobs.
type ProcessBell struct {
	mu      sync.Mutex // guards all below
	open    map[string]int
	waiting []*ear // who came first is woken first
	rings   uint64
}

// processKind is its Kind in BellStats.
const processKind = "process"

// ear is one goroutine in Wait; heard has room for the one queue it is told.
type ear struct {
	queues []string
	heard  chan string
}

// NewProcessBell makes one. It starts nothing.
func NewProcessBell() *ProcessBell {
	return &ProcessBell{open: map[string]int{}}
}

// Ring wakes as many waiters as there are jobs, and remembers the rest for
// those who come later.
func (b *ProcessBell) Ring(_ context.Context, queue string, n int) {
	if n <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rings++
	b.give(queue, n)
}

// give is called with mu held.
func (b *ProcessBell) give(queue string, n int) {
	b.waiting = slices.DeleteFunc(b.waiting, func(e *ear) bool {
		if n == 0 || !slices.Contains(e.queues, queue) {
			return false
		}
		n--
		e.heard <- queue
		return true
	})
	if n > 0 {
		b.open[queue] += n
	}
}

// Wait blocks until one of the queues was rung, for about poll, or until ctx ends.
func (b *ProcessBell) Wait(ctx context.Context, queues []string, poll time.Duration) string {
	e := b.listen(queues)
	timer := time.NewTimer(Jitter(poll, rand.Float64())) //nolint:gosec // jitter is no secret
	defer timer.Stop()
	select {
	case queue := <-e.heard:
		return queue
	case <-timer.C:
		return b.leave(e)
	case <-ctx.Done():
		if queue := b.leave(e); queue != "" {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.give(queue, 1) // whoever goes does not answer; another may
		}
		return ""
	}
}

// listen takes an open ring, or queues up for the next one.
func (b *ProcessBell) listen(queues []string) *ear {
	e := &ear{queues: queues, heard: make(chan string, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, queue := range queues {
		if b.open[queue] > 0 {
			b.take(queue, 1)
			e.heard <- queue
			return e
		}
	}
	b.waiting = append(b.waiting, e)
	return e
}

// leave ends the waiting of e, and answers what it was told meanwhile.
func (b *ProcessBell) leave(e *ear) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(other *ear) bool { return other == e })
	select {
	case queue := <-e.heard:
		return queue
	default:
		return ""
	}
}

// take is called with mu held.
func (b *ProcessBell) take(queue string, n int) {
	if b.open[queue] -= n; b.open[queue] <= 0 {
		delete(b.open, queue)
	}
}

// Took forgets the rings of what was claimed without waiting. A ring whose
// claim took another queue's job instead is open again; one that led to no job
// at all was false, and ringing it again would make its worker run in circles.
func (b *ProcessBell) Took(_ context.Context, more map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := 0
	for _, n := range more {
		sum += n
	}
	for queue, n := range more {
		switch {
		case n > 0:
			b.take(queue, n)
		case n < 0 && sum >= 0:
			b.give(queue, -n)
		}
	}
}

// Repair has nothing to do: there are no depths.
func (b *ProcessBell) Repair(context.Context, map[string]int64) (map[string]int64, error) {
	return nil, nil
}

// Stats tells the rings. This bell is always up.
func (b *ProcessBell) Stats() BellStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return BellStats{Kind: processKind, Up: true, Rings: b.rings}
}

// Jitter spreads a wait by a quarter either way by random in [0, 1), so that
// processes that began together do not go on together.
func Jitter(wait time.Duration, random float64) time.Duration {
	return time.Duration(float64(wait) * (0.75 + random/2))
}
