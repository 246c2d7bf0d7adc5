package fleet

import (
	"slices"
	"time"
)

// How long a place is not tried after it failed: doubling from the shortest to
// the longest. How often it failed in a row is known for as long again.
const (
	coolShortest = 3 * time.Minute
	coolLongest  = 30 * time.Minute
)

// Unregistered is why the place of a machine cools off whose worker never
// registered.
const Unregistered Outcome = "unregistered"

// RuleRegistration is the rule of decisions about machines whose worker did not
// register in time.
const RuleRegistration = "registration_timeout_seconds"

// rememberCoolOffs keeps places from being tried that had no machine to give, or
// gave one that never came to life. A success ends the count: a machine, or a
// worker where that was what failed.
func (m *Memory) rememberCoolOffs(now time.Time, snap Snapshot, done []Decision) {
	m.CoolOffs = slices.DeleteFunc(m.CoolOffs, func(c CoolOff) bool {
		return now.Sub(c.Until) > coolLongest || c.Outcome == Unregistered && snap.registered(c)
	})
	for _, d := range done {
		for _, a := range d.Attempts {
			m.attempted(now, a)
		}
		if (d.Rule == RuleRegistration || d.Rule == ruleGone) && d.Outcome == OutcomeDone && !d.Failed {
			m.unregistered(now, snap, d)
		}
	}
}

func (m *Memory) attempted(now time.Time, a Attempt) {
	all := Place{Provider: a.Provider}
	switch Outcome(a.Outcome) {
	case NoCapacity:
		m.cool(now, a.Place, NoCapacity, coolShortest, a.After)
	case OverQuota, Throttled:
		m.cool(now, all, Outcome(a.Outcome), coolShortest, a.After)
	case Permanent:
		m.cool(now, all, Permanent, coolLongest, a.After)
	case OutcomeDone:
		m.CoolOffs = slices.DeleteFunc(m.CoolOffs, func(c CoolOff) bool {
			return c.Outcome != Unregistered && (c.Place == a.Place || c.Place == all)
		})
	}
}

// cool begins a cool-off, or a longer one. What a provider says itself of when
// to come again is the least.
func (m *Memory) cool(now time.Time, p Place, why Outcome, first, after time.Duration) {
	i := slices.IndexFunc(m.CoolOffs, func(c CoolOff) bool { return c.Place == p })
	if i < 0 {
		i, m.CoolOffs = len(m.CoolOffs), append(m.CoolOffs, CoolOff{Place: p})
	}
	c := &m.CoolOffs[i]
	wait := first
	for range c.Times {
		wait = min(2*wait, coolLongest)
	}
	c.Until, c.Outcome, c.Times = later(c.Until, now.Add(max(wait, after))), why, min(c.Times+1, 10)
}

// unregistered cools off where a machine came from whose worker never came, as it
// hung or was gone too soon: once, because only the first decision about it finds
// a row that nobody began to end.
func (m *Memory) unregistered(now time.Time, snap Snapshot, d Decision) {
	for _, w := range snap.Workers {
		if w.ID == d.WorkerID && w.TerminateAt.IsZero() && w.Status == Provisioning {
			m.cool(now, w.Place, Unregistered, coolShortest, 0)
		}
	}
}

// registered says that a worker has come from the place since it was tried again.
func (s Snapshot) registered(c CoolOff) bool {
	return slices.ContainsFunc(s.Workers, func(w Worker) bool { return w.Place == c.Place && w.RegisteredAt.After(c.Until) })
}
