package sqlite

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

var _ fleet.History = (*Fleet)(nil)

// Past implements fleet.History.
func (f *Fleet) Past(ctx context.Context, from, until time.Time) ([]fleet.PastJob, error) {
	past, err := fleet.ReadPast(from, until, func(from, until time.Time) ([]fleet.PastJob, error) {
		return read(ctx, f.store, func(ctx context.Context, r *statements) ([]fleet.PastJob, error) {
			return all(ctx, r, "history", []any{from.UnixMilli(), until.UnixMilli()}, pastJob)
		})
	})
	return past, told("read past jobs", err)
}

func pastJob(row scanner) (j fleet.PastJob, err error) {
	var arrived moment
	var millis int64
	var estimate float64
	err = row.Scan(&arrived, &j.Queue, &j.Priority, &millis, &estimate, &j.Checkpointable, &j.Failed)
	j.At, j.Service, j.Estimate = arrived.Time, span(millis), time.Duration(estimate*float64(time.Second))
	return j, err
}

// History is the store as a replay reads it.
func (s *Store) History() fleet.History { return s.Fleet() }
