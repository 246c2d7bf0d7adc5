package app

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// lateDesk is the scheduler's desk of a store that may not be open yet; until
// then every question has the answer that the store does not.
type lateDesk struct{ store *lateStore }

func (d lateDesk) desk() (fleet.Desk, error) {
	store, err := d.store.current()
	if err != nil {
		return nil, err
	}
	return tablesOf(store)
}

// Decisions implements httpapi.ScalingDesk.
func (d lateDesk) Decisions(ctx context.Context, f fleet.DecisionFilter) ([]fleet.Decision, error) {
	desk, err := d.desk()
	if err != nil {
		return nil, err
	}
	return desk.Decisions(ctx, f)
}

// SpendEntries implements httpapi.ScalingDesk.
func (d lateDesk) SpendEntries(ctx context.Context, before int64, limit int) ([]fleet.SpendEntry, error) {
	desk, err := d.desk()
	if err != nil {
		return nil, err
	}
	return desk.SpendEntries(ctx, before, limit)
}

// Spending implements httpapi.ScalingDesk.
func (d lateDesk) Spending(ctx context.Context, from, until time.Time, zone *time.Location) ([]fleet.Spending, error) {
	desk, err := d.desk()
	if err != nil {
		return nil, err
	}
	return desk.Spending(ctx, from, until, zone)
}
