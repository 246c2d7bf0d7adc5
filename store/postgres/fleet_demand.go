package postgres

import (
	"context"
	_ "embed" // the statements
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/fleet"
)

//go:embed sql/demand.sql
var demandSQL string

//go:embed sql/arrivals.sql
var arrivalsSQL string

//go:embed sql/usage.sql
var usageSQL string

// arrivalWindow is over what arrivals are counted.
const arrivalWindow = 5 * time.Minute

// Demand implements fleet.Demand.
func (f *Fleet) Demand(ctx context.Context, queues []string) (time.Time, []fleet.QueueState, error) {
	const verb = "count demand"
	arrived := map[string]int64{}
	count := func(row pgx.CollectableRow) (struct{}, error) {
		var name string
		var n int64
		err := row.Scan(&name, &n)
		arrived[name] = n
		return struct{}{}, err
	}
	at, err := one(ctx, f.store, verb, pgx.RowTo[time.Time], "SELECT {now}")
	if err != nil {
		return at, nil, err
	}
	at = at.UTC()
	if _, err = list(ctx, f.store, verb, count, arrivalsSQL, pgx.NamedArgs{"window": arrivalWindow.Microseconds()}); err != nil {
		return at, nil, err
	}
	states, err := list(ctx, f.store, verb, scanDemand, demandSQL, pgx.NamedArgs{"queues": queues})
	for i := range states {
		states[i].Arrivals = float64(arrived[states[i].Name]) / arrivalWindow.Seconds()
	}
	return at, states, err
}

func scanDemand(row pgx.CollectableRow) (fleet.QueueState, error) {
	q := fleet.QueueState{Source: "database"}
	var priorities, long []int
	var depths, longDepths []int64
	var oldest []time.Duration
	var resumes []bool
	err := row.Scan(&q.Name, &priorities, &depths, &oldest, &long, &resumes, &longDepths,
		&q.Running, &q.Service, &q.Failed, &q.Finished)
	for i, priority := range priorities {
		q.Add(priority, depths[i], oldest[i])
	}
	for i, priority := range long {
		q.AddLong(priority, resumes[i], longDepths[i])
	}
	return q, err
}

// Usage implements fleet.Usages.
func (f *Fleet) Usage(ctx context.Context, from, until time.Time) ([]fleet.Usage, error) {
	return ask(ctx, f.store, "sum up usage", pgx.RowToStructByPos[fleet.Usage], usageSQL, pgx.NamedArgs{"from": from, "until": until})
}
