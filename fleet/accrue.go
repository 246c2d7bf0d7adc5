package fleet

import (
	"math/big"
	"time"
)

// Accrue books the time of machines that are paid for, from where the last
// entry of each ended. The least time that a provider charges is booked whole as
// soon as a machine is there: it will be paid whatever comes.
//
// A machine costs what its place is offered at since the last entry, on spot up
// to its ceiling; without an offer, what it was launched at.
//
// A caller that cannot write entries keeps them, and moves AccruedUntil of its
// workers to the Until of the last accrual, so that money goes on in memory.
func Accrue(now time.Time, workers []Worker, offers []Offer) []SpendEntry {
	now = now.Truncate(time.Millisecond) // what stores keep of a time
	var out []SpendEntry
	for _, w := range workers {
		if w.Rate = w.rateNow(offers); !w.Cloud() || w.Rate <= 0 {
			continue
		}
		from := w.AccruedUntil
		if from.IsZero() {
			from = w.paidFrom(now)
			if w.Granularity > 0 {
				least := w.entry(now, SpendMinimum, from, from.Add(w.Granularity))
				least.Note = "at least " + w.Granularity.String() + " are charged"
				out = append(out, least)
				from = least.Until
			}
			// Even an empty accrual is written: it is what tells the next tick
			// that the least time is booked.
			out = append(out, w.entry(now, SpendAccrual, from, later(from, now)))
			continue
		}
		if now.After(from) {
			out = append(out, w.entry(now, SpendAccrual, from, now))
		}
	}
	return out
}

func (w Worker) entry(now time.Time, kind SpendKind, from, until time.Time) SpendEntry {
	return SpendEntry{At: now, WorkerID: w.ID, Place: w.Place, Queue: w.paidFor(), Kind: kind,
		From: from, Until: until, Amount: w.Rate.between(from, until)}
}

// rateNow is what a machine costs an hour at today's prices. One on demand is
// never booked for less than it was launched at.
func (w Worker) rateNow(offers []Offer) Money {
	for _, o := range offers {
		if o.Place == w.Place && o.Price > 0 {
			if w.Market != Spot {
				return max(w.Rate, o.Price+o.Surcharge)
			}
			if ceiling := max(w.Ceiling, w.Rate); ceiling > 0 {
				return max(min(o.Price+o.Surcharge, ceiling), 1)
			}
			return o.Price + o.Surcharge // at launch its price was not known
		}
	}
	return w.Rate
}

// paidFor is the queue that a machine was launched for: money is booked once,
// on the first, however many it serves.
func (w Worker) paidFor() string {
	for _, queues := range [][]string{w.Request.Queues, w.Queues} {
		if len(queues) > 0 {
			return queues[0]
		}
	}
	return ""
}

// between is what an hourly price comes to from one time to another, in such a
// way that parts add up to the whole: any hour of entries, however many, comes
// to the hourly price and not to a rounding more.
func (m Money) between(from, until time.Time) Money {
	return m.since1970(until) - m.since1970(from)
}

func (m Money) since1970(t time.Time) Money {
	p := new(big.Int).Mul(big.NewInt(int64(m)), big.NewInt(t.UnixNano()))
	return Money(p.Div(p, big.NewInt(int64(time.Hour))).Int64())
}
