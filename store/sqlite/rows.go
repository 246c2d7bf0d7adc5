package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// moment is a column of milliseconds, NULL for the zero time.
type moment struct{ time.Time }

// Scan implements sql.Scanner.
func (m *moment) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		m.Time = time.Time{}
	case int64:
		m.Time = at(v)
	default:
		return fmt.Errorf("%T is no moment", value)
	}
	return nil
}

// at is the time of a number of milliseconds.
func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// span is a column of milliseconds that last.
func span(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// orNull keeps empty texts out of unique indexes.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// scanJob reads the columns that are called {job}, and those after them into extra.
func scanJob(row scanner, extra ...any) (jobs.Job, error) {
	var (
		j                                     jobs.Job
		params                                string
		result                                sql.NullString
		wait, work                            int64
		created, eligible, start, end, expiry moment
	)
	err := row.Scan(append([]any{
		&j.ID, &j.Type, &j.Queue, &j.Priority, &j.Tenant, &j.Input,
		&params, &j.IdempotencyKey, &j.UniqueKey, &j.MaxAttempts, &wait, &work,
		&j.EstimatedSeconds, &j.Checkpointable, &j.Webhook, &j.State, &j.Rank, &j.Fair, &j.Version,
		&created, &eligible, &start, &end, &j.Attempts, &j.Deliveries, &j.Lost, &j.CancelAsked,
		&j.WorkerID, &j.Token, &expiry, &j.Progress.Done, &j.Progress.Total, &j.Progress.Note,
		&result, &j.Code, &j.Reason,
	}, extra...)...)
	if err != nil {
		return jobs.Job{}, err
	}
	j.Params = json.RawMessage(params)
	if result.Valid {
		j.Result = json.RawMessage(result.String)
	}
	j.WaitLimit, j.WorkLimit = span(wait), span(work)
	j.CreatedAt, j.EligibleAt, j.StartedAt = created.Time, eligible.Time, start.Time
	j.FinishedAt, j.LeaseUntil = end.Time, expiry.Time
	return j, nil
}

func job(row scanner) (jobs.Job, error) { return scanJob(row) }

// current is a job as a change is decided on.
type current struct {
	jobs.Job
	cancelReason string // as it was asked for
}

func scanCurrent(row scanner) (current, error) {
	var c current
	var err error
	c.Job, err = scanJob(row, &c.cancelReason)
	return c, err
}

// single reads the one row of a statement, or answers missing.
func single[T any](ctx context.Context, s *statements, name string, missing error, args []any, read func(scanner) (T, error)) (T, error) {
	var item T
	stmt, err := s.get(ctx, name)
	if err != nil {
		return item, err
	}
	item, err = read(stmt.QueryRowContext(ctx, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return item, missing
	}
	if err != nil {
		return item, fmt.Errorf("%s: %w", name, err)
	}
	return item, nil
}

// tags asks for what a fair tag is made of: the last one of the tenant and the
// head of everybody.
func (t *tx) tags(ctx context.Context, queue string, rank int, tenant string) (last, head float64, err error) {
	err = t.row(ctx, "tags", []any{queue, rank, tenant}, &last, &head)
	return last, head, err
}

// freshTag is the tag of a job that becomes ready now.
func (t *tx) freshTag(ctx context.Context, spec jobs.Spec, rank int) (float64, error) {
	last, head, err := t.tags(ctx, spec.Queue, rank, spec.Tenant)
	return jobs.FairTag(last, head, spec.Cost()), err
}

// bounded keeps a limit within 1 and most; fallback stands for none.
func bounded(limit, fallback, most int) int {
	if limit <= 0 {
		return fallback
	}
	return min(limit, most)
}

// before is the cursor: no id is as high as the one that stands for none.
func before(id jobs.ID) int64 {
	if id <= 0 {
		return math.MaxInt64
	}
	return int64(id)
}
