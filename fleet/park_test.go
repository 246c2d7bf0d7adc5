package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

// moves are what is decided about the machines of media, in order.
func moves(all []fleet.Decision) []string {
	var out []string
	for _, x := range all {
		switch {
		case x.Kind == fleet.KindRestrict && x.MaxRank < 0:
			out = append(out, "park "+x.WorkerID)
		case x.Kind == fleet.KindRestrict:
			out = append(out, "unpark "+x.WorkerID)
		case x.Kind == fleet.KindLaunch, x.Kind == fleet.KindUndrain, x.Kind == fleet.KindDrain:
			out = append(out, string(x.Kind)+" "+x.WorkerID)
		}
	}
	return out
}

// wanted is what the policy asked for in a queue, so long ago and one tick before.
func wanted(s *fleet.Snapshot, queue string, ago time.Duration, workers int) {
	if s.Memory.Wants == nil {
		s.Memory.Wants = map[string][]fleet.Want{}
	}
	s.Memory.Wants[queue] = []fleet.Want{{At: noon.Add(-ago), Workers: workers}, {At: noon.Add(-time.Minute)}}
}

// comes makes so many slots busy with what arrives, beside the two of the VPS.
func comes(s *fleet.Snapshot, queue string, slots float64) *fleet.QueueState {
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Name == queue {
			q.Arrivals = (slots + 2) / q.Service.Seconds()
			return q
		}
	}
	return nil
}

func isParked(w *fleet.Worker) { w.MaxRank = -1 }

func tuned(edits ...edit) []edit {
	return append([]edit{set("policy", "backlog"), set("queues.media.max_workers", 9), set("cloud_providers.aws.max_instances", 20)}, edits...)
}

