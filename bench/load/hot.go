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

// hotRate is what the memory cache gives out at least, a second.
const (
	hotRate    = 5000
	hotClients = 64
)

// worked counts the pictures that were made so far.
const worked = "spillway_jobs_done_total"

func (b *bench) hot(ctx context.Context) (err error) {
	s, err := b.serveSharing(ctx)
	if err != nil {
		return err
	}
	defer stop(s, &err)
	if err := b.rush(ctx, s); err != nil {
		return err
	}
	return b.leader(ctx, s)
}

// rush is 64 clients that want the same picture from the first moment on.
func (b *bench) rush(ctx context.Context, s *process.Server) error {
	before, err := figuresOf(ctx, s)
	if err != nil {
		return err
	}
	target := b.asset(pictures.Photo12, thumbnail)
	load := traffic.Closed{
		Window:  traffic.Window{Length: time.Second},
		Clients: hotClients, Next: func() string { return target },
	}
	lean := traffic.NewLeanClient(s.URL)
	first := traffic.Summarise(load.RunLean(ctx, lean), traffic.Window{Length: time.Hour})
	load.Window = traffic.Window{Warm: 200 * time.Millisecond, Length: b.span(6 * time.Second)}
	own, served := process.Own(), s.CPU()
	samples := load.RunLean(ctx, lean)
	own, served = process.Own()-own, s.CPU()-served
	after, err := figuresOf(ctx, s)
	if err != nil {
		return err
	}
	all, whole := traffic.Summarise(samples, load.Window), traffic.Summarise(samples, traffic.Window{Length: time.Hour})
	decodes, bad := after[worked]-before[worked], first.Failed+first.Refused+whole.Failed+whole.Refused
	b.report.Holds("decodes of the hot picture, 64 clients at once", "1", decodes == 1 && bad == 0,
		fmt.Sprintf("%.0f; %d of %d requests failed", decodes, bad, first.Asked()+whole.Asked()), "")
	b.report.AtLeast("rate from the memory cache, 64 clients", "%.0f/s", hotRate, all.Rate,
		fmt.Sprintf(" (p50 %.1f ms, p99 %.1f ms)", milliseconds(all.P50), milliseconds(all.P99)),
		fmt.Sprintf("CPU: server %.0f us a request, load program %.0f us", perRequest(served, whole), perRequest(own, whole)))
	return nil
}

func perRequest(cpu time.Duration, all traffic.Summary) float64 {
	return float64(cpu.Microseconds()) / float64(max(1, all.Asked()))
}

// leader asks first, is joined by others, and leaves.
func (b *bench) leader(ctx context.Context, s *process.Server) error {
	const followers = 8
	client := traffic.NewClient(s.URL)
	defer client.Close()
	before, err := figuresOf(ctx, s)
	if err != nil {
		return err
	}
	target := b.asset(pictures.Photo12, "sizes=2000x0&format=avif")
	impatient, leave := context.WithCancel(ctx)
	defer leave()
	samples := make([]traffic.Sample, followers)
	var group sync.WaitGroup
	group.Go(func() { client.Get(impatient, target, nil, time.Now()) })
	traffic.Wait(ctx, 100*time.Millisecond)
	for i := range samples {
		group.Go(func() { samples[i] = client.Get(ctx, target, nil, time.Now()) })
	}
	traffic.Wait(ctx, 100*time.Millisecond)
	leave()
	group.Wait()
	after, err := figuresOf(ctx, s)
	if err != nil {
		return err
	}
	all := traffic.Summarise(samples, traffic.Window{Length: time.Hour})
	decodes := after[worked] - before[worked]
	b.report.Holds("8 followers of a leader that leaves", "all served, one decode", all.OK == followers && decodes == 1,
		fmt.Sprintf("%d served, %.0f decodes", all.OK, decodes), "")
	return ctx.Err()
}
