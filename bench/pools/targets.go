package main

import (
	"fmt"
	"io"
	"time"
)

// verdict is one target of the pool and what was found.
type verdict struct {
	target, found string
	met           bool
}

// targets hold the run against what the pool was meant to reach. What a test
// under the race detector shows (no job lost in a million) is not repeated.
func (r *results) targets() []verdict {
	list := []verdict{r.throughput()}
	for _, l := range r.ladders {
		if l.load.name != "waiting" { // where neither has a queue to order
			list = append(list, l.tail())
		}
	}
	list = append(list, r.inFlight())
	list = append(list, r.overhead()...)
	list = append(list, r.reactions()...)
	list = append(list, r.saturation.gateVerdicts()...)
	return append(list, verdict{
		"no job lost or run twice here", fmt.Sprintf("%d of %d empty jobs", r.lost, r.given), r.lost == 0,
	})
}

// throughput is the worst of all worker settings from the number of cores up.
func (r *results) throughput() verdict {
	l := r.ladders[0]
	worst, at := 2.0, ""
	for _, n := range []int{r.cores, 4, 8, 16} {
		if of := l.ofCeiling(l.find(stageOnly(n))); of < worst {
			worst, at = of, stageOnly(n)
		}
	}
	return verdict{"throughput at least 0.98 of cores / CPU per job at every worker setting", fmt.Sprintf("%.2f (worst: %s)", worst, at), worst >= 0.98}
}

// tail compares like with like: both let the fetch wait outside.
func (l *ladder) tail() verdict {
	ours := l.find(stageOnly(4)).percentile(0.99)
	theirs := l.find(semaphoreCPU(l.cores)).percentile(0.99)
	ratio := float64(ours) / float64(max(theirs, 1))
	return verdict{"p99 at most 1.05 of a FIFO semaphore's, " + l.load.name, fmt.Sprintf("%.2f", ratio), ratio <= 1.05}
}

func (r *results) inFlight() verdict {
	var most int64
	for _, l := range r.ladders {
		for _, name := range []string{stageOnly(4), elasticName(r.cores)} {
			most = max(most, l.find(name).most(func(s *sample) int64 { return s.peakBusy }))
		}
	}
	return verdict{fmt.Sprintf("with the gate at most %d CPU stages at once", r.cores+1), fmt.Sprint(most), most <= int64(r.cores+1)}
}

func (r *results) overhead() []verdict {
	ours, bare := r.handoff("DynamicScaler 4, whole job"), r.handoff("one queue, 4 workers")
	cpu := max(ours.one.cpu, ours.many.cpu)
	ratio := max(ours.one.cpu.Seconds()/bare.one.cpu.Seconds(), ours.many.cpu.Seconds()/bare.many.cpu.Seconds())
	allocs := max(ours.one.allocs, ours.many.allocs)
	return []verdict{
		{"an empty job costs at most 1.2 us of CPU", fmt.Sprintf("%d ns with 1 caller, %d with %d", ours.one.cpu, ours.many.cpu, crowd), cpu <= 1200*time.Nanosecond},
		{"at most 1.2 times a bare channel", fmt.Sprintf("%.2f with 1 caller, %.2f with %d", ours.one.cpu.Seconds()/bare.one.cpu.Seconds(), ours.many.cpu.Seconds()/bare.many.cpu.Seconds(), crowd), ratio <= 1.2},
		{"at most one allocation", fmt.Sprintf("%.1f", allocs), allocs <= 1.05},
	}
}

func (r *results) handoff(name string) handoff {
	for _, h := range r.handoffs {
		if h.entry.name == name {
			return h
		}
	}
	panic("no shape is called " + name)
}

// reactions judge the default signal, which is the first contender.
func (r *results) reactions() []verdict {
	f := r.findings[0]
	return []verdict{
		{"growth within 200 ms of the wait passing its target", f.reacted() + " ms, median and slowest", f.reaction > 0 && f.slowest <= 200*time.Millisecond},
		{"no reversal within 2 s", fmt.Sprint(f.flaps), f.flaps == 0},
		{"retirement under 1 ms once idle", f.left() + " ms, the slowest of " + fmt.Sprint(f.reduced), f.reduced > 0 && f.leaving < time.Millisecond},
	}
}

func (l *ladder) gateVerdicts() []verdict {
	with, without := l.find(withGate), l.find(withoutGate)
	pixels := func(s *sample) int64 { return s.native }
	limit := int64(l.cores+1) * decoded
	rate := with.median((*sample).rate) / without.median((*sample).rate)
	return []verdict{
		{"saturated: memory flat with the gate", fmt.Sprintf("%s MB of pixels, %s without", megabytes(with.most(pixels)), megabytes(without.most(pixels))), with.most(pixels) <= limit},
		{"saturated: throughput not less than without the gate", fmt.Sprintf("%.2f", rate), rate >= 0.96},
	}
}

func targetTable(w io.Writer, list []verdict) {
	var rows [][]string
	for _, v := range list {
		met := "not met"
		if v.met {
			met = "met"
		}
		rows = append(rows, []string{v.target, v.found, met})
	}
	table(w, "Against the targets", []string{"target", "found", ""}, rows)
}
