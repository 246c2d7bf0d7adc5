package elastic

import (
	"context"
	"fmt"
	"math"
	"time"
)

// phase only ever moves on.
type phase int

const (
	accepting phase = iota
	draining        // no new jobs; queued ones still run
	cutting         // queued ones were returned, running ones told to stop
	closed
)

// ShutdownError tells what a shutdown did to jobs that had not ended when its
// time was up. Each one's submitter was told, once.
type ShutdownError struct {
	Returned  int // had not begun
	Stopped   int // ran, and were told to stop
	Abandoned int // of those, did not stop; their goroutines may still run
}

// Error is a sentence of numbers.
func (e *ShutdownError) Error() string {
	return fmt.Sprintf("shutdown: %d jobs returned, %d told to stop, %d abandoned", e.Returned, e.Stopped, e.Abandoned)
}

// Shutdown refuses new jobs and works off the queued ones until ctx ends. Then
// it returns those still queued to their submitters, tells those that run to
// stop, and after RetireGrace gives up on those that do not. It returns nil
// when every job has had its turn, otherwise a *ShutdownError. Run ends, too.
func (p *DynamicScaler[T]) Shutdown(ctx context.Context) error {
	p.drain(math.MaxInt64)
	p.mu.Lock()
	unborn := !p.started
	if unborn { // nobody will work off the queue
		p.started, p.unborn = true, true
	}
	p.mu.Unlock()
	if unborn {
		p.cut(p.now())
		p.close()
		p.member.quit()
		close(p.over)
	}
	select {
	case <-p.over:
	case <-ctx.Done():
		p.drain(0)
		<-p.over
	}
	return p.outcome()
}

// drain begins a shutdown, or shortens one, so that it lasts for at most that
// long before jobs are returned.
func (p *DynamicScaler[T]) drain(patience time.Duration) {
	p.mu.Lock()
	cutAt := int64(math.MaxInt64)
	if now := p.now(); int64(patience) < cutAt-now {
		cutAt = now + int64(patience)
	}
	if p.phase == accepting {
		p.phase, p.cutAt = draining, cutAt
	}
	p.cutAt = min(p.cutAt, cutAt)
	p.mu.Unlock()
	p.poke()
}

// advance moves a shutdown on. ending is false while there is none, or while
// workers are still needed, so that the loop goes on as always.
func (p *DynamicScaler[T]) advance(now int64) (over, ending bool) {
	p.mu.Lock()
	phase, queued, total := p.phase, p.queue.length, p.workers.total()
	timeUp, stuck := now >= p.cutAt, now >= p.stuckAt
	p.mu.Unlock()
	switch {
	case phase == accepting:
		return false, false
	case phase == cutting && stuck && total > 0:
		p.abandon()
		return true, true
	case total == 0 && (queued == 0 || phase == cutting):
		p.close()
		return true, true
	case phase == draining && timeUp:
		p.cut(now)
	case phase == draining && queued > 0:
		return false, false
	case phase == draining:
		p.mu.Lock()
		p.retireAll(now)
		p.mu.Unlock()
	}
	return false, true
}

func (p *DynamicScaler[T]) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = closed
}

func (p *DynamicScaler[T]) retireAll(now int64) {
	for _, s := range p.workers.slots {
		p.retire(s, now)
	}
}

// cut ends the patience of a shutdown.
func (p *DynamicScaler[T]) cut(now int64) {
	p.mu.Lock()
	var back, stopped []*entry[T]
	for e := p.queue.take(now); e != nil; e = p.queue.take(now) {
		e.state.Store(ended)
		back = append(back, e)
	}
	p.retireAll(now)
	for _, s := range p.workers.slots {
		s.retireBy = 0
		s.cancel(ErrShuttingDown)
		if e := s.current.Load(); e != nil {
			stopped = append(stopped, e)
		}
	}
	p.returned += uint64(len(back))
	p.end.Returned, p.end.Stopped = len(back), len(stopped)
	p.phase, p.stuckAt = cutting, now+int64(p.cfg.RetireGrace)
	p.mu.Unlock()
	for _, e := range back {
		e.end(ErrShuttingDown)
	}
	for _, e := range stopped {
		e.stop(ErrShuttingDown)
	}
	p.poke()
}

// abandon ends the jobs that do not stop, for their submitters at least. What
// their handlers return later is nobody's.
func (p *DynamicScaler[T]) abandon() {
	p.mu.Lock()
	p.phase = closed
	var lost []*entry[T]
	for _, s := range p.workers.slots {
		if e := s.current.Load(); e != nil && e.state.CompareAndSwap(running, ended) {
			lost = append(lost, e)
		}
	}
	p.end.Abandoned = max(len(lost), p.workers.total())
	p.mu.Unlock()
	for _, e := range lost {
		e.end(ErrAbandoned)
	}
}

// outcome is read when the pool is over.
func (p *DynamicScaler[T]) outcome() error {
	if p.end == (ShutdownError{}) {
		return nil
	}
	end := p.end
	return &end
}
