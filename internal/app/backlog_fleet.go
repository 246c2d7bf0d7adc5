package app

import (
	"context"
	"sync"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// addScheduler has this process decide on machines as well.
func (b *backlog) addScheduler() (err error) {
	b.file, err = openSchedulerFile(b.cfg, b.log)
	return err
}

// registration is how long the scheduler waits for the worker of its own
// process: before that there seems to be none on this machine.
const registration = 30 * time.Second

// schedule runs the scheduler of a process that does other things besides. Its
// end is told, and those go on.
func (b *backlog) schedule(ctx context.Context) {
	select {
	case <-b.store.opened:
	case <-ctx.Done():
		return
	}
	b.awaitWorker(ctx)
	store, err := b.store.current()
	if err == nil {
		err = b.plan(ctx, store)
	}
	if err != nil && ctx.Err() == nil {
		b.log.Error("no machines are scheduled", "error", err)
	}
}

// plan watches the file and schedules until ctx ends.
func (b *backlog) plan(ctx context.Context, store jobs.Store) error {
	tables, err := tablesOf(store)
	if err != nil {
		return err
	}
	p, err := newPlanner(b.cfg, tables, b.bell, b.file, b.log)
	if err != nil {
		return err
	}
	b.planner.Store(p)
	watching, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	wait.Go(func() { _ = b.file.Run(watching) }) // it only ends with the context
	return p.run(ctx, b.file, b.log)
}

func (b *backlog) awaitWorker(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for deadline := time.After(registration); b.worker != nil && b.idle() != nil; {
		select {
		case <-look.C:
		case <-deadline:
			return
		case <-ctx.Done():
			return
		}
	}
}