func TestWhatIsMoreThanWantedIsParked(t *testing.T) {
	const window = 300 * time.Second
	cases := map[string]struct {
		edits []edit
		snap  func(*fleet.Snapshot)
		want  []string
	}{
		"all, when none is wanted, those with a job last and the idle longest first": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", idleFor(3*time.Minute)), cloud("c"))
		}, []string{"park b", "park a", "park c"}},
		"but not as many as are wanted": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 1)
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", idleFor(3*time.Minute)), cloud("c"))
		}, []string{"park b", "park a"}},
		"nor as many as were wanted within the window": {nil, func(s *fleet.Snapshot) {
			wanted(s, "media", window, 2)
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", idleFor(3*time.Minute)), cloud("c"))
		}, []string{"park b"}},
		"what was wanted before it does not count": {nil, func(s *fleet.Snapshot) {
			s.Memory.Wants["media"] = append([]fleet.Want{{At: noon.Add(-window - time.Second), Workers: 9}}, s.Memory.Wants["media"]...)
			add(s, cloud("a", idleFor(time.Minute)))
		}, []string{"park a"}},
		"none before the policy has looked for as long": {nil, func(s *fleet.Snapshot) {
			wanted(s, "media", window-time.Minute-time.Second, 0)
			add(s, cloud("a", idleFor(time.Minute)))
		}, nil},
		"none after nobody has looked for a while": {nil, func(s *fleet.Snapshot) {
			s.Memory.Wants["media"] = []fleet.Want{{At: noon.Add(-time.Hour)}}
			add(s, cloud("a", idleFor(time.Minute)))
		}, nil},
		"none while the last to come or to come back is new": {nil, func(s *fleet.Snapshot) {
			s.Memory.LastUp = map[string]time.Time{"media": noon.Add(-window + time.Second)}
			add(s, cloud("a", idleFor(time.Minute)))
		}, nil},
		"none without a service time": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 0).Service = 0
			add(s, cloud("a", idleFor(time.Minute)))
		}, nil},
		"one that launches takes nobody's place": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 1)
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", launching))
		}, nil},
		"nor does one that is silent, which is not parked": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 1)
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", func(w *fleet.Worker) { w.LastHeartbeat = noon.Add(-3 * time.Minute) }))
		}, nil},
		"an operator's machine is not parked until its time is over": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", idleFor(time.Hour), until(time.Hour)))
		}, []string{"park a"}},
		"a worker of two queues stays while the other needs it": {[]edit{set("queues.ocr.cloud_enabled", true)}, func(s *fleet.Snapshot) {
			comes(s, "ocr", 1)
			add(s, cloud("a", idleFor(time.Minute), both), cloud("b"))
		}, []string{"park b"}},
		"and is parked when neither does": {[]edit{set("queues.ocr.cloud_enabled", true)}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Minute), both))
		}, []string{"park a"}},
		"the last that may run what waits stays": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 1, time.Second)
			add(s, cloud("a"), cloud("b", onSpot))
		}, []string{"park a"}},
		"the last on demand stays while interactive jobs wait": {nil, func(s *fleet.Snapshot) {
			interactive(waiting(s, "media", 1, time.Second))
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", onSpot))
		}, []string{"park b"}},
		"none while what waits is overdue": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 5*time.Minute)
			add(s, cloud("a"), cloud("b"))
			s.Memory.LastUp = map[string]time.Time{"media": noon.Add(-time.Hour)}
			s.Offers = nil
		}, nil},
		"what is parked already is left":     {nil, func(s *fleet.Snapshot) { add(s, cloud("a", isParked)) }, nil},
		"what drains is left":                {nil, func(s *fleet.Snapshot) { add(s, cloud("a", draining)) }, nil},
		"none while Redis is not observed":   {nil, func(s *fleet.Snapshot) { add(s, cloud("a")); failed(s, "redis", 2) }, nil},
		"none while the database is away":    {nil, func(s *fleet.Snapshot) { add(s, cloud("a")); failed(s, "database", 1) }, nil},
		"none whose provider did not answer": {nil, func(s *fleet.Snapshot) { add(s, cloud("a")); failed(s, "provider:aws", 1) }, nil},
		"a queue that was not observed":      {nil, func(s *fleet.Snapshot) { add(s, cloud("a")); s.Queues = nil }, nil},
		"the seed's rule parks none":         {[]edit{set("policy", "seed")}, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(time.Minute))) }, nil},
		"the rows of steps park none":        {[]edit{set("policy", "steps")}, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(time.Minute))) }, nil},
		"what may not be there is drained":   {[]edit{set("mode", "vps_only")}, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(time.Minute))) }, []string{"drain a"}},
		"what was idle for long is drained":  {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(11*time.Minute))) }, []string{"drain a"}},
		"and so is what was parked meanwhile": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(11*time.Minute), isParked), cloud("b", idleFor(10*time.Minute), isParked))
		}, []string{"drain a"}},
		"a parked one is not drained before its least lifetime": {[]edit{set("min_lifetime_minutes", 61)}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(11*time.Minute), isParked))
		}, nil},
		"a parked one is drained as what is over max_workers, before one that works": {[]edit{set("queues.media.max_workers", 1)}, func(s *fleet.Snapshot) {
			comes(s, "media", 1)
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", idleFor(0), isParked))
		}, []string{"drain b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			wanted(&s, "media", window, 0)
			wanted(&s, "ocr", window, 0)
			c.snap(&s)
			all := fleet.Decide(noon, settings(t, tuned(c.edits...)...), s)
			if diff := cmp.Diff(c.want, moves(all)); diff != "" {
				t.Errorf("%s\n%s", diff, show(all))
			}
		})
	}
}

