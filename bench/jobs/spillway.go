package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/postgres"
	"github.com/spillway-media/spillway/store/redisbell"
	"github.com/spillway-media/spillway/store/sqlite"
)

// spillwaySlots is as many as River is given.
const spillwaySlots = riverWorkers

const noop = "bench.nothing"

// spillwaySystem is a worker of this project over one of its stores.
type spillwaySystem struct {
	store jobs.Store
	bell  jobs.Doorbell
	free  func()
}

func spillwaySQLite(ctx context.Context, path string) (system, error) {
	store, err := sqlite.Open(ctx, path, silent())
	if err != nil {
		return nil, err
	}
	return &spillwaySystem{store, jobs.NewProcessBell(), func() { _ = store.Close() }}, nil
}

func spillwayPostgres(ctx context.Context, dsn, redis string) (system, error) {
	if _, _, err := postgres.Migrate(ctx, dsn); err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, dsn, silent())
	if err != nil {
		return nil, err
	}
	bell, err := redisbell.Open(ctx, redis, redisbell.Config{}, silent())
	if err != nil {
		_ = store.Close()
		return nil, err
	}
	return &spillwaySystem{store, bell, func() { _, _ = store.Close(), bell.Close() }}, nil
}

func (s *spillwaySystem) enqueue(ctx context.Context, n int) error {
	client := jobs.NewClient(s.store, s.bell, jobs.NewKinds(jobs.Kind{Type: noop, Queue: "images", Priority: jobs.DefaultPriority}))
	for n > 0 {
		specs := make([]jobs.Spec, min(n, jobs.MaxBatch))
		for i := range specs {
			specs[i] = jobs.Spec{Type: noop}
		}
		if _, err := client.Enqueue(ctx, specs...); err != nil {
			return err
		}
		n -= len(specs)
	}
	return nil
}

// counting is a handler that does nothing but count.
type counting struct{ count *countdown }

func (counting) Need(*jobs.Job) jobs.Need { return jobs.Need{} }

func (c counting) Do(context.Context, *jobs.Task) (json.RawMessage, error) {
	c.count.job()
	return nil, nil
}

func (s *spillwaySystem) drain(ctx context.Context, n int) error {
	count := newCountdown(n)
	worker, err := jobs.NewWorker(jobs.WorkerConfig{
		Row:      jobs.WorkerRow{ID: "bench", Hostname: "bench", Provider: "vps", Market: jobs.VPS, Queues: []string{"images"}, Slots: spillwaySlots},
		Handlers: map[string]jobs.Handler{noop: counting{count}}, Slots: spillwaySlots, DrainTimeout: time.Minute,
	}, s.store, s.bell, silent())
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(running) }()
	if err := count.wait(ctx); err != nil {
		return err
	}
	// Run returns when every completion is written.
	stop()
	if err := <-ended; err != nil {
		return err
	}
	return s.check(ctx)
}

// check finds what the count cannot: a job that ran twice in another's place.
func (s *spillwaySystem) check(ctx context.Context) error {
	queues, err := s.store.Queues(ctx, 1000)
	if err != nil {
		return err
	}
	for _, q := range queues {
		if q.Depth+q.Running+q.Delayed > 0 {
			return fmt.Errorf("queue %s is not empty: %d ready, %d running", q.Queue, q.Depth, q.Running)
		}
	}
	return nil
}

func (s *spillwaySystem) close() { s.free() }
