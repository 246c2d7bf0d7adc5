package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/bench/report"
)

// The bars of overload.
const (
	goodputLimit = 0.95
	admittedP99  = 1500 // ms
	probeP99     = 50   // ms
)

// step is one offered load.
type step struct {
	factor   float64 // of the capacity
	capacity float64 // good answers a second of a closed loop, before and after
	traffic.Summary
	health, metrics traffic.Summary
}

// goodput is the part of the capacity, or of what was offered where that is
// less, that came out.
func (s step) goodput() float64 { return s.Rate / s.capacity }

// factors are the offered loads, as parts of the capacity.
func (b *bench) factors() []float64 {
	if b.Short {
		return []float64{0.8, 2, 5}
	}
	return []float64{0.5, 0.8, 1, 1.5, 2, 3, 5}
}

func (b *bench) open(ctx context.Context) (err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	next := b.of(pictures.Photo12, thumbnail)
	before := b.capacity(ctx, client, next)
	for i, factor := range b.factors() {
		offered := factor * before
		at, health, metrics := b.flood(ctx, s, client, offered, uint64(i), next)
		after := b.capacity(ctx, client, next)
		taken := step{factor, (before + after) / 2, at, health, metrics}
		// What was offered is compared with the capacity of both sides, too.
		taken.factor = offered / taken.capacity
		b.ladder = append(b.ladder, taken)
		b.reportStep(factor, taken, before, after)
		before = after
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	b.reportProbes()
	b.report.Note("Capacity is what %d clients in turn get, measured before and after each step for %s; the step is compared with the mean of both. "+
		"Each step offers its load for %s first, which does not count: a server may take a burst as one. Latency counts from the intended start.",
		saturating, b.capacityFor(), b.warmUp())
	return b.floodMixed(ctx)
}

// saturating is enough clients for two cores, and too few to be refused.
const saturating = 6

// capacity is what a closed loop gets out.
func (b *bench) capacity(ctx context.Context, client *traffic.Client, next func() string) float64 {
	load := traffic.Closed{
		Window:  traffic.Window{Warm: time.Second / 2, Length: b.capacityFor()},
		Clients: saturating, Next: next, Honour: true,
	}
	return traffic.Summarise(load.Run(ctx, client), load.Window).Rate
}

// capacityFor is long enough for some dozens of answers.
func (b *bench) capacityFor() time.Duration {
	if b.Short {
		return 3 * time.Second
	}
	return 6 * time.Second
}

func (b *bench) warmUp() time.Duration {
	if b.Short {
		return 4 * time.Second
	}
	return 6 * time.Second
}

// flood offers a load, and looks at the health and the metrics meanwhile.
func (b *bench) flood(ctx context.Context, s *process.Server, client *traffic.Client, rate float64, seed uint64, next func() string) (all, health, metrics traffic.Summary) {
	window := traffic.Window{Warm: b.warmUp(), Length: b.span(12 * time.Second)}
	probe := func(base, path string, into *traffic.Summary) {
		prober := traffic.NewClient(base)
		defer prober.Close()
		load := traffic.Open{Window: window, Rate: 20, Seed: seed + 100, Next: func() string { return path }}
		*into = traffic.Summarise(load.Run(ctx, prober), window)
	}
	var group sync.WaitGroup
	group.Go(func() { probe(s.URL, "/healthz", &health) })
	group.Go(func() { probe(s.Admin, "/metrics", &metrics) })
	load := traffic.Open{Window: window, Rate: rate, Seed: seed, Next: next}
	all = traffic.Summarise(load.Run(ctx, client), window)
	group.Wait()
	return all, health, metrics
}

func (b *bench) reportStep(factor float64, s step, before, after float64) {
	name := fmt.Sprintf("%.1fx", factor)
	measured := fmt.Sprintf("%.1f/s of %.1f/s offered, %s, %s refused", s.Rate, s.factor*s.capacity, latencies(s.Summary), report.Percent(s.Share()))
	noise := fmt.Sprintf("capacity %.1f/s before, %.1f/s after", before, after)
	b.report.Show(name, measured, noise)
	if s.Refused > 0 {
		b.report.Holds(name+", Retry-After on every refusal", "all", s.Unexplained == 0,
			fmt.Sprintf("%d of %d, %d to %d s", s.Refused-s.Unexplained, s.Refused, s.RetryLeast, s.RetryMost), "")
	}
	if factor < 2 || factor == 3 {
		return
	}
	b.report.AtLeast(name+", goodput over capacity", "%.2f", goodputLimit, s.goodput(), "", noise)
	b.report.AtMost(name+", p99 of the admitted", "%.0f ms", admittedP99, milliseconds(s.P99), "", plural(s.OK, "answer"))
	b.report.Holds(name+", no failures but 503s", "0", s.Failed == 0, fmt.Sprint(s.Failed), "")
}

func (b *bench) reportProbes() {
	last := b.ladder[len(b.ladder)-1]
	for _, probe := range []struct {
		name string
		all  traffic.Summary
	}{{"/healthz on the main listener", last.health}, {"/metrics on the admin listener", last.metrics}} {
		b.report.Holds(fmt.Sprintf("p99 of %s at 5x", probe.name), fmt.Sprintf("at most %d ms, none failed", probeP99),
			milliseconds(probe.all.P99) <= probeP99 && probe.all.OK == probe.all.Asked() && probe.all.OK > 0,
			fmt.Sprintf("%.1f ms (p50 %.1f ms), %d of %d answered", milliseconds(probe.all.P99), milliseconds(probe.all.P50), probe.all.OK, probe.all.Asked()), "")
	}
}

// floodMixed is the same with the mixed corpus, whose pictures differ in cost
// by a factor of thirty. It has no bar: what is admitted there depends on what
// is asked for.
func (b *bench) floodMixed(ctx context.Context) (err error) {
	if b.Short {
		return nil
	}
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	next := b.mixture(thumbnail)
	for i, factor := range []float64{2, 5} {
		capacity := b.capacity(ctx, client, next)
		all, _, _ := b.flood(ctx, s, client, factor*capacity, uint64(50+i), next)
		b.report.Show(fmt.Sprintf("mixed corpus at %.0fx", factor),
			fmt.Sprintf("%.1f/s ok of %.1f/s offered, %s, %s refused, %d failed", all.Rate, factor*capacity, latencies(all), report.Percent(all.Share()), all.Failed),
			fmt.Sprintf("capacity %.1f/s before", capacity))
	}
	return nil
}
