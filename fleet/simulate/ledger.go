package simulate

import (
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// ledger is spend_entries, as far back as decisions look.
type ledger struct {
	zone   *time.Location
	recent []fleet.SpendEntry // of the last hour
	day    time.Time          // whose midnight is
	today  fleet.Money
	before []Day // that are over
}

func (l *ledger) begin(start time.Time, zone *time.Location) {
	l.zone = orElse(zone, time.UTC)
	l.day = midnight(start, l.zone)
}

func midnight(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}

func (l *ledger) add(e fleet.SpendEntry) {
	l.turn(e.Until)
	l.recent = append(l.recent, e)
	l.today += share(e, l.day, e.Until)
}

// turn begins a new day.
func (l *ledger) turn(now time.Time) {
	if day := midnight(now, l.zone); day.After(l.day) {
		l.before = append(l.before, Day{l.day.Format(time.DateOnly), l.today})
		l.day, l.today = day, 0
	}
}

// spend is what decisions are told.
func (l *ledger) spend(now time.Time) fleet.Spend {
	l.turn(now)
	from, kept := now.Add(-time.Hour), l.recent[:0]
	s := fleet.Spend{Day: l.today}
	for _, e := range l.recent {
		if e.Until.After(from) {
			kept = append(kept, e)
			s.Hour += share(e, from, now)
		}
	}
	l.recent = kept
	return s
}

// share is the part of an entry between two times.
func share(e fleet.SpendEntry, from, until time.Time) fleet.Money {
	whole := e.Until.Sub(e.From)
	begin, end := e.From, e.Until
	if begin.Before(from) {
		begin = from
	}
	if end.After(until) {
		end = until
	}
	switch {
	case !end.After(begin) && whole > 0:
		return 0
	case end.Sub(begin) >= whole:
		return e.Amount
	}
	return fleet.Money(float64(e.Amount) * float64(end.Sub(begin)) / float64(whole))
}

// days are all days up to now.
func (l *ledger) days() []Day {
	return append(l.before, Day{l.day.Format(time.DateOnly), l.today})
}
