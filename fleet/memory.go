package fleet

import "time"

// Memory is what a tick has to know of earlier ones. It is a value: Decide
// reads it, and Remember makes the next one of it.
type Memory struct {
	LastUp   map[string]time.Time `json:"last_up,omitempty"`   // per queue: when the last one was launched or taken back
	LastDown map[string]time.Time `json:"last_down,omitempty"` // per queue: the last removal that began
	CoolOffs []CoolOff            `json:"cool_offs,omitempty"`
	// Wants are what the backlog policy recommended, per queue, for as long as
	// its window looks back.
	Wants map[string][]Want `json:"wants,omitempty"`
	// Drained are workers that were drained because they were idle, and when: these
	// alone may be un-drained. One that an operator drained, or that an
	// interruption drained, is not among them.
	Drained map[string]time.Time `json:"drained,omitempty"`
	// Empty is, per queue, since when nothing waits in it.
	Empty map[string]time.Time `json:"empty,omitempty"`
	// Idle counts, per worker, the readings in a row in which it was idle.
	Idle map[string]int `json:"idle,omitempty"`
	// Strays are machines and disks that no row knows, by provider/id, and rows
	// that no machine answers to, by row/id: seen first, and how many ticks.
	Strays map[string]Sighting `json:"strays,omitempty"`
	// Faults counts failed observations in a row, by source.
	Faults map[string]int `json:"faults,omitempty"`
	// Drift counts ticks in a row in which LLEN and SQL differed, by queue.
	Drift map[string]int `json:"drift,omitempty"`
	// Alerts are conditions that hold, by Notice.Key.
	Alerts map[string]Condition `json:"alerts,omitempty"`
	// Events are notices of what happened, until the channels have taken them.
	Events []Notice `json:"events,omitempty"`
	// Reconciled is when bills were last compared with the inventory.
	Reconciled time.Time `json:"reconciled,omitzero"`
	// Flaps counts, per queue, launches within ten minutes of a removal.
	Flaps map[string]int `json:"flaps,omitempty"`
	// Inventoried says that every enabled provider has been listed once since
	// this scheduler became the leader: nothing is launched before. It is not kept.
	Inventoried bool `json:"-"`
}

// CoolOff keeps a place from being tried.
type CoolOff struct {
	Place
	Until   time.Time `json:"until"`
	Outcome Outcome   `json:"outcome"`
	Times   int       `json:"times"` // in a row: it doubles
}

// Want is one recommendation.
type Want struct {
	At      time.Time `json:"at"`
	Workers int       `json:"workers"`
}

// Sighting is something that does not belong.
type Sighting struct {
	Since  time.Time `json:"since"`
	Passes int       `json:"passes"`
}

// Condition is an alert's state.
type Condition struct {
	Since time.Time `json:"since"`          // when it began to hold
	Fired time.Time `json:"fired,omitzero"` // when it had held for long enough
	Sent  time.Time `json:"sent,omitzero"`  // when the channels last took it
	Clear time.Time `json:"clear,omitzero"` // since when it does not hold
}
