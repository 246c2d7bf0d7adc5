package app

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// The roles of a jobs.Store, each handed on to the store that is open.

// Enqueue implements jobs.EnqueueStore.
func (l *lateStore) Enqueue(ctx context.Context, specs []jobs.Spec) ([]jobs.Enqueued, error) {
	return with(l, func(s jobs.Store) ([]jobs.Enqueued, error) { return s.Enqueue(ctx, specs) })
}

// Claim implements jobs.ClaimStore, and so do the next four.
func (l *lateStore) Claim(ctx context.Context, c jobs.Claim) ([]jobs.Job, error) {
	return with(l, func(s jobs.Store) ([]jobs.Job, error) { return s.Claim(ctx, c) })
}

// Beat keeps leases.
func (l *lateStore) Beat(ctx context.Context, workerID string, lease time.Duration, pulses []jobs.Pulse) ([]jobs.ID, error) {
	return with(l, func(s jobs.Store) ([]jobs.ID, error) { return s.Beat(ctx, workerID, lease, pulses) })
}

// Signals tells a worker what it is asked for.
func (l *lateStore) Signals(ctx context.Context, workerID string) (jobs.Signals, error) {
	return with(l, func(s jobs.Store) (jobs.Signals, error) { return s.Signals(ctx, workerID) })
}

// SaveCheckpoints saves.
func (l *lateStore) SaveCheckpoints(ctx context.Context, lease jobs.Lease, parts []jobs.Checkpoint) error {
	return told(l, func(s jobs.Store) error { return s.SaveCheckpoints(ctx, lease, parts) })
}

// Checkpoints reads a page.
func (l *lateStore) Checkpoints(ctx context.Context, id jobs.ID, after string, limit int) ([]jobs.Checkpoint, error) {
	return with(l, func(s jobs.Store) ([]jobs.Checkpoint, error) { return s.Checkpoints(ctx, id, after, limit) })
}

// Finish implements jobs.FinishStore.
func (l *lateStore) Finish(ctx context.Context, lease jobs.Lease, o jobs.Outcome) error {
	return told(l, func(s jobs.Store) error { return s.Finish(ctx, lease, o) })
}

// Expired implements jobs.RescueStore, and so do the next three.
func (l *lateStore) Expired(ctx context.Context, limit int) ([]jobs.Job, error) {
	return with(l, func(s jobs.Store) ([]jobs.Job, error) { return s.Expired(ctx, limit) })
}

// Rescue ends a lost attempt.
func (l *lateStore) Rescue(ctx context.Context, lease jobs.Lease, o jobs.Outcome) (bool, error) {
	return with(l, func(s jobs.Store) (bool, error) { return s.Rescue(ctx, lease, o) })
}

// Promote makes delayed jobs ready.
func (l *lateStore) Promote(ctx context.Context, limit int) ([]jobs.Moved, error) {
	return with(l, func(s jobs.Store) ([]jobs.Moved, error) { return s.Promote(ctx, limit) })
}

// GiveUp fails jobs that have waited for too long.
func (l *lateStore) GiveUp(ctx context.Context, limit int) ([]jobs.Moved, error) {
	return with(l, func(s jobs.Store) ([]jobs.Moved, error) { return s.GiveUp(ctx, limit) })
}

// Age implements jobs.KeepStore, and so do the next two.
func (l *lateStore) Age(ctx context.Context, every time.Duration, limit int) (int, error) {
	return with(l, func(s jobs.Store) (int, error) { return s.Age(ctx, every, limit) })
}

// Prune removes what is old.
func (l *lateStore) Prune(ctx context.Context, keep jobs.Retention, limit int) (int, error) {
	return with(l, func(s jobs.Store) (int, error) { return s.Prune(ctx, keep, limit) })
}

// BuryWorkers ends what is silent.
func (l *lateStore) BuryWorkers(ctx context.Context, after time.Duration) ([]string, error) {
	return with(l, func(s jobs.Store) ([]string, error) { return s.BuryWorkers(ctx, after) })
}

