package postgres

import (
	"context"
	_ "embed" // the statements
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/age.sql
var ageSQL string

//go:embed sql/prune.sql
var pruneSQL string

//go:embed sql/prune_parts.sql
var prunePartsSQL string

//go:embed sql/prune_metrics.sql
var pruneMetricsSQL string

//go:embed sql/prune_workers.sql
var pruneWorkersSQL string

//go:embed sql/prune_decisions.sql
var pruneDecisionsSQL string

//go:embed sql/prune_entries.sql
var pruneEntriesSQL string

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

const (
	// prunedRows is how many rows that hang on others one statement deletes,
	// and prunedJobs how many jobs: what a statement has deleted the next one
	// still finds in the indexes and passes by.
	prunedRows = 5000
	prunedJobs = 10
)

// Prune implements jobs.KeepStore.
func (s *Store) Prune(ctx context.Context, keep jobs.Retention, limit int) (int, error) {
	pruned := 0
	for pruned < limit {
		most := min(prunedJobs, limit-pruned)
		n, err := s.pruneJobs(ctx, keep, most)
		pruned += n
		if err != nil {
			return pruned, err
		}
		if n < most {
			break
		}
	}
	if err := s.deleteAll(ctx, "prune metrics", pruneMetricsSQL, pgx.NamedArgs{"most": prunedRows}); err != nil {
		return pruned, err
	}
	_, err := s.exec(ctx, "prune workers", pruneWorkersSQL, pgx.NamedArgs{"keep": keep.Failed.Microseconds(), "most": limit})
	if err != nil {
		return pruned, err
	}
	return pruned, s.pruneLedger(ctx)
}

// pruneLedger deletes decisions and entries that nobody will ask for any more.
func (s *Store) pruneLedger(ctx context.Context) error {
	var kinds []string
	var keeps []int64
	for kind, keep := range fleet.KeepDecisions() {
		kinds, keeps = append(kinds, string(kind)), append(keeps, keep.Microseconds())
	}
	if _, err := s.exec(ctx, "prune decisions", pruneDecisionsSQL, pgx.NamedArgs{"kinds": kinds, "keeps": keeps, "most": prunedRows}); err != nil {
		return err
	}
	_, err := s.exec(ctx, "prune entries", pruneEntriesSQL, pgx.NamedArgs{"keep": fleet.KeepSpending.Microseconds(), "most": prunedRows})
	return err
}

func (s *Store) pruneJobs(ctx context.Context, keep jobs.Retention, most int) (int, error) {
	args := pgx.NamedArgs{
		"states": []string{string(jobs.Succeeded), string(jobs.Failed), string(jobs.Cancelled)},
		"keeps":  []int64{keep.Succeeded.Microseconds(), keep.Failed.Microseconds(), keep.Cancelled.Microseconds()},
		"most":   most, "parts": prunedRows,
	}
	if err := s.deleteAll(ctx, "prune checkpoints", prunePartsSQL, args); err != nil {
		return 0, err
	}
	return one(ctx, s, "prune jobs", pgx.RowTo[int], pruneSQL, args)
}

// deleteAll runs a statement until it deletes fewer than prunedRows.
func (s *Store) deleteAll(ctx context.Context, verb, text string, args pgx.NamedArgs) error {
	for {
		if n, err := s.exec(ctx, verb, text, args); err != nil || n < prunedRows {
			return err
		}
	}
}

// BuryWorkers implements jobs.KeepStore.
func (s *Store) BuryWorkers(ctx context.Context, after time.Duration) ([]string, error) {
	return list(ctx, s, "bury workers", pgx.RowTo[string], burySQL, pgx.NamedArgs{"after": after.Microseconds()})
}
