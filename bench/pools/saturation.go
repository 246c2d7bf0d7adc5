package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spillway-media/spillway/elastic"
)

// decoded is the size of a picture of twelve megapixels once decoded. A codec
// that cannot shrink while it loads holds this much for as long as it works.
const decoded = 12_000_000 * 3

// canvas is CPU work that holds a decoded picture.
type canvas struct {
	spinner *spinner
	held    atomic.Int64
}

func (c *canvas) draw() error {
	pixels, err := unix.Mmap(-1, 0, decoded, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("map pixels: %w", err)
	}
	c.held.Add(decoded)
	defer c.held.Add(-decoded)
	for i := 0; i < len(pixels); i += 4096 {
		pixels[i] = 1
	}
	c.spinner.spin(20 * time.Millisecond)
	return unix.Munmap(pixels)
}

// saturate compares the elastic pool with and without its gate where more
// workers cannot help: all work is CPU work, and twice as many ask as workers
// may exist.
func saturate(o options, cores int, s *spinner) *ladder {
	c := &canvas{spinner: s}
	const ms = time.Millisecond
	l := &ladder{cores: cores, callers: 2 * callers, load: &load{
		name: "saturation", title: "Nothing but CPU work that holds 36 MB a job: more workers cannot help",
		process: c.draw, warm: o.settle(800 * ms), length: o.scale(1000 * ms), native: c.held.Load,
	}}
	for _, e := range saturationEntries(cores) {
		l.rungs = append(l.rungs, &rung{entry: e})
	}
	for round := range o.rounds {
		l.round(round, o.patience)
	}
	return l
}

func saturationEntries(cores int) []entry {
	start := func(gate *elastic.Gate) shape {
		return newScaler(elastic.Config[*job]{Handler: gated, MinWorkers: cores, MaxWorkers: 16, Gate: gate}, false)
	}
	return []entry{
		{name: withoutGate, start: func() shape { return start(nil) }},
		{name: withGate, start: func() shape { return start(newGate(cores)) }},
	}
}

const (
	withoutGate = "without the gate"
	withGate    = "with the gate"
)

// saturationTable tells what the gate is for.
func (l *ladder) saturationTable(w io.Writer) {
	var rows [][]string
	for _, r := range l.rungs {
		rows = append(rows, []string{
			r.entry.name,
			fmt.Sprintf("%.1f", r.median((*sample).rate)),
			milliseconds(r.percentile(0.5)), milliseconds(r.percentile(0.99)),
			fmt.Sprint(r.most(func(s *sample) int64 { return int64(s.workers) })),
			fmt.Sprint(r.most(func(s *sample) int64 { return s.peakBusy })),
			megabytes(r.most(func(s *sample) int64 { return s.native })),
			megabytes(r.most(func(s *sample) int64 { return s.memory })),
			fmt.Sprint(r.most(func(s *sample) int64 { return int64(s.refused) })),
		})
	}
	table(w, l.load.title, []string{"elastic pool", "jobs/s", "p50 ms", "p99", "workers", "CPU stages at once", "pixels MB", "memory MB", "growth refused"}, rows)
}
