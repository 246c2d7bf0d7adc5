package simulate_test

import (
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// burst is a queue that may burst to one provider at a price.
func burst(policy fleet.Policy, most int) fleet.Config {
	return fleet.Config{
		Mode: fleet.Hybrid, Policy: policy, EvaluationInterval: time.Minute, Location: time.UTC,
		TargetDrain: 5 * time.Minute, MaxTerminations: 5, RegistrationTime: 10 * time.Minute,
		Queues:    map[string]fleet.Queue{"media": {BaselineWorkers: 1, MaxWorkers: most, CloudEnabled: true}},
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
