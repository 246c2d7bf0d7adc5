package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// results are all that one run has found out.
type results struct {
	cores                 int
	began                 time.Time
	took                  time.Duration
	loadBefore, loadAfter string
	ladders               []*ladder
	saturation            *ladder
	findings              []finding
	weather               weather
	handoffs              []handoff
	given, lost           int64 // empty jobs
}

func (r *results) write(w io.Writer) {
	fmt.Fprintf(w, "%s; %s. The run took %s; the load average was %s when it began and %s, its own included, when it ended; others had %.0f %% of the CPU while the ladder ran.\n",
		machineName(r.cores), r.began.UTC().Format("2 January 2006, 15:04 MST"), r.took.Round(time.Second), r.loadBefore, r.loadAfter, 100*r.foreign())
	targetTable(w, r.targets())
	for _, l := range r.ladders {
		l.table(w)
	}
	r.saturation.saturationTable(w)
	burstTable(w, r.findings)
	handoffTable(w, r.handoffs)
}

// foreign is the part of the machine that others had during the ladder, the
// host included.
func (r *results) foreign() float64 {
	var others, whole time.Duration
	for _, l := range r.ladders {
		for _, rung := range l.rungs {
			for _, s := range rung.samples {
				others += s.others
				whole += s.elapsed * time.Duration(r.cores)
			}
		}
	}
	return others.Seconds() / max(whole.Seconds(), 1e-9)
}

// failures counts jobs that ended in an error, which makes a run worthless.
func (r *results) failures() int64 {
	var n int64
	for _, l := range append(r.ladders[:len(r.ladders):len(r.ladders)], r.saturation) {
		for _, rung := range l.rungs {
			for _, s := range rung.samples {
				n += s.failed
			}
		}
	}
	return n
}

// The tables in a page stand between these lines, so that none is ever copied
// by hand.
const (
	opening = "<!-- results: written by make bench-pools -->\n"
	closing = "<!-- end of results -->\n"
)

// into replaces the tables of a page.
func (r *results) into(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	before, rest, opened := strings.Cut(string(page), opening)
	_, after, closed := strings.Cut(rest, closing)
	if !opened || !closed {
		return fmt.Errorf("page %s has no markers for the results", path)
	}
	var tables strings.Builder
	r.write(&tables)
	text := before + opening + tables.String() + closing + after
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a page for everyone
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
