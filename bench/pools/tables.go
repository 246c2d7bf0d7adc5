package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// table writes Markdown: a heading, names of columns, rows.
func table(w io.Writer, title string, columns []string, rows [][]string) {
	fmt.Fprintf(w, "\n### %s\n\n| %s |\n|%s\n", title, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

func (l *ladder) table(w io.Writer) {
	columns := []string{"shape", "jobs/s", "of ceiling", "mean ms", "p50", "p90", "p99", "CPU ms/job", "CPU stages at once", "memory MB", "blocked in receive"}
	if l.load.native != nil {
		columns = append(columns, "pixels MB")
	}
	var rows [][]string
	for _, r := range l.rungs {
		rows = append(rows, l.row(r))
	}
	table(w, l.load.title, columns, rows)
	fmt.Fprintf(w, "\nThe figures rest on %s.\n", l.width())
}

func (l *ladder) row(r *rung) []string {
	row := []string{
		r.entry.title(),
		fmt.Sprintf("%.1f", r.median((*sample).rate)),
		fmt.Sprintf("%.2f", l.ofCeiling(r)),
		milliseconds(r.mean()),
		milliseconds(r.percentile(0.5)),
		milliseconds(r.percentile(0.9)),
		milliseconds(r.percentile(0.99)),
		fmt.Sprintf("%.1f", r.median(func(s *sample) float64 { return s.cpuPerJob().Seconds() * 1e3 })),
		fmt.Sprint(r.most(func(s *sample) int64 { return s.peakBusy })),
		megabytes(r.most(func(s *sample) int64 { return s.memory })),
		r.receives(),
	}
	if l.load.native != nil {
		row = append(row, megabytes(r.most(func(s *sample) int64 { return s.native })))
	}
	return row
}

// receives is the seed's figure: the part of all blocked time that is spent in
// channel receives, and in brackets what of it is not callers awaiting answers.
func (r *rung) receives() string {
	all := r.median(func(s *sample) float64 { return share(s.blocked.receive, s.blocked.all) })
	inside := r.median(func(s *sample) float64 { return share(s.blocked.receive-s.blocked.callers, s.blocked.all) })
	return fmt.Sprintf("%.0f %% (%.0f)", 100*all, 100*inside)
}

// width tells how many jobs a round's percentiles rest on.
func (l *ladder) width() string {
	least := len(l.rungs[0].samples[0].latencies)
	for _, r := range l.rungs {
		for _, s := range r.samples {
			least = min(least, len(s.latencies))
		}
	}
	return fmt.Sprintf("at least %d jobs a shape and round", least)
}

func (e entry) title() string {
	if e.note == "" {
		return e.name
	}
	return e.name + " (" + e.note + ")"
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.0f", d.Seconds()*1e3) }
func megabytes(n int64) string            { return fmt.Sprintf("%.0f", float64(n)/1e6) }

func handoffTable(w io.Writer, all []handoff) {
	columns := []string{"shape", "1 caller: ns", "CPU ns", "allocations", fmt.Sprintf("%d callers: ns", crowd), "CPU ns", "allocations"}
	var rows [][]string
	for _, h := range all {
		rows = append(rows, append(append([]string{h.entry.name}, h.one.cells()...), h.many.cells()...))
	}
	table(w, "An empty job: the way to a worker and back", columns, rows)
}

func (t toll) cells() []string {
	return []string{fmt.Sprint(t.wall.Nanoseconds()), fmt.Sprint(t.cpu.Nanoseconds()), fmt.Sprintf("%.1f", t.allocs)}
}
