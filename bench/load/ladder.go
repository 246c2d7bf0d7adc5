package main

import (
	"cmp"
	"slices"

	"github.com/spillway-media/spillway/bench/load/plot"
)

// picture draws goodput and latency of the open loop against what was offered.
func (b *bench) picture() string {
	steps := slices.SortedFunc(slices.Values(b.ladder), func(a, b step) int { return cmp.Compare(a.factor, b.factor) })
	curve := func(value func(step) float64) []plot.Point {
		var points []plot.Point
		for _, s := range steps {
			points = append(points, plot.Point{X: s.factor, Y: value(s)})
		}
		return points
	}
	const offered = "offered load, as a multiple of the capacity"
	return plot.Draw("Goodput and latency against offered load",
		plot.Chart{
			Title: "Goodput and refusals: Poisson arrivals, 12-MP JPEG to WebP of 300 px", X: offered, Y: "share",
			Series: []plot.Series{
				{Name: "goodput over capacity", Points: curve(step.goodput)},
				{Name: "refused of all asked", Points: curve(func(s step) float64 { return s.Share() })},
			},
			Bar: goodputLimit, BarName: "bar for goodput from 2x on",
		},
		plot.Chart{
			Title: "Latency of the admitted, from the intended start", X: offered, Y: "milliseconds",
			Series: []plot.Series{
				{Name: "p99", Points: curve(func(s step) float64 { return milliseconds(s.P99) })},
				{Name: "p50", Points: curve(func(s step) float64 { return milliseconds(s.P50) })},
			},
			Bar: admittedP99, BarName: "bar for p99",
		})
}
