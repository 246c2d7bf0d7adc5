package simulate

import "time"

// eventKind is what happens.
type eventKind uint8

const (
	jobEnds        eventKind = iota
	machineReady             // it has booted, and its worker registers
	machineWarned            // a spot machine is going to be taken away
	machineTaken             // it is gone
	drainIsOver              // the worker gives back what it still runs
	machineStopped           // what was asked to end has ended
)

// event is something that will happen to a machine. One about a job is void
// when its slot has been given to another since.
type event struct {
	at      time.Duration
	order   uint64 // of events at the same time: as they were made
	machine int32
	turn    uint32
	slot    uint16
	kind    eventKind
}

func (e event) before(o event) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

// agenda is a binary heap of events. It is written out because all the time of
// a replay goes through it.
type agenda struct {
	events []event
	made   uint64
}

func (a *agenda) add(e event) {
	a.made++
	e.order = a.made
	a.events = append(a.events, e)
	i := len(a.events) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(a.events[parent]) {
			break
		}
		a.events[i] = a.events[parent]
		i = parent
	}
	a.events[i] = e
}

func (a *agenda) next() event {
	top := a.events[0]
	last := a.events[len(a.events)-1]
	a.events = a.events[:len(a.events)-1]
	n, i := len(a.events), 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && a.events[child+1].before(a.events[child]) {
			child++
		}
		if !a.events[child].before(last) {
			break
		}
		a.events[i] = a.events[child]
		i = child
	}
	if n > 0 {
		a.events[i] = last
	}
	return top
}
