package postgres

import (
	"context"
	_ "embed" // the statements
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/expired.sql
var expiredSQL string

//go:embed sql/promote.sql
var promoteSQL string

//go:embed sql/give_up.sql
var giveUpSQL string

// Expired implements jobs.RescueStore.
func (s *Store) Expired(ctx context.Context, limit int) ([]jobs.Job, error) {
	return list(ctx, s, "find expired leases", asJob, expiredSQL, pgx.NamedArgs{"most": limit})
}

// Rescue implements jobs.RescueStore.
func (s *Store) Rescue(ctx context.Context, l jobs.Lease, o jobs.Outcome) (bool, error) {
	err := o.Validate()
	var ended []jobs.ID
	if err == nil {
		ended, err = s.end(ctx, []finish{{l, o}}, true)
	}
	if err != nil {
		return false, fmt.Errorf("rescue job %s: %w", l.ID, err)
	}
	return len(ended) == 1, nil
}

// Promote implements jobs.RescueStore.
func (s *Store) Promote(ctx context.Context, limit int) ([]jobs.Moved, error) {
	return list(ctx, s, "promote delayed jobs", scanMoved, promoteSQL, pgx.NamedArgs{"most": limit})
}

// GiveUp implements jobs.RescueStore.
func (s *Store) GiveUp(ctx context.Context, limit int) ([]jobs.Moved, error) {
	return list(ctx, s, "give up jobs", scanMoved, giveUpSQL, pgx.NamedArgs{
		"most": limit, "code": jobs.CodeWaitLimit,
		"reason": "No worker could start the job within the time it was to wait.",
	})
}

func scanMoved(row pgx.CollectableRow) (jobs.Moved, error) {
	var m jobs.Moved
	err := row.Scan(&m.ID, &m.Queue, &m.State, &m.Ready)
	return m, err
}
