package fleet

import "time"

// The rows of the seed's example table, from nothing to all that is allowed.
const (
	stepNone = iota
	stepOne
	stepThree
	stepMax
)

// wantSteps is the seed's example table: burst workers by the higher of the
// rows that depth and age fall in, and none once the queue has been empty for
// idle_minutes.
func wantSteps(now time.Time, cfg Config, m Memory, v view) want {
	row := stepOf(v.QueueState)
	w := want{workers: v.cfg.BaselineWorkers, inputs: []Fact{
		{"queue_depth", number(v.Depth)},
		{"oldest_age_seconds", seconds(v.Oldest)},
		{"workers", number(v.have)},
		{"launching", number(v.launching)},
	}}
	switch row {
	case stepOne:
		w.rule, w.workers = "steps.provision_1", w.workers+1
	case stepThree:
		w.rule, w.workers = "steps.provision_3", w.workers+3
	case stepMax:
		w.rule, w.workers = "steps.provision_max", max(w.workers, v.cfg.MaxWorkers)
	}
	since, empty := m.Empty[v.Name]
	w.clear = empty && v.Depth == 0 && v.Oldest == 0 && now.Sub(since) >= cfg.ScaleDown.Idle
	return w
}

// stepOf is the row of a queue; stepMax alerts the operator.
func stepOf(q QueueState) int { return max(stepOfDepth(q.Depth), stepOfAge(q.Oldest)) }

func stepOfDepth(depth int64) int {
	switch {
	case depth > 100:
		return stepMax
	case depth > 20:
		return stepThree
	case depth > 5:
		return stepOne
	}
	return stepNone
}

// stepOfAge reads an age that two rows share, such as five minutes, as the
// higher one.
func stepOfAge(oldest time.Duration) int {
	switch {
	case oldest > 10*time.Minute:
		return stepMax
	case oldest >= 5*time.Minute:
		return stepThree
	case oldest >= 2*time.Minute:
		return stepOne
	}
	return stepNone
}
