package main

import (
	"context"
	"fmt"
	"time"
)

// system is something that can hold jobs and work them off. Its jobs do nothing.
type system interface {
	// enqueue puts n jobs in by the fastest call that it offers.
	enqueue(ctx context.Context, n int) error
	// drain starts workers and blocks until all n jobs are over.
	drain(ctx context.Context, n int) error
	close()
}

// contender is a system and what to say about it.
type contender struct {
	name, durable string
	jobs          int // enough for several seconds at its pace
	open          func(ctx context.Context) (system, error)
}

// result is one row of the table.
type result struct {
	contender
	enqueued, finished float64 // jobs a second
}

// measure fills a queue and drains it, which is how a backlog meets workers.
func (c contender) measure(ctx context.Context) (result, error) {
	s, err := c.open(ctx)
	if err != nil {
		return result{}, fmt.Errorf("open %s: %w", c.name, err)
	}
	defer s.close()
	began := time.Now()
	if err := s.enqueue(ctx, c.jobs); err != nil {
		return result{}, fmt.Errorf("enqueue in %s: %w", c.name, err)
	}
	filled := time.Now()
	if err := s.drain(ctx, c.jobs); err != nil {
		return result{}, fmt.Errorf("drain %s: %w", c.name, err)
	}
	return result{c, perSecond(c.jobs, filled.Sub(began)), perSecond(c.jobs, time.Since(filled))}, nil
}

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// countdown ends a drain: done is closed by the last job.
type countdown struct {
	left chan struct{}
	done chan struct{}
}

func newCountdown(n int) *countdown {
	c := &countdown{left: make(chan struct{}, n), done: make(chan struct{})}
	for range n - 1 {
		c.left <- struct{}{}
	}
	return c
}

// job counts one. A system that runs a job twice ends too early, which the
// check of its own records afterwards finds.
func (c *countdown) job() {
	select {
	case <-c.left:
	default:
		select {
		case <-c.done:
		default:
			close(c.done)
		}
	}
}

func (c *countdown) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d jobs are left: %w", len(c.left)+1, ctx.Err())
	}
}
