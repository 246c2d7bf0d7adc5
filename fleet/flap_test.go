package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

// TestComplaint20ARemovalNeverBringsAboutTheNextLaunch decides on a random
// fleet, takes away what was removed for being idle, and decides again: nothing
// may be launched for the queues that the removed workers served.
func TestComplaint20ARemovalNeverBringsAboutTheNextLaunch(t *testing.T) {
	removed := 0
	for _, policy := range []string{"seed", "steps", "backlog"} {
		for _, mode := range []string{"hybrid", "cloud_first"} {
			cfg := settings(t, append(everywhere(), set("mode", mode), set("policy", policy), set("min_lifetime_minutes", 0),
				set("queues.media.max_workers", 9), set("queues.ocr.max_workers", 30), set("queues.bulk.baseline_workers", 1), set("cloud_providers.aws.max_instances", 50))...)
			for seed := range uint64(250) {
				s := randomFleet(seed)
				all := fleet.Decide(noon, cfg, s)
				queues := takeAway(&s, all)
				removed += len(queues)
				again := fleet.Decide(noon, cfg, s)
				for _, x := range again {
					if x.Kind == fleet.KindLaunch && slices.Contains(queues, x.Queue) {
						t.Fatalf("%s, %s, seed %d: removed and launched\n%s\n%s", policy, mode, seed, show(all), show(again))
					}
				}
			}
		}
	}
	if removed < 500 {
		t.Errorf("only %d removals were looked at", removed)
	}
}

func randomFleet(seed uint64) fleet.Snapshot {
	r := rand.New(rand.NewPCG(seed, 20))
	s := quiet()
	s.Memory.Empty = map[string]time.Time{}
	for i := range s.Queues {
		q := &s.Queues[i]
		q.Arrivals, q.Service = r.Float64()*0.2, time.Duration(r.IntN(60))*time.Second
		if r.IntN(3) == 0 {
			waiting(&s, q.Name, r.Int64N(4), time.Duration(r.IntN(400))*time.Second)
		}
		if q.Depth == 0 {
			s.Memory.Empty[q.Name] = noon.Add(-time.Duration(r.IntN(20)) * time.Minute)
		}
		for n := range r.IntN(4) {
			add(&s, cloud(fmt.Sprintf("%s-%d", q.Name, n), idleFor(time.Duration(r.IntN(40))*time.Minute), func(w *fleet.Worker) {
				w.Queues, w.Slots = []string{q.Name}, 1+r.IntN(3)
				if r.IntN(4) == 0 {
					w.Queues = append(w.Queues, "ocr")
				}
				if r.IntN(3) == 0 {
					w.Claimed = 1
				}
			}))
		}
	}
	return s
}

// takeAway leaves out the workers that idle rules drained, and answers their queues.
func takeAway(s *fleet.Snapshot, all []fleet.Decision) []string {
	var queues []string
	for _, x := range all {
		if x.Kind != fleet.KindDrain {
			continue
		}
		s.Workers = slices.DeleteFunc(slices.Clone(s.Workers), func(w fleet.Worker) bool {
			if w.ID == x.WorkerID {
				queues = append(queues, w.Queues...)
			}
			return w.ID == x.WorkerID
		})
		s.Inventories["aws"] = fleet.Inventory{Machines: slices.DeleteFunc(slices.Clone(s.Inventories["aws"].Machines), func(m fleet.Machine) bool { return m.WorkerID == x.WorkerID })}
	}
	return queues
}

