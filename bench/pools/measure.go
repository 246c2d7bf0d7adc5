package main

import (
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// sample is what one cell measured: one shape under one load, once.
type sample struct {
	latencies []time.Duration // of the jobs asked for meanwhile
	jobs      float64         // done meanwhile, parts of jobs included
	elapsed   time.Duration
	own       time.Duration // CPU of this process
	others    time.Duration // CPU of everything else on the machine
	peakBusy  int64         // jobs in their CPU stage at once
	memory    int64         // peak of resident memory above what it was at rest
	native    int64         // peak of pixels and buffers inside libvips
	blocked   blocked
	failed    int64
	workers   int    // of the elastic pool at the end, 0 for the others
	refused   uint64 // times that its gate kept it from growing
}

// sized is a shape that can tell how many workers it has, and how often it
// wanted more and was refused.
type sized interface {
	size() (workers int, refused uint64)
}

func (s *sample) rate() float64 { return s.jobs / s.elapsed.Seconds() }

func (s *sample) cpuPerJob() time.Duration {
	return time.Duration(float64(s.own) / max(s.jobs, 0.01))
}

// cell is one shape while callers use it.
type cell struct {
	shape   shape
	load    *load
	meter   *meter
	stopped atomic.Bool
	mu      sync.Mutex
	ended   []ending
}

// ending is one job: when it was asked for, in its CPU stage, and answered.
type ending struct{ asked, began, ended, answered time.Time }

// measure runs one cell: callers start, settle for load.warm, and are watched
// for load.length. The callers are closed loops: each asks again when answered.
func measure(e entry, l *load, callers int) sample {
	l.settle()
	rest := restart()
	c := &cell{shape: e.start(), load: l, meter: &meter{}}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { c.call(i, callers) })
	}
	time.Sleep(l.warm)
	s, began := c.watch()
	c.stopped.Store(true)
	wg.Wait()
	c.shape.close()
	s.memory -= rest
	s.failed = c.meter.failed.Load()
	s.latencies, s.jobs = c.between(began, began.Add(s.elapsed))
	return s
}

// restart gives memory back and counts its peak anew; it tells what is left.
func restart() int64 {
	debug.FreeOSMemory()
	forgetPeak()
	rest, _ := resident()
	return rest
}

func (c *cell) call(first, callers int) {
	j := newJob(c.load, c.meter)
	var mine []ending
	for n := first; !c.stopped.Load(); n += callers {
		j.n = n
		asked := time.Now()
		c.shape.do(j)
		mine = append(mine, ending{asked, j.began, j.ended, time.Now()})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = append(c.ended, mine...)
}

// watch measures while the callers go on.
func (c *cell) watch() (sample, time.Time) {
	c.meter.peak.Store(c.meter.busy.Load())
	blockedBefore, own, all, began := readBlocked(), ownCPU(), machineCPU(), time.Now()
	native := c.sleep(began.Add(c.load.length))
	s := sample{elapsed: time.Since(began), own: ownCPU() - own, native: native}
	s.others = max(0, machineCPU()-all-s.own)
	s.blocked = readBlocked().since(blockedBefore)
	s.peakBusy = c.meter.peak.Load()
	_, s.memory = resident()
	if p, ok := c.shape.(sized); ok {
		s.workers, s.refused = p.size()
	}
	return s, began
}

// sleep lasts until the time given and tells the most pixels seen meanwhile.
func (c *cell) sleep(until time.Time) int64 {
	if c.load.native == nil {
		time.Sleep(time.Until(until))
		return 0
	}
	const step = 3 * time.Millisecond
	var most int64
	for time.Now().Before(until) {
		most = max(most, c.load.native())
		time.Sleep(step)
	}
	return most
}

// between gives the latencies of the jobs asked for in that time, and how many
// were done in it. A job whose CPU stage lies across an edge counts in part:
// where sixteen share two cores they end together, and a short time would have
// all of them or none.
func (c *cell) between(from, to time.Time) (took []time.Duration, jobs float64) {
	for _, e := range c.ended {
		if !e.asked.Before(from) && e.asked.Before(to) {
			took = append(took, e.answered.Sub(e.asked))
		}
		inside := min(to.Sub(from), e.ended.Sub(from), to.Sub(e.began), e.ended.Sub(e.began))
		if inside > 0 {
			jobs += inside.Seconds() / e.ended.Sub(e.began).Seconds()
		}
	}
	return took, jobs
}

// percentile is the least value that share p of them do not exceed.
func percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

func mean(values []time.Duration) time.Duration {
	var sum time.Duration
	for _, v := range values {
		sum += v
	}
	return sum / time.Duration(max(len(values), 1))
}
