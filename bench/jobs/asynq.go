package main

import (
	"context"
	"io"
	"log"

	"github.com/hibiken/asynq"
)

// asynqSystem is asynq with every default: as many workers as cores.
type asynqSystem struct {
	redis  asynq.RedisConnOpt
	client *asynq.Client
}

func openAsynq(_ context.Context, url string) (system, error) {
	redis, err := asynq.ParseRedisURI(url)
	if err != nil {
		return nil, err
	}
	return &asynqSystem{redis, asynq.NewClient(redis)}, nil
}

// enqueue has one call a task: there is no other.
func (s *asynqSystem) enqueue(ctx context.Context, n int) error {
	for range n {
		if _, err := s.client.EnqueueContext(ctx, asynq.NewTask("nothing", nil)); err != nil {
			return err
		}
	}
	return nil
}

// quiet takes asynq's log lines.
type quiet struct{ *log.Logger }

func (q quiet) Debug(...any) {}
func (q quiet) Info(...any)  {}
func (q quiet) Warn(...any)  {}
func (q quiet) Error(...any) {}
func (q quiet) Fatal(v ...any) {
	q.Logger.Fatal(v...)
}

func (s *asynqSystem) drain(ctx context.Context, n int) error {
	count := newCountdown(n)
	server := asynq.NewServer(s.redis, asynq.Config{Logger: quiet{log.New(io.Discard, "", 0)}})
	mux := asynq.NewServeMux()
	mux.HandleFunc("nothing", func(context.Context, *asynq.Task) error {
		count.job()
		return nil
	})
	if err := server.Start(mux); err != nil {
		return err
	}
	defer server.Shutdown()
	return count.wait(ctx)
}

func (s *asynqSystem) close() { _ = s.client.Close() }
