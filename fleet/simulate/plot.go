package simulate

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// Curve is one line of a plot, or one layer of a stack. Kind names its colour.
type Curve struct {
	Name, Kind string
	ys         []float64
}

// Plot is one picture over time. Values hold from their time until the next,
// so everything is drawn in steps.
type Plot struct {
	Title, Unit string
	Curves      []Curve
	from        time.Time
	xs          []float64 // seconds
	until       float64
	stacked     bool
	limit       float64 // a line across; 0 none
	limitName   string
	count       bool // only whole numbers on the axis
}

// The picture in its own units; it is as wide as the page lets it be.
const (
	plotWidth, plotHeight                    = 960.0, 220.0
	plotLeft, plotRight, plotTop, plotBottom = 56.0, 12.0, 18.0, 24.0
)

// SVG draws it.
func (p Plot) SVG() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, plotWidth, plotHeight, template.HTMLEscapeString(p.Title))
	top, ticks := p.scale()
	for _, y := range ticks {
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%s" y2="%s"/>`, plotLeft, plotWidth-plotRight, p.y(y, top), p.y(y, top))
		fmt.Fprintf(&b, `<text class="axis" x="%g" y="%s" dy="4" text-anchor="end">%s</text>`, plotLeft-8, p.y(y, top), fourDigits(y))
	}
	p.times(&b)
	if p.stacked {
		p.stack(&b, top)
	} else {
		for _, c := range p.Curves {
			fmt.Fprintf(&b, `<path class="line %s" d="%s"/>`, c.Kind, p.path(c.ys, top))
		}
	}
	if p.limit > 0 && p.limit <= top {
		fmt.Fprintf(&b, `<line class="limit" x1="%g" x2="%g" y1="%s" y2="%s"/>`, plotLeft, plotWidth-plotRight, p.y(p.limit, top), p.y(p.limit, top))
		fmt.Fprintf(&b, `<text class="axis" x="%g" y="%s" dy="-4" text-anchor="end">%s</text>`, plotWidth-plotRight, p.y(p.limit, top), template.HTMLEscapeString(p.limitName))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers, and names that were escaped
}

// scale is where the plot ends at the top, and where its lines are.
func (p Plot) scale() (top float64, ticks []float64) {
	for i := range p.xs {
		sum := 0.0
		for _, c := range p.Curves {
			if p.stacked {
				sum += c.ys[i]
			} else {
				sum = max(sum, c.ys[i])
			}
		}
		top = max(top, sum)
	}
	if p.limit > 0 && p.limit < 4*top {
		top = max(top, p.limit)
	}
	step := niceStep(max(top, 1e-9)/4, p.count)
	top = step * max(1, math.Ceil(top/step-1e-9))
	for i := 0; float64(i)*step <= top+step/2; i++ {
		ticks = append(ticks, float64(i)*step)
	}
	return top, ticks
}

// niceStep is the next of 1, 2, 5, 10, 20, ... up from a distance.
func niceStep(least float64, whole bool) float64 {
	if whole {
		least = max(least, 1)
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, k := range []float64{1, 2, 5} {
		if k*power >= least-1e-9 {
			return k * power
		}
	}
	return 10 * power
}

func (p Plot) x(second float64) string {
	return oneDecimal(plotLeft + (plotWidth-plotLeft-plotRight)*second/max(p.until, 1))
}

func (p Plot) y(v, top float64) string {
	return oneDecimal(plotHeight - plotBottom - (plotHeight-plotTop-plotBottom)*v/top)
}

// path goes along in steps.
func (p Plot) path(ys []float64, top float64) string {
	var b strings.Builder
	last := ""
	for i, x := range p.xs {
		y := p.y(ys[i], top)
		switch {
		case i == 0:
			b.WriteString("M" + p.x(x) + " " + y)
		case y != last:
			b.WriteString("H" + p.x(x) + "V" + y)
		}
		last = y
	}
	b.WriteString("H" + p.x(p.until))
	return b.String()
}

// stack puts each layer upon those before it; the last is drawn first, so that
// each hides what of the next is below it.
func (p Plot) stack(b *strings.Builder, top float64) {
	sums := make([][]float64, len(p.Curves))
	for i, c := range p.Curves {
		sums[i] = append([]float64(nil), c.ys...)
		for j := range sums[i] {
			if i > 0 {
				sums[i][j] += sums[i-1][j]
			}
		}
	}
	for i := len(sums) - 1; i >= 0 && len(p.xs) > 0; i-- {
		bottom := p.y(0, top)
		fmt.Fprintf(b, `<path class="area %s" d="%sV%sH%sZ"/>`, p.Curves[i].Kind, p.path(sums[i], top), bottom, p.x(p.xs[0]))
	}
}

// times labels the axis below.
func (p Plot) times(b *strings.Builder) {
	total := time.Duration(p.until * float64(time.Second))
	step, layout := timeStep(total)
	first := p.from.Truncate(step)
	for at := first; !at.After(p.from.Add(total)); at = at.Add(step) {
		if at.Before(p.from) {
			continue
		}
		x := p.x(at.Sub(p.from).Seconds())
		fmt.Fprintf(b, `<line class="grid" x1="%s" x2="%s" y1="%g" y2="%g"/>`, x, x, plotTop, plotHeight-plotBottom)
		anchor := "middle"
		if at.Sub(p.from) > total-total/25 { // it would be cut off at the edge
			anchor = "end"
		}
		fmt.Fprintf(b, `<text class="axis" x="%s" y="%g" text-anchor="%s">%s</text>`, x, plotHeight-8, anchor, at.UTC().Format(layout))
	}
}

// timeStep gives at most a dozen labels.
func timeStep(total time.Duration) (time.Duration, string) {
	const day = 24 * time.Hour
	for _, step := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour} {
		if total <= 12*step {
			if step >= time.Hour {
				return step, "2 Jan 15:04"
			}
			return step, "15:04"
		}
	}
	for _, step := range []time.Duration{day, 2 * day, 4 * day, 7 * day, 14 * day, 28 * day} {
		if total <= 12*step {
			return step, "2 Jan"
		}
	}
	return (total / 12).Truncate(day), "2 Jan 06"
}

func oneDecimal(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// fourDigits prints a label of an axis.
func fourDigits(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + " M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + " k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
