package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

// busyDay has something for every mode to decide: a backlog under the thresholds
// and one over them, a worker that works and one that is idle.
func busyDay() fleet.Snapshot {
	s := quiet()
	waiting(&s, "media", 12, 60*time.Second)
	waiting(&s, "ocr", 1, 5*time.Second)
	add(&s, cloud("busy"), cloud("idle", idleFor(20*time.Minute), func(w *fleet.Worker) { w.Queues = []string{"bulk"} }))
	return s
}

func TestOneSnapshotUnderAllThreeModes(t *testing.T) {
	enabled := []edit{set("queues.ocr.cloud_enabled", true), set("queues.bulk.cloud_enabled", true)}
	cases := map[string]map[string][]string{
		"vps_only": {
			"media": {"drain busy", "hold mode"}, "ocr": {"hold mode"}, "bulk": {"drain idle", "hold mode"}, "images": {"hold mode"},
		},
		"hybrid": {
			"media": {"launch"}, "ocr": {"hold below_thresholds"}, "bulk": {"drain idle", "hold below_thresholds"}, "images": {"hold cloud_disabled"},
		},
		"cloud_first": {
			"media": {"launch"}, "ocr": {"launch"}, "bulk": {"drain idle", "hold below_thresholds"}, "images": {"hold cloud_disabled"},
		},
	}
	for mode, want := range cases {
		t.Run(mode, func(t *testing.T) {
			cfg, s := settings(t, append(enabled, set("mode", mode))...), busyDay()
			all := fleet.Decide(noon, cfg, s)
			for queue, words := range want {
				if diff := cmp.Diff(words, of(queue, all)); diff != "" {
					t.Errorf("%s: %s\n%s", queue, diff, show(all))
				}
			}
			again := fleet.Decide(noon, cfg, s)
			if diff := cmp.Diff(all, again); diff != "" {
				t.Error("the same snapshot led to another decision:", diff)
			}
			if diff := cmp.Diff(busyDay(), s); diff != "" {
				t.Error("deciding changed the snapshot:", diff)
			}
		})
	}
}

func TestVPSOnlySaysWhatItWouldTakeToGrow(t *testing.T) {
	s := quiet()
	waiting(&s, "media", 12, 60*time.Second)
	for name, c := range map[string]struct {
		latch *fleet.Latch
		limit string
		words string
	}{
		"the file": {nil, "mode (vps_only)", "Not scaling up media: the mode is vps_only (depth=12, oldest=60s)"},
		"the latch": {
			&fleet.Latch{Limit: fleet.Cents(5000)}, "max_daily_spend_cents (5000)",
			`Not scaling up media: the daily limit was reached, and the mode is vps_only until "spillway schedule reset" (depth=12, oldest=60s)`,
		},
	} {
		s.Latch = c.latch
		mode := set("mode", "vps_only")
		if c.latch != nil {
			mode = set("mode", "hybrid")
		}
		for _, x := range fleet.Decide(noon, settings(t, mode), s) {
			if x.Queue == "media" && (x.Rule != "mode" || x.Limit != c.limit || x.Sentence != c.words || x.Wanted != 1 || x.Allowed != 0) {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
}

func TestCloudFirstAsksForMachinesBeforeThresholds(t *testing.T) {
	cases := map[string]struct {
		snap func(*fleet.Snapshot)
		want []string
	}{
		"one standard job":             {func(s *fleet.Snapshot) { waiting(s, "media", 1, 0) }, []string{"launch"}},
		"interactive jobs are the VPS": {func(s *fleet.Snapshot) { interactive(waiting(s, "media", 5, 0)) }, []string{"hold below_thresholds"}},
		"a machine that launches is enough": {func(s *fleet.Snapshot) {
			waiting(s, "media", 3, 0)
			add(s, cloud("a", launching))
		}, []string{"hold below_thresholds"}},
		"a worker with a free slot is enough": {func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 0)
			add(s, cloud("a", idleFor(time.Minute)))
		}, []string{"hold below_thresholds"}},
		"a busy worker is not": {func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 0)
			add(s, cloud("a"))
		}, []string{"launch"}},
		"nor within the cooldown": {func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 0)
			add(s, cloud("a"))
			s.Memory.LastUp = map[string]time.Time{"media": noon.Add(-time.Minute)}
		}, []string{"hold cooldown"}},
		"the last idle worker stays while a job waits": {func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 0)
			add(s, cloud("a", idleFor(time.Hour)))
		}, []string{"hold below_thresholds"}},
	}
	for _, policy := range []string{"seed", "steps", "backlog"} {
		for name, c := range cases {
			t.Run(policy+": "+name, func(t *testing.T) {
				s := quiet()
				c.snap(&s)
				for i := range s.Queues {
					s.Queues[i].Service = time.Millisecond // so that only the mode asks
				}
				all := fleet.Decide(noon, settings(t, set("mode", "cloud_first"), set("policy", policy)), s)
				if diff := cmp.Diff(c.want, of("media", all)); diff != "" {
					t.Errorf("%s\n%s", diff, show(all))
				}
			})
		}
	}
}

