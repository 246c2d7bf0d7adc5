package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/bench/load/pictures"
	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/bench/report"
)

// delivery is one way to hand results out, and what it came to.
type delivery struct {
	name   string
	server *process.Server
	client *traffic.Client

	rates, means, firsts []float64
}

// flush runs the same handler twice: answers begin with the first bytes of the
// encoder, or once the whole result is there.
func (b *bench) flush(ctx context.Context) (err error) {
	const setting = "output-hold"
	if !b.has(setting) {
		b.report.Missing("early flush against whole buffer", "measured", "the server has no --"+setting)
		return nil
	}
	early, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop(early, &err)
	held, err := b.serve(ctx, "--"+setting, "1GiB")
	if err != nil {
		return err
	}
	defer stop(held, &err)
	ways := []*delivery{
		{name: "early flush", server: early, client: traffic.NewClient(early.URL)},
		{name: "whole buffer", server: held, client: traffic.NewClient(held.URL)},
	}
	for range b.Rounds(4) {
		for _, way := range ways {
			if fault := way.measure(ctx, b); fault != nil {
				return errors.Join(err, fault)
			}
		}
	}
	for _, way := range ways {
		way.client.Close()
		if err := way.tell(b.report); err != nil {
			return err
		}
	}
	b.report.Note("%d clients in turn, no cache; both servers take turns. Peak memory is that of the whole server.", flushClients)
	return nil
}

const flushClients = 4

func (d *delivery) measure(ctx context.Context, b *bench) error {
	load := traffic.Closed{
		Window:  traffic.Window{Warm: 500 * time.Millisecond, Length: b.span(4 * time.Second)},
		Clients: flushClients, Next: b.of(pictures.Photo12, "format=jpeg&quality=80"), Honour: true,
	}
	all := traffic.Summarise(load.Run(ctx, d.client), load.Window)
	if all.OK == 0 || all.Failed > 0 {
		return fmt.Errorf("%s: %d good answers, %d failed", d.name, all.OK, all.Failed)
	}
	d.rates, d.means = append(d.rates, all.Rate), append(d.means, milliseconds(all.Mean))
	d.firsts = append(d.firsts, milliseconds(all.FirstP50))
	return nil
}

func (d *delivery) tell(r *report.Report) error {
	held, err := process.Held(d.server.PID)
	if err != nil {
		return fmt.Errorf("measure memory: %w", err)
	}
	noise := ""
	if len(d.rates) > 1 {
		noise = "rate " + spread("%.1f", d.rates)
	}
	r.Show(d.name, fmt.Sprintf("%.1f/s, mean %.0f ms, first byte after %.0f ms, peak memory %.0f MB",
		traffic.Median(d.rates), traffic.Median(d.means), traffic.Median(d.firsts), megabytes(held.Peak)),
		noise)
	return nil
}
