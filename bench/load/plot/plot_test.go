package plot_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/bench/load/plot"
)

func TestTicksAreRoundAndReachTheTop(t *testing.T) {
	for name, c := range map[string]struct {
		most float64
		want []float64
	}{
		"shares":              {1.02, []float64{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1, 1.2000000000000002}},
		"multiples":           {5, []float64{0, 1, 2, 3, 4, 5}},
		"milliseconds":        {1500, []float64{0, 200, 400, 600, 800, 1000, 1200, 1400, 1600}},
		"exactly at the edge": {2, []float64{0, 0.5, 1, 1.5, 2}},
		"nothing":             {0, []float64{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}},
		"no number":           {math.NaN(), []float64{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, plot.Ticks(c.most)); diff != "" {
				t.Errorf("ticks to %g (-want +got):\n%s", c.most, diff)
			}
		})
	}
}

func chart() plot.Chart {
	return plot.Chart{
		Title: "Goodput <and> p99", X: "offered load", Y: "share",
		Series:  []plot.Series{{"ours", []plot.Point{{0.5, 0.4}, {1, 0.9}, {2, 1}}}, {"theirs", []plot.Point{{1, 0.5}}}},
		Bar:     0.95,
		BarName: "the bar",
	}
}

func TestDrawingIsWellFormedAndSaysWhatItShows(t *testing.T) {
	svg := plot.Draw("Two & more", chart(), chart())
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	for _, want := range []string{
		"<title>Two &amp; more</title>", "Goodput &lt;and&gt; p99", ">offered load<", ">share<", ">ours<", ">theirs<", ">the bar<",
		"prefers-color-scheme:dark", `viewBox="0 0 760 600"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing has no %q", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the drawing has places that are none")
	}
}

func TestLargerValuesLieHigherAndFurtherRight(t *testing.T) {
	circles := regexp.MustCompile(`<circle cx="([0-9.]+)" cy="([0-9.]+)"`).FindAllStringSubmatch(plot.Draw("x", chart()), -1)
	if len(circles) != 4 {
		t.Fatalf("%d marks, want 4", len(circles))
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i := 1; i < 3; i++ {
		if number(circles[i][1]) <= number(circles[i-1][1]) || number(circles[i][2]) >= number(circles[i-1][2]) {
			t.Errorf("mark %d at %v does not lie right of and above %v", i, circles[i][1:], circles[i-1][1:])
		}
	}
}

func TestChartOfNothingIsStillDrawn(t *testing.T) {
	if svg := plot.Draw("x", plot.Chart{Title: "empty"}); strings.Contains(svg, "NaN") || !strings.Contains(svg, "empty") {
		t.Errorf("drawing = %s", svg)
	}
}