// everywhere lets machines be launched for every queue.
func everywhere() []edit {
	var out []edit
	for _, q := range []string{"bulk", "documents", "images", "media", "ocr"} {
		out = append(out, set("queues."+q+".cloud_enabled", true), set("queues."+q+".max_workers", 5))
	}
	return out
}

func TestCloudFirstLeavesTheVPSInteractiveJobsOnceOthersAreServed(t *testing.T) {
	restricted := func(w *fleet.Worker) { w.MaxRank = 3 }
	cases := map[string]struct {
		edits []edit
		snap  func(*fleet.Snapshot)
		vps   func(*fleet.Worker)
		want  []int // of the restrict decisions
	}{
		"a ready cloud worker":       {nil, func(s *fleet.Snapshot) { add(s, cloud("a")) }, nil, []int{3}},
		"said already":               {nil, func(s *fleet.Snapshot) { add(s, cloud("a")) }, restricted, nil},
		"no cloud worker":            {nil, func(*fleet.Snapshot) {}, nil, nil},
		"the last cloud worker went": {nil, func(*fleet.Snapshot) {}, restricted, []int{0}},
		"a machine that launches":    {nil, func(s *fleet.Snapshot) { add(s, cloud("a", launching)) }, restricted, []int{0}},
		"a cloud worker that has gone quiet": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", func(w *fleet.Worker) { w.LastHeartbeat = noon.Add(-121 * time.Second) }))
		}, restricted, []int{0}},
		"a cloud worker that leaves": {nil, func(s *fleet.Snapshot) { add(s, cloud("a", draining)) }, restricted, []int{0}},
		"jobs of a queue without a cloud worker": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a"))
			waiting(s, "ocr", 1, 0)
		}, restricted, []int{0}},
		"interactive jobs of such a queue": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a"))
			interactive(waiting(s, "ocr", 1, 0))
		}, nil, []int{3}},
		"long jobs that a spot worker may not take": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", onSpot))
			waiting(s, "media", 1, 0).Waits = fleet.Waits{LongFixed: 1}
		}, restricted, []int{0}},
		"standard jobs that a spot worker may take": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a", onSpot))
			waiting(s, "media", 1, 0)
		}, nil, []int{3}},
		"a queue that may have no cloud worker": {[]edit{set("queues.images.cloud_enabled", false)}, func(s *fleet.Snapshot) { add(s, cloud("a")) }, restricted, []int{0}},
		"hybrid restricts nobody":               {[]edit{set("mode", "hybrid")}, func(s *fleet.Snapshot) { add(s, cloud("a")) }, restricted, []int{0}},
		"nor does the latch": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a"))
			s.Latch = &fleet.Latch{Limit: fleet.Cents(1)}
		}, restricted, []int{0}},
		"nothing is said without a database": {nil, func(s *fleet.Snapshot) {
			add(s, cloud("a"))
			failed(s, "database", 1)
		}, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			if c.vps != nil {
				c.vps(&s.Workers[0])
			}
			c.snap(&s)
			all := fleet.Decide(noon, settings(t, slices.Concat([]edit{set("mode", "cloud_first")}, everywhere(), c.edits)...), s)
			var got []int
			for _, x := range all {
				if x.Kind == fleet.KindRestrict && x.WorkerID == "w-vps" {
					got = append(got, x.MaxRank)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%s", diff, show(all))
			}
		})
	}
}

