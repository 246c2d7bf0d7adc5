package postgres

import (
	"context"
	_ "embed" // the statements
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/places.sql
var placesSQL string

//go:embed sql/tags.sql
var tagsSQL string

//go:embed sql/insert.sql
var insertSQL string

//go:embed sql/holders.sql
var holdersSQL string

const (
	// mostTogether is how many jobs one shared commit enqueues.
	mostTogether = 2 * jobs.MaxBatch
	// insertTries bounds how often a key is found taken and then free again,
	// because its job ended in between.
	insertTries = 10
)

// Enqueue implements jobs.EnqueueStore.
func (s *Store) Enqueue(ctx context.Context, specs []jobs.Spec) ([]jobs.Enqueued, error) {
	entered, err := s.enqueues.do(ctx, specs)
	if err != nil {
		return nil, fmt.Errorf("enqueue jobs: %w", err)
	}
	return entered, nil
}

// EnqueueTx enqueues in the caller's transaction: the jobs exist once that
// commits, and with it only. Specs are complete: see jobs.Kinds.Complete. No
// bell is rung: workers find the jobs when they poll, or when the caller rings
// after its commit.
func EnqueueTx(ctx context.Context, tx pgx.Tx, specs []jobs.Spec) ([]jobs.Enqueued, error) {
	entered, err := enqueue(ctx, tx, specs, 0)
	if err != nil {
		return nil, fault("enqueue jobs", err)
	}
	return entered, nil
}

func (s *Store) fitsEnqueue(batch [][]jobs.Spec, in []jobs.Spec) bool {
	n := len(in)
	for _, specs := range batch {
		n += len(specs)
	}
	return n <= mostTogether
}

// enqueueAll is what several callers enqueue, as one list of jobs.
func (s *Store) enqueueAll(ctx context.Context, lists [][]jobs.Spec) ([][]jobs.Enqueued, []error, error) {
	var all []jobs.Spec
	for _, specs := range lists {
		all = append(all, specs...)
	}
	var entered []jobs.Enqueued
	err := s.call(ctx, "insert", func(ctx context.Context) error {
		tx, err := s.pool.Begin(ctx)
		if err != nil {
			return err
		}
		if entered, err = enqueue(ctx, tx, all, s.offset()); err == nil {
			// A commit that is broken off may have been carried out or not.
			return tx.Commit(context.WithoutCancel(ctx))
		}
		_ = tx.Rollback(ctx) // a connection that cannot is closed
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	outs := make([][]jobs.Enqueued, len(lists))
	for i, specs := range lists {
		outs[i], entered = entered[:len(specs):len(specs)], entered[len(specs):]
	}
	return outs, make([]error, len(lists)), nil
}

// enqueue inserts what has no job yet and finds the jobs of the rest.
func enqueue(ctx context.Context, tx pgx.Tx, specs []jobs.Spec, offset time.Duration) ([]jobs.Enqueued, error) {
	entered := make([]jobs.Enqueued, len(specs))
	if err := place(ctx, tx, specs, entered, offset); err != nil {
		return nil, err
	}
	missing := make([]*jobs.Enqueued, len(entered))
	for i := range entered {
		missing[i] = &entered[i]
	}
	for range insertTries {
		if err := insert(ctx, tx, missing); err != nil {
			return nil, err
		}
		var err error
		if missing, err = adopt(ctx, tx, missing); err != nil || len(missing) == 0 {
			return entered, err
		}
	}
	return nil, fmt.Errorf("%w: a key was taken and free again %d times", jobs.ErrUnavailable, insertTries)
}

// adopt gives each job that was not inserted the one that has its key, and
// answers those whose key is free again by now.
func adopt(ctx context.Context, tx pgx.Tx, missing []*jobs.Enqueued) ([]*jobs.Enqueued, error) {
	var byIdempotency, byUnique []string
	left := missing[:0:0]
	for _, e := range missing {
		if e.Job.Version == 0 {
			left = append(left, e)
			byIdempotency = append(byIdempotency, e.Job.IdempotencyKey)
			byUnique = append(byUnique, e.Job.UniqueKey)
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, complete(holdersSQL, 0), pgx.NamedArgs{
		"idempotency_keys": keys(byIdempotency), "unique_keys": keys(byUnique),
	})
	if err != nil {
		return nil, err
	}
	holders, err := pgx.CollectRows(rows, asJob)
	if err != nil {
		return nil, err
	}
	still := left[:0]
	for _, e := range left {
		if holder := holderOf(e.Job.Spec, holders); holder != nil {
			*e = jobs.Enqueued{Job: *holder, Existing: true}
		} else {
			still = append(still, e)
		}
	}
	return still, nil
}

// keys drops empty ones: no key is nobody's.
func keys(all []string) []string {
	some := []string{}
	for _, key := range all {
		if key != "" {
			some = append(some, key)
		}
	}
	return some
}

// holderOf prefers who has the idempotency key: it promises the first job's
// result, whatever became of it.
func holderOf(spec jobs.Spec, holders []jobs.Job) *jobs.Job {
	var unique *jobs.Job
	for i := range holders {
		h := &holders[i]
		if spec.IdempotencyKey != "" && h.IdempotencyKey == spec.IdempotencyKey {
			return h
		}
		if spec.UniqueKey != "" && h.UniqueKey == spec.UniqueKey && !h.State.Final() {
			unique = h
		}
	}
	return unique
}

// insert writes rows and marks those that went in by their version.
func insert(ctx context.Context, tx pgx.Tx, all []*jobs.Enqueued) error {
	rows, err := tx.Query(ctx, insertSQL, columns(all))
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[jobs.ID])
	if err != nil {
		return err
	}
	in := make(map[jobs.ID]bool, len(ids))
	for _, id := range ids {
		in[id] = true
	}
	for _, e := range all {
		if in[e.Job.ID] {
			e.Job.Version = 1
		}
	}
	return nil
}

// columns turns jobs into the arrays of the insert.
func columns(all []*jobs.Enqueued) pgx.NamedArgs {
	n := len(all)
	ids, types, queues, priorities := make([]int64, n), make([]string, n), make([]string, n), make([]int16, n)
	tenants, tags, inputs, params := make([]string, n), make([]float64, n), make([]string, n), make([]string, n)
	idempotent, unique := make([]*string, n), make([]*string, n)
	attempts, waits, works := make([]int32, n), make([]int64, n), make([]int64, n)
	estimates, checkpointable, webhooks := make([]float64, n), make([]bool, n), make([]string, n)
	created, eligible := make([]time.Time, n), make([]time.Time, n)
	for i, e := range all {
		j := &e.Job
		ids[i], types[i], queues[i], priorities[i] = int64(j.ID), j.Type, j.Queue, int16(j.Priority)
		tenants[i], tags[i], inputs[i], params[i] = j.Tenant, j.Fair, j.Input, string(j.Params)
		idempotent[i], unique[i] = optional(j.IdempotencyKey), optional(j.UniqueKey)
		attempts[i], waits[i], works[i] = int32(j.MaxAttempts), j.WaitLimit.Microseconds(), j.WorkLimit.Microseconds()
		estimates[i], checkpointable[i], webhooks[i] = j.EstimatedSeconds, j.Checkpointable, j.Webhook
		created[i], eligible[i] = j.CreatedAt, j.EligibleAt
	}
	return pgx.NamedArgs{
		"ids": ids, "types": types, "queues": queues, "priorities": priorities, "tenants": tenants, "tags": tags,
		"inputs": inputs, "params": params, "idempotency_keys": idempotent, "unique_keys": unique,
		"max_attempts": attempts, "wait_limits": waits, "work_limits": works, "estimates": estimates,
		"checkpointable": checkpointable, "webhooks": webhooks, "created": created, "eligible": eligible,
	}
}

// place makes jobs of specs: their numbers, times, and tags.
func place(ctx context.Context, tx pgx.Tx, specs []jobs.Spec, entered []jobs.Enqueued, offset time.Duration) error {
	rivals := newRivals(specs)
	batch := &pgx.Batch{}
	var ids []jobs.ID
	var now time.Time
	batch.Queue(complete(placesSQL, offset), pgx.NamedArgs{"n": len(specs)}).QueryRow(func(row pgx.Row) error {
		return row.Scan(&ids, &now)
	})
	batch.Queue(complete(tagsSQL, offset), rivals.args()).Query(rivals.read)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	for i, spec := range specs {
		entered[i].Job = newJob(ids[i], spec, now.UTC())
		rivals.tag(&entered[i].Job)
	}
	return nil
}

func newJob(id jobs.ID, spec jobs.Spec, now time.Time) jobs.Job {
	eligible := now.Add(spec.Delay.Truncate(time.Microsecond))
	if at := spec.RunAt.UTC().Truncate(time.Microsecond); at.After(eligible) {
		eligible = at
	}
	spec.Delay, spec.RunAt = 0, time.Time{} // from here on it is EligibleAt that says so
	return jobs.Job{ID: id, Spec: spec, State: jobs.Queued, Rank: spec.Priority, CreatedAt: now, EligibleAt: eligible}
}
