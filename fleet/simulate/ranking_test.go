//go:build !race

package simulate_test

import (
	"testing"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/simulate"
)

// The ranking of research: under load the backlog policy halves the waits of the
// seed's rule at two to three times the launches, a least lifetime keeps it from
// starting machines for nothing, and the example table does just that.
func TestPoliciesRankAsTheyDidOnARealTrace(t *testing.T) {
	for _, load := range []struct {
		name  string
		jobs  simulate.Synthetic
		most  int
		times float64 // by how much the backlog policy beats the seed's rule at the 99th percentile
	}{
		{"as it is", simulate.Synthetic{}, 4, 1.1},
		{"four times the arrivals", simulate.Synthetic{Arrivals: 4}, 16, 2},
	} {
		t.Run(load.name, func(t *testing.T) {
			cases := []simulate.Case{
				{Name: "seed", Config: burst(fleet.PolicySeed, load.most)},
				{Name: "steps", Config: burst(fleet.PolicySteps, load.most)},
				{Name: "backlog", Config: backlog(load.most)},
			}
			results, err := simulate.Compare(t.Context(), load.jobs.Trace(), cases, simulate.Options{Packed: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				w, m := r.Total.Waits, r.Machines
				t.Logf("%-8s p95 %4.0f s, p99 %4.0f s, over 5 min %5.2f%%, %5.0f hours, %4d launches, %3d under 15 min, %3d flaps, peak %d",
					r.Name, w.P95.Seconds(), w.P99.Seconds(), 100*w.Over, m.Hours, m.Launches, m.ShortLives, m.Flaps, m.Peak)
				if m.Peak > load.most-1 {
					t.Errorf("%s: %d machines beside the VPS; max_workers is %d", r.Name, m.Peak, load.most)
				}
			}
			rank(t, results[0], results[1], results[2], load.times)
		})
	}
}

func rank(t *testing.T, seed, steps, backlog simulate.Result, times float64) {
	t.Helper()
	for _, other := range []simulate.Result{seed, steps} {
		b, o := backlog.Total.Waits, other.Total.Waits
		if b.P95 >= o.P95 || b.P99 >= o.P99 || b.Over >= o.Over {
			t.Errorf("backlog waits no less than %s: %+v, %+v", other.Name, b, o)
		}
	}
	if ratio := seed.Total.Waits.P99.Seconds() / backlog.Total.Waits.P99.Seconds(); ratio < times {
		t.Errorf("the 99th percentile of seed is %.2f times that of backlog", ratio)
	}
	if backlog.Machines.ShortLives != 0 || steps.Machines.ShortLives <= seed.Machines.ShortLives {
		t.Errorf("machines that lived under 15 min: seed %d, steps %d, backlog %d",
			seed.Machines.ShortLives, steps.Machines.ShortLives, backlog.Machines.ShortLives)
	}
	if backlog.Machines.Launches <= seed.Machines.Launches {
		t.Errorf("launches: seed %d, backlog %d", seed.Machines.Launches, backlog.Machines.Launches)
	}
}
