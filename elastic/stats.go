package elastic

import (
	"errors"
	"sync/atomic"
	"time"
)

// Stats is what a pool is doing and has done.
type Stats struct {
	// Workers now: Live + Retiring = Total; Busy are in a job, OnCPU in the
	// CPU stage of one.
	Live, Retiring, Total, Busy, OnCPU int
	MinWorkers, MaxWorkers             int

	Queued        int
	QueuedByClass []int
	OldestWait    time.Duration // of the jobs queued now

	// As of the last check.
	StandingWait time.Duration // the shortest wait during the last interval
	ArrivalRate  float64       // jobs a second
	ServiceTime  time.Duration // a job, in a worker
	Working      float64       // busy workers, smoothed

	// Since the beginning. Arrived = Done + Failed + Returned + Queued + Busy.
	Arrived  uint64
	Done     uint64 // ended without an error
	Failed   uint64 // with one, panics included
	Panicked uint64
	Returned uint64 // ended while queued: given up, late, or shut down
	Refused  Refused

	ScaleUps, ScaleDowns uint64 // actions for the signal's sake
	Refills              uint64 // workers started for the floor, or for lost ones
	Nudges               uint64 // retirements that outlasted RetireGrace
	// GateRefusals counts checks at which growth was wanted and stopped, by
	// what stopped it; Decisions say it in words.
	GateRefusals map[Limit]uint64
	// LastCrash is why a worker last ended unasked outside a job: its set-up
	// or Close failed. Nil: none has.
	LastCrash error

	Host HostCPU
}

// Refused counts jobs that were never queued.
type Refused struct {
	QueueFull, WouldWait, ShuttingDown, Late, TooHeavy uint64
}

type refused struct {
	full, wait, shut, late, heavy atomic.Uint64
}

// refuse counts a refusal and hands the error on.
func (p *DynamicScaler[T]) refuse(err error) error {
	switch {
	case errors.Is(err, ErrQueueFull):
		p.refused.full.Add(1)
	case errors.Is(err, ErrWouldWait):
		p.refused.wait.Add(1)
	case errors.Is(err, ErrShuttingDown):
		p.refused.shut.Add(1)
	case errors.Is(err, ErrDeadline):
		p.refused.late.Add(1)
	case errors.Is(err, ErrTooHeavy):
		p.refused.heavy.Add(1)
	}
	return err
}

// Stats takes time in proportion to the number of workers.
func (p *DynamicScaler[T]) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	sum := p.workers.sum()
	s := Stats{
		Live: p.workers.live(), Total: p.workers.total(), Busy: p.workers.busy(), OnCPU: p.workers.onCPU(),
		MinWorkers: p.minWorkers, MaxWorkers: p.maxWorkers,
		Queued: p.queue.length, OldestWait: time.Duration(p.queue.oldest(now)),
		StandingWait: p.latest.wait, ArrivalRate: p.rate,
		ServiceTime: p.latest.service, Working: p.latest.working,
		Arrived: p.queue.arrivals, Done: sum.done, Failed: sum.failed, Panicked: sum.panicked,
		Returned: p.returned,
		ScaleUps: p.ups, ScaleDowns: p.downs, Refills: p.refills, Nudges: p.nudges,
		GateRefusals: make(map[Limit]uint64, len(p.refusals)),
		LastCrash:    p.crashes.err,
		Host:         p.hostCPU,
	}
	s.Retiring = s.Total - s.Live
	s.Refused = Refused{
		QueueFull: p.refused.full.Load(), WouldWait: p.refused.wait.Load(), ShuttingDown: p.refused.shut.Load(),
		Late: p.refused.late.Load(), TooHeavy: p.refused.heavy.Load(),
	}
	for l, n := range p.refusals {
		s.GateRefusals[l] = n
	}
	for c := range p.queue.classes {
		s.QueuedByClass = append(s.QueuedByClass, p.queue.classes[c].length)
	}
	return s
}

// Decisions is the latest looks that wanted a change, oldest first, 128 at most.
func (p *DynamicScaler[T]) Decisions() []Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.records.list()
}
