package fleet_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// TestComplaint20ParkingIsNotUndoneInTheNextTick decides on random fleets of
// which some are parked, carries out what is free, and decides again. It also
// holds decisions to what parking promises.
func TestComplaint20ParkingIsNotUndoneInTheNextTick(t *testing.T) {
	parked, back := 0, 0
	for _, mode := range []string{"hybrid", "cloud_first"} {
		cfg := settings(t, append(everywhere(), set("mode", mode), set("policy", "backlog"), set("min_lifetime_minutes", 0),
			set("queues.media.max_workers", 9), set("queues.ocr.max_workers", 30), set("queues.bulk.baseline_workers", 1), set("cloud_providers.aws.max_instances", 50))...)
		for seed := range uint64(600) {
			s := randomlyParked(seed)
			all := fleet.Decide(noon, cfg, s)
			ranks := restricted(t, s, all)
			costsLast(t, seed, s, all, ranks)
			for _, rank := range ranks {
				if rank < 0 {
					parked++
				} else {
					back++
				}
			}
			s = restrict(s, cfg, all, ranks)
			for id, rank := range restricted(t, s, fleet.Decide(noon, cfg, s)) {
				if before, decided := ranks[id]; decided && before != rank {
					t.Fatalf("%s, seed %d: %s had rank %d and then %d\n%s", mode, seed, id, before, rank, show(all))
				}
			}
		}
	}
	if parked < 200 || back < 200 {
		t.Errorf("only %d were parked and %d taken back", parked, back)
	}
}

func randomlyParked(seed uint64) fleet.Snapshot {
	r := rand.New(rand.NewPCG(seed, 21))
	s := randomFleet(seed)
	for i := range s.Queues {
		wanted(&s, s.Queues[i].Name, 300*time.Second, r.IntN(3))
		if q := &s.Queues[i]; q.Depth > 0 && r.IntN(3) == 0 {
			interactive(q)
		}
	}
	for i := range s.Workers {
		w := &s.Workers[i]
		if !w.Cloud() {
			continue
		}
		if r.IntN(3) == 0 {
			isParked(w)
		}
		if r.IntN(3) == 0 {
			onSpot(w)
		}
		if r.IntN(8) == 0 {
			w.KeepUntil = noon.Add(time.Hour)
		}
	}
	return s
}

// restricted are the cloud workers that are told what to claim, once each and
// only those that stay; an operator's is never parked.
func restricted(t *testing.T, s fleet.Snapshot, all []fleet.Decision) map[string]int {
	t.Helper()
	ranks := map[string]int{}
	for _, x := range all {
		i := slices.IndexFunc(s.Workers, func(w fleet.Worker) bool { return w.ID == x.WorkerID && w.Cloud() })
		if x.Kind != fleet.KindRestrict || i < 0 {
			continue
		}
		_, twice := ranks[x.WorkerID]
		leaves := slices.ContainsFunc(all, func(o fleet.Decision) bool {
			return o.WorkerID == x.WorkerID && (o.Kind == fleet.KindDrain || o.Kind == fleet.KindTerminate)
		})
		if twice || leaves || x.MaxRank < 0 && noon.Before(s.Workers[i].KeepUntil) {
			t.Fatalf("%s is told %d\n%s", x.WorkerID, x.MaxRank, show(all))
		}
		ranks[x.WorkerID] = x.MaxRank
	}
	return ranks
}

// costsLast holds that nothing is launched for a queue while one of its workers
// is parked that could take any job.
func costsLast(t *testing.T, seed uint64, s fleet.Snapshot, all []fleet.Decision, ranks map[string]int) {
	t.Helper()
	for _, x := range all {
		if x.Kind != fleet.KindLaunch {
			continue
		}
		for _, w := range s.Workers {
			rank, decided := ranks[w.ID]
			leaves := slices.ContainsFunc(all, func(o fleet.Decision) bool { return o.WorkerID == w.ID && o.Kind == fleet.KindDrain })
			if w.Serves(x.Queue) && w.Market == fleet.OnDemand && !leaves && (decided && rank < 0 || !decided && w.Parked()) {
				t.Fatalf("seed %d: %s is parked while one is launched for %s\n%s", seed, w.ID, x.Queue, show(all))
			}
		}
	}
}

// restrict is the fleet once they do as they are told, without those that were
// drained, as it is remembered.
func restrict(s fleet.Snapshot, cfg fleet.Config, all []fleet.Decision, ranks map[string]int) fleet.Snapshot {
	done := slices.DeleteFunc(slices.Clone(all), func(x fleet.Decision) bool { return x.Kind != fleet.KindRestrict })
	for i := range done {
		done[i].Outcome = fleet.OutcomeDone
	}
	s.Memory = fleet.Remember(noon, cfg, s, done)
	s.Memory.Inventoried = true
	takeAway(&s, all)
	s.Workers = slices.Clone(s.Workers)
	for i := range s.Workers {
		if rank, told := ranks[s.Workers[i].ID]; told {
			s.Workers[i].MaxRank = rank
		}
	}
	return s
}
