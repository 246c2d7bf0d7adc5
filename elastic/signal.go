package elastic

import (
	"math"
	"slices"
	"time"
)

// ewma is an exponentially weighted moving average over time: what is older
// than span weighs 1/e.
type ewma struct {
	span  time.Duration
	value float64
	known bool
}

// add takes a value that held for the duration of over.
func (a *ewma) add(value float64, over time.Duration) {
	if !a.known {
		a.value, a.known = value, true
		return
	}
	weight := 1 - math.Exp(-float64(over)/float64(a.span))
	a.value += weight * (value - a.value)
}

// Spans of the averages: short ones, because a burst lasts for seconds. The
// rate of arrivals has a second, which is for people.
const (
	spanArrival = 250 * time.Millisecond
	spanTold    = 2 * time.Second
	spanService = 2 * time.Second
	spanBacklog = 500 * time.Millisecond
	spanBusy    = 500 * time.Millisecond
)

// averages belong to the goroutine of Run.
type averages struct {
	arrival ewma // jobs a second
	told    ewma // the same
	service ewma // ns a job
	backlog ewma // queued jobs
	busy    ewma // workers in a job
	needed  highest
}

func newAverages(keepIdle time.Duration) averages {
	return averages{
		arrival: ewma{span: spanArrival},
		told:    ewma{span: spanTold},
		service: ewma{span: spanService},
		backlog: ewma{span: spanBacklog},
		busy:    ewma{span: spanBusy},
		needed:  highest{part: max(1, int64(keepIdle)/6)},
	}
}

// highest is the highest value of the last while, to a sixth of it.
type highest struct {
	part  int64 // ns, a sixth of the while
	parts [6]float64
	at    int64 // number of the current part
}

// add takes the value at a moment of the pool's clock.
func (h *highest) add(value float64, now int64) {
	at := now / h.part
	for h.at = max(h.at, at-int64(len(h.parts))); h.at < at; {
		h.at++
		h.parts[h.at%int64(len(h.parts))] = 0
	}
	i := at % int64(len(h.parts))
	h.parts[i] = max(h.parts[i], value)
}

func (h *highest) value() float64 { return slices.Max(h.parts[:]) }
