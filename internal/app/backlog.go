package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/notify"
	"github.com/spillway-media/spillway/jobs"
)

// backlog is the part of the program that has to do with durable jobs. All
// fields but planner are set by newBacklog and staffBacklog.
type backlog struct {
	cfg    settings.Config
	log    *slog.Logger
	store  *lateStore
	bell   bell
	blobs  blob.Store
	client *jobs.Client
	keeper *jobs.Keeper
	hooks  *notify.Sender // nil in a process that only works
	worker *jobs.Worker   // nil in one that only serves
	file   *schedulerFile // nil in one without a scheduler
	// planner is that scheduler, once there is a database.
	planner atomic.Pointer[planner]
}

// newBacklog makes the parts that every process with jobs has, in the order
// they need each other. It tries to open the database once.
func newBacklog(ctx context.Context, cfg settings.Config, log *slog.Logger) (*backlog, error) {
	b := &backlog{cfg: cfg, log: log, store: newLateStore(storeOpener(cfg, log), log)}
	var err error
	if b.blobs, err = blob.Open(ctx, blob.Config{Location: cfg.Blobs(), S3: s3Config(cfg)}, log); err != nil {
		return nil, err
	}
	if b.bell, err = openBell(ctx, cfg, log); err != nil {
		return nil, err
	}
	b.client = jobs.NewClient(b.store, b.bell, kinds(cfg))
	b.keeper, err = jobs.NewKeeper(keeperConfig(cfg), b.store, b.bell, log)
	if err != nil {
		return nil, errors.Join(err, b.bell.Close())
	}
	// Without a database the reason is told by Run.
	_ = b.store.try(ctx, firstTry)
	return b, nil
}

// kinds are the types of jobs there are.
func kinds(cfg settings.Config) jobs.Kinds { return derive.Kinds(cfg.Media()) }

func keeperConfig(cfg settings.Config) jobs.KeeperConfig {
	return jobs.KeeperConfig{
		Reconcile: cfg.ReconcileInterval, Ageing: cfg.JobAgeing,
		Retention: jobs.Retention{
			Succeeded: cfg.RetentionSucceeded, Failed: cfg.RetentionFailed, Cancelled: cfg.RetentionSucceeded,
		},
		Queues: cfg.WorkedOn(),
	}
}

// run does all that goes on in the background until ctx ends, but not the work
// itself.
func (b *backlog) run(ctx context.Context) error {
	var wait sync.WaitGroup
	var kept error
	wait.Go(func() { b.store.Run(ctx) })
	wait.Go(func() {
		// Until there is a database nothing can be kept in order.
		select {
		case <-b.store.opened:
			kept = b.keep(ctx)
		case <-ctx.Done():
		}
	})
	wait.Wait()
	return kept
}

func (b *backlog) keep(ctx context.Context) error {
	var wait sync.WaitGroup
	var errs [2]error
	wait.Go(func() { errs[0] = b.keeper.Run(ctx) })
	if b.hooks != nil {
		wait.Go(func() { errs[1] = b.hooks.Run(ctx) })
	}
	wait.Go(func() { b.sweep(ctx) })
	wait.Wait()
	return errors.Join(errs[:]...)
}

// startPatience is how long a process waits for its database that has nothing
// to do without it. Then it ends with an error, so that whoever watches over
// processes sees it.
const startPatience = time.Minute

// work runs the worker until ctx ends and its jobs have, or hurry says that
// they are to be given back at once. With patience above 0 it fails when there
// is no database by then.
func (b *backlog) work(ctx context.Context, hurry <-chan struct{}, patience time.Duration) error {
	if there, err := b.store.await(ctx, patience); !there {
		return err
	}
	ended := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case <-hurry:
			b.worker.Drain(0, "a second signal")
		case <-ended:
		}
	})
	err := b.worker.Run(ctx)
	close(ended)
	wait.Wait()
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}

// close gives back what run and work leave; both have returned.
func (b *backlog) close() error { return errors.Join(b.bell.Close(), b.store.Close()) }
