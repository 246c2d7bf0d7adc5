package fleettest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// kept is a decision as a database has it.
type kept struct {
	id   string
	json []byte
}

func (k kept) decision() (fleet.Decision, error) {
	var d fleet.Decision
	if err := json.Unmarshal(k.json, &d); err != nil {
		return d, fmt.Errorf("read decision: %w", err)
	}
	return d, nil
}

// State is of fleet.Ledger.
func (s *Store) State(ctx context.Context) (fleet.State, error) {
	return call(ctx, s, "State", func(time.Time) (fleet.State, error) {
		state := fleet.State{FleetID: s.fleetID, Latch: clone(s.latch), Requests: slices.Clone(s.requests), Ticked: s.ticked}
		if err := json.Unmarshal(s.memory, &state.Memory); err != nil {
			return state, fmt.Errorf("read memory: %w", err)
		}
		return state, nil
	})
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	copied := *p
	return &copied
}

// Record is of fleet.Ledger. A decision whose ID is there already is replaced.
func (s *Store) Record(ctx context.Context, r fleet.Record) error {
	return act(ctx, s, "Record", func(now time.Time) error {
		decisions, memory, err := encode(r)
		if err != nil {
			return err
		}
		for _, k := range decisions {
			s.keep(k)
		}
		for _, e := range r.Entries {
			s.book(e)
		}
		if memory != nil {
			s.memory = memory
		}
		s.requests = slices.DeleteFunc(s.requests, func(q fleet.Request) bool { return slices.Contains(r.Answered, q.ID) })
		s.ticked = now
		return nil
	})
}

func encode(r fleet.Record) (decisions []kept, memory []byte, err error) {
	for _, d := range r.Decisions {
		text, err := json.Marshal(d)
		if err != nil {
			return nil, nil, fmt.Errorf("write decision: %w", err)
		}
		decisions = append(decisions, kept{d.ID, text})
	}
	if r.Memory == nil {
		return decisions, nil, nil
	}
	if memory, err = json.Marshal(r.Memory); err != nil {
		return nil, nil, fmt.Errorf("write memory: %w", err)
	}
	return decisions, memory, nil
}

func (s *Store) keep(k kept) {
	if at, ok := s.byID[k.id]; ok {
		s.decisions[at] = k
		return
	}
	s.byID[k.id] = len(s.decisions)
	s.decisions = append(s.decisions, k)
}

// book leaves out what is booked already: a record may be sent again.
func (s *Store) book(e fleet.SpendEntry) {
	key := entryOf(e)
	w := s.workers[e.WorkerID]
	accrual := e.Kind == fleet.SpendAccrual
	if s.booked[key] || accrual && w != nil && !e.Until.After(w.AccruedUntil) {
		return
	}
	s.booked[key] = true
	e.ID = int64(len(s.entries) + 1)
	s.entries = append(s.entries, e)
	if accrual && w != nil {
		w.AccruedUntil = e.Until
	}
}

// entryKey is what makes two entries the same one.
type entryKey struct {
	worker      string
	place       fleet.Place
	queue, note string
	kind        fleet.SpendKind
	from, until int64
}

func entryOf(e fleet.SpendEntry) entryKey {
	return entryKey{e.WorkerID, e.Place, e.Queue, e.Note, e.Kind, e.From.UnixNano(), e.Until.UnixNano()}
}

// Trip is of fleet.Ledger.
func (s *Store) Trip(ctx context.Context, l fleet.Latch) error {
	return act(ctx, s, "Trip", func(time.Time) error {
		if s.latch == nil {
			s.latch = &l
		}
		return nil
	})
}

// Reset is of fleet.Ledger.
func (s *Store) Reset(ctx context.Context) (*fleet.Latch, error) {
	return call(ctx, s, "Reset", func(time.Time) (*fleet.Latch, error) {
		was := s.latch
		s.latch = nil
		return was, nil
	})
}

// Spent is of fleet.Ledger.
func (s *Store) Spent(ctx context.Context, from, until time.Time) (fleet.Money, error) {
	return call(ctx, s, "Spent", func(time.Time) (fleet.Money, error) {
		var sum fleet.Money
		for _, e := range s.entries {
			sum += e.Share(from, until)
		}
		return sum, nil
	})
}

// Bills is of fleet.Ledger.
func (s *Store) Bills(ctx context.Context, ask fleet.Bills) ([]fleet.Bill, error) {
	return call(ctx, s, "Bills", func(time.Time) ([]fleet.Bill, error) {
		bills := map[string]fleet.Bill{}
		for id, w := range s.workers {
			if w.Status != fleet.Terminated || !s.ended[id].Before(ask.Since) || slices.Contains(ask.IDs, id) {
				bills[id] = fleet.Bill{Worker: s.shown(w), TerminatedAt: s.ended[id]}
			}
		}
		for _, e := range s.entries {
			s.bill(bills, ask, e)
		}
		var out []fleet.Bill
		for _, id := range slices.Sorted(maps.Keys(bills)) {
			out = append(out, bills[id])
		}
		return out, nil
	})
}

// bill adds an entry to the bill of its machine, if that is asked for.
func (s *Store) bill(bills map[string]fleet.Bill, ask fleet.Bills, e fleet.SpendEntry) {
	b, ok := bills[e.WorkerID]
	if !ok {
		if s.workers[e.WorkerID] != nil || !slices.Contains(ask.IDs, e.WorkerID) {
			return
		}
		b.ID, b.Place = e.WorkerID, e.Place
	}
	b.Booked += e.Amount
	if e.Kind == fleet.SpendCorrection {
		b.Corrected += e.Amount
	}
	bills[e.WorkerID] = b
}
