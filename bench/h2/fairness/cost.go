package fairness

import (
	"runtime"
	"slices"
	"time"
)

// Cost is that of one decision and of what it changes.
type Cost struct {
	Streams int
	Time    time.Duration // median of some runs, the time of a run divided by its decisions
	Allocs  float64
}

// Runs are short, so that on a machine which has other things to do most of them
// are not interrupted.
const (
	runs      = 31
	decisions = 5000
)

// costs measures all contenders in turn, run by run, so that whatever else the
// machine does in the meantime meets all of them.
func costs(entries []entry, streams int) []Cost {
	contenders := make([]contender, len(entries))
	times := make([][]time.Duration, len(entries))
	out := make([]Cost, len(entries))
	for i, e := range entries {
		contenders[i] = e.make()
		for stream, w := range shuffled(streams) {
			contenders[i].add(stream, w)
		}
		for range 5 { // into the state that lasts
			spend(contenders[i])
		}
	}
	for range runs {
		for i, c := range contenders {
			took, allocs := spend(c)
			times[i] = append(times[i], took)
			out[i].Allocs += allocs / runs
		}
	}
	for i := range out {
		slices.Sort(times[i])
		out[i].Streams, out[i].Time = streams, times[i][runs/2]
	}
	return out
}

func spend(c contender) (each time.Duration, allocs float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range decisions {
		c.next()
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return took / decisions, float64(after.Mallocs-before.Mallocs) / decisions
}
