package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// handoff is what an empty job costs: the way to a worker and back, nothing else.
type handoff struct {
	entry entry
	// by producers: 1, and as many as there are callers.
	one, many toll
}

// toll is the median over the rounds for one job.
type toll struct {
	wall, cpu time.Duration
	allocs    float64
}

// producers are the two ends: nobody else there, and a crowd.
const crowd = callers

// handoffs measures the empty job, in turns like the ladder.
func handoffs(list []entry, rounds int, length time.Duration) (all []handoff, given, wrong int64) {
	type tolls struct{ one, many []toll }
	measured := make([]tolls, len(list))
	for range rounds {
		for i, e := range list {
			one, n1, w1 := empty(e, 1, length)
			many, n2, w2 := empty(e, crowd, length)
			measured[i].one = append(measured[i].one, one)
			measured[i].many = append(measured[i].many, many)
			given, wrong = given+n1+n2, wrong+w1+w2
		}
	}
	for i, e := range list {
		all = append(all, handoff{e, middle(measured[i].one), middle(measured[i].many)})
	}
	return all, given, wrong
}

// empty hands empty jobs over for a while; it also tells how many there were,
// and how many of them were lost or run twice, which should be none.
func empty(e entry, producers int, length time.Duration) (t toll, given, wrong int64) {
	s, m, l := e.start(), &meter{}, &load{}
	var done, stopped atomic.Int64
	var wg sync.WaitGroup
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, cpu := time.Now(), ownCPU()
	for range producers {
		wg.Go(func() {
			j := newJob(l, m)
			var mine int64
			for ; stopped.Load() == 0; mine++ {
				s.do(j)
			}
			done.Add(mine)
		})
	}
	time.Sleep(length)
	stopped.Store(1)
	wg.Wait()
	jobs := max(done.Load(), 1)
	t = toll{wall: time.Since(began) / time.Duration(jobs), cpu: (ownCPU() - cpu) / time.Duration(jobs)}
	runtime.ReadMemStats(&after)
	t.allocs = float64(after.Mallocs-before.Mallocs) / float64(jobs)
	s.close()
	wrong = m.runs.Load() - done.Load()
	return t, done.Load(), max(wrong, -wrong)
}

func middle(tolls []toll) toll {
	of := func(value func(t toll) float64) float64 {
		var values []float64
		for _, t := range tolls {
			values = append(values, value(t))
		}
		return median(values)
	}
	return toll{
		wall:   time.Duration(of(func(t toll) float64 { return float64(t.wall) })),
		cpu:    time.Duration(of(func(t toll) float64 { return float64(t.cpu) })),
		allocs: of(func(t toll) float64 { return t.allocs }),
	}
}
