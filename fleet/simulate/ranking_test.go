package simulate_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/simulate"
)

// burst is a queue that may burst to one provider at a price.
func burst(policy fleet.Policy, most int) fleet.Config {
	return fleet.Config{
		Mode: fleet.Hybrid, Policy: policy, EvaluationInterval: time.Minute, Location: time.UTC,
		TargetDrain: 5 * time.Minute, MaxTerminations: 5, RegistrationTime: 10 * time.Minute,
		Queues:    map[string]fleet.Queue{"media": {MaxWorkers: most, CloudEnabled: true}},
		Providers: map[string]fleet.ProviderConfig{"aws": {Enabled: true, Region: "eu-west-3", Types: []string{"c6i.xlarge"}, MaxInstances: most, Slots: 1, Prices: map[string]fleet.Price{"c6i.xlarge": {OnDemand: fleet.Cents(20)}}}},
		ScaleUp:   fleet.ScaleUp{QueueDepth: 10, OldestAge: 5 * time.Minute, Cooldown: 2 * time.Minute},
		ScaleDown: fleet.ScaleDown{Idle: 10 * time.Minute, QueueBelow: 2, Cooldown: 5 * time.Minute},
		Limits:    fleet.Limits{Hourly: fleet.Cents(5000), Daily: fleet.Cents(100_000)},
	}
}

func backlog(most int) fleet.Config {
	cfg := burst(fleet.PolicyBacklog, most)
	cfg.MinLifetime = 15 * time.Minute
	cfg.ScaleDown.Idle = 5 * time.Minute
	return cfg
}

func TestFigures(t *testing.T) {
	for _, load := range []struct {
		name  string
		trace simulate.Synthetic
		most  int
	}{
		{"as is", simulate.Synthetic{}, 4},
		{"arrivals x4", simulate.Synthetic{Arrivals: 4}, 16},
		{"service x6", simulate.Synthetic{Service: 6}, 24},
	} {
		cases := []simulate.Case{
			{"seed", burst(fleet.PolicySeed, load.most)},
			{"steps", burst(fleet.PolicySteps, load.most)},
			{"backlog", backlog(load.most)},
		}
		for _, packed := range []bool{false, true} {
			rs, err := simulate.Compare(t.Context(), load.trace.Trace(), cases, simulate.Options{Packed: packed})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rs {
				w := r.Total.Waits
				t.Logf("%-12s %-8s p95 %4.0f p99 %4.0f >5min %5.2f%% hours %6.0f launches %5d short %3d flaps %d peak %d spent %s booked %s unfinished %d still %d limits %v holds %v", load.name, r.Name,
					w.P95.Seconds(), w.P99.Seconds(), 100*w.Over, r.Machines.Hours, r.Machines.Launches, r.Machines.ShortLives, r.Machines.Flaps, r.Machines.Peak, r.Money.Spent, r.Money.Booked, r.Total.Unfinished, r.Machines.StillRunning, r.Limits, r.Holds)
			}
		}
	}
}
