package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

// Fleet implements fleet.Rows.
func (f *Fleet) Fleet(ctx context.Context) ([]fleet.Worker, error) {
	list, err := read(ctx, f.store, func(ctx context.Context, r *statements) ([]fleet.Worker, error) {
		return all(ctx, r, "fleet", []any{nil, "[]"}, func(row scanner) (fleet.Worker, error) {
			b, err := machine(row)
			return b.Worker, err
		})
	})
	return list, told("list the fleet", err)
}

// machine reads a row of the fleet, which is a bill but for the money.
func machine(row scanner) (fleet.Bill, error) {
	var (
		w                                                           fleet.Bill
		queues                                                      string
		request                                                     sql.NullString
		cents                                                       float64
		cpu                                                         sql.NullFloat64
		granularity                                                 int64
		provisioned, launched, registered, heard, done, drain, left moment
		terminate, accrued, keep, cpuAt, ended                      moment
	)
	err := row.Scan(&w.ID, &w.Provider, &w.Type, &w.Zone, &w.Market, &w.InstanceID, &queues, &w.Slots, &w.Status,
		&w.Claimed, &w.CurrentJobs, &provisioned, &launched, &registered, &heard, &done, &drain, &left, &terminate, &accrued, &keep,
		&w.Origin, &cents, &w.Ceiling, &granularity, &cpu, &cpuAt, &w.MaxRank, &request, &ended)
	if err != nil {
		return w, err
	}
	w.ProvisionedAt, w.LaunchedAt, w.RegisteredAt = provisioned.Time, launched.Time, registered.Time
	w.LastHeartbeat, w.LastJobCompletedAt, w.DrainDeadline = heard.Time, done.Time, drain.Time
	w.LeftAt, w.TerminateAt, w.AccruedUntil, w.KeepUntil = left.Time, terminate.Time, accrued.Time, keep.Time
	w.Rate, w.Granularity = fleet.Money(math.Round(cents*centParts)), span(granularity)
	w.Ceiling = max(w.Ceiling, w.Rate)
	w.CPUPercent, w.CPUAt, w.TerminatedAt = cpu.Float64, cpuAt.Time, ended.Time
	if err := json.Unmarshal([]byte(queues), &w.Queues); err != nil {
		return w, fmt.Errorf("read queues of worker %s: %w", w.ID, err)
	}
	if request.Valid {
		if err := json.Unmarshal([]byte(request.String), &w.Request); err != nil {
			return w, fmt.Errorf("read request of worker %s: %w", w.ID, err)
		}
	}
	return w, nil
}

// Provision implements fleet.Rows.
func (f *Fleet) Provision(ctx context.Context, w fleet.Worker) error {
	if w.Queues == nil {
		w.Queues = []string{}
	}
	queues, err := json.Marshal(w.Queues)
	if err != nil {
		return fmt.Errorf("encode queues: %w", err)
	}
	request, err := json.Marshal(w.Request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	_, err = write(ctx, f.store, 1, func(ctx context.Context, t *tx) (int64, error) {
		return t.exec(ctx, "provision", w.ID, w.Provider, w.Type, w.Zone, string(w.Market), string(queues), w.Slots,
			float64(w.Rate)/centParts, int64(w.Ceiling), w.Granularity.Milliseconds(), millis(w.KeepUntil), millis(w.AccruedUntil),
			string(w.Origin), w.MaxRank, string(request), t.now)
	})
	return told("provision worker", err)
}

// Attach implements fleet.Rows.
func (f *Fleet) Attach(ctx context.Context, workerID string, m fleet.Machine, o fleet.Offer) error {
	return told("attach machine to worker", f.change(ctx, workerID, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, "attach", workerID, m.ID, m.Provider, m.Type, m.Zone, string(m.Market), millis(m.LaunchedAt),
			float64(o.Price+o.Surcharge)/centParts, int64(o.Rate()), o.Granularity.Milliseconds())
		return err
	}))
}

// Terminating implements fleet.Rows.
func (f *Fleet) Terminating(ctx context.Context, workerID string) error {
	return told("note that a worker is being ended", f.change(ctx, workerID, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, "terminating", workerID, t.now)
		return err
	}))
}

// Gone implements fleet.Rows.
func (f *Fleet) Gone(ctx context.Context, workerID string, at time.Time) ([]int64, error) {
	requeued, err := write(ctx, f.store, batchWeight, func(ctx context.Context, t *tx) ([]int64, error) {
		asked, err := single(ctx, t.statements, "terminate_at", jobs.ErrNotFound, []any{workerID}, one[moment])
		if err != nil {
			return nil, err
		}
		if _, err := t.exec(ctx, "gone", workerID, millis(at)); err != nil {
			return nil, err
		}
		held, err := all(ctx, t.statements, "held_by", []any{workerID}, scanCurrent)
		if err != nil {
			return nil, err
		}
		var requeued []int64
		for _, c := range held {
			o := jobs.AfterMachine(&c.Job, !asked.IsZero())
			if c.CancelAsked {
				o = cancelled(c.cancelReason, o.Attempt)
			}
			if err := t.leave(ctx, c, o); err != nil {
				return nil, err
			}
			if o.State == jobs.Queued {
				requeued = append(requeued, int64(c.ID))
			}
		}
		return requeued, nil
	})
	return requeued, told("mark worker as gone", err)
}
