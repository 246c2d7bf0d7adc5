package jobsclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// mostCounted bounds what a look at the queues counts in each.
const mostCounted = 100_000

// Desk is what Local needs of a store.
type Desk interface {
	jobs.Taker
	jobs.QueryStore
	Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error)
}

// Local asks the database itself, whether or not a server runs on it.
type Local struct {
	store  Desk
	client *jobs.Client
}

// NewLocal starts nothing.
func NewLocal(store Desk, client *jobs.Client) *Local { return &Local{store, client} }

// Enqueue asks for a job; faults of the spec are *jobs.SpecError, joined.
func (l *Local) Enqueue(ctx context.Context, spec jobs.Spec) (Entered, error) {
	entered, err := l.client.Enqueue(ctx, spec)
	if err != nil {
		return Entered{}, err
	}
	e := &entered[0]
	if e.Existing && !sameJob(spec, &e.Job) {
		return Entered{}, &jobs.SpecError{Field: "idempotency_key", Detail: fmt.Sprintf(
			"job %s has this key and another type, input or params. Take a new key for another job.", e.Job.ID)}
	}
	return Entered{e.Job.Document(), e.Existing}, nil
}

// sameJob tells whether a key that was used before was used for the same.
func sameJob(asked jobs.Spec, job *jobs.Job) bool {
	if asked.IdempotencyKey == "" || asked.IdempotencyKey != job.IdempotencyKey {
		return true // its unique key was why it is there
	}
	return asked.Type == job.Type && asked.Input == job.Input && canonical(asked.Params) == canonical(job.Params)
}

// canonical writes an object anew, names in order; nothing is the empty one.
func canonical(text json.RawMessage) string {
	fields := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil && len(text) > 0 {
		return string(text)
	}
	again, err := json.Marshal(fields)
	if err != nil {
		return string(text)
	}
	return string(again)
}

// Job tells all about one.
func (l *Local) Job(ctx context.Context, id jobs.ID) (Detail, error) {
	job, err := l.store.Job(ctx, id)
	if err != nil {
		return Detail{}, fmt.Errorf("job %s: %w", id, err)
	}
	history, err := l.store.Attempts(ctx, id)
	if err != nil {
		return Detail{}, fmt.Errorf("attempts of job %s: %w", id, err)
	}
	return Detail{job.Document(), history}, nil
}

// Jobs lists.
func (l *Local) Jobs(ctx context.Context, q Question) (Page, error) {
	filter := jobs.Filter{State: q.State, Queue: q.Queue, Type: q.Type, Tenant: q.Tenant, Limit: q.Limit}
	if q.Cursor != "" {
		before, err := jobs.ParseID(q.Cursor)
		if err != nil {
			return Page{}, &jobs.SpecError{Field: "cursor", Detail: "it is not one that a list gave."}
		}
		filter.Before = before
	}
	found, err := l.store.Jobs(ctx, filter)
	if err != nil {
		return Page{}, fmt.Errorf("list jobs: %w", err)
	}
	page := Page{Jobs: make([]jobs.Document, len(found))}
	for i := range found {
		page.Jobs[i] = found[i].Document()
	}
	if len(found) > 0 && len(found) == filter.Limit {
		page.Next = found[len(found)-1].ID.String()
	}
	return page, nil
}

// Cancel ends a job or asks its worker to.
func (l *Local) Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Document, error) {
	job, err := l.client.Cancel(ctx, id, reason)
	return job.Document(), err
}

// Retry queues a failed or cancelled job again.
func (l *Local) Retry(ctx context.Context, id jobs.ID) (jobs.Document, error) {
	job, err := l.client.Retry(ctx, id)
	return job.Document(), err
}

// Queues counts.
func (l *Local) Queues(ctx context.Context) ([]jobs.QueueDocument, error) {
	stats, err := l.store.Queues(ctx, mostCounted)
	if err != nil {
		return nil, fmt.Errorf("count queues: %w", err)
	}
	queues := make([]jobs.QueueDocument, len(stats))
	for i, q := range stats {
		queues[i] = q.Document()
	}
	return queues, nil
}

// Workers lists; with all, also those that are gone.
func (l *Local) Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error) {
	workers, err := l.store.Workers(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	return workers, nil
}

// Drain asks a worker to take no more jobs and to be done within the time.
func (l *Local) Drain(ctx context.Context, workerID string, within time.Duration) error {
	if err := l.store.Drain(ctx, workerID, within); err != nil {
		return fmt.Errorf("drain worker %s: %w", workerID, err)
	}
	return nil
}

// Follow tells watch of a job now and after each change until it is over, and
// gives what it was then.
func (l *Local) Follow(ctx context.Context, id jobs.ID, watch Watcher) (jobs.Document, error) {
	return poll(ctx, watch, func() (jobs.Document, error) {
		job, err := l.store.Job(ctx, id)
		if err != nil {
			return jobs.Document{}, fmt.Errorf("job %s: %w", id, err)
		}
		return job.Document(), nil
	})
}

// poll looks until a look finds the job in a final state.
func poll(ctx context.Context, watch Watcher, look func() (jobs.Document, error)) (jobs.Document, error) {
	pause := time.NewTicker(pollEvery)
	defer pause.Stop()
	seen := int64(-1)
	for {
		job, err := look()
		if err != nil {
			return job, err
		}
		if job.Version != seen {
			seen = job.Version
			watch(job)
		}
		if job.State.Final() {
			return job, nil
		}
		select {
		case <-ctx.Done():
			return job, context.Cause(ctx)
		case <-pause.C:
		}
	}
}
