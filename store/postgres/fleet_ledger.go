package postgres

import (
	"cmp"
	"context"
	_ "embed" // the statements
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/fleet"
)

//go:embed sql/scheduler_state.sql
var schedulerStateSQL string

//go:embed sql/insert_decisions.sql
var insertDecisionsSQL string

//go:embed sql/insert_entries.sql
var insertEntriesSQL string

//go:embed sql/keep_memory.sql
var keepMemorySQL string

//go:embed sql/reset_latch.sql
var resetLatchSQL string

//go:embed sql/spent_across.sql
var spentSQL string

//go:embed sql/booked.sql
var bookedSQL string

// State implements fleet.Ledger.
func (f *Fleet) State(ctx context.Context) (fleet.State, error) {
	state, err := one(ctx, f.store, "read state of the scheduler", scanState, schedulerStateSQL)
	if err != nil {
		return fleet.State{}, told("read state of the scheduler", err)
	}
	state.Requests, err = list(ctx, f.store, "read requests", asDocument[fleet.Request],
		"SELECT document::text FROM scheduler_requests ORDER BY at, id")
	return state, err
}

func scanState(row pgx.CollectableRow) (fleet.State, error) {
	var state fleet.State
	var memory, latch string
	var ticked *time.Time
	if err := row.Scan(&state.FleetID, &memory, &latch, &ticked); err != nil {
		return state, err
	}
	state.Ticked = moment(ticked)
	if err := json.Unmarshal([]byte(memory), &state.Memory); err != nil {
		return state, fmt.Errorf("read memory: %w", err)
	}
	var err error
	state.Latch, err = latched(latch)
	return state, err
}

func latched(text string) (*fleet.Latch, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // it is not tripped
	}
	var l fleet.Latch
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil, fmt.Errorf("read latch: %w", err)
	}
	return &l, nil
}

// asDocument reads a column of JSON that stands alone.
func asDocument[T any](row pgx.CollectableRow) (T, error) {
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
	decisions, err := decisionColumns(r.Decisions)
	if err != nil {
		return err
	}
	var memory *string
	if r.Memory != nil {
		text, err := json.Marshal(r.Memory)
		if err != nil {
			return fmt.Errorf("encode memory: %w", err)
		}
		memory = optional(string(text))
	}
	steps := []struct {
		text string
		args pgx.NamedArgs
		some bool
	}{
		{insertDecisionsSQL, decisions, len(r.Decisions) > 0},
		{insertEntriesSQL, entryColumns(r.Entries), len(r.Entries) > 0},
		{"DELETE FROM scheduler_requests WHERE id = ANY (@ids::text[])", pgx.NamedArgs{"ids": r.Answered}, len(r.Answered) > 0},
		{keepMemorySQL, pgx.NamedArgs{"memory": memory}, true},
	}
	return f.store.call(ctx, "record a tick", func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, f.store.pool, func(tx pgx.Tx) error {
			for _, step := range steps {
				if !step.some {
					continue
				}
				if _, err := tx.Exec(ctx, f.store.sql(step.text), step.args); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func decisionColumns(decisions []fleet.Decision) (pgx.NamedArgs, error) {
	n := len(decisions)
	ids, ticks, ats, kinds := make([]string, n), make([]string, n), make([]time.Time, n), make([]string, n)
	queues, workers, documents := make([]string, n), make([]string, n), make([]string, n)
	for i, d := range decisions {
		text, err := json.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("encode decision: %w", err)
		}
		ids[i], ticks[i], ats[i], kinds[i] = d.ID, d.Tick, d.At, string(d.Kind)
		queues[i], workers[i], documents[i] = clean(d.Queue), clean(d.WorkerID), string(text)
	}
	return pgx.NamedArgs{"ids": ids, "ticks": ticks, "ats": ats, "kinds": kinds, "queues": queues, "workers": workers, "documents": documents}, nil
}

func entryColumns(entries []fleet.SpendEntry) pgx.NamedArgs {
	n := len(entries)
	ats, froms, untils, amounts := make([]*time.Time, n), make([]time.Time, n), make([]time.Time, n), make([]int64, n)
	workers, providers, types, zones := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	markets, queues, kinds, notes := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, e := range entries {
		ats[i], froms[i], untils[i], amounts[i] = nullable(e.At), e.From, e.Until, int64(e.Amount)
		workers[i], providers[i], types[i], zones[i] = clean(e.WorkerID), clean(e.Provider), clean(e.Type), clean(e.Zone)
		markets[i], queues[i], kinds[i], notes[i] = string(e.Market), clean(e.Queue), string(e.Kind), clean(e.Note)
	}
	return pgx.NamedArgs{
		"ats": ats, "froms": froms, "untils": untils, "amounts": amounts, "workers": workers, "providers": providers,
		"types": types, "zones": zones, "markets": markets, "queues": queues, "kinds": kinds, "notes": notes,
	}
}

// Trip implements fleet.Ledger.
func (f *Fleet) Trip(ctx context.Context, l fleet.Latch) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode latch: %w", err)
	}
	_, err = f.store.exec(ctx, "set latch",
		"UPDATE scheduler_state SET latch = coalesce(latch, @latch::text::json) WHERE id = 1", pgx.NamedArgs{"latch": string(text)})
	return err
}

// Reset implements fleet.Ledger.
func (f *Fleet) Reset(ctx context.Context) (*fleet.Latch, error) {
	was, err := one(ctx, f.store, "reset latch", pgx.RowTo[string], resetLatchSQL)
	if err != nil {
		return nil, told("reset latch", err)
	}
	return latched(was)
}

// Spent implements fleet.Ledger.
func (f *Fleet) Spent(ctx context.Context, from, until time.Time) (fleet.Money, error) {
	read := func(row pgx.CollectableRow) (e fleet.SpendEntry, err error) {
		return e, row.Scan(&e.From, &e.Until, &e.Amount)
	}
	entries, err := list(ctx, f.store, "sum up spending", read, spentSQL, pgx.NamedArgs{"from": from, "until": until})
	var sum fleet.Money
	for _, e := range entries {
		sum += e.Share(from, until)
	}
	return sum, err
}

// Bills implements fleet.Ledger.
func (f *Fleet) Bills(ctx context.Context, asked fleet.Bills) ([]fleet.Bill, error) {
	const verb = "read bills"
	ids := append([]string{}, asked.IDs...)
	rows, err := list(ctx, f.store, verb, scanMachine, fleetSQL, pgx.NamedArgs{"since": asked.Since, "ids": ids})
	if err != nil {
		return nil, err
	}
	bills := map[string]fleet.Bill{}
	for _, b := range rows {
		bills[b.ID] = b
		ids = append(ids, b.ID)
	}
	slices.Sort(ids)
	read := func(row pgx.CollectableRow) (b fleet.Bill, err error) {
		return b, row.Scan(&b.ID, &b.Booked, &b.Corrected, &b.Provider, &b.Type, &b.Zone, &b.Market)
	}
	booked, err := list(ctx, f.store, verb, read, bookedSQL, pgx.NamedArgs{"ids": slices.Compact(ids)})
	for _, b := range booked {
		if row, ok := bills[b.ID]; ok {
			row.Booked, row.Corrected = b.Booked, b.Corrected
			b = row
		}
		bills[b.ID] = b
	}
	return slices.SortedFunc(maps.Values(bills), func(a, b fleet.Bill) int { return cmp.Compare(a.ID, b.ID) }), err
}
