package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/sqlite"
)

// claims is how many claims each percentile is of.
const claims = 1000

// backlog is what one claim, and one look at the queue, takes before so many
// jobs that are ready.
type backlog struct {
	store          string
	ready          int
	p50, p99, slow time.Duration // of a claim with its commit
	// look is what it takes to count all queues up to 10,000 each, as the API
	// does, and count up to 1,000,000, as the reconciler does.
	look, count time.Duration
}

func backlogs(ctx context.Context, o options, s *services) ([]backlog, error) {
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if o.short {
		sizes = sizes[:3]
	}
	onSQLite, err := sqlite.Open(ctx, s.file(), silent())
	if err != nil {
		return nil, err
	}
	defer func() { _ = onSQLite.Close() }()
	dsn := s.postgres.NewDatabase(s.owner)
	if _, _, err := postgres.Migrate(ctx, dsn); err != nil {
		return nil, err
	}
	onPostgres, err := postgres.Open(ctx, dsn, silent())
	if err != nil {
		return nil, err
	}
	defer func() { _ = onPostgres.Close() }()
	var rows []backlog
	for _, place := range []struct {
		name  string
		store jobs.Store
	}{{"SQLite", onSQLite}, {"Postgres", onPostgres}} {
		if err := place.store.Register(ctx, jobs.WorkerRow{ID: "bench", Provider: "vps", Market: jobs.VPS, Queues: []string{"images"}, Slots: 1}); err != nil {
			return nil, err
		}
		for _, size := range sizes {
			row, err := measureBacklog(ctx, place.store, size)
			if err != nil {
				return nil, fmt.Errorf("backlog of %d on %s: %w", size, place.name, err)
			}
			row.store, row.ready = place.name, size
			rows = append(rows, row)
			fmt.Fprintf(os.Stderr, "%s, %d ready: claim p50 %s p99 %s, look %s, count %s\n", place.name, size, row.p50, row.p99, row.look, row.count)
		}
	}
	return rows, nil
}

// measureBacklog fills the queue up to size, then claims one job at a time.
func measureBacklog(ctx context.Context, store jobs.Store, size int) (backlog, error) {
	if err := fill(ctx, store, size); err != nil {
		return backlog{}, err
	}
	var took []time.Duration
	for range claims {
		began := time.Now()
		got, err := store.Claim(ctx, jobs.Claim{WorkerID: "bench", Queues: []string{"images", "bulk"}, N: 1, Lease: time.Minute, Market: jobs.VPS})
		took = append(took, time.Since(began))
		if err != nil {
			return backlog{}, err
		}
		if len(got) != 1 {
			return backlog{}, fmt.Errorf("claimed %d jobs", len(got))
		}
		if err := store.Finish(ctx, jobs.Lease{ID: got[0].ID, Token: got[0].Token}, jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded}); err != nil {
			return backlog{}, err
		}
	}
	slices.Sort(took)
	b := backlog{p50: took[len(took)/2], p99: took[len(took)*99/100], slow: took[len(took)-1]}
	var err error
	if b.look, err = looks(ctx, store, 10_000); err != nil {
		return backlog{}, err
	}
	b.count, err = looks(ctx, store, 1_000_000)
	return b, err
}

// looks is the median of nine.
func looks(ctx context.Context, store jobs.Store, most int) (time.Duration, error) {
	var took []time.Duration
	for range 9 {
		began := time.Now()
		if _, err := store.Queues(ctx, most); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// fill adds what is missing, of ten tenants and all priorities.
func fill(ctx context.Context, store jobs.Store, size int) error {
	queues, err := store.Queues(ctx, size)
	if err != nil {
		return err
	}
	for _, q := range queues {
		size -= int(q.Depth)
	}
	for size > 0 {
		specs := make([]jobs.Spec, min(size, jobs.MaxBatch))
		for i := range specs {
			specs[i] = jobs.Spec{
				Type: noop, Queue: "images", Priority: 1 + i%10, Tenant: fmt.Sprint("tenant", i%7),
				Params: []byte(`{}`), MaxAttempts: 5, WorkLimit: time.Hour, EstimatedSeconds: 1,
			}
		}
		if _, err := store.Enqueue(ctx, specs); err != nil {
			return err
		}
		size -= len(specs)
	}
	return nil
}
