package fleettest

import (
	"context"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Windows of what is counted of the past.
const (
	arrivalWindow = 5 * time.Minute
	recent        = 100 // attempts
)

// demand is the answer of Demand.
type demand struct {
	at     time.Time
	states []fleet.QueueState
}

// Demand is of fleet.Demand.
func (s *Store) Demand(ctx context.Context, queues []string) (time.Time, []fleet.QueueState, error) {
	d, err := call(ctx, s, "Demand", func(now time.Time) (demand, error) {
		d := demand{at: now}
		for _, name := range queues {
			d.states = append(d.states, s.state(name, now))
		}
		return d, nil
	})
	return d.at, d.states, err
}

func (s *Store) state(name string, now time.Time) fleet.QueueState {
	q := s.queue(name)
	state := fleet.QueueState{Name: name, Source: "database"}
	for _, j := range q.waiting {
		if !j.EligibleAt.After(now) {
			count(&state, j, now.Sub(j.EligibleAt))
		}
	}
	state.Rows = state.Depth
	for _, j := range s.running {
		if j.Queue == name {
			state.Running++
		}
	}
	q.arrivals = slices.DeleteFunc(q.arrivals, func(at time.Time) bool { return now.Sub(at) > arrivalWindow })
	state.Arrivals = float64(len(q.arrivals)) / arrivalWindow.Seconds()
	q.recall(&state)
	return state
}

func count(state *fleet.QueueState, j *Job, age time.Duration) {
	state.Depth++
	state.Oldest = max(state.Oldest, age)
	band := &state.Bands[bandOf(j.Priority)]
	band.Depth++
	band.Oldest = max(band.Oldest, age)
	*row(&state.Waits, j)++
}

func bandOf(priority int) int {
	switch {
	case priority <= 3:
		return fleet.Interactive
	case priority <= 6:
		return fleet.Standard
	}
	return fleet.Bulk
}

func row(w *fleet.Waits, j *Job) *int64 {
	isLong := j.Estimated > long
	switch {
	case isLong && j.Resumes && j.Priority > 3:
		return &w.LongResumes
	case isLong:
		return &w.LongFixed
	case j.Priority <= 3:
		return &w.Interactive
	case j.Priority <= 6:
		return &w.Standard
	}
	return &w.Bulk
}

// recall fills in what recent attempts say.
func (q *queue) recall(state *fleet.QueueState) {
	var took time.Duration
	for _, a := range q.past {
		took += a.until.Sub(a.from)
		if a.status == "failed" {
			state.Failed++
		}
	}
	if state.Finished = len(q.past); state.Finished > 0 {
		state.Service = took / time.Duration(state.Finished)
	}
}

// Depths is of fleet.Depths: LLEN, which is what the rows say unless SetDepth
// had Redis forget.
func (s *Store) Depths(ctx context.Context, queues []string) (map[string]int64, error) {
	return call(ctx, s, "Depths", func(now time.Time) (map[string]int64, error) {
		depths := map[string]int64{}
		for _, name := range queues {
			n, wrong := s.depths[name]
			if !wrong {
				n = s.state(name, now).Depth
			}
			depths[name] = n
		}
		return depths, nil
	})
}

// SetDepth has Redis say something else than the rows; a negative number ends that.
func (s *Store) SetDepth(queue string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 {
		delete(s.depths, queue)
		return
	}
	s.depths[queue] = n
}
