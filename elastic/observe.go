package elastic

import "time"

// seen is what the last look left behind. It belongs to the loop.
type seen struct {
	at       int64 // of the last check
	arrivals uint64
	worked   int64
	ended    totals
	gate     load
}

// observe takes a snapshot. due says that a check interval is over: then the
// averages move on and the standing wait begins anew.
func (p *DynamicScaler[T]) observe(now int64, due bool) snapshot {
	gate := p.cfg.Gate.load()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := snapshot{
		due: due, draining: p.phase != accepting, backoff: now < p.crashes.until, lost: p.crashes.lost,
		live: p.workers.live(), busy: p.workers.busy(), queued: p.queue.length,
		oldest: time.Duration(p.queue.oldest(now)), gate: gate, grew: p.grew, shrank: p.shrank,
	}
	s.retiring = p.workers.total() - s.live
	if due {
		s.wait = time.Duration(p.queue.standing(now))
		s.gateUse = gate.useSince(p.seen.gate)
		p.average(now, s.queued)
		p.seen.gate = gate
	}
	s.arrival = p.avg.arrival.value
	s.service = time.Duration(p.avg.service.value)
	s.backlog = p.avg.backlog.value
	s.working = p.avg.busy.value
	s.needed = p.avg.needed.value()
	if due {
		p.latest, p.rate = s, p.avg.told.value
	}
	return s
}

// average moves the averages on to now. The pool's mutex is held.
func (p *DynamicScaler[T]) average(now int64, queued int) {
	over := time.Duration(now - p.seen.at)
	if over <= 0 {
		return
	}
	worked, sum := p.workers.worked(now), p.workers.sum()
	rate := float64(p.queue.arrivals-p.seen.arrivals) / over.Seconds()
	p.avg.arrival.add(rate, over)
	p.avg.told.add(rate, over)
	p.avg.backlog.add(float64(queued), over)
	// A job that ended during the scan was missed, and is now counted twice.
	busy := float64(worked-p.seen.worked) / float64(over)
	p.avg.busy.add(min(max(busy, 0), float64(p.workers.total())), over)
	p.avg.needed.add(p.avg.busy.value, now)
	if jobs := sum.done + sum.failed - p.seen.ended.done - p.seen.ended.failed; jobs > 0 {
		p.avg.service.add(float64(sum.busy-p.seen.ended.busy)/float64(jobs), over)
	}
	p.seen.at, p.seen.arrivals, p.seen.worked, p.seen.ended = now, p.queue.arrivals, worked, sum
}

// publish tells submitters how long each queued job will take to go. A pool
// that may still grow is taken for as large as it can be.
func (p *DynamicScaler[T]) publish(s snapshot, d Decision) {
	workers := s.live
	if d.Limit != LimitCPU && d.Limit != LimitMemory && d.Limit != LimitSaturated {
		p.mu.Lock()
		workers = max(workers, p.maxWorkers)
		p.mu.Unlock()
	}
	p.pace.Store(int64(s.service) / int64(max(workers, 1)))
}
