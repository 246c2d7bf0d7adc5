package postgres

import (
	"context"
	_ "embed" // the statements
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/beat.sql
var beatSQL string

//go:embed sql/signals.sql
var signalsSQL string

// Beat implements jobs.ClaimStore.
func (s *Store) Beat(ctx context.Context, workerID string, lease time.Duration, pulses []jobs.Pulse) ([]jobs.ID, error) {
	n := len(pulses)
	ids, tokens, news := make([]int64, n), make([]string, n), make([]bool, n)
	dones, totals, notes := make([]int64, n), make([]int64, n), make([]string, n)
	for i, p := range pulses {
		ids[i], tokens[i] = int64(p.ID), p.Token
		if p.Progress != nil {
			news[i], dones[i], totals[i], notes[i] = true, p.Progress.Done, p.Progress.Total, clean(p.Progress.Note)
		}
	}
	return list(ctx, s, "beat", pgx.RowTo[jobs.ID], beatSQL, pgx.NamedArgs{
		"worker": workerID, "lease": lease.Microseconds(), "ids": ids, "tokens": tokens,
		"news": news, "dones": dones, "totals": totals, "notes": notes,
	})
}

// Signals implements jobs.ClaimStore.
func (s *Store) Signals(ctx context.Context, workerID string) (jobs.Signals, error) {
	read := func(row pgx.CollectableRow) (jobs.Signals, error) {
		var told jobs.Signals
		err := row.Scan(&told.Status, &told.DrainIn, &told.Cancel, &told.Suspect, &told.MaxRank)
		return told, err
	}
	return one(ctx, s, "read signals of worker", read, signalsSQL, pgx.NamedArgs{"worker": workerID})
}
