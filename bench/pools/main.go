package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spillway-media/spillway/internal/machine"
)

func main() {
	var o options
	flag.BoolVar(&o.short, "short", false, "about a minute: to see that all works, not to quote")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each shape gets its turn")
	o.patience = &patience{}
	flag.DurationVar(&o.patience.left, "patience", 0, "how long to wait for others to be quiet, in all")
	flag.StringVar(&o.doc, "doc", "", "put the tables into this Markdown file, between its markers")
	flag.StringVar(&o.plot, "plot", "", "write the plot, an SVG, to this file")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "pools:", err)
		os.Exit(1)
	}
}

type options struct {
	short     bool
	rounds    int
	patience  *patience
	doc, plot string
}

// scale is the length of one measurement, given that of the full run.
func (o options) scale(full time.Duration) time.Duration {
	if o.short {
		return full / 4
	}
	return full
}

// settle is the same for what comes before a measurement.
func (o options) settle(full time.Duration) time.Duration {
	if o.short {
		return full / 3
	}
	return full
}

// weather is that of the burst; the quiet after it outlasts the ten seconds
// for which a pool keeps idle workers.
func (o options) weather() weather {
	if o.short {
		return weather{time.Second, 2 * time.Second, 11 * time.Second}
	}
	return weather{1500 * time.Millisecond, 3500 * time.Millisecond, 12 * time.Second}
}

func run(o options) error {
	if o.short {
		o.rounds = 1
	}
	cores := machine.Seen().Cores()
	s, err := newSpinner(cores)
	if err != nil {
		return err
	}
	loads, err := newLoads(o, s)
	if err != nil {
		return err
	}
	r := measureAll(o, cores, loads, s)
	r.write(os.Stdout)
	return r.keep(o)
}

// measureAll takes the parts one after another: none disturbs another.
func measureAll(o options, cores int, loads []*load, s *spinner) *results {
	r := &results{cores: cores, began: time.Now(), loadBefore: loadAverage()}
	list := entries(cores)
	r.handoffs, r.given, r.lost = handoffs(list, o.rounds, o.scale(70*time.Millisecond))
	profileBlocking(true)
	r.ladders = climb(loads, list, cores, o, os.Stderr)
	profileBlocking(false)
	r.saturation = saturate(o, cores, s)
	r.weather = o.weather()
	r.findings = burst(s, r.weather)
	r.took, r.loadAfter = time.Since(r.began), loadAverage()
	return r
}

// keep writes what was asked for besides the tables.
func (r *results) keep(o options) error {
	if n := r.failures(); n > 0 {
		return fmt.Errorf("%d jobs failed: the figures mean nothing", n)
	}
	if o.plot != "" {
		if err := os.WriteFile(o.plot, []byte(r.svg()), 0o644); err != nil { //nolint:gosec // a picture for everyone
			return fmt.Errorf("write plot: %w", err)
		}
	}
	if o.doc == "" {
		return nil
	}
	return r.into(o.doc)
}

// newLoads are the four kinds of work of the comparison.
func newLoads(o options, s *spinner) ([]*load, error) {
	p, err := newPicture()
	if err != nil {
		return nil, err
	}
	burn := func(d time.Duration) func() error {
		return func() error { s.spin(d); return nil }
	}
	const ms = time.Millisecond
	loads := []*load{
		{name: "synthetic", title: "30 ms of CPU after a wait of 5 to 40 ms", from: 5 * ms, to: 40 * ms,
			process: burn(30 * ms), warm: o.settle(300 * ms), length: o.scale(700 * ms)},
		{name: "picture", title: "A 12-megapixel JPEG to WebP in 120 x 240, after a wait of 5 to 40 ms", from: 5 * ms, to: 40 * ms,
			process: p.convert, warm: o.settle(300 * ms), length: o.scale(700 * ms), native: p.held, trim: p.engine.Trim},
		{name: "waiting", title: "45 to 55 ms of waiting, hardly any CPU", from: 45 * ms, to: 55 * ms,
			process: burn(ms / 10), warm: o.settle(300 * ms), length: o.scale(300 * ms)},
		{name: "proportion", title: "70 ms of CPU after a wait of 4 to 10 ms, the seed's proportion", from: 4 * ms, to: 10 * ms,
			process: burn(70 * ms), warm: o.settle(450 * ms), length: o.scale(700 * ms)},
	}
	if o.short {
		return loads[:3], nil // the last takes as long as the others together
	}
	return loads, nil
}
