package fleettest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Limits of a page of decisions.
const (
	standardPage = 50
	largestPage  = 200
)

// Ask is of fleet.Desk; asking again with the same ID changes nothing.
func (s *Store) Ask(ctx context.Context, r fleet.Request) error {
	return act(ctx, s, "Ask", func(time.Time) error {
		if !slices.ContainsFunc(s.requests, func(q fleet.Request) bool { return q.ID == r.ID }) {
			s.requests = append(s.requests, r)
		}
		return nil
	})
}

// Decisions is of fleet.Desk.
func (s *Store) Decisions(ctx context.Context, f fleet.DecisionFilter) ([]fleet.Decision, error) {
	return call(ctx, s, "Decisions", func(time.Time) ([]fleet.Decision, error) {
		limit := min(cmp.Or(f.Limit, standardPage), largestPage)
		older := s.decisions
		if f.Before != "" {
			at, ok := s.byID[f.Before]
			if !ok {
				return nil, fmt.Errorf("decision %s: %w", f.Before, fleet.ErrNotFound)
			}
			older = s.decisions[:at]
		}
		var list []fleet.Decision
		for _, k := range slices.Backward(older) {
			d, err := k.decision()
			if err != nil {
				return nil, err
			}
			if len(list) == limit {
				break
			}
			if chosen(f, d) {
				list = append(list, d)
			}
		}
		return list, nil
	})
}

func chosen(f fleet.DecisionFilter, d fleet.Decision) bool {
	return (f.Kind == "" || f.Kind == d.Kind) && (f.Queue == "" || f.Queue == d.Queue) &&
		(f.WorkerID == "" || f.WorkerID == d.WorkerID) && (f.Tick == "" || f.Tick == d.Tick)
}

// Decision is of fleet.Desk.
func (s *Store) Decision(ctx context.Context, id string) (fleet.Decision, error) {
	return call(ctx, s, "Decision", func(time.Time) (fleet.Decision, error) {
		if at, ok := s.byID[id]; ok {
			return s.decisions[at].decision()
		}
		return fleet.Decision{}, fmt.Errorf("decision %s: %w", id, fleet.ErrNotFound)
	})
}

// SpendEntries is of fleet.Desk.
func (s *Store) SpendEntries(ctx context.Context, before int64, limit int) ([]fleet.SpendEntry, error) {
	return call(ctx, s, "SpendEntries", func(time.Time) ([]fleet.SpendEntry, error) {
		var list []fleet.SpendEntry
		for _, e := range slices.Backward(s.entries) {
			if (before == 0 || e.ID < before) && len(list) < limit {
				list = append(list, e)
			}
		}
		return list, nil
	})
}

// Spending is of fleet.Desk.
func (s *Store) Spending(ctx context.Context, from, until time.Time, zone *time.Location) ([]fleet.Spending, error) {
	return call(ctx, s, "Spending", func(time.Time) ([]fleet.Spending, error) {
		return fleet.ByDay(s.entries, from, until, zone), nil
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Usage is of fleet.Usages.
func (s *Store) Usage(ctx context.Context, from, until time.Time) ([]fleet.Usage, error) {
	return call(ctx, s, "Usage", func(now time.Time) ([]fleet.Usage, error) {
		sums := map[[2]string]*fleet.Usage{}
		all := slices.Clone(s.attempts)
		for _, j := range s.running {
			all = append(all, attempt{j.Queue, j.Tenant, j.WorkerID, j.StartedAt, now, "running"})
		}
		for _, a := range all {
			w := s.workers[a.worker]
			took := earlier(a.until, until).Sub(later(a.from, from))
			if w == nil || w.Rate == 0 || took <= 0 {
				continue
			}
			key := [2]string{a.tenant, a.queue}
			if sums[key] == nil {
				sums[key] = &fleet.Usage{Tenant: a.tenant, Queue: a.queue}
			}
			sums[key].Jobs++
			sums[key].Seconds += took.Seconds()
			sums[key].Amount += w.Rate.For(took) / fleet.Money(max(1, w.Slots))
		}
		var list []fleet.Usage
		for _, key := range slices.SortedFunc(maps.Keys(sums), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
			list = append(list, *sums[key])
		}
		return list, nil
	})
}

// AllDecisions lists whatever was recorded, oldest first.
func (s *Store) AllDecisions() []fleet.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]fleet.Decision, 0, len(s.decisions))
	for _, k := range s.decisions {
		if d, err := k.decision(); err == nil {
			list = append(list, d)
		}
	}
	return list
}

// AllEntries lists whatever was booked, oldest first.
func (s *Store) AllEntries() []fleet.SpendEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}
