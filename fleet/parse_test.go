package fleet_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

func sample(t testing.TB) []byte {
	t.Helper()
	file, err := os.ReadFile("../deploy/scheduler.sample.json")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParseTakesTheSampleFileAsItStands(t *testing.T) {
	cfg, err := fleet.Parse(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.Config{
		Mode: fleet.VPSOnly, EvaluationInterval: time.Minute, Policy: fleet.PolicySeed, Location: time.UTC,
		TargetDrain: 5 * time.Minute, MaxTerminations: 5, RegistrationTime: 10 * time.Minute, CreditMargin: 20,
		Queues: map[string]fleet.Queue{
			"images":    {BaselineWorkers: 1, MaxWorkers: 1},
			"documents": {BaselineWorkers: 1, MaxWorkers: 1},
			"ocr":       {MaxWorkers: 3},
			"media":     {MaxWorkers: 3},
			"bulk":      {MaxWorkers: 5, SpotPreferred: true},
		},
		Providers: map[string]fleet.ProviderConfig{
			"aws":    {Region: "eu-west-3", Types: []string{"c6i.xlarge"}, Image: "ami-...", MaxInstances: 5, Spot: true, SpotMaxPrice: fleet.Cents(5)},
			"google": {Zone: "europe-west1-b", Types: []string{"c2-standard-4"}, Image: "projects/.../global/images/hypermedia-worker-latest", MaxInstances: 5, Spot: true},
			"ionos":  {Datacenter: "de/fra", Types: []string{"c6i.xlarge"}, Image: "hypermedia-worker-latest", MaxInstances: 3},
		},
		ScaleUp:   fleet.ScaleUp{QueueDepth: 10, OldestAge: 5 * time.Minute, Cooldown: 2 * time.Minute},
		ScaleDown: fleet.ScaleDown{Idle: 10 * time.Minute, QueueBelow: 2, Cooldown: 5 * time.Minute},
		Limits:    fleet.Limits{Hourly: fleet.Cents(500), Daily: fleet.Cents(5000), Alert: fleet.Cents(3000)},
		Alerts:    fleet.AlertConfig{Quiet: time.Hour},
	}
	if diff := cmp.Diff(want, cfg, cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })); diff != "" {
		t.Error(diff)
	}
}