func TestWhatIsParkedIsTakenBackBeforeAnythingThatCosts(t *testing.T) {
	soon := func(s *fleet.Snapshot) { s.Memory.LastUp = map[string]time.Time{"media": noon} }
	back := func(w *fleet.Worker) { draining(w); idleFor(time.Minute)(w) }
	cases := map[string]struct {
		edits []edit
		snap  func(*fleet.Snapshot)
		want  []string
	}{
		"one that is wanted": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 2)
			add(s, cloud("a"), cloud("b", idleFor(time.Minute), isParked))
		}, []string{"unpark b"}},
		"no more than are wanted, those without a job and idle the shortest first": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 2)
			add(s, cloud("a", isParked), cloud("b", idleFor(3*time.Minute), isParked), cloud("c", idleFor(time.Minute), isParked))
		}, []string{"unpark c", "unpark b"}},
		"then what drains, then a launch": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 3)
			add(s, cloud("a", back), cloud("b", idleFor(time.Minute), isParked))
			s.Memory.Drained = map[string]time.Time{"a": noon.Add(-time.Minute)}
		}, []string{"unpark b", "undrain a", "launch "}},
		"one that drains and is parked may claim again, too": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 1)
			add(s, cloud("a", back, isParked))
			s.Memory.Drained = map[string]time.Time{"a": noon.Add(-time.Minute)}
		}, []string{"undrain a", "unpark a"}},
		"whatever the cooldown": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 5*time.Minute)
			add(s, cloud("a", idleFor(time.Minute), isParked))
			soon(s)
		}, []string{"unpark a"}},
		"at max_workers, where it counts": {[]edit{set("queues.media.max_workers", 2)}, func(s *fleet.Snapshot) {
			comes(s, "media", 5)
			add(s, cloud("a"), cloud("b", idleFor(time.Minute), isParked))
		}, []string{"unpark b"}},
		"before every provider has listed its machines": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 5)
			add(s, cloud("a", idleFor(time.Minute), isParked))
			s.Memory.Inventoried = false
		}, []string{"unpark a"}},
		"at the hourly limit": {[]edit{set("cost_limits.max_hourly_spend_cents", 20)}, func(s *fleet.Snapshot) {
			comes(s, "media", 5)
			add(s, cloud("a", idleFor(time.Minute), isParked))
		}, []string{"unpark a"}},
		"an operator's, where cloud_enabled is about launching only": {[]edit{set("queues.media.cloud_enabled", false)}, func(s *fleet.Snapshot) {
			comes(s, "media", 1)
			add(s, cloud("a", idleFor(time.Minute), isParked, func(w *fleet.Worker) { w.Origin = fleet.OriginManual }))
		}, []string{"unpark a"}},
		"not one on spot for what may not run there": {nil, func(s *fleet.Snapshot) {
			interactive(waiting(s, "media", 30, time.Second))
			add(s, cloud("a", onSpot, idleFor(time.Minute), isParked))
		}, []string{"launch "}},
		"one on spot for what may run anywhere": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 30, time.Second)
			add(s, cloud("a", onSpot, idleFor(time.Minute), isParked))
		}, []string{"unpark a"}},
		"the only one that may run what waits, wanted or not": {nil, func(s *fleet.Snapshot) {
			interactive(waiting(s, "media", 1, time.Second))
			add(s, cloud("a", idleFor(time.Minute), isParked), cloud("b", onSpot), cloud("c", idleFor(time.Minute), isParked))
		}, []string{"unpark a"}},
		"not one that is silent": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 1)
			add(s, cloud("a", idleFor(time.Minute), isParked, func(w *fleet.Worker) { w.LastHeartbeat = noon.Add(-3 * time.Minute) }))
		}, []string{"launch "}},
		"not while Redis is not observed": {nil, func(s *fleet.Snapshot) {
			comes(s, "media", 1)
			add(s, cloud("a", idleFor(time.Minute), isParked))
			failed(s, "redis", 1)
		}, nil},
		"all, once the policy is one that parks none": {[]edit{set("policy", "seed")}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Minute), isParked), cloud("b", isParked), cloud("c"))
		}, []string{"unpark a", "unpark b"}},
		"all, once it is steps": {[]edit{set("policy", "steps")}, func(s *fleet.Snapshot) {
			add(s, cloud("a", isParked))
		}, []string{"unpark a"}},
		"not what such a policy drains": {[]edit{set("policy", "seed")}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Hour), isParked))
		}, []string{"drain a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			c.snap(&s)
			all := fleet.Decide(noon, settings(t, tuned(c.edits...)...), s)
			if diff := cmp.Diff(c.want, moves(all)); diff != "" {
				t.Errorf("%s\n%s", diff, show(all))
			}
		})
	}
}

