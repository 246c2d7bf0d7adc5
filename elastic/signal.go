package elastic

import (
	"math"
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

// Spans of the averages. Need rises fast and is believed early; idleness must
// last before it is.
const (
	spanArrival = time.Second
	spanService = 2 * time.Second
	spanBacklog = 500 * time.Millisecond
	spanBusy    = 2 * time.Second
)

// averages belong to the goroutine of Run.
type averages struct {
	arrival ewma // jobs a second
	service ewma // ns a job
	backlog ewma // queued jobs
	busy    ewma // workers in a job
}

func newAverages() averages {
	return averages{
		arrival: ewma{span: spanArrival},
		service: ewma{span: spanService},
		backlog: ewma{span: spanBacklog},
		busy:    ewma{span: spanBusy},
	}
}
