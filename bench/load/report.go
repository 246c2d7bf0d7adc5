package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/internal/machine"
)

// row is one line of the table.
type row struct{ what, bar, measured, noise, verdict string }

// Verdicts of rows. A row without a bar is there to be read beside others.
const (
	pass  = "pass"
	miss  = "**miss**"
	shown = ""
)

// part is a section with its rows and what went on meanwhile.
type part struct {
	title string
	rows  []row
	notes []string
	took  time.Duration
	own   float64 // the part of the machine that this program used
	noise process.Shares
	err   error
}

// report collects the parts.
type report struct {
	command, version string
	before           process.Shares // of one second without anything of ours
	loadBefore       string
	began, ended     process.Machine
	parts            []*part
}

func newReport(command string) *report { return &report{command: command} }

// begin notes what the machine did while we did nothing.
func (r *report) begin(look process.Machine, now time.Time) (err error) {
	r.loadBefore = process.Load()
	if r.began, err = process.Look(now); err == nil {
		r.before = r.began.Since(look, 0)
	}
	return err
}

func (r *report) end(now time.Time) (err error) {
	r.ended, err = process.Look(now)
	return err
}

// section runs a measurement; what it adds goes into a part of its own.
func (r *report) section(title string, measure func() error) error {
	p := &part{title: title}
	r.parts = append(r.parts, p)
	before, err := process.Look(time.Now())
	if err != nil {
		return err
	}
	own := process.Own()
	p.err = measure()
	after, err := process.Look(time.Now())
	if err != nil {
		return err
	}
	p.took, p.noise = after.At.Sub(before.At), after.Since(before, 0)
	p.own = (process.Own() - own).Seconds() / p.took.Seconds() / float64(runtime.NumCPU())
	return p.err
}

func (r *report) add(all ...row) {
	last := r.parts[len(r.parts)-1]
	last.rows = append(last.rows, all...)
}

// note says below the table of a section what its figures mean.
func (r *report) note(format string, args ...any) {
	last := r.parts[len(r.parts)-1]
	last.notes = append(last.notes, fmt.Sprintf(format, args...))
}

// holds adds a row whose bar is a condition in words.
func (r *report) holds(what, bar string, ok bool, measured, noise string) {
	verdict := miss
	if ok {
		verdict = pass
	}
	r.add(row{what, bar, measured, noise, verdict})
}

// show adds a row without a bar.
func (r *report) show(what, measured, noise string) { r.add(row{what, "", measured, noise, shown}) }

// write prints all of it as Markdown.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%s\n", r.head())
	for _, p := range r.parts {
		p.write(w)
	}
	r.writeMisses(w)
}

// head names the machine, the command and the noise.
func (r *report) head() string {
	facts := machine.Seen()
	during := r.ended.Since(r.began, 0)
	var s strings.Builder
	fmt.Fprintf(&s, "`%s`, %s, took %s.\n\n", r.command, r.began.At.Format("2 January 2006 15:04"), r.ended.At.Sub(r.began.At).Round(time.Second))
	fmt.Fprintf(&s, "- Machine: %s, %d cores, %.0f GB; %s.\n", process.Model(), facts.Cores(), float64(facts.Memory)/1e9, process.System())
	fmt.Fprintf(&s, "- Server: %s.\n", r.version)
	fmt.Fprintf(&s, "- Noise: in the second before it began other programs used %s of the machine and the hypervisor took %s (load average %s); ",
		percent(r.before.Others), percent(r.before.Stolen), r.loadBefore)
	fmt.Fprintf(&s, "during the run %s and %s.\n", percent(during.Others), percent(during.Stolen))
	return s.String()
}

func (p *part) write(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n", p.title)
	if len(p.rows) > 0 {
		fmt.Fprintf(w, "| What | Bar | Measured | Spread | |\n|---|---|---|---|---|\n")
	}
	for _, r := range p.rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", r.what, r.bar, r.measured, r.noise, r.verdict)
	}
	if p.err != nil {
		fmt.Fprintf(w, "\nNot measured to the end: %s\n", strings.ReplaceAll(p.err.Error(), "\n", "; "))
	}
	for _, note := range p.notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	fmt.Fprintf(w, "\nTook %.0f s; of the machine, this program used %s, others %s, and %s was stolen.\n",
		p.took.Seconds(), percent(p.own), percent(p.noise.Others), percent(p.noise.Stolen))
}

// misses are the rows whose bar was not reached.
func (r *report) misses() []row {
	var list []row
	for _, p := range r.parts {
		for _, each := range p.rows {
			if each.verdict == miss {
				list = append(list, each)
			}
		}
	}
	return list
}

func (r *report) writeMisses(w io.Writer) {
	bars := 0
	for _, p := range r.parts {
		for _, each := range p.rows {
			if each.verdict != shown {
				bars++
			}
		}
	}
	misses := r.misses()
	fmt.Fprintf(w, "\n### Bars\n\n%d of %d bars were reached.\n", bars-len(misses), bars)
	if len(misses) == 0 {
		return
	}
	fmt.Fprintf(w, "\nMissed:\n\n")
	for _, each := range misses {
		fmt.Fprintf(w, "- %s: %s (%s)\n", each.what, each.measured, each.bar)
	}
}

// atMost and atLeast are bars in words and whether a value reaches them.
func (r *report) atMost(what, format string, limit, value float64, more, noise string) {
	r.holds(what, "at most "+fmt.Sprintf(format, limit), value <= limit, fmt.Sprintf(format, value)+more, noise)
}

func (r *report) atLeast(what, format string, limit, value float64, more, noise string) {
	r.holds(what, "at least "+fmt.Sprintf(format, limit), value >= limit, fmt.Sprintf(format, value)+more, noise)
}

// missing adds a row for what the server cannot do yet.
func (r *report) missing(what, bar, why string) { r.add(row{what, bar, why, "", miss}) }

// spread is the range of a figure over the rounds it is the median of.
func spread(format string, values []float64) string {
	if len(values) < 2 {
		return ""
	}
	return fmt.Sprintf(format+" to "+format+", %d rounds", slices.Min(values), slices.Max(values), len(values))
}

func percent(share float64) string         { return fmt.Sprintf("%.0f %%", 100*share) }
func megabytes(n int64) float64            { return float64(n) / 1e6 }
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// latencies are the usual figures of a summary.
func latencies(s traffic.Summary) string {
	return fmt.Sprintf("p50 %.0f ms, p99 %.0f ms", milliseconds(s.P50), milliseconds(s.P99))
}