func TestParkingSaysWhy(t *testing.T) {
	s := quiet()
	wanted(&s, "media", 300*time.Second, 1)
	add(&s, cloud("a", idleFor(time.Minute)), cloud("b"))
	x := only(t, fleet.KindRestrict, fleet.Decide(noon, settings(t, tuned()...), s))
	if x.Rule != "backlog.surplus" || x.Wanted != 1 || x.Allowed != 2 || x.Queue != "media" || x.WorkerID != "a" || x.MaxRank != -1 ||
		x.Sentence != "Parking worker a: media wants 1 worker, and 2 claim; it is taken back before any is launched, or ended when idle" {
		t.Errorf("%+v", x)
	}
	s = quiet()
	comes(&s, "media", 1)
	waiting(&s, "media", 1, 7*time.Second)
	add(&s, cloud("a", idleFor(time.Minute), isParked))
	x = only(t, fleet.KindRestrict, fleet.Decide(noon, settings(t, tuned()...), s))
	if x.Rule != "backlog.target_drain_seconds" || x.Wanted != 2 || x.Allowed != 1 || x.Queue != "media" || x.WorkerID != "a" || x.MaxRank != 0 ||
		x.Sentence != "Letting parked worker a claim again: depth=1, oldest=7s in media" || len(x.Inputs) == 0 {
		t.Errorf("%+v", x)
	}
}

// In cloud_first the VPS worker leaves jobs to cloud workers that claim, and a
// parked one is none.
func TestAParkedWorkerRelievesNobody(t *testing.T) {
	for name, parked := range map[string]bool{"one that claims": false, "one that is parked": true} {
		s := quiet()
		s.Workers[0].Queues = []string{"media"}
		add(&s, cloud("a", idleFor(time.Minute), func(w *fleet.Worker) {
			if parked {
				isParked(w)
			}
		}))
		restricted := count(fleet.KindRestrict, fleet.Decide(noon, settings(t, tuned(set("mode", "cloud_first"))...), s)) > 0
		if restricted == parked {
			t.Errorf("%s: the VPS worker is restricted: %t", name, restricted)
		}
	}
}

func TestRememberStartsACooldownWhenOneIsTakenBackAndNoneWhenOneIsParked(t *testing.T) {
	s := quiet()
	add(&s, cloud("a"))
	for rank, up := range map[int]map[string]time.Time{-1: {}, 0: {"media": noon}} {
		x := fleet.Decision{Kind: fleet.KindRestrict, Queue: "media", WorkerID: "a", MaxRank: rank, Outcome: fleet.OutcomeDone}
		m := fleet.Remember(noon, settings(t, tuned()...), s, []fleet.Decision{x})
		if diff := cmp.Diff(up, m.LastUp); diff != "" || len(m.LastDown) > 0 || len(m.Flaps) > 0 {
			t.Errorf("rank %d: %s, %v", rank, diff, m)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{101, 1001} {
		b.Run(fmt.Sprintf("idle=%d", n), func(b *testing.B) {
			cfg := settings(b, tuned(set("queues.media.max_workers", 2000), set("cloud_providers.aws.max_instances", 2000))...)
			s := quiet()
			for i := range n {
				add(&s, cloud(fmt.Sprintf("w-%04d", i), idleFor(time.Hour)))
			}
			for b.Loop() {
				fleet.Decide(noon, cfg, s)
			}
		})
	}
}
