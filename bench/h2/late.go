package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-media/spillway/bench/h2/site"
	"github.com/spillway-media/spillway/bench/h2/visitor"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// lateLimit is how long an urgent answer may take from the handler that writes
// it to the client, while pictures fill the link, in milliseconds.
const (
	lateLimit = 60
	fewest    = 2 // of a load, to count
)

// late asks for something small, again and again, while pictures load. The
// connection adds no delay here: what is measured is what lies before the
// answer in the server, in the kernel and in the link's own queue.
func (b *bench) late(ctx context.Context) error {
	t := b.report.Table("Server", "answers", "median", "90 %", "latest")
	var ours []float64
	for i, w := range ways()[:2] {
		var all []float64
		for range b.Rounds(2) {
			waits, err := b.interrupt(ctx, w)
			if err != nil {
				return fmt.Errorf("interrupt %s: %w", w.name, err)
			}
			all = append(all, waits...)
		}
		t.Add(w.name, fmt.Sprint(len(all)), fmt.Sprintf("%.0f ms", traffic.Median(all)),
			fmt.Sprintf("%.0f ms", traffic.Percentile(all, 0.9)), fmt.Sprintf("%.0f ms", slices.Max(all)))
		if i == 0 {
			ours = all
		}
	}
	b.report.AtMost("a late urgent answer (median), ms", "%.0f", lateLimit, traffic.Median(ours), "", spread("%.0f", ours))
	b.report.Note("A request with u=1, i for %d bytes, every 150 ms while 100 pictures load, from their first second on: before, TCP looks for the speed of the link and overfills it. "+
		"From the handler's write to the client's read; up to 48 ms of that is the queue of the link itself.", len(site.SmallBody))
	return nil
}

// interrupt gives the waits of one load, in milliseconds.
func (b *bench) interrupt(ctx context.Context, w *way) (waits []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	handler := site.New(b.pictures)
	v, end, err := b.visit(ctx, w.kind, handler, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	var bulk []*visitor.Answer
	for _, p := range b.pictures {
		a, err := v.Ask(visitor.Request{Path: p.Path(), Urgency: 3, Incremental: true, Body: p.Data})
		if err != nil {
			return nil, err
		}
		bulk = append(bulk, a)
	}
	// For its first second TCP looks for the link's speed, and overfills it.
	if !traffic.Wait(ctx, time.Second) {
		return nil, ctx.Err()
	}
	for traffic.Wait(ctx, 150*time.Millisecond) {
		small := visitor.Request{Path: "/small", Urgency: 1, Incremental: true, Body: []byte(site.SmallBody), Marks: []int64{int64(len(site.SmallBody))}}
		a, err := v.Ask(small)
		if err != nil {
			return nil, err
		}
		if err := a.Wait(ctx); err != nil {
			return nil, err
		}
		if done(bulk) {
			break // it was not alone on the link any more
		}
		wait := a.Marks[0].Sub(time.Unix(0, handler.SmallAt.Load()))
		waits = append(waits, float64(wait.Microseconds())/1e3)
	}
	if len(waits) < fewest {
		return nil, fmt.Errorf("only %d urgent answers came while pictures loaded", len(waits))
	}
	for _, a := range bulk {
		if err := a.Wait(ctx); err != nil {
			return nil, err
		}
	}
	return waits, nil
}

// done tells whether all answers are whole.
func done(answers []*visitor.Answer) bool {
	return !slices.ContainsFunc(answers, func(a *visitor.Answer) bool { return !a.Done() })
}
