package simulate

import (
	"math"
	"time"
)

// Waits is how long jobs waited: from when they became eligible until they
// ended, less the time that they needed. An interruption's lost work counts.
type Waits struct {
	Jobs int64         `json:"jobs"`
	P50  time.Duration `json:"p50_ns"`
	P95  time.Duration `json:"p95_ns"`
	P99  time.Duration `json:"p99_ns"`
	Max  time.Duration `json:"max_ns"`
	Mean time.Duration `json:"mean_ns"`
	// Over is the part of them that waited for more than five minutes, 0 to 1.
	Over float64 `json:"over_5_minutes"`
}

const patience = 5 * time.Minute

// perOctave is how many steps a doubling of the wait has: one percent each.
const perOctave = 64

// histogram counts waits by their logarithm, so that ten million of them need
// no more room than ten. Quantiles are right to half a step.
type histogram struct {
	counts [perOctave * 40]int64
	n      int64
	over   int64
	sum    float64 // seconds
	max    time.Duration
}

func (h *histogram) add(wait time.Duration) {
	wait = max(wait, 0)
	h.counts[min(len(h.counts)-1, int(math.Log2(1+float64(wait)/float64(time.Millisecond))*perOctave))]++
	h.n++
	h.sum += wait.Seconds()
	h.max = max(h.max, wait)
	if wait > patience {
		h.over++
	}
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n += o.n
	h.over += o.over
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

func (h *histogram) quantile(part float64) time.Duration {
	rank := int64(math.Ceil(part * float64(h.n)))
	for i, n := range h.counts {
		if rank -= n; rank > 0 || n == 0 {
			continue
		}
		if i == 0 {
			return 0
		}
		middle := math.Exp2((float64(i)+0.5)/perOctave) - 1
		return min(h.max, time.Duration(middle*float64(time.Millisecond)))
	}
	return 0
}

func (h *histogram) waits() Waits {
	if h.n == 0 {
		return Waits{}
	}
	return Waits{
		Jobs: h.n, P50: h.quantile(0.50), P95: h.quantile(0.95), P99: h.quantile(0.99), Max: h.max,
		Mean: time.Duration(h.sum / float64(h.n) * float64(time.Second)), Over: float64(h.over) / float64(h.n),
	}
}