func TestTheVPSWorkerIsStartedInAnyModeWhenNoneIsThere(t *testing.T) {
	process := func(file map[string]any) {
		set("cloud_providers.process", map[string]any{"enabled": true, "max_instances": 2, "slots": 2})(file)
	}
	ours := func(change ...func(*fleet.Worker)) func(*fleet.Snapshot) {
		return func(s *fleet.Snapshot) {
			w := vps("w-base")
			w.Provider, w.InstanceID = "process", "p-1"
			for _, c := range change {
				c(&w)
			}
			add(s, w)
		}
	}
	silent := func(w *fleet.Worker) { w.LastHeartbeat = noon.Add(-3 * time.Minute) }
	cases := map[string]struct {
		edits []edit
		snap  func(*fleet.Snapshot)
		want  string // kind and rule; "" nothing
	}{
		"none is there":                  {nil, func(*fleet.Snapshot) {}, "launch baseline"},
		"one is there":                   {nil, func(s *fleet.Snapshot) { s.Workers = []fleet.Worker{vps("w")} }, ""},
		"one of ours is there":           {nil, ours(), ""},
		"one of ours launches":           {nil, ours(func(w *fleet.Worker) { w.Status, w.RegisteredAt = fleet.Provisioning, time.Time{} }), ""},
		"somebody's has gone silent":     {nil, func(s *fleet.Snapshot) { w := vps("w"); silent(&w); s.Workers = []fleet.Worker{w} }, "launch baseline"},
		"ours is silent but still there": {nil, ours(silent), ""},
		"ours is silent and gone": {nil, func(s *fleet.Snapshot) {
			ours(silent)(s)
			s.Inventories["process"] = fleet.Inventory{}
		}, "launch baseline"},
		"one that drains is none":       {nil, ours(func(w *fleet.Worker) { w.Status = fleet.Draining }), "launch baseline"},
		"the latch":                     {nil, func(s *fleet.Snapshot) { s.Latch = &fleet.Latch{} }, "launch baseline"},
		"processes could not be listed": {nil, func(s *fleet.Snapshot) { failed(s, "provider:process", 1) }, "hold fault"},
		"no full inventory yet":         {nil, func(s *fleet.Snapshot) { s.Memory.Inventoried = false }, "hold inventory"},
		"it cools off": {nil, func(s *fleet.Snapshot) {
			s.Memory.CoolOffs = []fleet.CoolOff{{Place: fleet.Place{Provider: "process"}, Until: noon.Add(time.Minute), Outcome: fleet.Permanent}}
		}, "hold cool_off"},
		"the database is away":   {nil, func(s *fleet.Snapshot) { failed(s, "database", 1) }, ""},
		"process is not enabled": {[]edit{set("cloud_providers.process.enabled", false)}, func(*fleet.Snapshot) {}, ""},
	}
	for _, mode := range []string{"vps_only", "hybrid", "cloud_first"} {
		for name, c := range cases {
			t.Run(mode+": "+name, func(t *testing.T) {
				s := quiet()
				s.Workers = nil
				c.snap(&s)
				all := fleet.Decide(noon, settings(t, append([]edit{set("mode", mode), process}, c.edits...)...), s)
				got := ""
				for _, x := range all {
					if x.Provider == "process" && (x.Kind == fleet.KindLaunch || x.Kind == fleet.KindHold) {
						got = string(x.Kind) + " " + x.Rule
					}
				}
				if got != c.want {
					t.Errorf("%q, not %q\n%s", got, c.want, show(all))
				}
			})
		}
	}
}

func TestTheVPSWorkerServesAllQueuesAndKeepsTheirSlots(t *testing.T) {
	s := quiet()
	s.Workers = nil
	cfg := settings(t, set("mode", "vps_only"), set("cloud_providers.process", map[string]any{"enabled": true, "max_instances": 2}), set("queues.images.baseline_workers", 2), set("queues.images.max_workers", 2))
	l := only(t, fleet.KindLaunch, fleet.Decide(noon, cfg, s)).Launch
	want := &fleet.Launch{Queues: []string{"bulk", "documents", "images", "media", "ocr"}, Slots: 4, Reserve: map[string]int{"images": 2, "documents": 1}, Candidates: l.Candidates}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Error(diff)
	}
	if c := l.Candidates[0]; c.Market != fleet.VPS || c.Provider != "process" || c.Rate() != 0 {
		t.Errorf("%+v", c)
	}
}
