package elastic

import (
	"context"
	"fmt"
	"time"
)

// consult asks the gate and the owner before the signal's wish to grow is
// followed. What keeps a promise is not asked about.
func (p *DynamicScaler[T]) consult(d *Decision, s snapshot) {
	if d.Action != Grow || d.Changed == 0 || d.Forced() {
		return
	}
	limit, why := fullness(s.gate, s.gateUse)
	if limit == LimitNone && p.cfg.Saturated != nil {
		if full, text := p.cfg.Saturated(); full {
			limit, why = LimitSaturated, text
		}
	}
	if limit == LimitNone {
		return
	}
	d.stop(0, limit, "%s%s", why, p.host.excuse())
}

// act carries a decision out and remembers it.
func (p *DynamicScaler[T]) act(now int64, d Decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch d.Action {
	case Grow:
		for range d.Changed {
			p.spawn()
		}
	case Shrink:
		for range d.Changed {
			p.retire(p.workers.newestLive(), now)
		}
	}
	if d.Forced() && d.Action == Grow {
		p.crashes.lost -= d.Changed
	}
	p.crashes.lost = min(max(p.crashes.lost, 0), max(0, p.maxWorkers-p.workers.live()))
	p.count(d)
	p.records.add(d)
}

func (p *DynamicScaler[T]) count(d Decision) {
	switch {
	case d.Action == Hold:
	case d.Limit == LimitCPU, d.Limit == LimitMemory, d.Limit == LimitSaturated:
		p.refusals[d.Limit]++
	case d.Changed == 0:
	case d.Forced() && d.Action == Grow:
		if p.workers.next > int64(p.minWorkers) { // the first ones replace nobody
			p.refills += uint64(d.Changed)
		}
	case d.Action == Grow:
		p.ups++
		p.grew = d.At
	default:
		p.downs++
		p.shrank = d.At
	}
	if p.cfg.Signal == QueueLength && d.Changed > 0 {
		// There, the cooldown lies between any two actions.
		p.grew = d.At
	}
}

// spawn starts a worker. The pool's mutex is held.
func (p *DynamicScaler[T]) spawn() {
	ctx, cancel := context.WithCancelCause(p.base)
	s := &slot[T]{idx: p.workers.next, born: p.now(), ctx: ctx, cancel: cancel, retire: make(chan struct{})}
	p.workers.next++
	p.workers.slots = append(p.workers.slots, s)
	p.running.Go(func() { p.work(s) })
}

// retire asks a worker to leave as soon as it is idle. The pool's mutex is held,
// so that it takes no job from now on.
func (p *DynamicScaler[T]) retire(s *slot[T], now int64) {
	if s == nil || s.retiring {
		return
	}
	s.retiring = true
	s.retireBy = now + int64(p.cfg.RetireGrace)
	close(s.retire)
}

// nudge cancels the own context of workers that were asked long ago: one that
// is stuck in its set-up, or waits for something between jobs, leaves. A job in
// progress is none of its business.
func (p *DynamicScaler[T]) nudge(now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.workers.slots {
		if s.retiring && s.retireBy != 0 && now >= s.retireBy {
			s.retireBy = 0
			s.cancel(ErrRetireGrace)
			p.nudges++
		}
	}
}

// crashes watches for workers that exit as soon as they start.
type crashes struct {
	lost  int   // ended unasked, not replaced yet
	count int   // immediate exits in a row
	last  int64 // when the latest was
	until int64 // no worker starts before
	err   error // what ended the latest
}

const (
	crashesAllowed = 5 // in a row, before the first pause
	crashPause     = 10 * time.Millisecond
	crashPauseMax  = time.Second
	crashMemory    = 3 * time.Second // without one, they are forgotten
)

// crashed notes a worker's unasked end at now, when it began at born and has
// done that many jobs. One that was of use ends the row of immediate exits, and
// so does one that still works (reap sees to that): a pool that gets things
// done between two bad jobs must not be slowed down by them.
func (c *crashes) crashed(now, born int64, jobs uint64) {
	c.lost++
	if jobs > 0 || now-born > int64(time.Second) {
		c.count = 0
		return
	}
	if now-c.last > int64(crashMemory) {
		c.count = 0
	}
	c.count++
	c.last = now
	if over := c.count - crashesAllowed; over > 0 {
		pause := crashPauseMax
		if over < 8 {
			pause = min(pause, crashPause<<over)
		}
		c.until = now + int64(pause)
	}
}

// failed remembers why a worker could not start, or could not end well.
func (p *DynamicScaler[T]) failed(s *slot[T], err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.crashes.err = fmt.Errorf("worker %d: %w", s.idx, err)
}

// reap takes the workers that have ended out of the registry.
func (p *DynamicScaler[T]) reap(now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lost := p.workers.reap()
	if len(lost) == 0 {
		return
	}
	if p.workers.provenSince(p.crashes.last) {
		p.crashes.count = 0
	}
	for _, s := range lost {
		p.crashes.crashed(now, s.born, s.tally.done.Load())
	}
}
