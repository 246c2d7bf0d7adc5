package main

import (
	"image"
	"image/color"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/bench/load/traffic"
)

func TestMetricsAreReadWithTheirLabels(t *testing.T) {
	got := parseFigures("# HELP a help\n# TYPE a counter\na 3\nb{x=\"y z\"} 1.5e+07\nbad value\n\n")
	if diff := cmp.Diff(figures{"a": 3, `b{x="y z"}`: 1.5e7}, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
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
