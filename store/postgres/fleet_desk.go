package postgres

import (
	"context"
	_ "embed" // the statements
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/fleet"
)

//go:embed sql/decisions.sql
var decisionsSQL string

//go:embed sql/entries.sql
var entriesSQL string

//go:embed sql/spending.sql
var spendingSQL string

// Ask implements fleet.Desk.
func (f *Fleet) Ask(ctx context.Context, r fleet.Request) error {
	if r.At.IsZero() {
		now, err := one(ctx, f.store, "put down a request", pgx.RowTo[time.Time], "SELECT {now}")
		if err != nil {
			return err
		}
		r.At = now.UTC()
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	_, err = f.store.exec(ctx, "put down a request",
		"INSERT INTO scheduler_requests (id, at, document) VALUES (@id, @at, @document::text::json) ON CONFLICT DO NOTHING",
		pgx.NamedArgs{"id": r.ID, "at": r.At, "document": string(text)})
	return err
}

// Decision implements fleet.Desk.
func (f *Fleet) Decision(ctx context.Context, id string) (fleet.Decision, error) {
	return asked(ctx, f.store, "read decision", asDocument[fleet.Decision],
		"SELECT document::text FROM scaling_decisions WHERE id = @id", pgx.NamedArgs{"id": clean(id)})
}

// asked is a question that has one answer.
func asked[T any](ctx context.Context, s *Store, verb string, read pgx.RowToFunc[T], text string, args ...any) (T, error) {
	all, err := ask(ctx, s, verb, read, text, args...)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: %w", verb, fleet.ErrNotFound)
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

// Decisions implements fleet.Desk.
func (f *Fleet) Decisions(ctx context.Context, c fleet.DecisionFilter) ([]fleet.Decision, error) {
	before := int64(math.MaxInt64)
	if c.Before != "" {
		var err error
		before, err = asked(ctx, f.store, "find decision", pgx.RowTo[int64],
			"SELECT seq FROM scaling_decisions WHERE id = @id", pgx.NamedArgs{"id": clean(c.Before)})
		if err != nil {
			return nil, err
		}
	}
	return ask(ctx, f.store, "list decisions", asDocument[fleet.Decision], decisionsSQL, pgx.NamedArgs{
		"before": before, "kind": clean(string(c.Kind)), "queue": clean(c.Queue), "worker": clean(c.WorkerID), "tick": clean(c.Tick),
		"most": pageOf(c.Limit),
	})
}

func pageOf(limit int) int {
	if limit < 1 {
		return defaultPage
	}
	return min(limit, mostPage)
}

// SpendEntries implements fleet.Desk.
func (f *Fleet) SpendEntries(ctx context.Context, before int64, limit int) ([]fleet.SpendEntry, error) {
	if before < 1 {
		before = math.MaxInt64
	}
	read := func(row pgx.CollectableRow) (fleet.SpendEntry, error) {
		var e fleet.SpendEntry
		err := row.Scan(&e.ID, &e.At, &e.WorkerID, &e.Provider, &e.Type, &e.Zone, &e.Market, &e.Queue, &e.Kind,
			&e.From, &e.Until, &e.Amount, &e.Note)
		e.At, e.From, e.Until = e.At.UTC(), e.From.UTC(), e.Until.UTC()
		return e, err
	}
	return ask(ctx, f.store, "list entries of spending", read, entriesSQL, pgx.NamedArgs{"before": before, "most": pageOf(limit)})
}

// Spending implements fleet.Desk.
func (f *Fleet) Spending(ctx context.Context, from, until time.Time, zone *time.Location) ([]fleet.Spending, error) {
	read := func(row pgx.CollectableRow) (e fleet.SpendEntry, err error) {
		return e, row.Scan(&e.Provider, &e.Queue, &e.From, &e.Until, &e.Amount)
	}
	sums, err := ask(ctx, f.store, "sum up spending by day", read, spendingSQL, pgx.NamedArgs{"from": from, "until": until})
	if err != nil {
		return nil, err
	}
	return fleet.ByDay(sums, from, until, zone), nil
}
