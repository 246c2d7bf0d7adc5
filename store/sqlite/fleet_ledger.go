package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

// State implements fleet.Ledger.
func (f *Fleet) State(ctx context.Context) (fleet.State, error) {
	state, err := read(ctx, f.store, func(ctx context.Context, r *statements) (fleet.State, error) {
		state, err := single(ctx, r, "scheduler_state", jobs.ErrNotFound, nil, scanState)
		if err != nil {
			return state, err
		}
		state.Requests, err = all(ctx, r, "scheduler_requests", nil, document[fleet.Request])
		return state, err
	})
	return state, told("read state of the scheduler", err)
}

func scanState(row scanner) (fleet.State, error) {
	var state fleet.State
	var memory string
	var latch sql.NullString
	var ticked moment
	if err := row.Scan(&state.FleetID, &memory, &latch, &ticked); err != nil {
		return state, err
	}
	state.Ticked = ticked.Time
	if err := json.Unmarshal([]byte(memory), &state.Memory); err != nil {
		return state, fmt.Errorf("read memory: %w", err)
	}
	var err error
	state.Latch, err = latched(latch)
	return state, err
}

func latched(text sql.NullString) (*fleet.Latch, error) {
	if !text.Valid {
		return nil, nil //nolint:nilnil // it is not tripped
	}
	var l fleet.Latch
	if err := json.Unmarshal([]byte(text.String), &l); err != nil {
		return nil, fmt.Errorf("read latch: %w", err)
	}
	return &l, nil
}

// document is a column of JSON that stands alone.
func document[T any](row scanner) (T, error) {
	var value T
	var text string
	err := row.Scan(&text)
	if err == nil {
		err = json.Unmarshal([]byte(text), &value)
	}
	return value, err
}

// Record implements fleet.Ledger.
func (f *Fleet) Record(ctx context.Context, r fleet.Record) error {
	documents := make([]string, len(r.Decisions))
	for i, d := range r.Decisions {
		text, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("encode decision: %w", err)
		}
		documents[i] = string(text)
	}
	var memory any
	if r.Memory != nil {
		text, err := json.Marshal(r.Memory)
		if err != nil {
			return fmt.Errorf("encode memory: %w", err)
		}
		memory = string(text)
	}
	_, err := write(ctx, f.store, len(r.Decisions)+2*len(r.Entries)+1, func(ctx context.Context, t *tx) (struct{}, error) {
		if err := t.decide(ctx, r.Decisions, documents); err != nil {
			return struct{}{}, err
		}
		if err := t.book(ctx, r.Entries); err != nil {
			return struct{}{}, err
		}
		for _, id := range r.Answered {
			if _, err := t.exec(ctx, "delete_request", id); err != nil {
				return struct{}{}, err
			}
		}
		_, err := t.exec(ctx, "set_memory", t.now, memory)
		return struct{}{}, err
	})
	return told("record a tick", err)
}

func (t *tx) decide(ctx context.Context, decisions []fleet.Decision, documents []string) error {
	for i, d := range decisions {
		_, err := t.exec(ctx, "insert_decision", d.ID, d.Tick, d.At.UnixMilli(), string(d.Kind), d.Queue, d.WorkerID, documents[i])
		if err != nil {
			return err
		}
	}
	return nil
}

