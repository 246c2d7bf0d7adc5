package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// page is the output: sections of Markdown by name.
type page struct {
	names  []string
	tables map[string]string
}

func (p *page) section(name, table string) {
	if p.tables == nil {
		p.tables = map[string]string{}
	}
	p.names = append(p.names, name)
	p.tables[name] = table
}

func (p *page) text() string {
	var b strings.Builder
	for _, name := range p.names {
		fmt.Fprintf(&b, "\n%s\n%s", name, p.tables[name])
	}
	return b.String()
}

// writeInto replaces what lies between the markers <!-- bench:NAME --> and
// <!-- end --> of a page.
func (p *page) writeInto(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page := string(text)
	for _, name := range p.names {
		marker := "<!-- bench:" + name + " -->\n"
		before, rest, found := strings.Cut(page, marker)
		_, after, ended := strings.Cut(rest, "<!-- end -->")
		if !found || !ended {
			return fmt.Errorf("%s has no marker %q with its end", path, strings.TrimSpace(marker))
		}
		page = before + marker + "\n" + p.tables[name] + "\n<!-- end -->" + after
	}
	return os.WriteFile(path, []byte(page), 0o644) //nolint:gosec // a page of the documentation
}

func drainTable(rows []result) string {
	var b strings.Builder
	b.WriteString("| System | Durable when acknowledged | Jobs | Enqueued a second | Claimed, run and finished a second |\n|---|---|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %d | %.0f | %.0f |\n", r.name, r.durable, r.jobs, r.enqueued, r.finished)
	}
	return b.String()
}

func backlogTable(rows []backlog) string {
	var b strings.Builder
	b.WriteString("| Store | Ready jobs | Claim p50 | p99 | slowest of 1,000 | Queues counted to 10,000 | to 1,000,000 |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s |\n", r.store, r.ready, short(r.p50), short(r.p99), short(r.slow), short(r.look), short(r.count))
	}
	return b.String()
}

func repairTable(rows []repair) string {
	var b strings.Builder
	b.WriteString("| Drift of five queues together | Time of one repair |\n|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %d | %s |\n", r.drift, short(r.took))
	}
	return b.String()
}

// short has three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 100*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