func TestRememberStartsCooldownsWithWhatWasDone(t *testing.T) {
	done := func(x fleet.Decision) fleet.Decision { x.Outcome = fleet.OutcomeDone; return x }
	launch := fleet.Decision{Kind: fleet.KindLaunch, Queue: "media", Origin: fleet.OriginTick}
	drain := fleet.Decision{Kind: fleet.KindDrain, Queue: "media", WorkerID: "a", Origin: fleet.OriginTick, Rule: "scale_down.idle_minutes"}
	byHand := drain
	byHand.Origin = fleet.OriginManual
	refused := done(launch)
	refused.Failed = true
	dry := launch
	dry.Outcome = fleet.OutcomeDryRun
	baseline := done(fleet.Decision{Kind: fleet.KindLaunch, Rule: "baseline"})
	undrain := done(fleet.Decision{Kind: fleet.KindUndrain, Queue: "media", WorkerID: "a"})
	at := func(queues ...string) map[string]time.Time {
		out := map[string]time.Time{}
		for _, q := range queues {
			out[q] = noon
		}
		return out
	}
	cases := map[string]struct {
		done              []fleet.Decision
		before            fleet.Memory
		up, down, drained map[string]time.Time
		flaps             map[string]int
	}{
		"a launch":             {[]fleet.Decision{done(launch)}, fleet.Memory{}, at("media"), at(), at(), map[string]int{}},
		"a launch that failed": {[]fleet.Decision{refused}, fleet.Memory{}, at(), at(), at(), map[string]int{}},
		"a dry run":            {[]fleet.Decision{dry}, fleet.Memory{}, at(), at(), at(), map[string]int{}},
		"the VPS worker":       {[]fleet.Decision{baseline}, fleet.Memory{}, at(), at(), at(), map[string]int{}},
		"a removal, for all queues of the worker": {[]fleet.Decision{done(drain)}, fleet.Memory{}, at(), at("media", "ocr"), at("a"), map[string]int{}},
		"a removal by hand is not taken back":     {[]fleet.Decision{done(byHand)}, fleet.Memory{Drained: at("a")}, at(), at("media", "ocr"), at(), map[string]int{}},
		"what was taken back":                     {[]fleet.Decision{undrain}, fleet.Memory{Drained: at("a"), LastDown: at("media")}, at("media"), at("media"), at(), map[string]int{}},
		"a launch soon after a removal": {
			[]fleet.Decision{done(launch)},
			fleet.Memory{LastDown: map[string]time.Time{"media": noon.Add(-9 * time.Minute)}, Flaps: map[string]int{"media": 1}},
			at("media"), map[string]time.Time{"media": noon.Add(-9 * time.Minute)}, at(), map[string]int{"media": 2},
		},
		"what drains no longer":               {nil, fleet.Memory{Drained: at("z")}, at(), at(), at(), map[string]int{}},
		"queues that are not in the settings": {nil, fleet.Memory{LastUp: at("old"), LastDown: at("old")}, at(), at(), at(), map[string]int{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			add(&s, cloud("a", idleFor(time.Hour), both))
			s.Memory = c.before
			m := fleet.Remember(noon, settings(t), s, c.done)
			got := []any{m.LastUp, m.LastDown, m.Drained, m.Flaps}
			if diff := cmp.Diff([]any{c.up, c.down, c.drained, c.flaps}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRememberCountsReadingsAndEmptyQueues(t *testing.T) {
	cfg, s := settings(t, set("policy", "backlog")), quiet()
	waiting(&s, "media", 40, 0)
	add(&s, cloud("a", idleFor(time.Minute)), cloud("b"), cloud("c", launching), cloud("d", draining))
	s.Memory.Idle = map[string]int{"a": 1, "b": 4, "gone": 2}
	s.Memory.Empty = map[string]time.Time{"media": noon.Add(-time.Hour), "ocr": noon.Add(-time.Hour)}
	s.Memory.Wants = map[string][]fleet.Want{"media": {{At: noon.Add(-301 * time.Second), Workers: 9}, {At: noon.Add(-300 * time.Second), Workers: 8}}}
	m := fleet.Remember(noon, cfg, s, nil)
	if diff := cmp.Diff(map[string]int{"a": 2}, m.Idle); diff != "" {
		t.Error("readings:", diff)
	}
	if _, empty := m.Empty["media"]; empty || !m.Empty["ocr"].Equal(noon.Add(-time.Hour)) || !m.Empty["bulk"].Equal(noon) {
		t.Error("empty since:", m.Empty)
	}
	want := []fleet.Want{{At: noon.Add(-300 * time.Second), Workers: 8}, {At: noon, Workers: 2}}
	if diff := cmp.Diff(want, m.Wants["media"]); diff != "" {
		t.Error("wants:", diff)
	}
	if s.Memory.Idle["b"] != 4 || len(s.Memory.Wants["media"]) != 2 {
		t.Error("remembering changed the snapshot")
	}
}

func TestRememberLearnsNothingFromWhatWasNotObserved(t *testing.T) {
	for _, source := range []string{"database", "redis"} {
		s := quiet()
		failed(&s, source, 1)
		s.Memory.Empty = map[string]time.Time{}
		s.Memory.Idle = map[string]int{"a": 1}
		add(&s, cloud("a", idleFor(time.Hour)))
		s.Memory.Idle["a"] = 1
		m := fleet.Remember(noon, settings(t, set("policy", "backlog")), s, nil)
		if len(m.Empty) != 0 || len(m.Wants) != 0 {
			t.Errorf("%s away: %v, %v", source, m.Empty, m.Wants)
		}
		if want := map[string]int{"database": 1, "redis": 2}[source]; m.Idle["a"] != want {
			t.Errorf("%s away: %d readings, not %d", source, m.Idle["a"], want)
		}
	}
}
