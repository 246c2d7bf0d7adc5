package main

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// The plot is drawn for pages of either colour: no background, middle tones for
// marks, and text that follows the reader's setting.
const (
	plotWidth = 1000
	rowHeight = 20
	nameWidth = 200
	chartTop  = 64
	burstHigh = 230
	style     = `<style>
text{font:12px system-ui,sans-serif;fill:#5f6b77}
.head{font-weight:600}.small{font-size:11px}.end{text-anchor:end}.mid{text-anchor:middle}
.ours{fill:#2f7fd0}.other{fill:#9aa5b1}.grid{stroke:#8b95a0;stroke-opacity:.35}.shade{fill:#8b95a0;fill-opacity:.16}
.line{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#b6c0ca}}
</style>
`
)

// sheet collects the parts of an SVG.
type sheet struct{ strings.Builder }

func (s *sheet) text(x, y float64, class, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" class="%s">%s</text>`+"\n", x, y, class, html.EscapeString(text))
}

func (s *sheet) rect(x, y, w, h float64, class string) {
	fmt.Fprintf(s, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"/>`+"\n", x, y, w, h, class)
}

func (s *sheet) line(x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="grid"/>`+"\n", x1, y1, x2, y2)
}

// svg draws throughput of every shape under every load, and below it the number
// of workers during the burst.
func (r *results) svg() string {
	bars := float64(chartTop + rowHeight*r.shapes() + 56)
	var s sheet
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" role="img">`+"\n", plotWidth, bars+burstHigh+70)
	s.WriteString("<title>Throughput of worker pools, and the number of workers in a burst</title>\n" + style)
	r.drawLadders(&s)
	r.drawBurst(&s, bars)
	s.WriteString("</svg>\n")
	return s.String()
}

// shapes counts those that run under every load.
func (r *results) shapes() int { return len(r.common(r.ladders[0])) }

func (r *results) common(l *ladder) []*rung {
	var list []*rung
	for _, rung := range l.rungs {
		if !rung.entry.sweep {
			list = append(list, rung)
		}
	}
	return list
}

func (r *results) drawLadders(s *sheet) {
	s.text(0, 16, "head", "Throughput as a part of what cores and waits allow, 16 callers; beside it p99")
	for i, rung := range r.common(r.ladders[0]) {
		s.text(nameWidth-10, rowAt(i)+13, "end", rung.entry.name)
	}
	wide := float64(plotWidth-nameWidth) / float64(len(r.ladders))
	for i, l := range r.ladders {
		r.drawLadder(s, l, nameWidth+float64(i)*wide, wide-16)
	}
}

func rowAt(i int) float64 { return float64(chartTop + rowHeight*i) }

func (r *results) drawLadder(s *sheet, l *ladder, left, wide float64) {
	const labels = 82 // room for the figures behind a full bar
	full := wide - labels
	s.text(left, 40, "head", plotTitle(l.load))
	rows := r.common(l)
	for _, at := range []float64{0, 0.5, 1} {
		s.line(left+at*full, chartTop-6, left+at*full, rowAt(len(rows)))
		s.text(left+at*full, chartTop-10, "small mid", fmt.Sprintf("%g", at))
	}
	for i, rung := range rows {
		class := "other"
		if strings.HasPrefix(rung.entry.name, "DynamicScaler") {
			class = "ours"
		}
		of := l.ofCeiling(rung)
		bar := min(of, 1.05) * full
		s.rect(left, rowAt(i)+3, bar, rowHeight-7, class)
		figures := fmt.Sprintf("%.2f · %s ms", of, milliseconds(rung.percentile(0.99)))
		s.text(left+bar+5, rowAt(i)+13, "small", figures)
	}
}

func plotTitle(l *load) string {
	return map[string]string{
		"synthetic":  "30 ms CPU, 5-40 ms wait",
		"picture":    "12-MP JPEG to WebP",
		"waiting":    "50 ms wait, no CPU",
		"proportion": "70 ms CPU, 4-10 ms wait",
	}[l.name]
}

// drawBurst draws a line for each contender that changes its number of workers.
func (r *results) drawBurst(s *sheet, top float64) {
	const right = 300 // room for the legend
	left, wide := 40.0, float64(plotWidth-right-40)
	w := r.weather
	x := func(at time.Duration) float64 { return left + wide*at.Seconds()/w.whole().Seconds() }
	y := func(workers float64) float64 { return top + 30 + burstHigh*(1-workers/roof) }
	s.text(0, top+8, "head", fmt.Sprintf("Workers while %d jobs a second become %d, then %d again; mean of %d bursts", quietRate, burstRate, quietRate, series))
	s.rect(x(w.before), y(roof), x(w.before+w.burst)-x(w.before), burstHigh, "shade")
	for n := 0; n <= roof; n += 4 {
		at := y(float64(n))
		s.line(left, at, left+wide, at)
		s.text(left-8, at+4, "small end", fmt.Sprint(n))
	}
	for at := time.Duration(0); at <= w.whole(); at += 2 * time.Second {
		s.text(x(at), y(0)+16, "small mid", fmt.Sprintf("%.0f s", at.Seconds()))
	}
	for i, colour := range []string{"#2f7fd0", "#2a9d8f", "#d9822b", "#a06cc0"} {
		f := r.findings[i]
		dash := []string{"", "7 3", "2 3", "10 3 2 3"}[i]
		fmt.Fprintf(s, `<path d="%s" class="line" stroke="%s" stroke-dasharray="%s"/>`+"\n", steps(f.counts, x, y), colour, dash)
		at := top + 60 + float64(i)*38
		fmt.Fprintf(s, `<path d="M%.1f,%.1f h28" class="line" stroke="%s" stroke-dasharray="%s"/>`+"\n", left+wide+20, at-4, colour, dash)
		s.text(left+wide+56, at, "", f.name)
		s.text(left+wide+56, at+15, "small", fmt.Sprintf("p99 %s ms, %.0f actions", milliseconds(f.p99), f.actions))
	}
}

// steps is a path that moves only where the number changes.
func steps(counts []count, x func(time.Duration) float64, y func(float64) float64) string {
	var path strings.Builder
	last := -1.0
	for i, n := range counts {
		switch {
		case i == 0:
			fmt.Fprintf(&path, "M%.1f,%.1f", x(n.at), y(n.live))
		case n.live != last:
			fmt.Fprintf(&path, "H%.1fV%.1f", x(n.at), y(n.live))
		}
		last = n.live
	}
	if len(counts) > 0 {
		fmt.Fprintf(&path, "H%.1f", x(counts[len(counts)-1].at))
	}
	return path.String()
}
