package main

import (
	"sync/atomic"
	"time"
)

// load is one kind of work: a wait for a source, then a CPU stage.
type load struct {
	name  string
	title string
	// from and to bound the wait for the source.
	from, to time.Duration
	process  func() error
	// warm is how long the callers need until the queue is what it stays.
	warm, length time.Duration
	// native tells how many bytes of pixels exist, nil where there are none.
	native func() int64
	// trim hands free native memory back to the system, nil where there is none.
	trim func()
}

// settle makes cells start alike.
func (l *load) settle() {
	if l.trim != nil {
		l.trim()
	}
}

// wait spreads the waits evenly over the range; equal n wait equally long, so
// that every shape gets the same jobs in the same order.
func (l *load) wait(n int) time.Duration {
	const odd = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
	share := float64(uint64(n+1)*odd>>11) / (1 << 53)
	return l.from + time.Duration(share*float64(l.to-l.from))
}

// meter counts what goes on at once inside a cell.
type meter struct {
	busy, peak atomic.Int64
	failed     atomic.Int64
	runs       atomic.Int64
}

func (m *meter) enter() {
	now := m.busy.Add(1)
	for {
		peak := m.peak.Load()
		if now <= peak || m.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

func (m *meter) leave() { m.busy.Add(-1) }

// job is one caller's work; a caller uses it again once it is done, so that
// the harness itself allocates nothing.
type job struct {
	load  *load
	meter *meter
	n     int
	done  chan struct{}
	// began and ended bound the CPU stage.
	began, ended time.Time
	// whole runs both stages and reports: the function peers are handed.
	whole func()
}

func newJob(l *load, m *meter) *job {
	j := &job{load: l, meter: m, done: make(chan struct{}, 1)}
	j.whole = func() {
		j.run()
		j.finish()
	}
	return j
}

func (j *job) run() {
	j.fetch()
	j.process()
}

func (j *job) finish() { j.done <- struct{}{} }

func (j *job) fetch() {
	if j.load.to > 0 {
		time.Sleep(j.load.wait(j.n))
	}
}

// process is the CPU stage. An empty job has none, and is only counted.
func (j *job) process() {
	j.meter.runs.Add(1)
	if j.load.process == nil {
		return
	}
	j.meter.enter()
	defer j.meter.leave()
	j.began = time.Now()
	defer func() { j.ended = time.Now() }()
	if err := j.load.process(); err != nil {
		j.meter.failed.Add(1)
	}
}
