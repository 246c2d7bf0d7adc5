package jobs

import (
	"context"
	"errors"
	"fmt"
)

// MaxBatch is how many jobs one Enqueue takes.
const MaxBatch = 1000

// Taker is what a Client needs of a store.
type Taker interface {
	EnqueueStore
	ControlStore
}

// Client is how jobs come in. It is safe for concurrent use.
type Client struct {
	store Taker
	bell  Doorbell
	kinds Kinds
}

// NewClient starts nothing.
func NewClient(store Taker, bell Doorbell, kinds Kinds) *Client {
	return &Client{store: store, bell: bell, kinds: kinds}
}

// Kinds are the types that can be asked for.
func (c *Client) Kinds() Kinds { return c.kinds }

// Enqueue takes all specs or none. Faults of a spec are *SpecError, joined, with
// "jobs[i]." before the field when there are several specs. When it returns nil
// the jobs are durable, whether or not anybody heard the bell.
func (c *Client) Enqueue(ctx context.Context, specs ...Spec) ([]Enqueued, error) {
	done, err := c.kinds.Complete(specs...)
	if err != nil {
		return nil, err
	}
	entered, err := c.store.Enqueue(ctx, done)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	c.ring(ctx, entered)
	return entered, nil
}

// Complete fills in the defaults of up to MaxBatch specs and refuses, as Enqueue
// does, what no worker could use. Only complete specs may go to a store.
func (k Kinds) Complete(specs ...Spec) ([]Spec, error) {
	if len(specs) == 0 || len(specs) > MaxBatch {
		return nil, wrong("jobs", "%d jobs are not within 1 to %d.", len(specs), MaxBatch)
	}
	done := make([]Spec, len(specs))
	var errs []error
	for i, spec := range specs {
		if err := k.complete(&spec); err != nil {
			errs = append(errs, about(i, len(specs), err)...)
		}
		done[i] = spec
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return done, nil
}

// about places the faults of one spec among several.
func about(i, n int, err error) []error {
	var all []error
	for _, fault := range SpecErrors(err) {
		if n > 1 {
			fault = &SpecError{fmt.Sprintf("jobs[%d].%s", i, fault.Field), fault.Detail}
		}
		all = append(all, fault)
	}
	if len(all) == 0 {
		all = append(all, err)
	}
	return all
}

// SpecErrors lists the faults that err joins.
func SpecErrors(err error) []*SpecError {
	if fault, ok := err.(*SpecError); ok { //nolint:errorlint // its own tree is walked below
		return []*SpecError{fault}
	}
	var all []*SpecError
	switch wrapped := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			all = append(all, SpecErrors(inner)...)
		}
	case interface{ Unwrap() error }:
		all = SpecErrors(wrapped.Unwrap())
	}
	return all
}

// ring rings for what is ready. Whoever enqueued may leave: the bell is rung
// all the same.
func (c *Client) ring(ctx context.Context, entered []Enqueued) {
	ready := map[string]int{}
	for _, e := range entered {
		if !e.Existing && e.Job.Ready(e.Job.CreatedAt) {
			ready[e.Job.Queue]++
		}
	}
	for queue, n := range ready {
		c.bell.Ring(context.WithoutCancel(ctx), queue, n)
	}
}

// Cancel ends a job, or asks its worker to. See ControlStore.
func (c *Client) Cancel(ctx context.Context, id ID, reason string) (Job, error) {
	job, err := c.store.Cancel(ctx, id, reason)
	if err != nil {
		return job, fmt.Errorf("cancel job %s: %w", id, err)
	}
	return job, nil
}

// Retry queues a failed or cancelled job again.
func (c *Client) Retry(ctx context.Context, id ID) (Job, error) {
	job, err := c.store.Retry(ctx, id)
	if err != nil {
		return job, fmt.Errorf("retry job %s: %w", id, err)
	}
	c.bell.Ring(context.WithoutCancel(ctx), job.Queue, 1)
	return job, nil
}
