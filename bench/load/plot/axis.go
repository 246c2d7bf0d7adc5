package plot

import (
	"math"
	"strconv"
)

// Ticks are round values from 0 to at least most, some five of them.
func Ticks(most float64) []float64 {
	if most <= 0 || math.IsInf(most, 0) || math.IsNaN(most) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, factor := range []float64{5, 2} {
		if most/(step*factor) >= 4 {
			step *= factor
			break
		}
	}
	var ticks []float64
	for i := 0; ; i++ {
		// A product, because a sum of steps drifts.
		at := float64(i) * step
		ticks = append(ticks, at)
		if at >= most*(1-1e-9) {
			return ticks
		}
	}
}

func label(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
