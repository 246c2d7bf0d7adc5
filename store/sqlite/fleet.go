package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

var _ fleet.Store = (*Fleet)(nil)

// Fleet is the same file as a scheduler sees it. It lives as long as the Store.
type Fleet struct{ store *Store }

// Fleet gives the scheduler's side of the store.
func (s *Store) Fleet() *Fleet { return &Fleet{s} }

// told puts what failed into the words of package fleet.
func told(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jobs.ErrNotFound):
		return fmt.Errorf("%s: %w", verb, fleet.ErrNotFound)
	case errors.Is(err, jobs.ErrState):
		return fmt.Errorf("%s: %w", verb, fleet.ErrState)
	}
	return fmt.Errorf("%s: %w", verb, err)
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
	return told("restrict worker", f.change(ctx, workerID, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, "restrict", workerID, maxRank)
		return err
	}))
}

// change leaves terminated workers as they are.
func (f *Fleet) change(ctx context.Context, workerID string, do func(context.Context, *tx) error) error {
	return f.store.changeWorker(ctx, workerID, func(ctx context.Context, t *tx, _ standing) error { return do(ctx, t) })
}

// millis is a time as a column has it; NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}
