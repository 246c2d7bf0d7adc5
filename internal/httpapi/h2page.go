package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"strings"
	"time"
)

//go:embed h2page.html
var h2Page string

//go:embed h2page.css
var h2Style string

//go:embed h2page.js
var h2Script string

// h2PageMark is where style and script stand in the page.
const h2PageMark = "<!-- style and script -->\n"

// h2page shows streams in one document: nothing else has to be reachable.
type h2page struct {
	head   string
	body   *template.Template
	policy string // lets the page's own style and script pass, by their sums
}

func newH2Page() (*h2page, error) {
	before, after, ok := strings.Cut(h2Page, h2PageMark)
	if !ok {
		return nil, errors.New("read page of streams: no mark for its style")
	}
	body, err := template.New("h2").Funcs(template.FuncMap{"bytes": shownBytes, "seconds": shownSeconds}).Parse(after)
	if err != nil {
		return nil, fmt.Errorf("read page of streams: %w", err)
	}
	return &h2page{
		head: before + "<style>" + h2Style + "</style>\n<script>" + h2Script + "</script>\n</head>\n",
		body: body,
		policy: "default-src 'none'; style-src " + sumOf(h2Style) + "; script-src " + sumOf(h2Script) +
			"; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}

// sumOf is how a policy names what may stand in a page (CSP 3, 2.3.1).
func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// render writes the page of one moment.
func (p *h2page) render(d h2Document) ([]byte, error) {
	page := bytes.NewBufferString(p.head)
	if err := p.body.Execute(page, d); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(page.Bytes()), nil
}

// BytesSent is the sum over all phases.
func (l h2Listener) BytesSent() int64 { return total(l.Stats.Bytes) }

// FramesSent is the sum over all phases.
func (l h2Listener) FramesSent() int64 { return total(l.Stats.Frames) }

// GoAwaysSent is the sum over all codes.
func (l h2Listener) GoAwaysSent() int64 { return total(l.Stats.GoAways) }

func total(of map[string]uint64) (n int64) {
	for _, part := range of {
		n += int64(part)
	}
	return n
}

// h2Share is the part of a bar that stands for a phase, in thousandths.
type h2Share struct {
	Name        string
	Bytes       int64
	From, Width int64
}

// Phases are the parts of a bar of all bytes that were sent.
func (l h2Listener) Phases() []h2Share {
	all := max(l.BytesSent(), 1)
	var shares []h2Share
	var before int64
	for _, phase := range phasesShown {
		n := int64(l.Stats.Bytes[phase.String()])
		from := before * 1000 / all
		before += n
		shares = append(shares, h2Share{phase.String(), n, from, before*1000/all - from})
	}
	return shares
}

// shownBytes is short enough for a column of a table.
func shownBytes(n int64) string {
	switch size := max(n, -n); {
	case size < 1<<10:
		return fmt.Sprintf("%d B", n)
	case size < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case size < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

func shownSeconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.1f s", s)
	}
	return (time.Duration(s) * time.Second).String()
}
