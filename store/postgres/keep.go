package postgres

import (
	"context"
	_ "embed" // the statements
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/age.sql
var ageSQL string

//go:embed sql/prune.sql
var pruneSQL string

//go:embed sql/prune_workers.sql
var pruneWorkersSQL string

//go:embed sql/bury.sql
var burySQL string

// Age implements jobs.KeepStore.
func (s *Store) Age(ctx context.Context, every time.Duration, limit int) (int, error) {
	if every < time.Microsecond {
		return 0, nil // ageing is off
	}
	n, err := s.exec(ctx, "age jobs", ageSQL, pgx.NamedArgs{"every": every.Microseconds(), "most": limit})
	return int(n), err
}

// Prune implements jobs.KeepStore.
func (s *Store) Prune(ctx context.Context, keep jobs.Retention, limit int) (int, error) {
	n, err := one(ctx, s, "prune jobs", pgx.RowTo[int], pruneSQL, pgx.NamedArgs{
		"states": []string{string(jobs.Succeeded), string(jobs.Failed), string(jobs.Cancelled)},
		"keeps":  []int64{keep.Succeeded.Microseconds(), keep.Failed.Microseconds(), keep.Cancelled.Microseconds()},
		"most":   limit,
	})
	if err != nil {
		return 0, err
	}
	_, err = s.exec(ctx, "prune workers", pruneWorkersSQL, pgx.NamedArgs{"keep": keep.Failed.Microseconds(), "most": limit})
	return n, err
}

// BuryWorkers implements jobs.KeepStore.
func (s *Store) BuryWorkers(ctx context.Context, after time.Duration) ([]string, error) {
	return list(ctx, s, "bury workers", pgx.RowTo[string], burySQL, pgx.NamedArgs{"after": after.Microseconds()})
}
