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
	doc, plot string
}

// scale is the length of one measurement, given that of the full run.
func (o options) scale(full time.Duration) time.Duration {
	if o.short {
		return full / 4
	}
	return full
}

func run(o options) error {
	if o.short {
		o.rounds = 1
	}
	cores := machine.Seen().Cores()
	loads, err := newLoads(o, cores)
	if err != nil {
		return err
	}
	r := results{cores: cores, began: time.Now(), loadBefore: loadAverage()}
	list := entries(cores)
	r.handoffs, r.lost = handoffs(list, o.rounds, o.scale(120*time.Millisecond))
	profileBlocking(true)
	r.ladders = climb(loads, list, cores, o.rounds, os.Stderr)
	profileBlocking(false)
	r.took, r.loadAfter = time.Since(r.began), loadAverage()
	r.write(os.Stdout)
	return nil
}

// newLoads are the four kinds of work of the comparison.
func newLoads(o options, cores int) ([]*load, error) {
	s, err := newSpinner(cores)
	if err != nil {
		return nil, err
	}
	p, err := newPicture()
	if err != nil {
		return nil, err
	}
	burn := func(d time.Duration) func() error {
		return func() error { s.spin(d); return nil }
	}
	const ms = time.Millisecond
	return []*load{
		{name: "synthetic", title: "30 ms of CPU after a wait of 5 to 40 ms", from: 5 * ms, to: 40 * ms,
			process: burn(30 * ms), warm: 300 * ms, length: o.scale(1000 * ms)},
		{name: "picture", title: "A 12-megapixel JPEG to WebP in 120 x 240, after a wait of 5 to 40 ms", from: 5 * ms, to: 40 * ms,
			process: p.convert, warm: 300 * ms, length: o.scale(1000 * ms), native: p.held, trim: p.engine.Trim},
		{name: "proportion", title: "70 ms of CPU after a wait of 4 to 10 ms, the seed's proportion", from: 4 * ms, to: 10 * ms,
			process: burn(70 * ms), warm: 500 * ms, length: o.scale(1200 * ms)},
		{name: "waiting", title: "50 ms of waiting, hardly any CPU", from: 50 * ms, to: 50 * ms,
			process: burn(ms / 10), warm: 150 * ms, length: o.scale(400 * ms)},
	}, nil
}
