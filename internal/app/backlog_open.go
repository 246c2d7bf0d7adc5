package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/jobsclient"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/redisbell"
	"github.com/spillway-media/spillway/store/sqlite"
)

// storeOpener opens the database that the settings name.
func storeOpener(cfg settings.Config, log *slog.Logger) func(context.Context) (jobs.Store, error) {
	return func(ctx context.Context) (jobs.Store, error) {
		if file := cfg.SQLiteFile(); file != "" {
			if err := makeFolder(file); err != nil {
				return nil, err
			}
			store, err := asStore(sqlite.Open(ctx, file, log))
			if err != nil {
				return nil, fmt.Errorf("%q: %w", file, err)
			}
			return store, nil
		}
		return asStore(postgres.Open(ctx, cfg.Database, log))
	}
}

func makeFolder(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make folder of jobs: %w", err)
	}
	return nil
}

// asStore keeps a pointer that is nil from becoming an interface that is not.
func asStore[S jobs.Store](store S, err error) (jobs.Store, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}

// bell is a doorbell with the life of what is behind it.
type bell interface {
	jobs.Doorbell
	Close() error
}

// ownBell has nothing behind it.
type ownBell struct{ *jobs.ProcessBell }

func (ownBell) Close() error { return nil }

// openBell makes the bell that the settings name. A Redis that is away is no
// fault here: workers poll until it is back.
func openBell(ctx context.Context, cfg settings.Config, log *slog.Logger) (bell, error) {
	if cfg.Redis == "" {
		return ownBell{jobs.NewProcessBell()}, nil
	}
	rung, err := redisbell.Open(ctx, cfg.Redis, redisbell.Config{}, log)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	return rung, nil
}

// JobsDesk is where the command line asks for jobs without a server.
type JobsDesk struct {
	*jobsclient.Local
	store jobs.Store
	bell  bell
}

// OpenJobs opens the database of the settings itself. Whoever works on it need
// not run; where it does, it finds what is new within its poll, or by the bell.
func OpenJobs(ctx context.Context, cfg settings.Config, log *slog.Logger) (*JobsDesk, error) {
	store, err := storeOpener(cfg, log)(ctx)
	if err != nil {
		return nil, fmt.Errorf("open database of jobs: %w", err)
	}
	rung, err := openBell(ctx, cfg, log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &JobsDesk{jobsclient.NewLocal(store, jobs.NewClient(store, rung, kinds(cfg))), store, rung}, nil
}

// Drain drains a worker, and writes down who wanted it. Its machine, if a
// scheduler has started it, is ended by the next round that finds it without a job.
func (d *JobsDesk) Drain(ctx context.Context, workerID string, within time.Duration) error {
	if err := d.Local.Drain(ctx, workerID, within); err != nil {
		return err
	}
	tables, err := tablesOf(d.store)
	if err != nil {
		return err
	}
	return wrapped("write down the drain", byHand(ctx, tables, fleet.Decision{
		Kind: fleet.KindDrain, WorkerID: workerID, Within: within,
		Sentence: fmt.Sprintf("Draining worker %s within %d seconds: an operator asked for it", workerID, int(within.Seconds())),
	}))
}

// Close closes the database.
func (d *JobsDesk) Close() error { return errors.Join(d.bell.Close(), d.store.Close()) }

// Migration is what became of a database's schema.
type Migration struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Migrate brings the database of the settings to what this version needs.
func Migrate(ctx context.Context, cfg settings.Config) (Migration, error) {
	migrate := postgres.Migrate
	place := cfg.Database
	if file := cfg.SQLiteFile(); file != "" {
		if err := makeFolder(file); err != nil {
			return Migration{}, err
		}
		migrate, place = sqlite.Migrate, file
	}
	from, to, err := migrate(ctx, place)
	if err != nil {
		return Migration{}, fmt.Errorf("migrate: %w", err)
	}
	return Migration{from, to}, nil
}
