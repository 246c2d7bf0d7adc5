package traffic_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/bench/load/traffic"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	for name, c := range map[string]struct {
		values []int
		p      float64
		want   int
	}{
		"nothing has no percentile":                   {nil, 0.5, 0},
		"one value is every percentile":               {[]int{7}, 0.99, 7},
		"the median of four is the second":            {[]int{4, 1, 3, 2}, 0.5, 2},
		"the median of five is the third":             {[]int{5, 4, 3, 2, 1}, 0.5, 3},
		"p99 of a hundred is the ninety-ninth":        {hundred(), 0.99, 99},
		"p100 is the largest":                         {hundred(), 1, 100},
		"p0 is the smallest":                          {hundred(), 0, 1},
		"p90 of ten leaves one above":                 {[]int{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.9, 9},
		"p99 of few is the largest, never beyond all": {[]int{1, 2, 3}, 0.99, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := traffic.Percentile(c.values, c.p); got != c.want {
				t.Errorf("percentile %g = %d, want %d", c.p, got, c.want)
			}
		})
	}
}

func hundred() (values []int) {
	for i := range 100 {
		values = append(values, 100-i)
	}
	return values
}

func TestPercentileLeavesItsArgumentAsItIs(t *testing.T) {
	values := []int{3, 1, 2}
	traffic.Percentile(values, 0.5)
	if diff := cmp.Diff([]int{3, 1, 2}, values); diff != "" {
		t.Errorf("values changed: %s", diff)
	}
}

func TestMedianIsTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"of nothing it is zero":                 {nil, 0},
		"of three the second":                   {[]float64{9, 1, 4}, 4},
		"of four the mean of the two in middle": {[]float64{1, 2, 4, 100}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := traffic.Median(c.values); got != c.want {
				t.Errorf("median = %g, want %g", got, c.want)
			}
		})
	}
}

func TestSummaryCountsWhatBelongsToTheWindow(t *testing.T) {
	const s = time.Second
	window := traffic.Window{Warm: 2 * s, Length: 4 * s}
	samples := []traffic.Sample{
		{Start: 1 * s, Took: s / 2, Status: 200, Retry: -1},                                    // before it, all of it
		{Start: 1 * s, Took: 2 * s, Status: 200, Retry: -1},                                    // ends in it: part of the rate only
		{Start: 2 * s, Took: s, First: s / 4, Status: 200, Bytes: 100, Retry: -1},              // all in it
		{Start: 3 * s, Took: 2 * s, First: s, Status: 200, Bytes: 300, Retry: -1, Eased: true}, // all in it
		{Start: 5 * s, Took: 3 * s, First: s, Status: 200, Bytes: 200, Retry: -1},              // begins in it: no part of the rate
		{Start: 3 * s, Status: 503, Retry: 4},
		{Start: 3 * s, Status: 503, Retry: 2},
		{Start: 4 * s, Status: 503, Retry: -1},
		{Start: 4 * s, Status: 503, Retry: 0}, // at once is no answer to an overload
		{Start: 4 * s, Status: 0, Retry: -1},
		{Start: 5 * s, Status: 422, Retry: -1},
		{Start: 6 * s, Status: 0, Retry: -1}, // after it
	}
	want := traffic.Summary{
		Rate: 3.0 / 4, OK: 3, Refused: 4, Failed: 2,
		P50: 2 * s, P90: 3 * s, P99: 3 * s, Max: 3 * s, Mean: 2 * s, FirstP50: s,
		Unexplained: 2, RetryLeast: 2, RetryMost: 4, Bytes: 200, Eased: 1,
	}
	got := traffic.Summarise(samples, window)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got.Asked() != 9 || got.Share() != 4.0/9 {
		t.Errorf("asked %d, share refused %g; want 9 and 4/9", got.Asked(), got.Share())
	}
}

func TestSummaryOfNothingIsZero(t *testing.T) {
	got := traffic.Summarise(nil, traffic.Window{Length: time.Second})
	if diff := cmp.Diff(traffic.Summary{}, got); diff != "" {
		t.Errorf("summary of no samples: %s", diff)
	}
}
