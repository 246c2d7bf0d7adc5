package report

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReportTellsWhatMissedItsBar(t *testing.T) {
	fell := errors.New("the server\nfell over")
	filled := func(t *testing.T, style Style) string {
		r := New("make bench", style)
		r.Fact("Server: spillway 1")
		if err := r.section(t.Context(), Section{Title: "Part", Measure: func(context.Context) error {
			r.AtMost("low enough", "%.2f", 1.05, 1.05, "", "")
			r.AtMost("too high", "%.2f", 1.05, 1.06, " (more)", "1 to 2")
			r.AtLeast("high enough", "%.0f", 5, 5, "", "")
			r.AtLeast("too low", "%.0f", 5, 4, "", "")
			r.Holds("judged elsewhere", "", false, "7", "")
			r.Missing("not known", "measured", "nobody can")
			r.Show("just shown", "42", "")
			r.Table("a", "b").Add("1", "2")
			r.Text("| c |\n")
			r.Note("of %d", 3)
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		if err := r.section(t.Context(), Section{Title: "Other", Measure: func(context.Context) error { return fell }}); !errors.Is(err, fell) {
			t.Errorf("error = %v, want the section's", err)
		}
		var names []string
		for _, row := range r.Misses() {
			names = append(names, row.What)
		}
		if diff := cmp.Diff([]string{"too high", "too low", "judged elsewhere", "not known"}, names); diff != "" {
			t.Errorf("misses (-want +got):\n%s", diff)
		}
		var text strings.Builder
		r.Write(&text)
		return text.String()
	}
	always := []string{
		"`make bench`, ", "\n- Server: spillway 1.\n", "\n### Part\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n\n",
		"| too high | at most 1.05 | 1.06 (more) | 1 to 2 | **miss** |\n",
		"| just shown |  | 42 |  |  |\n",
		"- too low: 4 (at least 5)\n", "- not known: nobody can (measured)\n",
		"\nof 3\n",
		"Not measured to the end: the server; fell over\n",
	}
	for name, c := range map[string]struct {
		style     Style
		says, not []string
	}{
		"in the words of one program": {
			Style{What: "What", Spread: "Spread", Reached: "pass", Bars: "Bars", Loads: true},
			[]string{"| What | Bar | Measured | Spread |", "| low enough | at most 1.05 | 1.05 |  | pass |\n", "### Bars\n\n2 of 6 bars were reached.\n", "this program used ", "load average"},
			nil,
		},
		"in those of another": {
			Style{What: "Target", Spread: "Rounds", Reached: "reached", Bars: "Targets"},
			[]string{"| Target | Bar | Measured | Rounds |", "| low enough | at most 1.05 | 1.05 |  | reached |\n", "### Targets\n\n2 of 6 targets were reached.\n", "others used "},
			[]string{"this program used", "load average"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := filled(t, c.style)
			for _, want := range append(always, c.says...) {
				if !strings.Contains(text, want) {
					t.Errorf("report has no %q:\n%s", want, text)
				}
			}
			for _, other := range c.not {
				if strings.Contains(text, other) {
					t.Errorf("report has %q:\n%s", other, text)
				}
			}
		})
	}
}

func TestResultsGoBetweenTheMarkers(t *testing.T) {
	const opening = "<!-- results -->\n"
	r := New("make bench", Style{Bars: "Bars"})
	var text strings.Builder
	r.Write(&text)
	page := Page{File: filepath.Join(t.TempDir(), "page.md"), Opening: opening}
	before, after := "# Title\n\n"+opening, closing+"\nafter\n"
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(page.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(before + "\nold\n" + after)
	for range 2 {
		if err := page.Keep(r); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(page.File)
		if want := before + "\n" + strings.TrimSpace(text.String()) + "\n\n" + after; err != nil || string(got) != want {
			t.Errorf("page = %q, %v; want %q", got, err, want)
		}
	}
	for _, broken := range []string{"", opening, closing, closing + opening} {
		put(broken)
		if err := page.Keep(r); err == nil {
			t.Errorf("results were put into %q", broken)
		}
		if got, err := os.ReadFile(page.File); err != nil || string(got) != broken {
			t.Errorf("page %q became %q, %v", broken, got, err)
		}
	}
}
