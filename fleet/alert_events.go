package fleet

import (
	"fmt"
	"slices"
	"time"
)

const (
	// mostEvents and eventsFor bound what waits for channels that do not answer.
	mostEvents = 200
	eventsFor  = 24 * time.Hour
)

// rememberEvents notes what happened, for the next tick to tell, and forgets
// what has been told.
func (m *Memory) rememberEvents(now time.Time, snap Snapshot, done []Decision, told map[string]bool) {
	var events []Notice
	for _, n := range snap.Memory.Events {
		if !told[n.Key] && now.Sub(n.At) < eventsFor {
			events = append(events, n)
		}
	}
	for _, x := range done {
		if n, ok := eventOf(now, x); ok && !snap.ending(x) {
			events = append(events, n)
		}
	}
	m.Events = events[max(0, len(events)-mostEvents):]
}

// ending is true for a machine whose end was told when it was first asked for.
func (s Snapshot) ending(x Decision) bool {
	return (x.Kind == KindTerminate || x.Kind == KindForget) && slices.ContainsFunc(s.Workers, func(w Worker) bool {
		return w.ID == x.WorkerID && !w.TerminateAt.IsZero()
	})
}

// eventOf is what people are told of a decision that was carried out.
func eventOf(now time.Time, x Decision) (Notice, bool) {
	if x.Failed {
		return Notice{}, false
	}
	n := Notice{Level: Info, At: now, Queue: x.Queue, WorkerID: x.WorkerID, Decision: x.ID}
	switch {
	case x.Kind == KindLaunch:
		n.Name, n.Sentence = "worker_launched", fmt.Sprintf("Worker %s was launched at %s: %s", x.WorkerID, x.Provider, x.Sentence)
	case x.Kind == KindTerminate && x.Rule == RuleRegistration:
		n.Level, n.Name, n.Sentence = Warning, "worker_not_registered", x.Sentence
	case x.Kind == KindTerminate:
		n.Name, n.Sentence = "worker_terminated", fmt.Sprintf("Worker %s was terminated at %s: %s", x.WorkerID, x.Provider, x.Sentence)
	case x.Kind == KindForget && x.Rule == ruleGone: // by itself, as a drained process does
		n.Name, n.Sentence = "worker_terminated", x.Sentence
	default:
		return Notice{}, false
	}
	n.Key = n.Name + "/" + x.ID
	return n, true
}
