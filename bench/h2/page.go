package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-media/spillway/bench/h2/link"
	"github.com/spillway-media/spillway/bench/h2/site"
	"github.com/spillway-media/spillway/bench/h2/visitor"
	"github.com/spillway-media/spillway/bench/load/traffic"
)

// Targets for a page of 50 pictures that are all ready: shares of the time
// until all is there, and ratios to Go's server in the same run.
const (
	headersShare, headersSooner   = 0.03, 8
	previewsShare, previewsSooner = 0.14, 3
	goodShare                     = 0.55
	completeOverGo                = 1.02
	indexOverGo, indexOverFIFO    = 0.70, 0.40
)

// way is a server and how it is asked.
type way struct {
	name string
	kind site.Kind
	// oneByOne asks for pictures that are of no use in part, without a chain,
	// so that a server that honours it sends one after another.
	oneByOne bool
	loads    []timing
}

func ways() []*way {
	return []*way{
		{name: "ours", kind: site.Ours()},
		{name: site.Std().Name, kind: site.Std()},
		{name: "ours, phases ignored", kind: site.Ours(site.IgnorePhases)},
		{name: "one after another", kind: site.Ours(site.IgnorePhases), oneByOne: true},
	}
}

// timing is one load of a page, in seconds since the pictures were asked for.
type timing struct {
	// until the last picture had its header, preview, good part, all of it
	headers, previews, good, complete float64
	mean                              float64 // of the pictures' own ends
	index                             float64 // progressive speed index
}

// page loads pages of several sizes from all servers in turn.
func (b *bench) page(ctx context.Context) error {
	t := b.report.Table("Pictures", "Server", "headers all", "previews all", "good all", "complete all", "mean complete", "PSI", "to Go's")
	for _, c := range []struct {
		count, rounds int
		spread        bool
	}{{20, 3, false}, {50, 5, false}, {50, 3, true}, {100, 1, false}} {
		all := ways()
		handler := site.New(b.pictures[:c.count])
		arrival := "all ready"
		if c.spread {
			arrival = "2 encoders, 20 ms each"
			handler = handler.Encoding(2, 20*time.Millisecond)
		}
		for round := range b.Rounds(c.rounds) {
			for i := range all {
				w := all[(i+round)%len(all)]
				if err := b.load(ctx, w, handler, b.pictures[:c.count]); err != nil {
					return fmt.Errorf("load %d pictures from %s: %w", c.count, w.name, err)
				}
			}
		}
		for _, w := range all {
			m, g := w.median(), all[1].median()
			t.Add(fmt.Sprintf("%d, %s", c.count, arrival), w.name, seconds(m.headers), seconds(m.previews), seconds(m.good),
				seconds(m.complete), seconds(m.mean), seconds(m.index), fmt.Sprintf("%.2f", m.index/g.index))
		}
		if c.count == 50 && !c.spread {
			b.judge(all)
		}
	}
	b.tellPage()
	return nil
}

func seconds(v float64) string { return fmt.Sprintf("%.2f s", v) }

// load asks for the page and all its pictures as Chromium does: the first five
// are in view, the others are not known to be.
func (b *bench) load(ctx context.Context, w *way, handler *site.Site, pictures []*site.Picture) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	v, end, err := b.visit(ctx, w.kind, handler, link.Delay)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	began := time.Now()
	answers := make([]*visitor.Answer, len(pictures))
	for i, p := range pictures {
		r := visitor.Request{Path: p.Path(), Urgency: 3, Incremental: true, Body: p.Data, Marks: p.Marks()}
		if i < 5 {
			r.Urgency = 2
		}
		if w.oneByOne {
			r.Urgency, r.Incremental, r.Unchained = 3, false, true
		}
		if answers[i], err = v.Ask(r); err != nil {
			return err
		}
	}
	for _, a := range answers {
		if err := a.Wait(ctx); err != nil {
			return err
		}
	}
	m := timingOf(began, answers)
	w.loads = append(w.loads, m)
	if b.verbose {
		b.say("%d from %s: %+.3v", len(pictures), w.name, m)
	}
	return nil
}

// visit starts a server at the far end of the link and loads the document from
// it, so that the connection has carried something before it is measured.
func (b *bench) visit(ctx context.Context, kind site.Kind, handler *site.Site, delay time.Duration) (*visitor.Visitor, func() error, error) {
	listener, err := b.link.Listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	server, err := kind.Serve(listener, handler, nil)
	if err != nil {
		return nil, nil, err
	}
	conn, err := b.link.Dial(ctx, server.Address)
	if err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	v, err := visitor.Open(link.Far(conn, delay), "http", server.Address)
	if err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	end := func() error { return errors.Join(v.Close(), server.Close()) }
	a, err := v.Ask(visitor.Request{Path: "/", Incremental: true, Body: handler.Page()})
	if err == nil {
		err = a.Wait(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("load document: %w", err), end())
	}
	return v, end, nil
}

