package postgres

import (
	"context"
	_ "embed" // the statements
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/fleet.sql
var fleetSQL string

//go:embed sql/provision.sql
var provisionSQL string

//go:embed sql/attach.sql
var attachSQL string

//go:embed sql/terminating.sql
var terminatingSQL string

//go:embed sql/gone.sql
var goneSQL string

//go:embed sql/held_by.sql
var heldBySQL string

// Fleet implements fleet.Rows.
func (f *Fleet) Fleet(ctx context.Context) ([]fleet.Worker, error) {
	read := func(row pgx.CollectableRow) (fleet.Worker, error) {
		b, err := scanMachine(row)
		return b.Worker, err
	}
	return list(ctx, f.store, "list the fleet", read, fleetSQL, pgx.NamedArgs{"since": nil, "ids": []string{}})
}

// scanMachine reads a row of the fleet, which is a bill but for the money.
func scanMachine(row pgx.CollectableRow) (fleet.Bill, error) {
	var w fleet.Bill
	var request string
	var provisioned, launched, registered, beat, completed, deadline, left, terminate, accrued, keep, cpuAt, ended *time.Time
	err := row.Scan(&w.ID, &w.Provider, &w.Type, &w.Zone, &w.Market, &w.InstanceID, &w.Queues, &w.Slots, &w.Status,
		&w.Claimed, &w.CurrentJobs, &provisioned, &launched, &registered, &beat, &completed, &deadline, &left, &terminate,
		&accrued, &keep, &w.Origin, &w.Rate, &w.Ceiling, &w.Granularity, &w.CPUPercent, &cpuAt, &w.MaxRank, &request, &ended)
	if err != nil {
		return w, err
	}
	w.ProvisionedAt, w.LaunchedAt, w.RegisteredAt = moment(provisioned), moment(launched), moment(registered)
	w.LastHeartbeat, w.LastJobCompletedAt, w.DrainDeadline = moment(beat), moment(completed), moment(deadline)
	w.LeftAt, w.TerminateAt, w.AccruedUntil, w.KeepUntil = moment(left), moment(terminate), moment(accrued), moment(keep)
	w.Ceiling, w.CPUAt, w.TerminatedAt = max(w.Ceiling, w.Rate), moment(cpuAt), moment(ended)
	if request == "" {
		return w, nil
	}
	if err := json.Unmarshal([]byte(request), &w.Request); err != nil {
		return w, fmt.Errorf("read request of worker %s: %w", w.ID, err)
	}
	return w, nil
}

// Provision implements fleet.Rows.
func (f *Fleet) Provision(ctx context.Context, w fleet.Worker) error {
	request, err := json.Marshal(w.Request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	queues := w.Queues
	if queues == nil {
		queues = []string{}
	}
	_, err = f.store.exec(ctx, "provision worker", provisionSQL, pgx.NamedArgs{
		"id": w.ID, "provider": w.Provider, "type": w.Type, "zone": w.Zone, "market": string(w.Market), "queues": queues,
		"slots": w.Slots, "cost": int64(w.Rate), "ceiling": int64(w.Ceiling), "granularity": w.Granularity.Microseconds(),
		"keep": nullable(w.KeepUntil), "accrued": nullable(w.AccruedUntil), "origin": string(w.Origin), "max_rank": w.MaxRank,
		"request": string(request),
	})
	return err
}

// Attach implements fleet.Rows.
func (f *Fleet) Attach(ctx context.Context, workerID string, m fleet.Machine, o fleet.Offer) error {
	return f.change(ctx, "attach machine to worker", attachSQL, pgx.NamedArgs{
		"id": workerID, "instance": m.ID, "provider": m.Provider, "type": m.Type, "zone": m.Zone, "market": string(m.Market),
		"launched": nullable(m.LaunchedAt), "cost": int64(o.Price + o.Surcharge), "ceiling": int64(o.Rate()),
		"granularity": o.Granularity.Microseconds(),
	})
}

// Terminating implements fleet.Rows.
func (f *Fleet) Terminating(ctx context.Context, workerID string) error {
	return f.change(ctx, "note that a worker is being ended", terminatingSQL, pgx.NamedArgs{"id": workerID})
}

// Gone implements fleet.Rows.
func (f *Fleet) Gone(ctx context.Context, workerID string, at time.Time) ([]int64, error) {
	const verb = "mark worker as gone"
	var requeued []int64
	err := f.store.call(ctx, verb, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, f.store.pool, func(tx pgx.Tx) (err error) {
			requeued, err = f.gone(ctx, tx, workerID, at)
			return err
		})
	})
	if err != nil {
		return nil, told(verb, err)
	}
	return requeued, nil
}

// gone locks jobs before the worker, in the order of Finish and Beat.
func (f *Fleet) gone(ctx context.Context, tx pgx.Tx, workerID string, at time.Time) ([]int64, error) {
	rows, err := tx.Query(ctx, f.store.sql(heldBySQL), pgx.NamedArgs{"id": workerID})
	if err != nil {
		return nil, err
	}
	held, err := pgx.CollectRows(rows, asJob)
	if err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, f.store.sql(goneSQL), pgx.NamedArgs{"id": workerID, "at": at})
	if err != nil {
		return nil, err
	}
	asked, err := pgx.CollectRows(rows, pgx.RowTo[bool])
	if err != nil {
		return nil, err
	}
	if len(asked) == 0 {
		return nil, jobs.ErrNotFound
	}
	var requeued []int64
	endings := make([]finish, len(held))
	for i := range held {
		endings[i] = finish{leaseOf(&held[i]), jobs.AfterMachine(&held[i], asked[0])}
		if endings[i].outcome.State == jobs.Queued && !held[i].CancelAsked {
			requeued = append(requeued, int64(held[i].ID))
		}
	}
	args := endColumns(endings)
	args["orphans"] = false
	_, err = tx.Exec(ctx, f.store.sql(finishSQL), args)
	return requeued, err
}

func leaseOf(j *jobs.Job) jobs.Lease { return jobs.Lease{ID: j.ID, Token: j.Token} }