// Cancel implements jobs.ControlStore, and so do the next three.
func (l *lateStore) Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Job, error) {
	return with(l, func(s jobs.Store) (jobs.Job, error) { return s.Cancel(ctx, id, reason) })
}

// Retry queues again.
func (l *lateStore) Retry(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	return with(l, func(s jobs.Store) (jobs.Job, error) { return s.Retry(ctx, id) })
}

// Drain asks a worker to stop.
func (l *lateStore) Drain(ctx context.Context, workerID string, within time.Duration) error {
	return told(l, func(s jobs.Store) error { return s.Drain(ctx, workerID, within) })
}

// Undrain lets it go on.
func (l *lateStore) Undrain(ctx context.Context, workerID string) error {
	return told(l, func(s jobs.Store) error { return s.Undrain(ctx, workerID) })
}

// Job implements jobs.QueryStore, and so do the next four.
func (l *lateStore) Job(ctx context.Context, id jobs.ID) (jobs.Job, error) {
	return with(l, func(s jobs.Store) (jobs.Job, error) { return s.Job(ctx, id) })
}

// Jobs lists.
func (l *lateStore) Jobs(ctx context.Context, f jobs.Filter) ([]jobs.Job, error) {
	return with(l, func(s jobs.Store) ([]jobs.Job, error) { return s.Jobs(ctx, f) })
}

// Attempts lists those of a job.
func (l *lateStore) Attempts(ctx context.Context, id jobs.ID) ([]jobs.Attempt, error) {
	return with(l, func(s jobs.Store) ([]jobs.Attempt, error) { return s.Attempts(ctx, id) })
}

// Queues counts.
func (l *lateStore) Queues(ctx context.Context, most int) ([]jobs.QueueStats, error) {
	return with(l, func(s jobs.Store) ([]jobs.QueueStats, error) { return s.Queues(ctx, most) })
}

// Versions tells what has changed.
func (l *lateStore) Versions(ctx context.Context, ids []jobs.ID) (map[jobs.ID]int64, error) {
	return with(l, func(s jobs.Store) (map[jobs.ID]int64, error) { return s.Versions(ctx, ids) })
}

// Register implements jobs.WorkerStore, and so do the next three.
func (l *lateStore) Register(ctx context.Context, w jobs.WorkerRow) error {
	return told(l, func(s jobs.Store) error { return s.Register(ctx, w) })
}

// Record keeps a metric.
func (l *lateStore) Record(ctx context.Context, workerID string, m jobs.WorkerMetric) error {
	return told(l, func(s jobs.Store) error { return s.Record(ctx, workerID, m) })
}

// Leave ends a worker.
func (l *lateStore) Leave(ctx context.Context, workerID string) error {
	return told(l, func(s jobs.Store) error { return s.Leave(ctx, workerID) })
}

// Workers lists.
func (l *lateStore) Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error) {
	return with(l, func(s jobs.Store) ([]jobs.WorkerRow, error) { return s.Workers(ctx, all) })
}

// DueWebhooks implements jobs.WebhookStore, and so does the next.
func (l *lateStore) DueWebhooks(ctx context.Context, limit int, hold time.Duration) ([]jobs.Webhook, error) {
	return with(l, func(s jobs.Store) ([]jobs.Webhook, error) { return s.DueWebhooks(ctx, limit, hold) })
}

// WebhookDone ends a notice.
func (l *lateStore) WebhookDone(ctx context.Context, w jobs.Webhook, failure string, again time.Duration) error {
	return told(l, func(s jobs.Store) error { return s.WebhookDone(ctx, w, failure, again) })
}

// Elect implements jobs.Elector.
func (l *lateStore) Elect(ctx context.Context, name string) (jobs.Election, error) {
	return with(l, func(s jobs.Store) (jobs.Election, error) { return s.Elect(ctx, name) })
}