func timingOf(began time.Time, answers []*visitor.Answer) timing {
	var m timing
	n := float64(len(answers))
	for _, a := range answers {
		var at [4]float64
		for i, mark := range a.Marks {
			at[i] = mark.Sub(began).Seconds()
		}
		m.headers, m.previews = max(m.headers, at[0]), max(m.previews, at[1])
		m.good, m.complete = max(m.good, at[2]), max(m.complete, at[3])
		m.mean += at[3] / n
		m.index += (0.6*at[1] + 0.3*at[2] + 0.1*at[3]) / n
	}
	return m
}

// each gives one figure of all loads.
func (w *way) each(figure func(timing) float64) []float64 {
	values := make([]float64, len(w.loads))
	for i, m := range w.loads {
		values[i] = figure(m)
	}
	return values
}

// median is, figure by figure, that of all loads.
func (w *way) median() timing {
	of := func(figure func(timing) float64) float64 { return traffic.Median(w.each(figure)) }
	return timing{
		headers:  of(func(m timing) float64 { return m.headers }),
		previews: of(func(m timing) float64 { return m.previews }),
		good:     of(func(m timing) float64 { return m.good }),
		complete: of(func(m timing) float64 { return m.complete }),
		mean:     of(func(m timing) float64 { return m.mean }),
		index:    of(func(m timing) float64 { return m.index }),
	}
}

// judge compares ours with the targets and with the others.
func (b *bench) judge(all []*way) {
	ours, std, fifo := all[0].median(), all[1].median(), all[3].median()
	share := func(figure func(timing) float64) string {
		return spread("%.3f", all[0].each(func(m timing) float64 { return figure(m) / m.complete }))
	}
	r := b.report
	r.AtMost("50 pictures: all headers, of the time until all is there", "%.3f", headersShare, ours.headers/ours.complete, "",
		share(func(m timing) float64 { return m.headers }))
	r.AtLeast("all headers sooner than from Go's server, times", "%.1f", headersSooner, std.headers/ours.headers, "", spread("Go's %.2f s", all[1].each(func(m timing) float64 { return m.headers })))
	r.AtMost("all previews, of the time until all is there", "%.3f", previewsShare, ours.previews/ours.complete, "",
		share(func(m timing) float64 { return m.previews }))
	r.AtLeast("all previews sooner than from Go's server, times", "%.1f", previewsSooner, std.previews/ours.previews, "", spread("Go's %.2f s", all[1].each(func(m timing) float64 { return m.previews })))
	r.AtMost("all good, of the time until all is there", "%.3f", goodShare, ours.good/ours.complete, "",
		share(func(m timing) float64 { return m.good }))
	r.AtMost("all complete, to Go's", "%.3f", completeOverGo, ours.complete/std.complete, "", spread("%.2f s", all[0].each(func(m timing) float64 { return m.complete })))
	r.AtMost("progressive speed index, to Go's", "%.2f", indexOverGo, ours.index/std.index, "", spread("%.2f s", all[0].each(func(m timing) float64 { return m.index })))
	r.AtMost("progressive speed index, to one after another", "%.2f", indexOverFIFO, ours.index/fifo.index, "", spread("%.2f s", all[3].each(func(m timing) float64 { return m.index })))
}

// tellPage says what was loaded and how.
func (b *bench) tellPage() {
	var sizes, previews, good []float64
	var sum float64
	for _, p := range b.pictures {
		marks, whole := p.Marks(), float64(len(p.Data))
		sum += whole
		sizes = append(sizes, whole/1e3)
		previews, good = append(previews, float64(marks[1])/whole), append(good, float64(marks[2])/whole)
	}
	b.report.Note("%d progressive JPEGs by libvips, %.0f to %.0f KB, median %.0f KB, %.1f MB together; preview until %.0f %% (median), good until %.0f %%. "+
		"One h2c connection, 10 Mbit/s by a token bucket in a network namespace, 60 ms round trip by a proxy at the client. "+
		"The client has Chromium's windows, priority header and exclusive chain: five pictures with u=2, i, the others with i. "+
		"Every byte is dated by its own arrival. Time runs from the moment at which pictures are asked for, on a connection that has loaded the document. Medians of rounds in which servers take turns.",
		len(b.pictures), slices.Min(sizes), slices.Max(sizes), traffic.Median(sizes), sum/1e6, 100*traffic.Median(previews), 100*traffic.Median(good))
	b.report.Note("PSI, the progressive speed index, is the mean over the pictures of 0.6 preview + 0.3 good + 0.1 complete. " +
		"One after another (FIFO) is ours without phases, asked without i, which Go's server cannot do: it sends all streams in turn.")
}
