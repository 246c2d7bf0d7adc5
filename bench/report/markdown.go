package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/internal/machine"
)

// Table is figures side by side.
type Table struct {
	Head []string
	Rows [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Write prints it as Markdown, an empty line before it.
func (t *Table) Write(w io.Writer) {
	fmt.Fprintf(w, "\n| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
	for _, row := range t.Rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

// Write prints all of the report as Markdown.
func (r *Report) Write(w io.Writer) {
	r.writeHead(w)
	for _, p := range r.parts {
		p.write(w, r.style)
	}
	r.writeMisses(w)
}

// writeHead names the machine, the command and the noise.
func (r *Report) writeHead(w io.Writer) {
	facts := machine.Seen()
	during := r.ended.Since(r.began, 0)
	fmt.Fprintf(w, "`%s`, %s, took %s.\n\n", r.command, r.began.At.Format("2 January 2006 15:04"), r.ended.At.Sub(r.began.At).Round(time.Second))
	fmt.Fprintf(w, "- Machine: %s, %d cores, %.0f GB; %s.\n", process.Model(), facts.Cores(), float64(facts.Memory)/1e9, process.System())
	for _, fact := range r.facts {
		fmt.Fprintf(w, "- %s.\n", fact)
	}
	load := ""
	if r.style.Loads {
		load = fmt.Sprintf(" (load average %s)", r.loadBefore)
	}
	fmt.Fprintf(w, "- Noise: in the second before it began other programs used %s of the machine and the hypervisor took %s%s; during the run %s and %s.\n",
		Percent(r.before.Others), Percent(r.before.Stolen), load, Percent(during.Others), Percent(during.Stolen))
}

func (p *part) write(w io.Writer, style Style) {
	fmt.Fprintf(w, "\n### %s\n", p.title)
	for _, t := range p.tables {
		t.Write(w)
	}
	for _, text := range p.texts {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(text))
	}
	if len(p.rows) > 0 {
		p.bars(style).Write(w)
	}
	if p.err != nil {
		fmt.Fprintf(w, "\nNot measured to the end: %s\n", strings.ReplaceAll(p.err.Error(), "\n", "; "))
	}
	for _, note := range p.notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	others := "others used " + Percent(p.noise.Others) + " of the machine meanwhile"
	if style.Loads {
		others = "of the machine, this program used " + Percent(p.own) + ", others " + Percent(p.noise.Others)
	}
	fmt.Fprintf(w, "\nTook %.0f s; %s, and %s was stolen.\n", p.took.Seconds(), others, Percent(p.noise.Stolen))
}

// bars is the table of a part's rows.
func (p *part) bars(style Style) *Table {
	verdicts := [...]string{shown: "", reached: style.Reached, missed: "**miss**"}
	t := &Table{Head: []string{style.What, "Bar", "Measured", style.Spread, ""}}
	for _, row := range p.rows {
		t.Add(row.What, row.Bar, row.Measured, row.Spread, verdicts[row.verdict])
	}
	return t
}

func (r *Report) writeMisses(w io.Writer) {
	all, misses := r.rows(func(v verdict) bool { return v != shown }), r.Misses()
	fmt.Fprintf(w, "\n### %s\n\n%d of %d %s were reached.\n", r.style.Bars, len(all)-len(misses), len(all), strings.ToLower(r.style.Bars))
	if len(misses) == 0 {
		return
	}
	fmt.Fprintf(w, "\nMissed:\n\n")
	for _, row := range misses {
		fmt.Fprintf(w, "- %s: %s (%s)\n", row.What, row.Measured, row.Bar)
	}
}
