package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

// removals are the ids of drained workers, in the order decided, with the rule.
func removals(all []fleet.Decision) []string {
	var out []string
	for _, x := range all {
		if x.Kind == fleet.KindDrain || x.Kind == fleet.KindTerminate {
			out = append(out, x.WorkerID+" "+x.Rule)
		}
	}
	return out
}

func TestRemovalTakesWhatIsIdleAndNothingElse(t *testing.T) {
	steps, backlog := set("policy", "steps"), set("policy", "backlog")
	const idle = "scale_down.idle_minutes"
	wide := set("queues.media.max_workers", 9)
	cases := map[string]struct {
		edits []edit
		snap  func(*fleet.Snapshot)
		want  []string
	}{
		"idle for exactly idle_minutes stays":    {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(10*time.Minute))) }, nil},
		"idle for longer goes":                   {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(10*time.Minute+time.Second))) }, []string{"a " + idle}},
		"never used is idle since it registered": {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(0), never)) }, []string{"a " + idle}},
		"a job by the job table keeps it": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Hour), func(w *fleet.Worker) { w.Claimed = 1 }))
		}, nil},
		"what the worker says of itself does not": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Hour), func(w *fleet.Worker) { w.CurrentJobs = 1 }))
		}, []string{"a " + idle}},
		"one idle reading is not enough": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Hour)))
			s.Memory.Idle = nil
		}, nil},
		"the second in a row is": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Hour)))
			s.Memory.Idle = map[string]int{"a": 1}
		}, []string{"a " + idle}},
		"a machine that launches stays":       {nil, func(s *fleet.Snapshot) { add(s, cloud("a", launching)) }, nil},
		"one job in its queue is below two":   {nil, func(s *fleet.Snapshot) { waiting(s, "media", 1, 0); add(s, cloud("a", idleFor(time.Hour))) }, []string{"a " + idle}},
		"two jobs in its queue keep it":       {nil, func(s *fleet.Snapshot) { waiting(s, "media", 2, 0); add(s, cloud("a", idleFor(time.Hour))) }, nil},
		"two jobs in another queue do not":    {nil, func(s *fleet.Snapshot) { waiting(s, "ocr", 2, 0); add(s, cloud("a", idleFor(time.Hour))) }, []string{"a " + idle}},
		"two jobs in either of its queues do": {[]edit{set("queues.ocr.cloud_enabled", true)}, func(s *fleet.Snapshot) { waiting(s, "ocr", 2, 0); add(s, cloud("a", idleFor(time.Hour), both)) }, nil},
		"the cooldown of removals keeps it":   {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(time.Hour))); fell(s, 299*time.Second) }, nil},
		"and after it, it goes":               {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(time.Hour))); fell(s, 300*time.Second) }, []string{"a " + idle}},
		"a launch a moment ago is no hindrance": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Hour)))
			s.Memory.LastUp = map[string]time.Time{"media": noon}
		}, []string{"a " + idle}},
		"the idle longest first, the dearest among equals": {[]edit{wide}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(20*time.Minute)), cloud("b", idleFor(30*time.Minute)), cloud("c", idleFor(30*time.Minute), dear))
		}, []string{"c " + idle, "b " + idle, "a " + idle}},
		"no more at once than max_terminations_per_tick": {[]edit{wide, set("max_terminations_per_tick", 2)}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(20*time.Minute)), cloud("b", idleFor(30*time.Minute)), cloud("c", idleFor(40*time.Minute)))
		}, []string{"c " + idle, "b " + idle}},
		"a machine that is too young":  {[]edit{set("min_lifetime_minutes", 61)}, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(20*time.Minute))) }, nil},
		"a machine that is old enough": {[]edit{set("min_lifetime_minutes", 60)}, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(20*time.Minute))) }, []string{"a " + idle}},
		"a machine that is paid for anyway": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(20*time.Minute), func(w *fleet.Worker) { w.Granularity = 62 * time.Minute }))
		}, nil},
		"a machine whose paid time ends before the next tick": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(20*time.Minute), func(w *fleet.Worker) { w.Granularity = 61 * time.Minute }))
		}, []string{"a " + idle}},
		"a launch without an answer is for repair": {[]edit{set("mode", "vps_only")}, func(s *fleet.Snapshot) {
			w := cloud("a", launching)
			w.InstanceID = ""
			s.Workers = append(s.Workers, w)
		}, nil},
		"an operator's machine until its time is over": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(20*time.Minute), until(time.Second)))
		}, nil},
		"and then": {nil, func(s *fleet.Snapshot) { add(s, cloud("a", until(0))) }, []string{"a manual_end"}},
		"an operator's machine without a time is like any other": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(20*time.Minute), func(w *fleet.Worker) { w.Origin = fleet.OriginManual }))
		}, []string{"a " + idle}},
		"its provider could not be listed": {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(time.Hour))); failed(s, "provider:aws", 1) }, nil},
		"another could not be listed":      {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(time.Hour))); failed(s, "provider:google", 1) }, []string{"a " + idle}},
		"Redis away for a third tick":      {nil, func(s *fleet.Snapshot) { add(s, cloud("a", idleFor(time.Hour))); failed(s, "redis", 3) }, []string{"a " + idle}},
		"its queue was not observed": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Hour)))
			s.Queues = nil
		}, nil},
		"a VPS worker never goes":                  {nil, func(s *fleet.Snapshot) { add(s, vps("b")); s.Memory.Idle["w-vps"] = 9 }, nil},
		"what drains already is not drained again": {nil, func(s *fleet.Snapshot) { add(s, cloud("a", func(w *fleet.Worker) { draining(w) })) }, nil},
		"one that ends itself soon is drained in time": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", func(w *fleet.Worker) { w.Request.MaxLife = 2 * time.Hour }))
		}, []string{"a max_life"}},

		"steps: an empty queue for ten minutes ends all": {[]edit{steps, wide, set("max_terminations_per_tick", 1)}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Minute)), cloud("b", idleFor(30*time.Minute)), cloud("c"))
			s.Memory.Empty = map[string]time.Time{"media": noon.Add(-10 * time.Minute)}
			fell(s, 0)
		}, []string{"b steps.terminate_all", "a steps.terminate_all"}},
		"steps: empty for less ends none": {[]edit{steps}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(time.Minute)))
			s.Memory.Empty = map[string]time.Time{"media": noon.Add(-599 * time.Second)}
		}, nil},
		"steps: not empty while jobs wait in the database": {[]edit{steps}, func(s *fleet.Snapshot) {
			waiting(s, "media", 1, time.Minute).Depth = 0
			add(s, cloud("a", idleFor(time.Minute)))
			s.Memory.Empty = map[string]time.Time{"media": noon.Add(-time.Hour)}
		}, nil},
		"backlog: none goes while a head is stuck and another comes": {[]edit{backlog, wide}, func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 300*time.Second)
			add(s, cloud("a", idleFor(20*time.Minute)), cloud("b", launching))
		}, nil},
		"steps: what the row wants stays": {[]edit{steps, wide}, func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 2*time.Minute)
			add(s, cloud("a", idleFor(20*time.Minute)), cloud("b", idleFor(30*time.Minute)))
		}, []string{"b " + idle}},
		"backlog: what the formula wants stays": {[]edit{backlog, wide}, func(s *fleet.Snapshot) {
			waiting(s, "media", 0, 0).Arrivals = 0.1
			add(s, cloud("a", idleFor(20*time.Minute)), cloud("b", idleFor(30*time.Minute)))
		}, []string{"b " + idle}},
		"backlog: the highest of the last minutes stays": {[]edit{backlog, wide}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(20*time.Minute)), cloud("b", idleFor(30*time.Minute)), cloud("c", idleFor(40*time.Minute)))
			s.Memory.Wants = map[string][]fleet.Want{"media": {{At: noon.Add(-301 * time.Second), Workers: 3}, {At: noon.Add(-299 * time.Second), Workers: 2}, {At: noon, Workers: 0}}}
		}, []string{"c " + idle}},
		"backlog: the last goes as well": {[]edit{backlog}, func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(20*time.Minute), func(w *fleet.Worker) { w.Slots = 8 }))
		}, []string{"a " + idle}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			c.snap(&s)
			all := fleet.Decide(noon, settings(t, c.edits...), s)
			if diff := cmp.Diff(c.want, removals(all)); diff != "" {
				t.Errorf("%s\n%s", diff, show(all))
			}
		})
	}
}

