package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway-media/spillway/bench/load/process"
)

// Style is how a program words its report.
type Style struct {
	What, Spread string // columns on either side of the bar and the figure
	Reached      string // the verdict on a row that reached its bar
	Bars         string // what the bars are called where they are counted
	// Loads tells the load average, and what of the machine the program itself
	// used: worth knowing where what it measures is another process.
	Loads bool
}

// Row is a figure, the bar that it was to reach, and how far rounds were apart.
type Row struct {
	What, Bar, Measured, Spread string

	verdict verdict
}

// verdict is on a row. One without a bar is there to be read beside others.
type verdict int

const (
	shown verdict = iota
	reached
	missed
)

// part is a section with what it found and what went on meanwhile.
type part struct {
	title  string
	tables []*Table
	texts  []string // tables of others
	rows   []Row
	notes  []string
	took   time.Duration
	own    float64 // the part of the machine that this program used
	noise  process.Shares
	err    error
}

// Report collects what the sections find.
type Report struct {
	command      string
	style        Style
	facts        []string
	before       process.Shares // of one second without anything of ours
	loadBefore   string
	began, ended process.Machine
	parts        []*part
}

// New makes the report of a run that a command repeats.
func New(command string, style Style) *Report { return &Report{command: command, style: style} }

// Fact says at the head what was measured.
func (r *Report) Fact(text string) { r.facts = append(r.facts, text) }

func (r *Report) last() *part { return r.parts[len(r.parts)-1] }

// Table adds an empty table, which the caller fills.
func (r *Report) Table(head ...string) *Table {
	t := &Table{Head: head}
	r.last().tables = append(r.last().tables, t)
	return t
}

// Text adds tables that were written elsewhere.
func (r *Report) Text(markdown string) { r.last().texts = append(r.last().texts, markdown) }

// Note says below the tables of a section what its figures mean.
func (r *Report) Note(format string, args ...any) {
	r.last().notes = append(r.last().notes, fmt.Sprintf(format, args...))
}

func (r *Report) add(row Row) { r.last().rows = append(r.last().rows, row) }

// Show adds a row without a bar.
func (r *Report) Show(what, measured, spread string) { r.add(Row{what, "", measured, spread, shown}) }

// Missing adds a row for what cannot be measured, and why.
func (r *Report) Missing(what, bar, why string) { r.add(Row{what, bar, why, "", missed}) }

// Holds adds a row whose bar is a condition in words.
func (r *Report) Holds(what, bar string, ok bool, measured, spread string) {
	row := Row{what, bar, measured, spread, missed}
	if ok {
		row.verdict = reached
	}
	r.add(row)
}

// AtMost adds a row whose bar is the largest value that is good; more is said
// behind the value.
func (r *Report) AtMost(what, format string, limit, value float64, more, spread string) {
	r.Holds(what, "at most "+fmt.Sprintf(format, limit), value <= limit, fmt.Sprintf(format, value)+more, spread)
}

// AtLeast is AtMost for the smallest value that is good.
func (r *Report) AtLeast(what, format string, limit, value float64, more, spread string) {
	r.Holds(what, "at least "+fmt.Sprintf(format, limit), value >= limit, fmt.Sprintf(format, value)+more, spread)
}

// Misses are the rows whose bar was not reached.
func (r *Report) Misses() []Row { return r.rows(func(v verdict) bool { return v == missed }) }

func (r *Report) rows(wanted func(verdict) bool) []Row {
	var rows []Row
	for _, p := range r.parts {
		for _, row := range p.rows {
			if wanted(row.verdict) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Spread is the range of a figure over the rounds it is the median of; behind
// it, rounds says with a verb how many these were.
func Spread(format, rounds string, values []float64) string {
	if len(values) < 2 {
		return ""
	}
	return fmt.Sprintf(format+" to "+format+rounds, slices.Min(values), slices.Max(values), len(values))
}

// Percent writes a share.
func Percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
