package elastic

import (
	"strconv"
	"time"
)

// Action is what a decision did to the number of workers.
type Action int

// The three things that can be done.
const (
	Hold Action = iota
	Grow
	Shrink
)

// String is the action's name.
func (a Action) String() string {
	switch a {
	case Hold:
		return "hold"
	case Grow:
		return "grow"
	case Shrink:
		return "shrink"
	}
	return "Action(" + strconv.Itoa(int(a)) + ")"
}

// Limit is what changed or stopped a decision.
type Limit string

// What can stop a pool from growing or shrinking.
const (
	LimitNone      Limit = ""
	LimitMaximum   Limit = "maximum"     // MaxWorkers exist
	LimitMinimum   Limit = "minimum"     // MinWorkers live
	LimitCooldown  Limit = "cooldown"    // the last action is too recent
	LimitBackoff   Limit = "backoff"     // workers exit as soon as they start
	LimitCPU       Limit = "gate-cpu"    // the gate's slots are all used
	LimitMemory    Limit = "gate-memory" // the gate's memory is
	LimitSaturated Limit = "saturated"   // Config.Saturated said so
)

// Decision is one look at the pool that wanted a change: what was wanted, what
// came of it, and why. Equal ones in a row are told once, with a count.
type Decision struct {
	At    time.Time // of the latest
	Since time.Time // of the first
	Times int

	Action  Action // what was wanted
	Wanted  int    // how many workers more, or fewer
	Changed int    // how many it came to
	Reason  string // why it was wanted
	Limit   Limit  // what made Changed less than Wanted
	Stopped string // the same, in words

	// What it was decided on.
	Live, Retiring, Busy, Queued int
	Wait                         time.Duration // standing wait of the queue

	kind reason
}

// reason tells apart what Reason puts into words.
type reason int

const (
	reasonNone reason = iota
	reasonSignal
	reasonFloor   // too few live: no cooldown, no gate
	reasonReplace // a worker was lost: the same
	reasonCeiling // too many live after SetLimits: no cooldown
)

// Forced says that the decision keeps a promise (the floor, the place of a lost
// worker, a new maximum) and does not follow the signal. Neither a cooldown nor
// the gate stops it.
func (d Decision) Forced() bool { return d.kind != reasonSignal && d.kind != reasonNone }

// records is the latest decisions, oldest first.
type records struct {
	ring []Decision
	next int
}

const keptDecisions = 128

func (r *records) add(d Decision) {
	if d.Action == Hold {
		return
	}
	d.Since, d.Times = d.At, 1
	if last := r.last(); last != nil && last.Changed == 0 && d.Changed == 0 &&
		last.Action == d.Action && last.Limit == d.Limit && last.kind == d.kind {
		d.Since, d.Times = last.Since, last.Times+1
		*last = d
		return
	}
	if len(r.ring) < keptDecisions {
		r.ring = append(r.ring, d)
		return
	}
	r.ring[r.next] = d
	r.next = (r.next + 1) % keptDecisions
}

func (r *records) last() *Decision {
	if len(r.ring) == 0 {
		return nil
	}
	return &r.ring[(r.next+len(r.ring)-1)%len(r.ring)]
}

func (r *records) list() []Decision {
	return append(append([]Decision(nil), r.ring[r.next:]...), r.ring[:r.next]...)
}
