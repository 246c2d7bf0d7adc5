package transform

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// gate admits work by two measures at once: a permit (one a core) and the
// decoded bytes it will hold. Waiters are served in order, so a large job is
// never starved by small ones that would still fit; the queue is bounded.
// The permit belongs to the work: whoever got it gives it back when the work
// has really ended, however long ago the client left.
type gate struct {
	permits int
	budget  int64
	queue   int

	mu       sync.Mutex
	running  int
	reserved int64
	waiters  list.List // of *waiter, oldest first
	refused  uint64
	done     uint64
	moved    time.Time // when work last began or ended
	pace     time.Duration
}

type waiter struct {
	bytes   int64
	since   time.Time
	granted chan struct{}
}

func newGate(permits int, budget int64, queue int) *gate {
	return &gate{permits: permits, budget: budget, queue: queue}
}

// acquire blocks until the job may run, ctx ends or patience is used up. The
// returned function gives everything back; it must be called exactly once.
func (g *gate) acquire(ctx context.Context, bytes int64, patience time.Duration) (release func(), err error) {
	if bytes > g.budget {
		return nil, media.Errorf(media.CodeMemory,
			"Decoding this picture needs about %d MB; at most %d MB may be used.", bytes>>20, g.budget>>20)
	}
	w, err := g.enter(bytes)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.granted: // before a timer of 0s could have its say
		return g.releaser(bytes), nil
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.granted:
		return g.releaser(bytes), nil
	case <-ctx.Done():
		err = ended(ctx, "The request ended while it waited for its turn.")
	case <-timer.C:
		err = media.Errorf(media.CodeOverloaded, "The server is busy: no turn came within %s.", patience)
	}
	if g.leave(w) {
		return nil, err
	}
	// The grant came between the other case and the lock: hand it back.
	g.release(bytes, 0, false)
	return nil, err
}

// enter queues a waiter, or grants it at once when nobody is before it.
func (g *gate) enter(bytes int64) (*waiter, error) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &waiter{bytes: bytes, since: now, granted: make(chan struct{})}
	if g.waiters.Len() == 0 && g.fits(bytes) {
		g.grant(w, now)
		return w, nil
	}
	if g.waiters.Len() >= g.queue {
		g.refused++
		return nil, media.Errorf(media.CodeOverloaded, "The server is busy: %d requests wait already.", g.waiters.Len())
	}
	g.waiters.PushBack(w)
	return w, nil
}

func (g *gate) fits(bytes int64) bool {
	return g.running < g.permits && g.reserved+bytes <= g.budget
}

func (g *gate) grant(w *waiter, now time.Time) {
	g.running++
	g.reserved += w.bytes
	g.moved = now
	close(w.granted)
}

// leave takes an ungranted waiter out of the queue; false means it holds a
// grant by now. Those behind it may fit where it did not.
func (g *gate) leave(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for e := g.waiters.Front(); e != nil; e = e.Next() {
		if e.Value == w {
			g.waiters.Remove(e)
			g.refused++
			g.admit(time.Now())
			return true
		}
	}
	return false
}

func (g *gate) releaser(bytes int64) func() {
	began := time.Now()
	var once sync.Once
	return func() { once.Do(func() { g.release(bytes, time.Since(began), true) }) }
}

func (g *gate) release(bytes int64, took time.Duration, worked bool) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.reserved -= bytes
	if worked {
		g.done++
		g.moved = now
		// An average over about eight jobs follows a change of load
		// without jumping at a single slow picture.
		g.pace += (took - g.pace) / 8
	}
	g.admit(now)
}

func (g *gate) admit(now time.Time) {
	for e := g.waiters.Front(); e != nil; e = g.waiters.Front() {
		w := e.Value.(*waiter)
		if !g.fits(w.bytes) {
			return
		}
		g.waiters.Remove(e)
		g.grant(w, now)
	}
}

// gateStats is one consistent look at the gate.
type gateStats struct {
	running, waiting int
	reserved         int64
	refused, done    uint64
	moved, oldest    time.Time // oldest is zero when nobody waits
	pace             time.Duration
}

func (g *gate) stats() gateStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := gateStats{
		running: g.running, waiting: g.waiters.Len(), reserved: g.reserved,
		refused: g.refused, done: g.done, moved: g.moved, pace: g.pace,
	}
	if e := g.waiters.Front(); e != nil {
		s.oldest = e.Value.(*waiter).since
	}
	return s
}

// drain estimates how long the present queue takes to empty: what a refused
// client should wait.
func (g *gate) drain() time.Duration {
	s := g.stats()
	return s.pace * time.Duration(s.waiting+s.running) / time.Duration(g.permits)
}
