package fleet

import (
	"fmt"
	"time"
)

// What a machine can still cost after it was decided that it has to go: the time
// its jobs get at the daily limit, and the time the provider takes to end it.
const (
	capDrain     = 2 * time.Minute
	endAllowance = 2 * time.Minute
)

// budget is what may still be spent, as decisions of one tick use it up. It sums
// ceilings, not prices: a spot machine may rise to its bid while it runs.
type budget struct {
	now, midnight time.Time
	cfg           Config
	snap          Snapshot
	// runRate is what all machines cost an hour, add what they can add to the
	// last hour before the next tick, and rest what they can add to the day until
	// they are ended.
	// owed is what they cost up to now, or are charged in any case, that is not in
	// the ledger.
	runRate, add, rest, owed Money
	machines                 map[string]int // per provider, for max_instances
}

func newBudget(now time.Time, cfg Config, snap Snapshot) *budget {
	b := &budget{now: now, midnight: Midnight(now, cfg.Location), cfg: cfg, snap: snap, machines: map[string]int{}}
	for _, w := range snap.Workers {
		if w.Cloud() && !snap.ended(w) {
			b.count(w.Provider, max(w.Ceiling, w.rateNow(snap.Offers)), w.paidFrom(now), w.AccruedUntil, w.Granularity)
		}
	}
	for _, m := range snap.strays() {
		b.count(m.Provider, snap.rateOf(cfg, m.Place), earlier(m.LaunchedAt, now), time.Time{}, 0)
	}
	return b
}

// count adds a machine that is paid for since from, and whose cost is in the
// ledger until booked (zero: not yet).
func (b *budget) count(provider string, rate Money, from, booked time.Time, granularity time.Duration) {
	b.machines[provider]++
	b.runRate += rate
	since := from
	if !booked.IsZero() {
		since = earlier(booked, b.now)
	}
	paidUntil := from.Add(granularity) // no earlier end costs less
	today, lastHour := later(since, b.midnight), later(since, b.now.Add(-time.Hour))
	b.owed += rate.For(later(b.now, paidUntil).Sub(today))
	b.add += rate.For(later(b.now.Add(b.cfg.EvaluationInterval), paidUntil).Sub(lastHour))
	b.rest += rate.For(later(b.now.Add(b.ending()), paidUntil).Sub(today))
}

// ending is how long a machine goes on costing when the next tick finds that it
// has to go: deadlines are seen at ticks, so the drain lasts whole intervals.
func (b *budget) ending() time.Duration {
	interval := max(b.cfg.EvaluationInterval, time.Second)
	drain := (capDrain + interval - 1).Truncate(interval)
	return interval + drain + endAllowance
}

// remaining is how long all machines could go on until the daily limit is
// reached; a day when nothing costs anything.
func (b *budget) remaining() time.Duration {
	left := b.cfg.Limits.Daily - b.snap.Spend.Day - b.owed
	if left <= 0 {
		return 0
	}
	if hours := float64(left) / float64(max(b.runRate, 1)); hours < 24 {
		return time.Duration(hours * float64(time.Hour)).Truncate(time.Second)
	}
	return 24 * time.Hour
}

// refusal is a limit that is in the way: the rule's name for decisions, and what
// an operator reads.
type refusal struct{ rule, limit string }

// refuses names the limit, with its value, that one more machine of this offer
// would break; "" none.
func (b *budget) refuses(o Offer) string { return b.refusal(o).limit }

// refusal goes from what no money can change to the limits in money.
func (b *budget) refusal(o Offer) refusal {
	if o.Market == VPS {
		return refusal{}
	}
	if b.snap.Latch != nil {
		return refusal{"mode", "max_daily_spend_cents (" + b.snap.Latch.Limit.Number() + ") was reached; vps_only until schedule reset"}
	}
	if ModeOf(b.cfg, b.snap) == VPSOnly {
		return refusal{"mode", "mode (vps_only)"}
	}
	p := b.cfg.Providers[o.Provider]
	if b.machines[o.Provider] >= p.MaxInstances {
		return refusal{"max_instances", fmt.Sprintf("max_instances of %s (%d)", o.Provider, p.MaxInstances)}
	}
	if o.Price <= 0 && o.Provider != processProvider {
		return refusal{"no_price", "price (not known)"}
	}
	return b.money(o)
}

// money holds the two limits against the fleet with this machine in it. What
// costs nothing passes even where nothing may be spent.
func (b *budget) money(o Offer) refusal {
	if o.Rate() == 0 {
		return refusal{}
	}
	with := *b
	with.machines = map[string]int{}
	with.count(o.Provider, o.Rate(), b.now, time.Time{}, o.Granularity)
	l := b.cfg.Limits
	if with.runRate > l.Hourly || b.snap.Spend.Hour+with.add > l.Hourly {
		return refusal{"hourly_limit", "max_hourly_spend_cents (" + l.Hourly.Number() + ")"}
	}
	if b.snap.Spend.Day+with.rest >= l.Daily {
		return refusal{"daily_limit", "max_daily_spend_cents (" + l.Daily.Number() + ")"}
	}
	return refusal{}
}

// take reserves the money of a machine that is going to be launched.
func (b *budget) take(o Offer) {
	if o.Market != VPS {
		b.count(o.Provider, o.Rate(), b.now, time.Time{}, o.Granularity)
	}
}

// trips says whether the daily limit would be reached if machines were not
// ended now, with what led to it.
func (b *budget) trips() (Latch, bool) {
	limit, spent := b.cfg.Limits.Daily, b.snap.Spend.Day
	if spent+b.rest < limit || spent+b.rest == 0 {
		return Latch{}, false
	}
	reason := fmt.Sprintf("%s were spent today, and ending %d machines may still cost %s: the limit is %s a day",
		spent, b.total(), b.rest, limit)
	return Latch{At: b.now, Spent: spent, Limit: limit, Reason: reason}, true
}

func (b *budget) total() int {
	n := 0
	for _, k := range b.machines {
		n += k
	}
	return n
}

// Refuses is the same for what act falls back to: it names the limit that a
// machine of this offer would break, on top of what the workers cost already.
// The snapshot's workers are those that are there now, without the row that the
// machine is for.
func Refuses(now time.Time, cfg Config, snap Snapshot, o Offer) string {
	return newBudget(now, cfg, snap).refuses(o)
}

// paidFrom is when a machine began to cost: its row is older than it, so that
// nothing is missed. Times of the provider's clock are for reconciling only.
func (w Worker) paidFrom(now time.Time) time.Time {
	for _, t := range []time.Time{w.ProvisionedAt, w.LaunchedAt, w.RegisteredAt} {
		if !t.IsZero() {
			return earlier(t, now)
		}
	}
	return now
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
