package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// longParams is from how many bytes on params stand in a table of their own.
const longParams = 2 << 10

// Enqueue inserts all or none.
func (s *Store) Enqueue(ctx context.Context, specs []jobs.Spec) ([]jobs.Enqueued, error) {
	return write(ctx, s, len(specs), func(ctx context.Context, t *tx) ([]jobs.Enqueued, error) {
		in := intake{tx: t, last: map[lane]float64{}}
		entered := make([]jobs.Enqueued, 0, len(specs))
		for i := range specs {
			e, err := in.take(ctx, specs[i])
			if err != nil {
				return nil, err
			}
			entered = append(entered, e)
		}
		return entered, nil
	})
}

// lane is where tenants take turns, and one of them.
type lane struct {
	queue  string
	rank   int
	tenant string
}

// intake is one Enqueue. It remembers the last tag of each lane, which it has
// given itself: a new tag is never below the head, so that stays.
type intake struct {
	*tx
	last map[lane]float64
}

func (in *intake) take(ctx context.Context, spec jobs.Spec) (jobs.Enqueued, error) {
	earlier, err := in.earlier(ctx, spec)
	if err != nil || earlier.ID != 0 {
		return jobs.Enqueued{Job: earlier, Existing: true}, err
	}
	j := in.begin(spec)
	if j.Ready(j.CreatedAt) {
		if j.Fair, err = in.tag(ctx, spec); err != nil {
			return jobs.Enqueued{}, err
		}
	}
	j.ID, err = in.insert(ctx, j)
	return jobs.Enqueued{Job: j}, err
}

// earlier finds the job that has one of the keys.
func (in *intake) earlier(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	for _, key := range []struct{ statement, value string }{
		{"by_idempotency_key", spec.IdempotencyKey}, {"by_unique_key", spec.UniqueKey},
	} {
		if key.value == "" {
			continue
		}
		var id jobs.ID
		err := in.row(ctx, key.statement, []any{key.value}, &id)
		if err == nil {
			return single(ctx, in.statements, "job_by_id", errVanished, []any{id}, job)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return jobs.Job{}, err
		}
	}
	return jobs.Job{}, nil
}

// begin is the row of a new job, as a reader will see it.
func (in *intake) begin(spec jobs.Spec) jobs.Job {
	eligible := in.now + spec.Delay.Milliseconds()
	if !spec.RunAt.IsZero() {
		eligible = max(in.now, spec.RunAt.UnixMilli())
	}
	spec.Delay, spec.RunAt = 0, time.Time{} // eligible_at says it from here on
	spec.WaitLimit = spec.WaitLimit.Truncate(time.Millisecond)
	spec.WorkLimit = spec.WorkLimit.Truncate(time.Millisecond)
	if len(spec.Params) == 0 {
		spec.Params = json.RawMessage(`{}`)
	}
	return jobs.Job{
		Spec: spec, State: jobs.Queued, Rank: spec.Priority, Version: 1,
		CreatedAt: at(in.now), EligibleAt: at(eligible),
	}
}

func (in *intake) tag(ctx context.Context, spec jobs.Spec) (float64, error) {
	l := lane{spec.Queue, spec.Priority, spec.Tenant}
	last, known := in.last[l]
	var err error
	if known {
		last += spec.Cost()
	} else if last, err = in.freshTag(ctx, spec, spec.Priority); err != nil {
		return 0, err
	}
	in.last[l] = last
	return last, nil
}

func (in *intake) insert(ctx context.Context, j jobs.Job) (jobs.ID, error) {
	params, long := any(string(j.Params)), len(j.Params) >= longParams
	if long {
		params = nil
	}
	stmt, err := in.get(ctx, "insert_job")
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx,
		j.Type, j.Queue, j.Priority, j.Rank, j.Fair, j.Tenant, j.Ready(j.CreatedAt), in.now, j.EligibleAt.UnixMilli(),
		j.MaxAttempts, j.WaitLimit.Milliseconds(), j.WorkLimit.Milliseconds(), j.EstimatedSeconds, j.Checkpointable,
		orNull(j.IdempotencyKey), orNull(j.UniqueKey), j.Webhook, j.Input, params)
	if err != nil {
		return 0, fmt.Errorf("insert job: %w", err)
	}
	id, err := result.LastInsertId()
	if err == nil && long {
		_, err = in.exec(ctx, "insert_params", id, string(j.Params))
	}
	return jobs.ID(id), err
}
