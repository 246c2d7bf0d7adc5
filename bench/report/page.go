package report

import (
	"fmt"
	"os"
	"strings"
)

// closing ends the results of a page.
const closing = "<!-- /results -->\n"

// Page is a page of documentation that has results behind an opening line, up
// to <!-- /results -->.
type Page struct{ File, Opening string }

// Keep replaces the results by those of this run.
func (p Page) Keep(r *Report) error {
	var results strings.Builder
	r.Write(&results)
	page, err := os.ReadFile(p.File)
	if err != nil {
		return fmt.Errorf("read page of results: %w", err)
	}
	before, rest, opened := strings.Cut(string(page), p.Opening)
	_, after, closed := strings.Cut(rest, closing)
	if !opened || !closed {
		return fmt.Errorf("write results into %s: the markers of the results are not there", p.File)
	}
	return WriteFile(p.File, []byte(before+p.Opening+"\n"+strings.TrimSpace(results.String())+"\n\n"+closing+after))
}

// WriteFile writes a file of the documentation.
func WriteFile(name string, data []byte) error {
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
