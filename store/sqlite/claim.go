package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// Claim takes jobs one by one, each from the queue with the lowest head.
func (s *Store) Claim(ctx context.Context, c jobs.Claim) ([]jobs.Job, error) {
	queues, err := json.Marshal(c.Queues)
	if err != nil || len(c.Queues) == 0 || c.N <= 0 || c.MaxRank < 0 {
		return nil, err
	}
	rank := jobs.LowestPriority
	if c.MaxRank != 0 {
		rank = c.MaxRank
	}
	head := "claim_head"
	if c.Market == jobs.Spot {
		head = "claim_head_spot"
	}
	return write(ctx, s, c.N, func(ctx context.Context, t *tx) ([]jobs.Job, error) {
		var active bool
		if err := t.row(ctx, "worker_active", []any{c.WorkerID}, &active); err != nil || !active {
			return nil, err
		}
		if c.Alone {
			suspect, err := t.claimFirst(ctx, "claim_suspect", []any{string(queues), rank, string(c.Market)}, c)
			if err != nil || len(suspect) > 0 {
				return suspect, err // it has to run alone
			}
		}
		var claimed []jobs.Job
		for len(claimed) < c.N {
			next, err := t.claimFirst(ctx, head, []any{string(queues), rank}, c)
			if err != nil || len(next) == 0 {
				return claimed, err
			}
			claimed = append(claimed, next...)
		}
		return claimed, nil
	})
}

// claimFirst claims the job that a statement finds, when it finds one.
func (t *tx) claimFirst(ctx context.Context, statement string, args []any, c jobs.Claim) ([]jobs.Job, error) {
	var id int64
	err := t.row(ctx, statement, args, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j, err := t.claim(ctx, id, c)
	if err != nil {
		return nil, err
	}
	return []jobs.Job{j}, nil
}

func (t *tx) claim(ctx context.Context, id int64, c jobs.Claim) (jobs.Job, error) {
	args := []any{id, c.WorkerID, rand.Text(), t.now + c.Lease.Milliseconds(), t.now}
	j, err := single(ctx, t.statements, "claim", errVanished, args, job)
	if err != nil {
		return j, err
	}
	_, err = t.exec(ctx, "insert_attempt", id, j.Deliveries, c.WorkerID, t.now, j.Queue)
	return j, err
}

// errVanished means that the file is damaged: within one transaction a row that
// was found is there.
var errVanished = errors.New("a row that an index has is not in its table")

// Beat extends leases.
func (s *Store) Beat(ctx context.Context, workerID string, lease time.Duration, pulses []jobs.Pulse) ([]jobs.ID, error) {
	list := make([][5]any, len(pulses))
	for i, p := range pulses {
		list[i] = [5]any{int64(p.ID), p.Token}
		if p.Progress != nil {
			list[i] = [5]any{int64(p.ID), p.Token, p.Progress.Done, p.Progress.Total, p.Progress.Note}
		}
	}
	pulsed, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode pulses: %w", err)
	}
	return write(ctx, s, len(pulses), func(ctx context.Context, t *tx) ([]jobs.ID, error) {
		held := map[jobs.ID]bool{}
		if len(pulses) > 0 {
			args := []any{string(pulsed), workerID, t.now + lease.Milliseconds()}
			ids, err := all(ctx, t.statements, "beat", args, one[jobs.ID])
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				held[id] = true
			}
		}
		var lost []jobs.ID
		for _, p := range pulses {
			if !held[p.ID] {
				lost = append(lost, p.ID)
			}
		}
		_, err := t.exec(ctx, "worker_alive", workerID, t.now, len(held))
		return lost, err
	})
}

// Signals reads what the worker is told.
func (s *Store) Signals(ctx context.Context, workerID string) (jobs.Signals, error) {
	return read(ctx, s, func(ctx context.Context, r *statements) (jobs.Signals, error) {
		type row struct {
			status  jobs.WorkerStatus
			drain   moment
			suspect bool
			rank    int
		}
		worker, err := single(ctx, r, "signals", jobs.ErrNotFound, []any{workerID}, func(sc scanner) (w row, err error) {
			return w, sc.Scan(&w.status, &w.drain, &w.rank, &w.suspect)
		})
		if err != nil {
			return jobs.Signals{}, err
		}
		signals := jobs.Signals{Status: worker.status, Suspect: worker.suspect, MaxRank: worker.rank}
		if !worker.drain.IsZero() {
			now, err := clock(ctx, r, s.offset)
			if err != nil {
				return jobs.Signals{}, err
			}
			signals.DrainIn = max(0, worker.drain.Sub(at(now)))
		}
		signals.Cancel, err = all(ctx, r, "signals_cancel", []any{workerID}, one[jobs.ID])
		return signals, err
	})
}

// SaveCheckpoints stores parts under the lease.
func (s *Store) SaveCheckpoints(ctx context.Context, l jobs.Lease, parts []jobs.Checkpoint) error {
	_, err := write(ctx, s, len(parts), func(ctx context.Context, t *tx) (struct{}, error) {
		type row struct {
			number int
			worker string
		}
		holder, err := single(ctx, t.statements, "lease_holder", jobs.ErrLeaseLost, []any{l.ID, l.Token}, func(sc scanner) (h row, err error) {
			return h, sc.Scan(&h.number, &h.worker)
		})
		if err != nil {
			return struct{}{}, err
		}
		for _, part := range parts {
			_, err := t.exec(ctx, "insert_checkpoint", l.ID, part.Key, string(part.Value), holder.number, holder.worker, t.now)
			if err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}

// mostCheckpoints is how many are read at once.
const mostCheckpoints = 10_000

// Checkpoints pages through a job's parts.
func (s *Store) Checkpoints(ctx context.Context, id jobs.ID, after string, limit int) ([]jobs.Checkpoint, error) {
	limit = bounded(limit, mostCheckpoints, mostCheckpoints)
	return read(ctx, s, func(ctx context.Context, r *statements) ([]jobs.Checkpoint, error) {
		return all(ctx, r, "checkpoints", []any{id, after, limit}, func(sc scanner) (c jobs.Checkpoint, err error) {
			var value string
			var created moment
			err = sc.Scan(&c.Key, &value, &c.Number, &c.WorkerID, &created)
			c.Value, c.CreatedAt = json.RawMessage(value), created.Time
			return c, err
		})
	})
}
