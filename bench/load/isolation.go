package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// Fast requests beside slow ones keep this part of their rate alone, and stay
// within this factor of their p50.
const (
	rateKept  = 0.90
	p50Factor = 1.5
)

// company is what goes on beside the fast requests.
type company struct {
	name string
	// start makes it begin; it ends with ctx, and ready returns once it is in
	// full swing.
	start func(ctx context.Context, s *process.Server) (ready func(context.Context) error, wait func())
}

func (b *bench) isolation(ctx context.Context) (err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	for _, each := range []company{
		{"16 requests to an origin with 3 s to the first byte", b.slowOrigin("slow/", pictures.Small)},
		{"16 originals that come at 40 kB/s", b.slowOrigin("trickle/", pictures.Photo6)},
		{"4 clients that read 20 MB or more at 1 MB/s", b.slowReaders},
	} {
		if err := b.beside(ctx, s, each); err != nil {
			return fmt.Errorf("%s: %w", each.name, err)
		}
	}
	return nil
}

// fast is two clients that want thumbnails of a 6-MP JPEG.
func (b *bench) fast(ctx context.Context, client *traffic.Client) traffic.Summary {
	load := traffic.Closed{
		Window:  traffic.Window{Warm: 300 * time.Millisecond, Length: b.span(5 * time.Second)},
		Clients: 2, Next: b.of(pictures.Photo6, thumbnail),
	}
	return traffic.Summarise(load.Run(ctx, client), load.Window)
}

// beside measures the fast ones alone and in company, turn and turn about.
func (b *bench) beside(ctx context.Context, s *process.Server, c company) error {
	client := traffic.NewClient(s.URL)
	defer client.Close()
	var rates, medians, alone []float64
	for range b.Rounds(4) {
		quiet := b.fast(ctx, client)
		busy, err := b.inCompany(ctx, s, client, c)
		if err != nil {
			return err
		}
		if quiet.OK == 0 || busy.Failed+quiet.Failed > 0 {
			return fmt.Errorf("fast requests: %d good alone, %d failed", quiet.OK, busy.Failed+quiet.Failed)
		}
		alone = append(alone, quiet.Rate)
		rates = append(rates, busy.Rate/quiet.Rate)
		medians = append(medians, float64(busy.P50)/float64(quiet.P50))
	}
	b.report.AtLeast(c.name+": rate over rate alone", "%.2f", rateKept, traffic.Median(rates),
		fmt.Sprintf(" (%.1f/s alone)", traffic.Median(alone)), spread("%.2f", rates))
	b.report.AtMost(c.name+": p50 over p50 alone", "%.2f", p50Factor, traffic.Median(medians), "", spread("%.2f", medians))
	return nil
}

func (b *bench) inCompany(ctx context.Context, s *process.Server, client *traffic.Client, c company) (traffic.Summary, error) {
	there, leave := context.WithCancel(ctx)
	ready, wait := c.start(there, s)
	defer wait()
	defer leave()
	if err := ready(ctx); err != nil {
		return traffic.Summary{}, err
	}
	return b.fast(ctx, client), nil
}

// slowOrigin keeps 16 requests under way whose originals are slow to come.
func (b *bench) slowOrigin(how, kind string) func(context.Context, *process.Server) (func(context.Context) error, func()) {
	return func(ctx context.Context, s *process.Server) (func(context.Context) error, func()) {
		client := traffic.NewClient(s.URL)
		load := traffic.Closed{
			Window: traffic.Window{Length: time.Hour}, Clients: 16, Pause: 100 * time.Millisecond,
			Next: func() string { return "/resize?" + thumbnail + "&image_url=" + b.origin.url(how, b.set.Next(kind)) },
		}
		var group sync.WaitGroup
		group.Go(func() { load.Run(ctx, client); client.Close() })
		ready := func(ctx context.Context) error {
			return b.until(ctx, s, "16 slow fetches", func(f figures) bool { return f["spillway_fetches_in_flight"] >= 16 })
		}
		return ready, group.Wait
	}
}

// slowReaders are four clients in the middle of a large answer, which is all
// made by the time they are called ready.
func (b *bench) slowReaders(ctx context.Context, s *process.Server) (func(context.Context) error, func()) {
	client := traffic.NewSlowClient(s.URL, 1_000_000)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			client.Get(ctx, b.asset(pictures.Photo12, "format=png"), nil, time.Now())
		})
	}
	ready := func(ctx context.Context) error {
		if !traffic.Wait(ctx, 300*time.Millisecond) {
			return ctx.Err()
		}
		return b.until(ctx, s, "four large answers", func(f figures) bool {
			return f["spillway_jobs_in_flight"] == 0 && f["spillway_jobs_waiting"] == 0
		})
	}
	return ready, func() { group.Wait(); client.Close() }
}

// until waits for the server's figures to say something.
func (b *bench) until(ctx context.Context, s *process.Server, what string, is func(figures) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("no %s within a minute", what))
	defer cancel()
	for {
		now, err := figuresOf(ctx, s)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case is(now):
			return nil
		}
		traffic.Wait(ctx, 100*time.Millisecond)
	}
}
