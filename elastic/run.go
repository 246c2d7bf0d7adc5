package elastic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// DynamicScaler is a pool of workers for jobs of type T. New makes one, Run is
// its life. Its other methods are safe for concurrent use, from before Run
// until after.
type DynamicScaler[T any] struct {
	cfg     Config[T] // with defaults; never changes
	epoch   time.Time // zero of the pool's clock
	member  *member
	signals *sync.Pool    // of the channels Submit waits on
	wake    chan struct{} // one message for each queued job, or more
	poked   chan struct{} // asks the loop to look
	over    chan struct{} // closed when Run has ended

	pace    atomic.Int64 // ns until one more queued job is gone, as of the last check
	refused refused

	// Set by Run before its first worker.
	base    context.Context //nolint:containedctx // the values of Run's context, for the workers it starts
	running sync.WaitGroup

	// Owned by the goroutine of Run.
	seen seen
	avg  averages
	host hostMeter

	mu                     sync.Mutex
	phase                  phase
	started                bool
	unborn                 bool  // shut down before it was run
	cutAt                  int64 // when draining ends
	stuckAt                int64 // when stopped jobs are given up on
	end                    ShutdownError
	minWorkers, maxWorkers int
	queue                  queue[T]
	workers                registry[T]
	crashes                crashes
	grew, shrank           time.Time
	records                records
	latest                 snapshot
	rate                   float64 // of arrivals, a second
	hostCPU                HostCPU
	returned               uint64 // jobs ended while queued
	ups, downs, refills    uint64
	nudges                 uint64
	refusals               map[Limit]uint64
}

// New checks the configuration and starts nothing. Jobs may be submitted at
// once; they wait for Run.
func New[T any](cfg Config[T]) (*DynamicScaler[T], error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("elastic pool: %w", err)
	}
	cfg = cfg.withDefaults()
	return &DynamicScaler[T]{
		cfg:        cfg,
		epoch:      time.Now(),
		member:     cfg.Gate.join(cfg.Name, cfg.GateShare),
		signals:    newSignals(),
		wake:       make(chan struct{}, cfg.QueueSize),
		poked:      make(chan struct{}, 1),
		over:       make(chan struct{}),
		avg:        newAverages(cfg.KeepIdle),
		host:       newHostMeter(),
		minWorkers: cfg.MinWorkers,
		maxWorkers: cfg.MaxWorkers,
		queue:      newQueue[T](cfg.Classes, int64(cfg.Ageing)),
		refusals:   map[Limit]uint64{},
	}, nil
}

// now is the pool's clock; it starts above zero, which means never.
func (p *DynamicScaler[T]) now() int64 { return int64(time.Since(p.epoch)) + 1 }

// at puts a time on that clock, and clock a moment of it back.
func (p *DynamicScaler[T]) at(t time.Time) int64 { return int64(t.Sub(p.epoch)) + 1 }
func (p *DynamicScaler[T]) clock(moment int64) time.Time {
	return p.epoch.Add(time.Duration(moment - 1))
}

// rouse wakes one idle worker for a job. When the channel is full, there is a
// message for every queued job already.
func (p *DynamicScaler[T]) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// poke has the loop look at once.
func (p *DynamicScaler[T]) poke() {
	select {
	case p.poked <- struct{}{}:
	default:
	}
}

// Run keeps the pool until ctx ends and its shutdown is through, or until
// Shutdown is. It returns nil when every job has had its turn, otherwise a
// *ShutdownError. Workers see the values of ctx, not its end.
func (p *DynamicScaler[T]) Run(ctx context.Context) error {
	p.mu.Lock()
	begun, unborn := p.started, p.unborn
	p.started = true
	p.mu.Unlock()
	switch {
	case unborn:
		<-p.over
		return p.outcome()
	case begun:
		return errors.New("run elastic pool: it has been run before")
	}
	p.base = context.WithoutCancel(ctx)
	p.loop(ctx)
	p.member.quit()
	if p.end.Abandoned == 0 {
		p.running.Wait()
	}
	close(p.over)
	return p.outcome()
}

func (p *DynamicScaler[T]) loop(ctx context.Context) {
	ticker := time.NewTicker(p.cfg.CheckInterval)
	defer ticker.Stop()
	alarm := time.NewTimer(math.MaxInt64)
	defer alarm.Stop()
	ending := ctx.Done()
	p.seen.at, p.seen.gate = p.now(), p.cfg.Gate.load()
	for due := false; !p.step(due); {
		alarm.Reset(p.untilNext())
		due = false
		select {
		case <-ticker.C:
			due = true
		case <-p.poked:
		case <-alarm.C:
		case <-ending:
			ending = nil
			p.drain(p.cfg.DrainTimeout)
		}
	}
}

// step is one turn of the loop: what has ended, what is overdue, what is
// needed. It reports whether the pool is over.
func (p *DynamicScaler[T]) step(due bool) (over bool) {
	now := p.now()
	p.reap(now)
	p.nudge(now)
	if over, ending := p.advance(now); over || ending {
		return over
	}
	if due {
		p.measureHost(now)
	}
	s := p.observe(now, due)
	d := decide(p.clock(now), p.policy(), s)
	p.consult(&d, s)
	p.act(now, d)
	if due {
		p.publish(s, d)
	}
	return false
}

func (p *DynamicScaler[T]) policy() policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return policy{
		signal: p.cfg.Signal, min: p.minWorkers, max: p.maxWorkers,
		up: p.cfg.ScaleUpThreshold, down: p.cfg.ScaleDownThreshold,
		target: p.cfg.TargetWait, cooldown: p.cfg.ScaleCooldown,
	}
}

// untilNext is how long nothing is due but the next check.
func (p *DynamicScaler[T]) untilNext() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	next := int64(math.MaxInt64)
	due := func(at int64) {
		if at > 0 {
			next = min(next, at)
		}
	}
	for _, s := range p.workers.slots {
		if s.retiring {
			due(s.retireBy)
		}
	}
	if p.crashes.until > now {
		due(p.crashes.until)
	}
	switch p.phase {
	case draining:
		due(p.cutAt)
	case cutting:
		due(p.stuckAt)
	}
	return time.Duration(max(0, next-now))
}

// SetLimits changes MinWorkers and MaxWorkers while the pool runs. It takes
// effect at once, whatever the cooldown; workers above the new maximum leave
// after the job they are in.
func (p *DynamicScaler[T]) SetLimits(minWorkers, maxWorkers int) error {
	if minWorkers < 1 || maxWorkers < minWorkers {
		return fmt.Errorf("set limits: %d to %d workers; the least must be 1 or more, and not above the most", minWorkers, maxWorkers)
	}
	p.mu.Lock()
	p.minWorkers, p.maxWorkers = minWorkers, maxWorkers
	p.mu.Unlock()
	p.poke()
	return nil
}
