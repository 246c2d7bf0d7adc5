package main

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spillway-media/spillway/bench/h2/visitor"
)

func TestResultsGoBetweenTheMarkers(t *testing.T) {
	page := "# Title\n\n" + opening + "\nold\n" + closing + "\nafter\n"
	want := "# Title\n\n" + opening + "\nnew\n\n" + closing + "\nafter\n"
	if got, err := between(page, "\nnew\n"); err != nil || got != want {
		t.Errorf("page = %q, %v; want %q", got, err, want)
	}
	for _, broken := range []string{"", opening, closing, closing + opening} {
		if _, err := between(broken, "x"); err == nil {
			t.Errorf("results were put into %q", broken)
		}
	}
}

func TestReportTellsWhatMissedItsBar(t *testing.T) {
	r := newReport("make bench-h2")
	fell := errors.New("the server\nfell over")
	if err := r.section("Part", func() error {
		r.atMost("low enough", "%.2f", 1.05, 1.05, "")
		r.atMost("too high", "%.2f", 1.05, 1.06, "1 to 2")
		r.atLeast("high enough", "%.0f", 5, 5, "")
		r.atLeast("too low", "%.0f", 5, 4, "")
		r.reached("judged elsewhere", "7", false)
		r.table("a", "b").add("1", "2")
		return fell
	}); !errors.Is(err, fell) {
		t.Errorf("error = %v, want the section's", err)
	}
	var names []string
	for _, each := range r.misses() {
		names = append(names, each.what)
	}
	if diff := cmp.Diff([]string{"too high", "too low", "judged elsewhere"}, names); diff != "" {
		t.Errorf("misses (-want +got):\n%s", diff)
	}
	var text strings.Builder
	r.write(&text)
	for _, want := range []string{
		"| a | b |\n|---|---|\n| 1 | 2 |\n",
		"| too high | at most 1.05 | 1.06 | 1 to 2 | **miss** |\n",
		"| low enough | at most 1.05 | 1.05 |  | reached |\n",
		"2 of 5 targets were reached.",
		"Not measured to the end: the server; fell over\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("report has no %q:\n%s", want, text.String())
		}
	}
}

func TestTimingsAreThoseOfTheLastPictureAndIndexIsTheirMean(t *testing.T) {
	began := time.Unix(1e9, 0)
	answer := func(tenths ...int) *visitor.Answer {
		a := &visitor.Answer{}
		for _, n := range tenths {
			a.Marks = append(a.Marks, began.Add(time.Duration(n)*100*time.Millisecond))
		}
		return a
	}
	got := timingOf(began, []*visitor.Answer{answer(1, 2, 3, 4), answer(2, 4, 8, 10)})
	want := timing{headers: 0.2, previews: 0.4, good: 0.8, complete: 1, mean: 0.7, index: (0.25 + 0.58) / 2}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(timing{}), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("timing (-want +got):\n%s", diff)
	}
	w := way{loads: []timing{{index: 3}, {index: 1}, {index: 2}}}
	if got := w.median().index; math.Abs(got-2) > 1e-9 {
		t.Errorf("median = %g, want 2", got)
	}
}

func TestShortRunsNameThemselves(t *testing.T) {
	for args, want := range map[string]string{
		"":                   "make bench-h2",
		"-short":             `make bench-h2 ARGS="-short"`,
		"-doc -only=^late$":  `make bench-h2 ARGS="-only ^late$"`,
		"-short -v -only la": `make bench-h2 ARGS="-short -only la"`,
	} {
		o, err := parse(strings.Fields(args))
		if err != nil || o.command() != want {
			t.Errorf("%q is told as %q, %v; want %q", args, o.command(), err, want)
		}
	}
	if _, err := parse([]string{"-only", "("}); err == nil {
		t.Error("a broken expression is no error")
	}
}
