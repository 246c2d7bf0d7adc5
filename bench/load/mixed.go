package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// Resident memory under the mixed corpus, and once it is over.
const (
	peakLimit  = 400 // MB
	afterLimit = 200 // MB
	calmDown   = 12 * time.Second
)

// mixture goes round the kinds of the mixed corpus.
func (b *bench) mixture(query string) func() string {
	kinds := pictures.Mixed()
	var next atomic.Uint64
	return func() string {
		return b.asset(kinds[(next.Add(1)-1)%uint64(len(kinds))], query)
	}
}

const thumbnail = "sizes=300x0&format=webp&quality=60"

func (b *bench) mixed(ctx context.Context) error {
	levels := []int{1, 4, 16, 64, 256}
	if b.Short {
		levels = []int{4, 16, 256}
	}
	reference := 0.0
	for _, clients := range levels {
		load := traffic.Closed{
			Window:  traffic.Window{Warm: b.span(2 * time.Second), Length: b.span(12 * time.Second)},
			Clients: clients, Next: b.mixture(thumbnail), Honour: true, Pause: 50 * time.Millisecond,
		}
		pace, err := b.crowd(ctx, load)
		if err != nil {
			return err
		}
		if clients == 16 {
			reference = pace
		}
	}
	load := traffic.Closed{
		Window:  traffic.Window{Warm: b.warmUp(), Length: b.span(10 * time.Second)},
		Clients: 256, Next: b.mixture(thumbnail), Pause: time.Millisecond,
	}
	return b.mob(ctx, load, reference)
}

// crowd runs one level against a server of its own, so that the peaks of
// memory belong to it.
func (b *bench) crowd(ctx context.Context, load traffic.Closed) (pace float64, err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return 0, err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	watch := process.Watch(ctx, s.PID)
	samples := load.Run(ctx, client)
	client.Close()
	peak := megabytes(watch.Most())
	all := traffic.Summarise(samples, load.Window)
	whole := traffic.Summarise(samples, traffic.Window{Length: time.Hour})
	budget, err := figuresOf(ctx, s)
	if err != nil {
		return 0, err
	}
	name := plural(load.Clients, "client")
	b.report.Holds(name, "no failures but deliberate 503s", whole.Failed == 0 && whole.Unexplained == 0 && ctx.Err() == nil,
		fmt.Sprintf("%.1f/s, %s; %d failed, %d of %d refused, %d without Retry-After",
			all.Rate, latencies(all), whole.Failed, whole.Refused, whole.Asked(), whole.Unexplained), "")
	b.report.AtMost(name+", peak of resident memory", "%.0f MB", peakLimit, peak,
		fmt.Sprintf(" (budget of decoded bytes %.0f MB)", budget[`spillway_decoded_bytes{kind="budget"}`]/1e6), "")
	if b.Short && load.Clients < 256 {
		return all.Rate, nil
	}
	if !traffic.Wait(ctx, calmDown) {
		return 0, ctx.Err()
	}
	held, err := process.Held(s.PID)
	if err != nil {
		return 0, fmt.Errorf("measure calm server: %w", err)
	}
	b.report.AtMost(name+", resident memory 12 s later", "%.0f MB", afterLimit, megabytes(held.Now), "", "")
	return all.Rate, nil
}

// mob are clients that ask again at once when they are refused: their refusals
// must not eat the CPU that the pictures need.
func (b *bench) mob(ctx context.Context, load traffic.Closed, pace float64) (err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	own := process.Own()
	all := traffic.Summarise(load.Run(ctx, client), load.Window)
	own = process.Own() - own
	b.report.Show(fmt.Sprintf("%d clients that ignore Retry-After and ask again within 1 ms", load.Clients),
		fmt.Sprintf("%.1f/s, %.2f of that of 16 clients, %s; %d refusals in %s", all.Rate, all.Rate/max(pace, 0.001), latencies(all), all.Refused, load.Length),
		fmt.Sprintf("the load program used %.1f s of CPU", own.Seconds()))
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
