package postgres

import (
	"context"
	_ "embed" // the statements
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/register.sql
var registerSQL string

//go:embed sql/record.sql
var recordSQL string

//go:embed sql/leave.sql
var leaveSQL string

//go:embed sql/workers.sql
var workersSQL string

// Register implements jobs.WorkerStore.
func (s *Store) Register(ctx context.Context, w jobs.WorkerRow) error {
	queues := w.Queues
	if queues == nil {
		queues = []string{}
	}
	_, err := s.exec(ctx, "register worker", registerSQL, pgx.NamedArgs{
		"id": w.ID, "hostname": w.Hostname, "provider": w.Provider, "region": w.Region,
		"instance_id": w.InstanceID, "instance_type": w.InstanceType, "market": string(w.Market),
		"queues": queues, "slots": w.Slots, "version": w.Version, "cost": w.CostPerHour,
	})
	return err
}

// Record implements jobs.WorkerStore.
func (s *Store) Record(ctx context.Context, workerID string, m jobs.WorkerMetric) error {
	n, err := s.exec(ctx, "record metric of worker", recordSQL, pgx.NamedArgs{
		"id": workerID, "cpu": m.CPUPercent, "memory": m.MemoryBytes, "memory_limit": m.MemoryLimit, "running": m.JobsRunning,
	})
	return found(n, "record metric of worker", err)
}

// Leave implements jobs.WorkerStore.
func (s *Store) Leave(ctx context.Context, workerID string) error {
	n, err := s.exec(ctx, "mark worker as gone", leaveSQL, pgx.NamedArgs{"id": workerID})
	return found(n, "mark worker as gone", err)
}

func found(n int64, verb string, err error) error {
	if err == nil && n == 0 {
		return fmt.Errorf("%s: %w", verb, jobs.ErrNotFound)
	}
	return err
}

// Workers implements jobs.WorkerStore.
func (s *Store) Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error) {
	return ask(ctx, s, "list workers", scanWorker, workersSQL, pgx.NamedArgs{
		"all": all, "stale": jobs.StaleAfter.Microseconds(),
	})
}

func scanWorker(row pgx.CollectableRow) (jobs.WorkerRow, error) {
	var w jobs.WorkerRow
	var m jobs.WorkerMetric
	var beat, completed, deadline, terminated, at *time.Time
	var stale *bool // null: it was never heard
	err := row.Scan(&w.ID, &w.Hostname, &w.Provider, &w.Region, &w.InstanceID, &w.InstanceType, &w.Market, &w.Queues,
		&w.Slots, &w.Version, &w.CostPerHour, &w.Status, &w.CurrentJobs, &w.RegisteredAt, &beat,
		&completed, &deadline, &terminated, &stale, &at, &m.CPUPercent, &m.MemoryBytes, &m.MemoryLimit, &m.JobsRunning)
	w.RegisteredAt = w.RegisteredAt.UTC()
	w.LastHeartbeat, w.LastJobCompletedAt = moment(beat), moment(completed)
	w.DrainDeadline, w.TerminatedAt = moment(deadline), moment(terminated)
	w.Stale = stale != nil && *stale
	if at != nil {
		m.At = at.UTC()
		w.Latest = &m
	}
	return w, err
}
