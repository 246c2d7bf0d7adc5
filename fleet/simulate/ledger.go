package simulate

import (
	"math"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// ledger is spend_entries, as far back as decisions look.
type ledger struct {
	zone   *time.Location
	recent []booking // of the last hour
	day    time.Time // whose midnight is
	today  fleet.Money
	before []Day // that are over
}

func (l *ledger) begin(start time.Time, zone *time.Location) {
	l.zone = orElse(zone, time.UTC)
	l.day = fleet.Midnight(start, l.zone)
}

func (l *ledger) add(e fleet.SpendEntry) {
	l.turn(e.At)
	b := booking{e.From.UnixNano(), e.Until.UnixNano(), e.Amount}
	l.recent = append(l.recent, b)
	l.today += b.between(l.day.UnixNano(), math.MaxInt64)
}

// turn begins a new day.
func (l *ledger) turn(now time.Time) {
	if day := fleet.Midnight(now, l.zone); day.After(l.day) {
		l.before = append(l.before, Day{l.day.Format(time.DateOnly), l.today})
		l.day, l.today = day, 0
	}
}

// spend is what decisions are told.
func (l *ledger) spend(now time.Time) fleet.Spend {
	l.turn(now)
	from, until, kept := now.Add(-time.Hour).UnixNano(), now.UnixNano(), l.recent[:0]
	s := fleet.Spend{Day: l.today}
	for _, b := range l.recent {
		if b.until > from {
			kept = append(kept, b)
			s.Hour += b.between(from, until)
		}
	}
	l.recent = kept
	return s
}

// booking is an entry as far as sums need it.
type booking struct {
	from, until int64 // nanoseconds since 1970
	amount      fleet.Money
}

// between is the part of an entry between two times.
func (b booking) between(from, until int64) fleet.Money {
	if b.from >= from && b.until <= until {
		return b.amount
	}
	begin, end := max(b.from, from), min(b.until, until)
	if begin >= end {
		return 0
	}
	return fleet.Money(float64(b.amount) * float64(end-begin) / float64(b.until-b.from))
}

// days are all days up to now.
func (l *ledger) days() []Day {
	return append(l.before, Day{l.day.Format(time.DateOnly), l.today})
}