// book puts entries down, but for time that was booked before.
func (t *tx) book(ctx context.Context, entries []fleet.SpendEntry) error {
	booked := map[string]time.Time{}
	for _, e := range entries {
		if _, known := booked[e.WorkerID]; known {
			continue
		}
		until, err := single(ctx, t.statements, "accrued_until", jobs.ErrNotFound, []any{e.WorkerID}, one[moment])
		if err != nil && !errors.Is(err, jobs.ErrNotFound) {
			return err
		}
		booked[e.WorkerID] = until.Time
	}
	for _, e := range entries {
		until := e.Until.Truncate(time.Millisecond)
		if e.Kind == fleet.SpendAccrual && !until.After(booked[e.WorkerID]) {
			continue
		}
		at := e.At.UnixMilli()
		if e.At.IsZero() {
			at = t.now
		}
		_, err := t.exec(ctx, "insert_entry", at, e.WorkerID, e.Provider, e.Type, e.Zone, string(e.Market), e.Queue,
			string(e.Kind), e.From.UnixMilli(), e.Until.UnixMilli(), int64(e.Amount), e.Note)
		if err == nil && e.Kind == fleet.SpendAccrual {
			_, err = t.exec(ctx, "set_accrued", e.WorkerID, e.Until.UnixMilli())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Trip implements fleet.Ledger.
func (f *Fleet) Trip(ctx context.Context, l fleet.Latch) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode latch: %w", err)
	}
	_, err = write(ctx, f.store, 1, func(ctx context.Context, t *tx) (int64, error) { return t.exec(ctx, "trip", string(text)) })
	return told("set latch", err)
}

// Reset implements fleet.Ledger.
func (f *Fleet) Reset(ctx context.Context) (*fleet.Latch, error) {
	was, err := write(ctx, f.store, 1, func(ctx context.Context, t *tx) (*fleet.Latch, error) {
		state, err := single(ctx, t.statements, "scheduler_state", jobs.ErrNotFound, nil, scanState)
		if err != nil {
			return nil, err
		}
		_, err = t.exec(ctx, "reset_latch")
		return state.Latch, err
	})
	return was, told("reset latch", err)
}

// Spent implements fleet.Ledger.
func (f *Fleet) Spent(ctx context.Context, from, until time.Time) (fleet.Money, error) {
	sum, err := read(ctx, f.store, func(ctx context.Context, r *statements) (fleet.Money, error) {
		args := []any{from.UnixMilli(), until.UnixMilli()}
		var sum fleet.Money
		if err := r.row(ctx, "spent_within", args, &sum); err != nil {
			return 0, err
		}
		across, err := all(ctx, r, "spent_across", args, func(row scanner) (fleet.SpendEntry, error) {
			var e fleet.SpendEntry
			var begin, end moment
			err := row.Scan(&begin, &end, &e.Amount)
			e.From, e.Until = begin.Time, end.Time
			return e, err
		})
		for _, e := range across {
			sum += e.Share(at(from.UnixMilli()), at(until.UnixMilli()))
		}
		return sum, err
	})
	return sum, told("sum up spending", err)
}

// Bills implements fleet.Ledger.
func (f *Fleet) Bills(ctx context.Context, asked fleet.Bills) ([]fleet.Bill, error) {
	ids, err := json.Marshal(append([]string{}, asked.IDs...))
	if err != nil {
		return nil, fmt.Errorf("encode ids of workers: %w", err)
	}
	bills, err := read(ctx, f.store, func(ctx context.Context, r *statements) ([]fleet.Bill, error) {
		bills, err := all(ctx, r, "fleet", []any{asked.Since.UnixMilli(), string(ids)}, machine)
		if err != nil {
			return nil, err
		}
		rows := map[string]bool{}
		for i := range bills {
			rows[bills[i].ID] = true
			if _, err := booked(ctx, r, &bills[i]); err != nil {
				return nil, err
			}
		}
		for _, id := range asked.IDs {
			b := fleet.Bill{Worker: fleet.Worker{ID: id}}
			if rows[id] {
				continue
			}
			rows[id] = true
			n, err := booked(ctx, r, &b)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				bills = append(bills, b)
			}
		}
		return bills, nil
	})
	slices.SortFunc(bills, func(a, b fleet.Bill) int { return cmp.Compare(a.ID, b.ID) })
	return bills, told("read bills", err)
}

// booked fills in what the entries of a worker say and answers how many there
// are. The place is that of the row where there is one.
func booked(ctx context.Context, r *statements, b *fleet.Bill) (entries int, err error) {
	var text string
	if err := r.row(ctx, "booked", []any{b.ID}, &b.Booked, &b.Corrected, &entries, &text); err != nil {
		return 0, err
	}
	var place []string
	if err := json.Unmarshal([]byte(text), &place); err != nil {
		return 0, fmt.Errorf("read place of entries: %w", err)
	}
	if b.Status == "" && len(place) == 4 {
		b.Place = fleet.Place{Provider: place[0], Type: place[1], Zone: place[2], Market: fleet.Market(place[3])}
	}
	return entries, nil
}
