package fleet

import "time"

// budget is what may still be spent, as decisions of one tick use it up.
type budget struct {
	now  time.Time
	cfg  Config
	snap Snapshot
}

func newBudget(now time.Time, cfg Config, snap Snapshot) *budget {
	return &budget{now: now, cfg: cfg, snap: snap}
}

// refuses names the limit, with its value, that one more machine of this offer
// would break; "" none.
func (b *budget) refuses(o Offer) string { return "" }

// take reserves the money of a machine that is going to be launched.
func (b *budget) take(o Offer) {}

// trips says whether the daily limit would be reached if machines were not
// ended now, with what led to it.
func (b *budget) trips() (Latch, bool) { return Latch{}, false }

// Refuses is the same for what act falls back to: it names the limit that a
// machine of this offer would break, on top of what the workers cost already.
func Refuses(now time.Time, cfg Config, snap Snapshot, o Offer) string {
	return newBudget(now, cfg, snap).refuses(o)
}