func never(w *fleet.Worker) { w.LastJobCompletedAt = time.Time{} }
func both(w *fleet.Worker)  { w.Queues = []string{"media", "ocr"} }
func dear(w *fleet.Worker)  { w.Rate, w.Ceiling = fleet.Cents(30), fleet.Cents(30) }

func until(d time.Duration) func(*fleet.Worker) {
	return func(w *fleet.Worker) { w.Origin, w.KeepUntil = fleet.OriginManual, noon.Add(d) }
}

func fell(s *fleet.Snapshot, ago time.Duration) {
	s.Memory.LastDown = map[string]time.Time{"media": noon.Add(-ago)}
}

func TestIdleRemovalSaysSo(t *testing.T) {
	s := quiet()
	add(&s, cloud("w-7", idleFor(12*time.Minute+50*time.Second)))
	x := only(t, fleet.KindDrain, fleet.Decide(noon, settings(t), s))
	if x.Sentence != "Scaling down worker w-7: idle for 12 minutes" {
		t.Error(x.Sentence)
	}
	if x.Queue != "media" || x.Provider != "aws" || x.MachineID != "i-w-7" || x.Within != 5*time.Minute || x.Wanted != 0 || x.Allowed != 0 {
		t.Errorf("%+v", x)
	}
}

func TestWhyAnIdleWorkerStaysIsInTheHoldOfItsQueue(t *testing.T) {
	s := quiet()
	add(&s, cloud("a", idleFor(20*time.Minute)))
	all := fleet.Decide(noon, settings(t, set("min_lifetime_minutes", 90)), s)
	for _, x := range all {
		if x.Queue == "media" && x.Kind == fleet.KindHold {
			want := []fleet.Rejected{{What: "scale down worker a", Reason: "min_lifetime_minutes is 90"}}
			if diff := cmp.Diff(want, x.Rejected); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestSettingsThatAllowLessDrainWhatIsTooMuch(t *testing.T) {
	idle, busy := cloud("a", idleFor(time.Minute)), cloud("b")
	cases := map[string]struct {
		edits []edit
		want  []string
		limit string
	}{
		"vps_only drains all":             {[]edit{set("mode", "vps_only")}, []string{"a mode", "b mode", "m mode"}, "mode (vps_only)"},
		"a queue without cloud":           {[]edit{set("queues.media.cloud_enabled", false)}, []string{"a cloud_disabled", "b cloud_disabled"}, "cloud_enabled (false)"},
		"a provider that is switched off": {[]edit{set("cloud_providers.aws.enabled", false), set("cloud_providers.google.enabled", true)}, []string{"a provider_disabled", "b provider_disabled", "m provider_disabled"}, "enabled (false)"},
		"fewer workers":                   {[]edit{set("queues.media.max_workers", 2)}, []string{"a max_workers"}, "max_workers (2)"},
		"fewer than are idle":             {[]edit{set("queues.media.max_workers", 1)}, []string{"a max_workers", "b max_workers"}, "max_workers (1)"},
		"more of the VPS":                 {[]edit{set("queues.media.baseline_workers", 1)}, []string{"a max_workers"}, "max_workers (3)"},
		"fewer machines":                  {[]edit{set("cloud_providers.aws.max_instances", 2)}, []string{"a max_instances"}, "max_instances (2)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			waiting(&s, "media", 99, time.Hour)
			add(&s, idle, busy, cloud("m", until(time.Hour)))
			all := fleet.Decide(noon, settings(t, c.edits...), s)
			if diff := cmp.Diff(c.want, removals(all)); diff != "" {
				t.Errorf("%s\n%s", diff, show(all))
			}
			for _, x := range all {
				if x.Kind == fleet.KindDrain && x.Limit != c.limit {
					t.Errorf("limit %q, not %q", x.Limit, c.limit)
				}
			}
		})
	}
}

func TestComplaint09AReloadWithASmallerMaximumDrainsDown(t *testing.T) {
	s := quiet()
	waiting(&s, "media", 99, time.Hour)
	for i := range 5 {
		add(&s, cloud(fmt.Sprintf("w%d", i)))
	}
	cfg := settings(t, set("queues.media.max_workers", 5))
	if got := removals(fleet.Decide(noon, cfg, s)); len(got) != 0 {
		t.Fatalf("drained %v before the reload", got)
	}
	cfg = settings(t, set("queues.media.max_workers", 2))
	all := fleet.Decide(noon, cfg, s)
	if got := removals(all); len(got) != 3 || count(fleet.KindLaunch, all) != 0 {
		t.Errorf("drained %v\n%s", got, show(all))
	}
	for _, x := range all {
		// They work, so that they have an hour: nothing presses.
		if x.Kind == fleet.KindDrain && (x.Within != time.Hour || x.Wanted != 5 || x.Allowed != 2) {
			t.Errorf("%+v", x)
		}
	}
}

func TestComplaint12And19AFailedListEndsNothing(t *testing.T) {
	s := quiet()
	for i := range 9 {
		add(&s, cloud(fmt.Sprintf("w%d", i), idleFor(time.Hour)))
	}
	delete(s.Inventories, "aws")
	failed(&s, "provider:aws", 1)
	all := fleet.Decide(noon, settings(t, set("queues.media.max_workers", 9), set("cloud_providers.aws.max_instances", 9)), s)
	if got := removals(all); len(got) != 0 {
		t.Errorf("a list that failed ended %v", got)
	}
}

func TestComplaint04AWorkerIsIdleAfterTwoReadingsAndByTheJobTable(t *testing.T) {
	cfg := settings(t)
	s := quiet()
	busy := cloud("a", idleFor(time.Hour), func(w *fleet.Worker) { w.Claimed, w.CurrentJobs = 1, 0 })
	free := cloud("a", idleFor(time.Hour))
	now := noon
	var drained []int
	for tick, w := range []fleet.Worker{free, busy, free, free} {
		w.LastHeartbeat = now
		s.At, s.Workers = now, []fleet.Worker{w}
		s.Inventories["aws"] = fleet.Inventory{Machines: []fleet.Machine{{Place: w.Place, ID: w.InstanceID, WorkerID: w.ID, State: fleet.MachineRunning}}}
		all := fleet.Decide(now, cfg, s)
		if count(fleet.KindDrain, all) > 0 {
			drained = append(drained, tick)
		}
		s.Memory = fleet.Remember(now, cfg, s, nil)
		s.Memory.Inventoried = true
		now = now.Add(time.Minute)
	}
	if diff := cmp.Diff([]int{3}, drained); diff != "" {
		t.Error("drained in ticks", diff)
	}
}

func TestComplaint08AndReport27AWorkerWithAJobIsNotPicked(t *testing.T) {
	for _, policy := range []string{"seed", "steps", "backlog"} {
		s := quiet()
		s.Memory.Empty = map[string]time.Time{"media": noon.Add(-time.Hour)}
		add(&s, cloud("a", idleFor(time.Hour)), cloud("b", idleFor(time.Hour), func(w *fleet.Worker) { w.Claimed = 1 }))
		s.Memory.Idle = map[string]int{"a": 9, "b": 9}
		for _, gone := range removals(fleet.Decide(noon, settings(t, set("policy", policy)), s)) {
			if strings.HasPrefix(gone, "b ") {
				t.Errorf("%s: an old reading picked a worker that has a job by now", policy)
			}
		}
	}
}

func TestReport28ZeroMachinesCanBeReached(t *testing.T) {
	for _, policy := range []string{"seed", "steps", "backlog"} {
		s := quiet()
		add(&s, cloud("a", idleFor(time.Hour), func(w *fleet.Worker) { w.Slots = 4 }))
		s.Memory.Empty = map[string]time.Time{"media": noon.Add(-time.Hour)}
		if got := removals(fleet.Decide(noon, settings(t, set("policy", policy)), s)); len(got) != 1 {
			t.Errorf("%s keeps the last machine of a queue with no baseline", policy)
		}
	}
}
