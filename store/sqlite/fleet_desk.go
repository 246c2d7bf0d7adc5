package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

// Ask implements fleet.Desk.
func (f *Fleet) Ask(ctx context.Context, r fleet.Request) error {
	_, err := write(ctx, f.store, 1, func(ctx context.Context, t *tx) (int64, error) {
		if r.At.IsZero() {
			r.At = at(t.now)
		}
		text, err := json.Marshal(r)
		if err != nil {
			return 0, fmt.Errorf("encode request: %w", err)
		}
		return t.exec(ctx, "insert_request", r.ID, r.At.UnixMilli(), string(text))
	})
	return told("put down a request", err)
}

// Decision implements fleet.Desk.
func (f *Fleet) Decision(ctx context.Context, id string) (fleet.Decision, error) {
	d, err := read(ctx, f.store, func(ctx context.Context, r *statements) (fleet.Decision, error) {
		return single(ctx, r, "decision", jobs.ErrNotFound, []any{id}, document[fleet.Decision])
	})
	return d, told("read decision", err)
}

// Decisions implements fleet.Desk.
func (f *Fleet) Decisions(ctx context.Context, c fleet.DecisionFilter) ([]fleet.Decision, error) {
	list, err := read(ctx, f.store, func(ctx context.Context, r *statements) ([]fleet.Decision, error) {
		before := int64(math.MaxInt64)
		if c.Before != "" {
			var err error
			if before, err = single(ctx, r, "decision_seq", jobs.ErrNotFound, []any{c.Before}, one[int64]); err != nil {
				return nil, err
			}
		}
		args := []any{before, bounded(c.Limit, defaultPage, mostPage), string(c.Kind), c.Queue, c.WorkerID, c.Tick}
		return all(ctx, r, decisionsBy(c), args, document[fleet.Decision])
	})
	return list, told("list decisions", err)
}

// decisionsBy is the statement that reads the fewest others.
func decisionsBy(c fleet.DecisionFilter) string {
	switch {
	case c.Tick != "":
		return "decisions_of_tick"
	case c.WorkerID != "":
		return "decisions_of_worker"
	case c.Kind != "":
		return "decisions_of_kind"
	case c.Queue != "":
		return "decisions_of_queue"
	}
	return "decisions"
}

// SpendEntries implements fleet.Desk.
func (f *Fleet) SpendEntries(ctx context.Context, before int64, limit int) ([]fleet.SpendEntry, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	list, err := read(ctx, f.store, func(ctx context.Context, r *statements) ([]fleet.SpendEntry, error) {
		return all(ctx, r, "entries", []any{before, bounded(limit, defaultPage, mostPage)}, func(row scanner) (fleet.SpendEntry, error) {
			var e fleet.SpendEntry
			var booked, begin, end moment
			err := row.Scan(&e.ID, &booked, &e.WorkerID, &e.Provider, &e.Type, &e.Zone, &e.Market, &e.Queue, &e.Kind,
				&begin, &end, &e.Amount, &e.Note)
			e.At, e.From, e.Until = booked.Time, begin.Time, end.Time
			return e, err
		})
	})
	return list, told("list entries of spending", err)
}

// Spending implements fleet.Desk.
func (f *Fleet) Spending(ctx context.Context, from, until time.Time, zone *time.Location) ([]fleet.Spending, error) {
	sums, err := read(ctx, f.store, func(ctx context.Context, r *statements) ([]fleet.SpendEntry, error) {
		return all(ctx, r, "spending", []any{from.UnixMilli(), until.UnixMilli()}, func(row scanner) (fleet.SpendEntry, error) {
			var e fleet.SpendEntry
			var begin, end moment
			err := row.Scan(&e.Provider, &e.Queue, &begin, &end, &e.Amount)
			e.From, e.Until = begin.Time, end.Time
			return e, err
		})
	})
	return fleet.ByDay(sums, from, until, zone), told("sum up spending by day", err)
}

// Usage implements fleet.Usages.
func (f *Fleet) Usage(ctx context.Context, from, until time.Time) ([]fleet.Usage, error) {
	list, err := read(ctx, f.store, func(ctx context.Context, r *statements) ([]fleet.Usage, error) {
		now, err := clock(ctx, r, f.store.offset)
		if err != nil {
			return nil, err
		}
		args := []any{from.UnixMilli(), min(until.UnixMilli(), now)}
		return all(ctx, r, "usage", args, func(row scanner) (u fleet.Usage, err error) {
			var took int64
			var amount float64
			err = row.Scan(&u.Tenant, &u.Queue, &u.Jobs, &took, &amount)
			u.Seconds, u.Amount = span(took).Seconds(), fleet.Money(math.Round(amount))
			return u, err
		})
	})
	return list, told("sum up usage", err)
}
