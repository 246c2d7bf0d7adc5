package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// riverWorkers is the number in River's own examples and benchmark notes; it
// has no default.
const riverWorkers = 50

type nothing struct{}

func (nothing) Kind() string { return "nothing" }

// riverSystem is River with every default but the number of workers, or with
// the wait between two fetches, which bounds it at 50 jobs each 100 ms, taken to
// a hundredth.
type riverSystem[TTx any] struct {
	driver   riverdriver.Driver[TTx]
	free     func()
	client   *river.Client[TTx] // inserts only
	cooldown time.Duration      // between two fetches; 0: its default, 100 ms
}

type riverWorker struct {
	river.WorkerDefaults[nothing]
	count *countdown
}

func (w *riverWorker) Work(context.Context, *river.Job[nothing]) error {
	w.count.job()
	return nil
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func openRiver[TTx any](ctx context.Context, driver riverdriver.Driver[TTx], cooldown time.Duration, free func()) (system, error) {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err := river.NewClient(driver, &river.Config{Logger: silent()})
	if err != nil {
		return nil, err
	}
	return &riverSystem[TTx]{driver, free, client, cooldown}, nil
}

// riverSQLite opens the file as its documentation asks for: one connection.
func riverSQLite(ctx context.Context, dir string, cooldown time.Duration) (system, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "river.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return openRiver(ctx, riversqlite.New(db), cooldown, func() { _ = db.Close() })
}

func riverPostgres(ctx context.Context, dsn string, cooldown time.Duration) (system, error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return openRiver[pgx.Tx](ctx, riverpgxv5.New(pool), cooldown, pool.Close)
}

func (s *riverSystem[TTx]) enqueue(ctx context.Context, n int) error {
	const batch = 1000
	for n > 0 {
		params := make([]river.InsertManyParams, min(n, batch))
		for i := range params {
			params[i].Args = nothing{}
		}
		if _, err := s.client.InsertMany(ctx, params); err != nil {
			return err
		}
		n -= len(params)
	}
	return nil
}

func (s *riverSystem[TTx]) drain(ctx context.Context, n int) error {
	count := newCountdown(n)
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{count: count})
	client, err := river.NewClient(s.driver, &river.Config{
		Logger: silent(), Workers: workers, FetchCooldown: s.cooldown,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	if err := count.wait(ctx); err != nil {
		return err
	}
	// Stop waits until the completions are written.
	if err := client.Stop(ctx); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

func (s *riverSystem[TTx]) close() { s.free() }
