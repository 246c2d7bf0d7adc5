//go:build !race

package simulate_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/simulate"
)

// With jobs spread over all workers, as Redis serves them, nobody is idle for
// long under a steady trickle. The seed's rule then keeps what a peak brought;
// the backlog policy parks what it has no need of, so it waits less for fewer
// machine hours, as it did where the others became idle by themselves.
func TestAFleetThatGrewForAPeakDoesNotStay(t *testing.T) {
	const most = 16
	cases := []simulate.Case{
		{Name: "seed", Config: burst(fleet.PolicySeed, most)},
		{Name: "backlog", Config: backlog(most)},
	}
	spread, packed := replays(t, cases, simulate.Options{}), replays(t, cases[1:], simulate.Options{Packed: true})
	seed, backlog := spread[0], spread[1]
	if ratio := seed.Total.Waits.P99.Seconds() / backlog.Total.Waits.P99.Seconds(); ratio < 2 {
		t.Errorf("the 99th percentile of seed is %.2f times that of backlog", ratio)
	}
	if ratio := backlog.Machines.Hours / seed.Machines.Hours; ratio > 0.8 {
		t.Errorf("backlog has %.2f times the machine hours of seed", ratio)
	}
	if ratio := backlog.Machines.Hours / packed[0].Machines.Hours; ratio > 1.1 {
		t.Errorf("spread jobs cost %.2f times the machine hours of packed ones", ratio)
	}
	if backlog.Machines.ShortLives != 0 || backlog.Machines.Peak > most-1 {
		t.Errorf("%+v", backlog.Machines)
	}
}

func replays(t *testing.T, cases []simulate.Case, o simulate.Options) []simulate.Result {
	t.Helper()
	results, err := simulate.Compare(t.Context(), simulate.Synthetic{Arrivals: 4, Days: 10}.Trace(), cases, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Logf("%-8s packed %-5t p99 %4.0f s, %5.0f hours, %4d launches, %3d flaps", r.Name, o.Packed, r.Total.Waits.P99.Seconds(), r.Machines.Hours, r.Machines.Launches, r.Machines.Flaps)
	}
	return results
}

// Three hundred jobs bring machines; then one comes every 40 seconds, which the
// VPS worker alone could do.
func TestATrickleDoesNotKeepMachines(t *testing.T) {
	jobs := func(yield func(fleet.PastJob, error) bool) {
		job := fleet.PastJob{At: noon, Queue: "media", Priority: 5, Service: 20 * time.Second}
		for at := time.Duration(0); at < 8*time.Hour; at += 40 * time.Second {
			job.At = noon.Add(at)
			peak := 0
			if at == time.Hour {
				peak = 300
			}
			for range 1 + peak {
				if !yield(job, nil) {
					return
				}
			}
		}
	}
	stays, parks := run(t, jobs, burst(fleet.PolicySeed, 9), simulate.Options{}), run(t, jobs, backlog(9), simulate.Options{})
	if m := stays.Machines; m.Launches == 0 || m.Hours < 5*float64(m.Launches) {
		t.Errorf("by the seed's rule, which is literal, they stay: %+v", m)
	}
	if m := parks.Machines; m.Launches != 8 || m.Flaps != 0 || m.Hours > 8*0.6 {
		t.Errorf("they should go soon: %+v", m)
	}
	if parks.Total.Done != stays.Total.Done || parks.Total.Unfinished != 0 || parks.Total.Requeued != 0 {
		t.Errorf("%+v", parks.Total)
	}
}
