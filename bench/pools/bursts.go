package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// Ten times as many jobs for a while, each mostly waiting: a load that more
// workers do help.
const (
	quietRate = 8  // jobs a second
	burstRate = 80 // needs 80 x 0.1 s, eight workers and some room
	jobWait   = 100 * time.Millisecond
	jobCPU    = 200 * time.Microsecond
	// series is how many bursts run at once, each with arrivals of its own:
	// one alone shows as much luck as rule.
	series = 5
	floor  = 2
	roof   = 16
	// standardTarget is the default of elastic's TargetWait.
	standardTarget = 50 * time.Millisecond
)

// weather is how long it is quiet, bursts, and is quiet again.
type weather struct{ before, burst, after time.Duration }

func (w weather) whole() time.Duration { return w.before + w.burst + w.after }

// contender is one way of choosing the number of workers.
type contender struct {
	name   string
	series int
	cfg    elastic.Config[time.Time] // the job is when it was due

	pool *elastic.DynamicScaler[time.Time]
	mu   sync.Mutex // guards what follows
	took []time.Duration
	gone []departure

	counts []count // of the watcher alone
}

// count is what a look at the pool showed.
type count struct {
	at   time.Duration // since the start
	live float64
	wait time.Duration // of the oldest in the queue
}

// departure is a worker that left: when it closed, and when its last job ended.
type departure struct{ closed, idle time.Time }

func contenders(s *spinner) []*contender {
	const ms = time.Millisecond
	list := []*contender{
		{name: "waiting time (default)", cfg: elastic.Config[time.Time]{Signal: elastic.WaitTime}},
		{name: "smoothed backlog", cfg: elastic.Config[time.Time]{Signal: elastic.SmoothedBacklog}},
		{name: "queue length, every 100 ms", cfg: elastic.Config[time.Time]{Signal: elastic.QueueLength, CheckInterval: 100 * ms, ScaleCooldown: -1}},
		{name: "queue length, the seed's 5 s and 30 s", cfg: elastic.Config[time.Time]{Signal: elastic.QueueLength}},
		{name: "fixed, 2 workers", cfg: elastic.Config[time.Time]{MaxWorkers: floor}},
		{name: "fixed, 16 workers", cfg: elastic.Config[time.Time]{MinWorkers: roof}},
	}
	for _, c := range list {
		c.cfg.Factory = func(context.Context, int64) (elastic.Worker[time.Time], error) {
			return &burstWorker{contender: c, spinner: s}, nil
		}
		if c.cfg.MinWorkers == 0 {
			c.cfg.MinWorkers = floor
		}
		if c.cfg.MaxWorkers == 0 {
			c.cfg.MaxWorkers = roof
		}
	}
	return list
}

// burstWorker does what a slow origin makes a worker do: it waits.
type burstWorker struct {
	contender *contender
	spinner   *spinner
	idle      time.Time
}

// Do implements elastic.Worker.
func (w *burstWorker) Do(_ context.Context, due time.Time) error {
	time.Sleep(jobWait)
	w.spinner.spin(jobCPU)
	w.idle = time.Now()
	w.contender.mu.Lock()
	defer w.contender.mu.Unlock()
	w.contender.took = append(w.contender.took, w.idle.Sub(due))
	return nil
}

// Close implements elastic.Worker.
func (w *burstWorker) Close() {
	w.contender.mu.Lock()
	defer w.contender.mu.Unlock()
	w.contender.gone = append(w.contender.gone, departure{time.Now(), w.idle})
}

// burst runs all contenders side by side in several series; in each they have
// the same arrivals, and a pool each. They need half a core together, so none
// is in another's way, and what disturbs the machine disturbs all.
func burst(s *spinner, w weather) []finding {
	var list []*contender
	for n := range series {
		for _, c := range contenders(s) {
			c.series = n
			list = append(list, c)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var pools, rest sync.WaitGroup
	for _, c := range list {
		pool, err := elastic.New(c.cfg)
		must(err)
		c.pool = pool
		pools.Go(func() { must(pool.Run(ctx)) })
	}
	for _, c := range list {
		c.settle()
	}
	began := time.Now()
	for _, c := range list {
		rest.Go(func() { c.arrive(began, w) })
		rest.Go(func() { c.look(began, w) })
	}
	rest.Wait()
	found := make([][]finding, len(list)/series)
	for i, c := range list { // before the workers leave that shutdown sends away
		at := i % len(found)
		found[at] = append(found[at], c.find(began, w))
	}
	stop()
	pools.Wait()
	var findings []finding
	for _, of := range found {
		findings = append(findings, together(of))
	}
	return findings
}

// settle waits until the pool has the workers it starts with.
func (c *contender) settle() {
	for c.pool.Stats().Live < c.cfg.MinWorkers {
		time.Sleep(time.Millisecond)
	}
}

// arrive submits jobs at the times of a Poisson process, late or not: callers
// of a server do not wait for each other.
func (c *contender) arrive(began time.Time, w weather) {
	random := rand.New(rand.NewPCG(uint64(c.series), 2)) //nolint:gosec // arrivals must be the same for all
	var jobs sync.WaitGroup
	for at := time.Duration(0); ; {
		rate := float64(quietRate)
		if at >= w.before && at < w.before+w.burst {
			rate = burstRate
		}
		at += time.Duration(random.ExpFloat64() / rate * float64(time.Second))
		if at >= w.whole() {
			break
		}
		due := began.Add(at)
		time.Sleep(time.Until(due))
		jobs.Go(func() { must(c.pool.Submit(context.Background(), due)) })
	}
	jobs.Wait()
}

// look notes the pool's state often enough to time its reactions.
func (c *contender) look(began time.Time, w weather) {
	const every = 5 * time.Millisecond
	for at := time.Duration(0); at < w.whole(); at += every {
		time.Sleep(time.Until(began.Add(at)))
		s := c.pool.Stats()
		c.counts = append(c.counts, count{time.Since(began), float64(s.Live), s.OldestWait})
	}
}
