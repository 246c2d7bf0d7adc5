package plot

import (
	"fmt"
	"html"
	"strings"
)

// Point is one measurement.
type Point struct{ X, Y float64 }

// Series is one line. At most four are told apart.
type Series struct {
	Name   string
	Points []Point
}

// Chart is one pair of axes.
type Chart struct {
	Title  string
	X, Y   string // what the axes show, with units
	Series []Series
	// Bar is a value of Y that the lines are held against, BarName what it is;
	// nothing is drawn without a name.
	Bar     float64
	BarName string
}

const (
	width  = 760
	height = 300
	left   = 74
	right  = 220 // room for the names
	above  = 40
	below  = 56
	style  = `<style>
text{font:12px system-ui,sans-serif;fill:#5f6b77}
.head{font-weight:600;font-size:13px}.end{text-anchor:end}.mid{text-anchor:middle}
.grid{stroke:#8b95a0;stroke-opacity:.3}.axis{stroke:#8b95a0}.bar{stroke:#c2553d;stroke-dasharray:2 4}
.line{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#b6c0ca}}
</style>
`
)

// pens tell series apart by colour, and by dash for who sees none.
var pens = [...]struct{ colour, dash string }{{"#2f7fd0", ""}, {"#d9822b", "7 3"}, {"#2a9d8f", "2 3"}, {"#a06cc0", "10 3 2 3"}}

// Draw puts charts below one another. title is for who cannot see them.
func Draw(title string, charts ...Chart) string {
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`+"\n", width, height*len(charts))
	fmt.Fprintf(&s, "<title>%s</title>\n%s", html.EscapeString(title), style)
	for i, c := range charts {
		fmt.Fprintf(&s, `<g transform="translate(0,%d)">`+"\n", i*height)
		c.draw(&sheet{&s})
		s.WriteString("</g>\n")
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// sheet collects the parts.
type sheet struct{ *strings.Builder }

func (s *sheet) text(x, y float64, class, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" class="%s">%s</text>`+"\n", x, y, class, html.EscapeString(text))
}

func (s *sheet) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

// frame maps values to places.
type frame struct{ xs, ys []float64 }

func (f frame) x(v float64) float64 {
	return left + v/f.xs[len(f.xs)-1]*(width-left-right)
}

func (f frame) y(v float64) float64 {
	return height - below - v/f.ys[len(f.ys)-1]*(height-above-below)
}

func (c Chart) draw(s *sheet) {
	mostX, mostY := 0.0, 0.0
	if c.BarName != "" {
		mostY = c.Bar
	}
	for _, series := range c.Series {
		for _, p := range series.Points {
			mostX, mostY = max(mostX, p.X), max(mostY, p.Y)
		}
	}
	f := frame{Ticks(mostX), Ticks(mostY)}
	c.axes(s, f)
	if c.BarName != "" {
		s.line(left, f.y(c.Bar), width-right, f.y(c.Bar), "bar")
		s.text(width-right+10, f.y(c.Bar)+4, "", c.BarName)
	}
	for i, series := range c.Series {
		c.course(s, f, i, series)
	}
}

func (c Chart) axes(s *sheet, f frame) {
	s.text(left, 20, "head", c.Title)
	for _, v := range f.ys {
		s.line(left, f.y(v), width-right, f.y(v), "grid")
		s.text(left-8, f.y(v)+4, "end", label(v))
	}
	for _, v := range f.xs {
		s.line(f.x(v), f.y(0), f.x(v), f.y(0)+5, "axis")
		s.text(f.x(v), f.y(0)+18, "mid", label(v))
	}
	s.line(left, f.y(0), width-right, f.y(0), "axis")
	s.text((left+width-right)/2, height-14, "mid", c.X)
	middle := float64(above+height-below) / 2
	fmt.Fprintf(s, `<text x="16" y="%.1f" class="mid" transform="rotate(-90 16 %.1f)">%s</text>`+"\n", middle, middle, html.EscapeString(c.Y))
}

// course draws one series and its name in the legend.
func (c Chart) course(s *sheet, f frame, i int, series Series) {
	pen := pens[i%len(pens)]
	var path strings.Builder
	for n, p := range series.Points {
		fmt.Fprintf(&path, "%c%.1f,%.1f", "ML"[min(n, 1)], f.x(p.X), f.y(p.Y))
		fmt.Fprintf(s, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", f.x(p.X), f.y(p.Y), pen.colour)
	}
	fmt.Fprintf(s, `<path d="%s" class="line" stroke="%s" stroke-dasharray="%s"/>`+"\n", path.String(), pen.colour, pen.dash)
	at := above + 10 + 22*float64(i)
	if c.BarName != "" {
		at = c.clear(f, i)
	}
	fmt.Fprintf(s, `<path d="M%d,%.1f h28" class="line" stroke="%s" stroke-dasharray="%s"/>`+"\n", width-right+10, at-4, pen.colour, pen.dash)
	s.text(width-right+46, at, "", series.Name)
}

// clear is the height of a name of the legend that does not lie on that of the
// bar: the legend is above it, or below where there is no room.
func (c Chart) clear(f frame, i int) float64 {
	bar := f.y(c.Bar)
	top := float64(above + 10)
	if need := top + 22*float64(len(c.Series)); bar < need {
		top = bar + 26
	}
	return top + 22*float64(i)
}
