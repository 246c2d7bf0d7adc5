package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// What work may cost once nobody wants it, and how soon another gets its place.
const (
	cpuAfter  = 100 // ms
	slotAfter = 200 // ms
)

// stubborn is an encode of some seconds whose encoder cannot be interrupted.
const stubborn = "format=avif&effort=2"

func (b *bench) cancel(ctx context.Context) error {
	if err := b.whole(ctx); err != nil {
		return err
	}
	if err := b.clientGone(ctx); err != nil {
		return err
	}
	return b.deadline(ctx)
}

// whole is what the encode takes when it is left alone.
func (b *bench) whole(ctx context.Context) (err error) {
	s, err := b.serve(ctx, "--jobs", "1")
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	before := s.CPU()
	sample, _, err := good(ctx, client, b.asset(pictures.Photo12, stubborn))
	if err != nil {
		return err
	}
	b.report.Show("4000-px AVIF, left alone", fmt.Sprintf("%.1f s, %.1f s of CPU", sample.Took.Seconds(), (s.CPU()-before).Seconds()), "")
	return nil
}

// clientGone leaves after half a second: in the middle of the encode. The
// server has one job only, so that the next request tells when it is free.
func (b *bench) clientGone(ctx context.Context) (err error) {
	s, err := b.serve(ctx, "--jobs", "1")
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	if _, _, err := good(ctx, client, b.asset(pictures.Small, thumbnail)); err != nil {
		return err
	}
	leave := func() error {
		impatient, gone := context.WithTimeout(ctx, 500*time.Millisecond)
		defer gone()
		client.Get(impatient, b.asset(pictures.Photo12, stubborn), nil, time.Now())
		return ctx.Err()
	}
	var cpu, free []float64
	for range b.Rounds(3) {
		if err := leave(); err != nil {
			return err
		}
		cpu = append(cpu, milliseconds(after(ctx, s)))
		if err := leave(); err != nil {
			return err
		}
		sample, _, err := good(ctx, client, b.asset(pictures.Small, thumbnail))
		if err != nil {
			return err
		}
		free = append(free, milliseconds(sample.Took))
	}
	b.report.AtMost("client gone after 0.5 s: CPU afterwards", "%.0f ms", cpuAfter, traffic.Median(cpu), "", spread("%.0f", cpu))
	b.report.AtMost("client gone: a small picture on the only slot after", "%.0f ms", slotAfter, traffic.Median(free), "", spread("%.0f", free))
	return b.freed(ctx, s, "client gone")
}

// after is the CPU that a server and its children use in the next seconds.
func after(ctx context.Context, s *process.Server) time.Duration {
	before := s.CPU()
	traffic.Wait(ctx, 2*time.Second)
	return s.CPU() - before
}

// freed tells what the server still holds a second later.
func (b *bench) freed(ctx context.Context, s *process.Server, event string) error {
	if !traffic.Wait(ctx, time.Second) {
		return ctx.Err()
	}
	f, err := figuresOf(ctx, s)
	if err != nil {
		return err
	}
	busy, held := f["spillway_jobs_in_flight"], f[`spillway_decoded_bytes{kind="reserved"}`]
	b.report.Holds(event+": work and decoded bytes left after 1 s", "none", busy == 0 && held == 0, fmt.Sprintf("%.0f jobs, %.0f bytes", busy, held), "")
	return nil
}

// deadline lets the time limit of the transform strike.
func (b *bench) deadline(ctx context.Context) (err error) {
	s, err := b.serve(ctx, "--jobs", "1", "--transform-timeout", "500ms")
	if err != nil {
		return err
	}
	defer stop(s, &err)
	client := traffic.NewClient(s.URL)
	defer client.Close()
	var cpu, took []float64
	status := 0
	for range b.Rounds(3) {
		sample, _ := client.Fetch(ctx, b.asset(pictures.Photo12, stubborn), http.Header{}, io.Discard)
		status = sample.Status
		cpu = append(cpu, milliseconds(after(ctx, s)))
		took = append(took, milliseconds(sample.Took))
	}
	b.report.Holds("deadline of 500 ms: answer", "422 within 0.7 s", status == http.StatusUnprocessableEntity && traffic.Median(took) <= 700,
		fmt.Sprintf("%d after %.0f ms", status, traffic.Median(took)), spread("%.0f", took))
	b.report.AtMost("deadline of 500 ms: CPU afterwards", "%.0f ms", cpuAfter, traffic.Median(cpu), "", spread("%.0f", cpu))
	return b.freed(ctx, s, "deadline")
}
