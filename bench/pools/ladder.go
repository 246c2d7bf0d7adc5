package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// callers is how many ask at once, as in the seed.
const callers = 16

// rung is one shape under one load over all rounds.
type rung struct {
	entry   entry
	samples []sample
}

// ladder is all rungs of one load.
type ladder struct {
	load           *load
	cores, callers int
	rungs          []*rung
}

// climb runs every shape under every load, round by round: what disturbs the
// machine for a while disturbs each shape a little, not one shape fully.
func climb(loads []*load, list []entry, cores int, o options, progress io.Writer) []*ladder {
	ladders := make([]*ladder, len(loads))
	for i, l := range loads {
		ladders[i] = &ladder{load: l, cores: cores, callers: callers}
		for _, e := range list {
			if i == 0 || !e.sweep {
				ladders[i].rungs = append(ladders[i].rungs, &rung{entry: e})
			}
		}
	}
	for round := range o.rounds {
		for _, l := range ladders {
			began := time.Now()
			l.round(round, o.patience)
			fmt.Fprintf(progress, "round %d of %d, %s: %s\n", round+1, o.rounds, l.load.name, time.Since(began).Round(time.Second/10))
		}
	}
	return ladders
}

// round visits the rungs upwards and downwards in turn, so that none always
// comes after the same other.
func (l *ladder) round(n int, p *patience) {
	order := slices.Clone(l.rungs)
	if n%2 == 1 {
		slices.Reverse(order)
	}
	for _, r := range order {
		r.samples = append(r.samples, p.measure(r.entry, l))
	}
}

// find gives the rung of that name; a name that is not there is a fault of
// this program.
func (l *ladder) find(name string) *rung {
	for _, r := range l.rungs {
		if r.entry.name == name {
			return r
		}
	}
	panic("no shape is called " + name)
}

// ceiling is the most jobs a second there could be in a sample: where jobs
// mostly wait, what the callers could ask for if nobody made them wait for more;
// otherwise what the cores that others left allow at this CPU time a job. What
// a shape itself costs is in its CPU time a job, so the two belong together.
func (l *ladder) ceiling(s *sample) float64 {
	cpu := s.cpuPerJob().Seconds()
	alone := float64(l.callers) / ((l.load.from+l.load.to).Seconds()/2 + cpu)
	if alone < float64(l.cores)/cpu {
		return alone
	}
	return (float64(l.cores) - s.others.Seconds()/s.elapsed.Seconds()) / cpu
}

// ofCeiling is throughput as a part of that.
func (l *ladder) ofCeiling(r *rung) float64 {
	return r.median(func(s *sample) float64 { return s.rate() / l.ceiling(s) })
}

// median over the rounds of whatever one sample says.
func (r *rung) median(of func(s *sample) float64) float64 {
	values := make([]float64, len(r.samples))
	for i := range r.samples {
		values[i] = of(&r.samples[i])
	}
	return median(values)
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// percentile is the median of what each round says: one that somebody disturbed
// does not decide over the tail of all.
func (r *rung) percentile(p float64) time.Duration {
	return time.Duration(r.median(func(s *sample) float64 { return float64(percentile(s.latencies, p)) }))
}

func (r *rung) mean() time.Duration {
	return time.Duration(r.median(func(s *sample) float64 { return float64(mean(s.latencies)) }))
}

// most is the largest value of all rounds.
func (r *rung) most(of func(s *sample) int64) int64 {
	var most int64
	for i := range r.samples {
		most = max(most, of(&r.samples[i]))
	}
	return most
}
