package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/internal/machine"
)

// table is figures side by side.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) {
	fmt.Fprintf(w, "\n| %s |\n|%s\n", strings.Join(t.head, " | "), strings.Repeat("---|", len(t.head)))
	for _, row := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

// target is a bar, what was measured, and how far rounds were apart.
type target struct {
	what, bar, measured, spread string
	reached                     bool
}

// part is a section with what it found and what went on meanwhile.
type part struct {
	title   string
	tables  []*table
	texts   []string // tables of others
	targets []target
	notes   []string
	took    time.Duration
	noise   process.Shares
	err     error
}

// report collects the parts.
type report struct {
	command      string
	before       process.Shares // of one second without anything of ours
	began, ended process.Machine
	parts        []*part
}

func newReport(command string) *report { return &report{command: command} }

// begin notes what the machine did while we did nothing.
func (r *report) begin(look process.Machine, now time.Time) (err error) {
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
	p.err = measure()
	after, err := process.Look(time.Now())
	if err != nil {
		return err
	}
	p.took, p.noise = after.At.Sub(before.At), after.Since(before, 0)
	return p.err
}

func (r *report) last() *part { return r.parts[len(r.parts)-1] }

// table adds an empty table.
func (r *report) table(head ...string) *table {
	t := &table{head: head}
	r.last().tables = append(r.last().tables, t)
	return t
}

// text adds tables that were written elsewhere.
func (r *report) text(markdown string) { r.last().texts = append(r.last().texts, markdown) }

// reached adds a target that was judged elsewhere.
func (r *report) reached(what, measured string, ok bool) {
	r.last().targets = append(r.last().targets, target{what: what, measured: measured, reached: ok})
}

// note says below the tables of a section what its figures mean.
func (r *report) note(format string, args ...any) {
	r.last().notes = append(r.last().notes, fmt.Sprintf(format, args...))
}

// atMost and atLeast are bars.
func (r *report) atMost(what, format string, limit, value float64, spread string) {
	r.last().targets = append(r.last().targets, target{what, "at most " + fmt.Sprintf(format, limit), fmt.Sprintf(format, value), spread, value <= limit})
}

func (r *report) atLeast(what, format string, limit, value float64, spread string) {
	r.last().targets = append(r.last().targets, target{what, "at least " + fmt.Sprintf(format, limit), fmt.Sprintf(format, value), spread, value >= limit})
}

// write prints all of it as Markdown.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%s", r.head())
	for _, p := range r.parts {
		p.write(w)
	}
	all, misses := r.targets(), r.misses()
	fmt.Fprintf(w, "\n### Targets\n\n%d of %d targets were reached.\n", len(all)-len(misses), len(all))
	for _, each := range misses {
		fmt.Fprintf(w, "- Missed: %s: %s (%s)\n", each.what, each.measured, each.bar)
	}
}

// head names the machine, the command and the noise.
func (r *report) head() string {
	facts := machine.Seen()
	during := r.ended.Since(r.began, 0)
	var s strings.Builder
	fmt.Fprintf(&s, "`%s`, %s, took %s.\n\n", r.command, r.began.At.Format("2 January 2006 15:04"), r.ended.At.Sub(r.began.At).Round(time.Second))
	fmt.Fprintf(&s, "- Machine: %s, %d cores, %.0f GB; %s.\n", process.Model(), facts.Cores(), float64(facts.Memory)/1e9, process.System())
	fmt.Fprintf(&s, "- Noise: in the second before it began other programs used %s of the machine and the hypervisor took %s; during the run %s and %s.\n",
		percent(r.before.Others), percent(r.before.Stolen), percent(during.Others), percent(during.Stolen))
	return s.String()
}

func (p *part) write(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n", p.title)
	for _, t := range p.tables {
		t.write(w)
	}
	for _, text := range p.texts {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(text))
	}
	if len(p.targets) > 0 {
		bars := &table{head: []string{"Target", "Bar", "Measured", "Rounds", ""}}
		for _, t := range p.targets {
			verdict := "**miss**"
			if t.reached {
				verdict = "reached"
			}
			bars.add(t.what, t.bar, t.measured, t.spread, verdict)
		}
		bars.write(w)
	}
	if p.err != nil {
		fmt.Fprintf(w, "\nNot measured to the end: %s\n", strings.ReplaceAll(p.err.Error(), "\n", "; "))
	}
	for _, note := range p.notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	fmt.Fprintf(w, "\nTook %.0f s; others used %s of the machine meanwhile, and %s was stolen.\n",
		p.took.Seconds(), percent(p.noise.Others), percent(p.noise.Stolen))
}

func (r *report) targets() []target {
	var all []target
	for _, p := range r.parts {
		all = append(all, p.targets...)
	}
	return all
}

// misses are the targets that were not reached.
func (r *report) misses() []target {
	return slices.DeleteFunc(r.targets(), func(t target) bool { return t.reached })
}

// spread is the range of a figure over the rounds it is the median of.
func spread(format string, values []float64) string {
	if len(values) < 2 {
		return ""
	}
	return fmt.Sprintf(format+" to "+format+" in %d", slices.Min(values), slices.Max(values), len(values))
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
