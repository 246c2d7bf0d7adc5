package sqlite

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// arrivalWindow is over what arrivals are counted.
const arrivalWindow = 5 * time.Minute

// demand is one answer of Demand.
type demand struct {
	at     time.Time
	states []fleet.QueueState
}

// Demand implements fleet.Demand.
func (f *Fleet) Demand(ctx context.Context, queues []string) (time.Time, []fleet.QueueState, error) {
	d, err := read(ctx, f.store, func(ctx context.Context, r *statements) (demand, error) {
		now, err := clock(ctx, r, f.store.offset)
		if err != nil {
			return demand{}, err
		}
		d := demand{at: at(now)}
		arrived, err := arrivals(ctx, r, now-arrivalWindow.Milliseconds())
		for _, name := range queues {
			if err != nil {
				return d, err
			}
			q := fleet.QueueState{Name: name, Source: "database", Arrivals: float64(arrived[name]) / arrivalWindow.Seconds()}
			err = wanted(ctx, r, &q, d.at)
			d.states = append(d.states, q)
		}
		return d, err
	})
	return d.at, d.states, told("count demand", err)
}

// arrivals counts the jobs that came since then, by queue.
func arrivals(ctx context.Context, r *statements, since int64) (map[string]int64, error) {
	counts := map[string]int64{}
	_, err := all(ctx, r, "arrivals", []any{since}, func(row scanner) (struct{}, error) {
		var name string
		var n int64
		err := row.Scan(&name, &n)
		counts[name] = n
		return struct{}{}, err
	})
	return counts, err
}

// wanted counts one queue.
func wanted(ctx context.Context, r *statements, q *fleet.QueueState, now time.Time) error {
	_, err := all(ctx, r, "demand_depth", []any{q.Name}, func(row scanner) (struct{}, error) {
		var priority int
		var n int64
		var oldest moment
		err := row.Scan(&priority, &n, &oldest)
		q.Add(priority, n, age(now, oldest))
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	_, err = all(ctx, r, "demand_long", []any{q.Name}, func(row scanner) (struct{}, error) {
		var priority int
		var resumes bool
		var n int64
		err := row.Scan(&priority, &resumes, &n)
		q.AddLong(priority, resumes, n)
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	if err := r.row(ctx, "demand_running", []any{q.Name}, &q.Running); err != nil {
		return err
	}
	var mean float64 // milliseconds
	err = r.row(ctx, "demand_attempts", []any{q.Name}, &mean, &q.Failed, &q.Finished)
	q.Service = time.Duration(mean * float64(time.Millisecond))
	return err
}
