package postgres

import (
	"context"
	_ "embed" // the statement
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/fleet"
)

//go:embed sql/history.sql
var historySQL string

var _ fleet.History = (*Fleet)(nil)

// Past implements fleet.History.
func (f *Fleet) Past(ctx context.Context, from, until time.Time) ([]fleet.PastJob, error) {
	past, err := fleet.ReadPast(from, until, func(from, until time.Time) ([]fleet.PastJob, error) {
		return ask(ctx, f.store, "read past jobs", pastJob, historySQL, pgx.NamedArgs{"from": from, "until": until})
	})
	return past, told("read past jobs", err)
}

func pastJob(row pgx.CollectableRow) (j fleet.PastJob, err error) {
	var micros int64
	var estimate float64
	err = row.Scan(&j.At, &j.Queue, &j.Priority, &micros, &estimate, &j.Checkpointable, &j.Failed)
	j.At, j.Service, j.Estimate = j.At.UTC(), time.Duration(micros)*time.Microsecond, time.Duration(estimate*float64(time.Second))
	return j, err
}

// History is the store as a replay reads it.
func (s *Store) History() fleet.History { return s.Fleet() }
