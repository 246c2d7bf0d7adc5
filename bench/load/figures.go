package main

import (
	"fmt"
	"time"

	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/bench/report"
)

// spread is the range of a figure over the rounds it is the median of.
func spread(format string, values []float64) string {
	return report.Spread(format, ", %d rounds", values)
}

func megabytes(n int64) float64            { return float64(n) / 1e6 }
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// latencies are the usual figures of a summary.
func latencies(s traffic.Summary) string {
	return fmt.Sprintf("p50 %.0f ms, p99 %.0f ms", milliseconds(s.P50), milliseconds(s.P99))
}
