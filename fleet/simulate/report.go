package simulate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Report is what a page shows.
type Report struct {
	Title string
	Trace string // where the jobs come from, in words
	Options
	Results []Result
	// Limits are those of the settings of each result, Credits the comparison of
	// what users pay with what machines cost.
	Limits  []fleet.Limits
	Credits [][]fleet.Credit
	// Notes are warnings about the settings.
	Notes []string
}

// NewReport puts one together of what Compare gave.
func NewReport(title, trace string, cases []Case, results []Result, o Options) Report {
	r := Report{Title: title, Trace: trace, Options: o.withDefaults(), Results: results}
	for i, c := range cases {
		r.Limits = append(r.Limits, c.Config.Limits)
		r.Credits = append(r.Credits, fleet.Credits(c.Config, results[i].Usage()))
	}
	return r
}

// Usage is the jobs that were done and the money that machines for their queue
// cost, idle time included.
func (r Result) Usage() []fleet.Usage {
	var all []fleet.Usage
	for _, q := range r.Queues {
		all = append(all, fleet.Usage{Queue: q.Name, Jobs: q.Done, Amount: q.Spent})
	}
	return all
}

//go:embed report.html
var page string

// WriteHTML writes the report as one page that needs nothing else.
func (r Report) WriteHTML(to io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"wait": waitText, "percent": percentText, "hours": hoursText, "cents": fleet.Money.Number,
		"money": moneyText, "share": shareText, "add": func(a, b int) int { return a + b },
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	if err := t.Execute(to, r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// kinds are the colours of curves, in the order in which they are given out.
var kinds = []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"}

// Overview compares all results in three plots.
func (r Report) Overview() []Plot {
	depth := Plot{Title: "Waiting jobs, all queues", Unit: "jobs", count: true}
	machines := Plot{Title: "Machines that are paid for", Unit: "machines", count: true}
	money := Plot{Title: "Money", Unit: "units of currency, from the beginning on"}
	for _, p := range []*Plot{&depth, &machines, &money} {
		for i, x := range r.Results {
			p.follow(x)
			kind := kinds[i%len(kinds)]
			switch p {
			case &depth:
				p.Curves = append(p.Curves, Curve{x.Name, kind, x.over(p.xs, func(o Point) float64 { return float64(o.waiting()) })})
			case &machines:
				p.Curves = append(p.Curves, Curve{x.Name, kind, x.over(p.xs, func(o Point) float64 { return float64(o.machines()) })})
			default:
				p.Curves = append(p.Curves, Curve{x.Name, kind, x.over(p.xs, func(o Point) float64 { return units(o.Booked) })})
			}
		}
	}
	return []Plot{depth, machines, money}
}

// follow takes the axis of the result with the most points.
func (p *Plot) follow(r Result) {
	if len(p.xs) == 0 {
		p.from = r.From
		for _, o := range r.Series {
			p.xs = append(p.xs, float64(o.Second))
		}
	}
	p.until = max(p.until, r.Until.Sub(r.From).Seconds())
}

// over reads a series at the times of another.
func (r Result) over(xs []float64, value func(Point) float64) []float64 {
	ys, at := make([]float64, len(xs)), 0
	for i, x := range xs {
		for at+1 < len(r.Series) && float64(r.Series[at+1].Second) <= x {
			at++
		}
		if len(r.Series) > 0 {
			ys[i] = value(r.Series[at])
		}
	}
	return ys
}

func (o Point) waiting() int {
	n := 0
	for _, d := range o.Depth {
		n += d
	}
	return n
}

func (o Point) machines() int { return o.OnDemand + o.Spot + o.Booting + o.Draining }

// Plots are the queues, the machines and the money of one result.
func (r Report) Plots(i int) []Plot {
	x := r.Results[i]
	var xs []float64
	for _, o := range x.Series {
		xs = append(xs, float64(o.Second))
	}
	base := Plot{from: x.From, xs: xs, until: x.Until.Sub(x.From).Seconds()}
	depth, machines, money := base, base, base
	depth.Title, depth.Unit, depth.count = "Waiting jobs by queue", "jobs", true
	for q, result := range x.Queues {
		if result.Jobs > 0 {
			depth.Curves = append(depth.Curves, Curve{result.Name, kinds[q%len(kinds)], x.over(xs, func(o Point) float64 { return float64(o.Depth[q]) })})
		}
	}
	machines.Title, machines.Unit, machines.count, machines.stacked = "Machines", "machines, the VPS apart", true, true
	for _, layer := range []struct {
		name, kind string
		of         func(Point) float64
	}{
		{"spot", "c2", func(o Point) float64 { return float64(o.Spot) }},
		{"on demand", "c0", func(o Point) float64 { return float64(o.OnDemand) }},
		{"booting", "c3", func(o Point) float64 { return float64(o.Booting) }},
		{"draining", "c7", func(o Point) float64 { return float64(o.Draining) }},
	} {
		machines.Curves = append(machines.Curves, Curve{layer.name, layer.kind, x.over(xs, layer.of)})
	}
	return []Plot{depth, machines, r.moneyPlot(money, i)}
}

// moneyPlot is what was spent on each day so far, against the daily limit.
func (r Report) moneyPlot(p Plot, i int) Plot {
	x := r.Results[i]
	p.Title, p.Unit = "Money by day", "units of currency, from midnight on"
	p.Curves = []Curve{{"spent today", "c1", x.over(p.xs, func(o Point) float64 { return units(o.Today) })}}
	p.limit = units(r.Limits[i].Daily)
	p.limitName = "daily limit " + moneyText(r.Limits[i].Daily)
	return p
}

func units(m fleet.Money) float64 { return float64(m) / float64(100*fleet.Cent) }

// moneyText is an amount in the currency's unit.
func moneyText(m fleet.Money) string { return strconv.FormatFloat(units(m), 'f', 2, 64) }

func hoursText(h float64) string { return strconv.FormatFloat(h, 'f', 1, 64) }

func percentText(part float64) string { return strconv.FormatFloat(100*part, 'f', 2, 64) + " %" }

func shareText(part, all float64) string {
	if all == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*part/all, 'f', 0, 64) + " %"
}

// waitText is short: 0.3 s, 89 s, 12 min, 3.4 h.
func waitText(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 9.95:
		return strings.TrimSuffix(strconv.FormatFloat(s, 'f', 1, 64), ".0") + " s"
	case s < 600:
		return strconv.FormatFloat(s, 'f', 0, 64) + " s"
	case s < 2*3600:
		return strconv.FormatFloat(s/60, 'f', 0, 64) + " min"
	}
	return strconv.FormatFloat(s/3600, 'f', 1, 64) + " h"
}
