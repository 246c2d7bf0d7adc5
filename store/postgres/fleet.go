package postgres

import (
	"context"
	_ "embed" // the statements
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/restrict.sql
var restrictSQL string

var _ fleet.Store = (*Fleet)(nil)

// Fleet is the same database as a scheduler sees it. It lives as long as the Store.
type Fleet struct{ store *Store }

// Fleet gives the scheduler's side of the store.
func (s *Store) Fleet() *Fleet { return &Fleet{s} }

// told puts what failed into the words of package fleet.
func told(verb string, err error) error {
	switch {
	case errors.Is(err, jobs.ErrNotFound):
		return fmt.Errorf("%s: %w", verb, fleet.ErrNotFound)
	case errors.Is(err, jobs.ErrState):
		return fmt.Errorf("%s: %w", verb, fleet.ErrState)
	}
	return err // it says already what was tried
}

// Elect implements fleet.Elector.
func (f *Fleet) Elect(ctx context.Context, name string) (fleet.Election, error) {
	won, err := f.store.Elect(ctx, name)
	if won == nil || err != nil {
		return nil, err // and not an interface around nothing
	}
	return won, nil
}

// Drain implements fleet.Drains.
func (f *Fleet) Drain(ctx context.Context, workerID string, within time.Duration) error {
	return told("drain worker", f.store.Drain(ctx, workerID, within))
}

// Undrain implements fleet.Drains.
func (f *Fleet) Undrain(ctx context.Context, workerID string) error {
	return told("let worker go on", f.store.Undrain(ctx, workerID))
}

// Restrict implements fleet.Drains.
func (f *Fleet) Restrict(ctx context.Context, workerID string, maxRank int) error {
	return f.change(ctx, "restrict worker", restrictSQL, pgx.NamedArgs{"id": workerID, "max_rank": maxRank})
}

func (f *Fleet) change(ctx context.Context, verb, text string, args pgx.NamedArgs) error {
	return told(verb, f.store.changeWorker(ctx, verb, text, args))
}

// nullable is null for the zero time.
func nullable(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
