package traffic

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Summary is what a window of samples says.
type Summary struct {
	// Rate is how many good answers ended in the window, a second.
	Rate float64
	// OK, Refused and Failed count the requests that began in the window.
	OK, Refused, Failed int
	// P50 to Max are of the good ones among these, FirstP50 of their first bytes.
	P50, P90, P99, Max, Mean, FirstP50 time.Duration
	// Unexplained are refusals without Retry-After; the others were told to
	// come back after RetryLeast to RetryMost seconds.
	Unexplained           int
	RetryLeast, RetryMost int
	// Bytes is the mean size of a good answer, Eased how many of them were made
	// with less effort.
	Bytes float64
	Eased int
}

// Summarise looks at the samples of a window.
func Summarise(samples []Sample, w Window) Summary {
	var s Summary
	var took, first []time.Duration
	var done int
	var bytes int64
	for _, each := range samples {
		if each.OK() && w.has(each.end()) {
			done++
		}
		if !w.has(each.Start) {
			continue
		}
		switch {
		case each.OK():
			took, first = append(took, each.Took), append(first, each.First)
			bytes += each.Bytes
			if each.Eased {
				s.Eased++
			}
		case each.Refused():
			s.refuse(each.Retry)
		default:
			s.Failed++
		}
	}
	s.OK = len(took)
	s.Rate = float64(done) / w.Length.Seconds()
	s.Bytes = float64(bytes) / float64(max(1, s.OK))
	s.Mean, s.P50, s.P90 = Mean(took), Percentile(took, 0.5), Percentile(took, 0.9)
	s.P99, s.Max = Percentile(took, 0.99), Percentile(took, 1)
	s.FirstP50 = Percentile(first, 0.5)
	return s
}

func (s *Summary) refuse(retry int) {
	if retry < 1 {
		s.Unexplained++
	} else {
		if s.Refused == s.Unexplained || retry < s.RetryLeast {
			s.RetryLeast = retry
		}
		s.RetryMost = max(s.RetryMost, retry)
	}
	s.Refused++
}

// Asked counts the requests that began in the window.
func (s Summary) Asked() int { return s.OK + s.Refused + s.Failed }

// Share is the part of the requests that were refused.
func (s Summary) Share() float64 { return float64(s.Refused) / float64(max(1, s.Asked())) }

// Percentile is the smallest value that at least the share p of the values do
// not exceed (nearest rank); zero without values.
func Percentile[T cmp.Ordered](values []T, p float64) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median is the middle value, or the mean of the two middle ones.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Mean is the arithmetic mean; zero without values.
func Mean[T ~int64 | ~float64](values []T) T {
	var sum T
	for _, v := range values {
		sum += v
	}
	return sum / T(max(1, len(values)))
}
