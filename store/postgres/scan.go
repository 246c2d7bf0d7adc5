package postgres

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

// jobColumns are what scanJob reads, in its order.
const jobColumns = `id, type, queue, priority, tenant, input, params::text, coalesce(idempotency_key, ''),
	coalesce(unique_key, ''), max_attempts, wait_limit, work_limit, estimated_seconds, checkpointable, webhook,
	state, rank, fair_tag, version, created_at, eligible_at, started_at, finished_at,
	attempts, deliveries, lost, cancel_asked, worker_id, coalesce(lease_token, ''), lease_until,
	progress_done, progress_total, progress_note, result::text, code, reason`

func asJob(row pgx.CollectableRow) (jobs.Job, error) { return scanJob(row) }

// scanJob reads jobColumns, and what a statement has after them into more.
func scanJob(row pgx.CollectableRow, more ...any) (jobs.Job, error) {
	var j jobs.Job
	var params string
	var result *string
	var started, finished, lease *time.Time
	err := row.Scan(append([]any{&j.ID, &j.Type, &j.Queue, &j.Priority, &j.Tenant, &j.Input, &params, &j.IdempotencyKey,
		&j.UniqueKey, &j.MaxAttempts, &j.WaitLimit, &j.WorkLimit, &j.EstimatedSeconds, &j.Checkpointable, &j.Webhook,
		&j.State, &j.Rank, &j.Fair, &j.Version, &j.CreatedAt, &j.EligibleAt, &started, &finished,
		&j.Attempts, &j.Deliveries, &j.Lost, &j.CancelAsked, &j.WorkerID, &j.Token, &lease,
		&j.Progress.Done, &j.Progress.Total, &j.Progress.Note, &result, &j.Code, &j.Reason}, more...)...)
	j.Params = json.RawMessage(params)
	if result != nil {
		j.Result = json.RawMessage(*result)
	}
	j.CreatedAt, j.EligibleAt = j.CreatedAt.UTC(), j.EligibleAt.UTC()
	j.StartedAt, j.FinishedAt, j.LeaseUntil = moment(started), moment(finished), moment(lease)
	return j, err
}

// moment is the zero time for null.
func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// optional is null for the empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// clean makes text that a handler wrote, or that somebody asks for, into such as
// Postgres knows, which takes neither broken UTF-8 nor a zero byte.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
