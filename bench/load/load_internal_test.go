package main

import (
	"errors"
	"image"
	"image/color"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/bench/load/traffic"
)

func TestResultsGoBetweenTheMarkers(t *testing.T) {
	page := "# Title\n\n" + opening + "\nold\n" + closing + "\nafter\n"
	got, err := between(page, "\nnew\n")
	want := "# Title\n\n" + opening + "\nnew\n\n" + closing + "\nafter\n"
	if err != nil || got != want {
		t.Errorf("page = %q, %v; want %q", got, err, want)
	}
	again, err := between(got, "new")
	if err != nil || again != want {
		t.Errorf("a second time gives %q, %v", again, err)
	}
	for _, broken := range []string{"", opening, closing, closing + opening} {
		if _, err := between(broken, "x"); err == nil {
			t.Errorf("results were put into %q", broken)
		}
	}
}

func TestMetricsAreReadWithTheirLabels(t *testing.T) {
	got := parseFigures("# HELP a help\n# TYPE a counter\na 3\nb{x=\"y z\"} 1.5e+07\nbad value\n\n")
	if diff := cmp.Diff(figures{"a": 3, `b{x="y z"}`: 1.5e7}, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestReportTellsWhatMissedItsBar(t *testing.T) {
	r := newReport("make bench")
	err := r.section("Part", func() error {
		r.atMost("low enough", "%.2f", 1.05, 1.05, "", "")
		r.atMost("too high", "%.2f", 1.05, 1.06, " (more)", "1 to 2")
		r.atLeast("high enough", "%.0f", 5, 5, "", "")
		r.atLeast("too low", "%.0f", 5, 4, "", "")
		r.show("just shown", "42", "")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the server\nfell over")
	if err := r.section("Other", func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("error = %v, want the section's", err)
	}
	var names []string
	for _, each := range r.misses() {
		names = append(names, each.what)
	}
	if diff := cmp.Diff([]string{"too high", "too low"}, names); diff != "" {
		t.Errorf("misses (-want +got):\n%s", diff)
	}
	var text strings.Builder
	r.write(&text)
	for _, want := range []string{
		"| too high | at most 1.05 | 1.06 (more) | 1 to 2 | **miss** |\n",
		"| low enough | at most 1.05 | 1.05 |  | pass |\n",
		"| just shown |  | 42 |  |  |\n",
		"2 of 4 bars were reached.",
		"- too low: 4 (at least 5)\n",
		"Not measured to the end: the server; fell over\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("report has no %q:\n%s", want, text.String())
		}
	}
}

func TestShortRunsNameThemselves(t *testing.T) {
	for args, want := range map[string]string{
		"":                        "make bench",
		"-short":                  `make bench ARGS="-short"`,
		"-short -only cpu":        `make bench ARGS="-short -only cpu"`,
		"-doc -plot -only=^open$": `make bench ARGS="-only ^open$"`,
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

func TestSSIMTellsPicturesApart(t *testing.T) {
	flat, ramp := image.NewGray(image.Rect(0, 0, 40, 32)), image.NewGray(image.Rect(10, 10, 50, 42))
	for y := range 32 {
		for x := range 40 {
			flat.SetGray(x, y, color.Gray{100})
			ramp.SetGray(x+10, y+10, color.Gray{uint8(6 * x)})
		}
	}
	if s, err := ssim(ramp, ramp); err != nil || math.Abs(s-1) > 1e-9 {
		t.Errorf("a picture is like itself by %g, %v", s, err)
	}
	if s, err := ssim(ramp, flat); err != nil || s > 0.7 {
		t.Errorf("a ramp and a flat ground are alike by %g, %v", s, err)
	}
	if _, err := ssim(ramp, image.NewGray(image.Rect(0, 0, 41, 32))); err == nil {
		t.Error("pictures of two sizes are compared")
	}
	if _, err := ssim(image.NewGray(image.Rect(0, 0, 7, 7)), image.NewGray(image.Rect(0, 0, 7, 7))); err == nil {
		t.Error("pictures smaller than a window are compared")
	}
}

func TestPlotShowsTheStepsInOrder(t *testing.T) {
	at := func(factor, rate float64, p99 time.Duration) step {
		return step{factor: factor, capacity: 20, Summary: traffic.Summary{Rate: rate, P99: p99, OK: 50, Refused: 50}}
	}
	b := &bench{ladder: []step{at(5, 19, time.Second), at(0.5, 10, 100*time.Millisecond)}}
	svg := b.picture()
	for _, want := range []string{">goodput over capacity<", ">p99<", ">milliseconds<", "multiple of the capacity"} {
		if !strings.Contains(svg, want) {
			t.Errorf("plot has no %q", want)
		}
	}
	if got := at(2, 19, 0).goodput(); got != 0.95 {
		t.Errorf("goodput = %g, want 0.95", got)
	}
}
