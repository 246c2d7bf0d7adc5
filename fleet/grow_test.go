package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

func TestGrowthIsDecidedOrHeldWithItsReason(t *testing.T) {
	steps, backlog := set("policy", "steps"), set("policy", "backlog")
	cases := map[string]struct {
		edits []edit
		snap  func(*fleet.Snapshot)
		want  []string
	}{
		"nothing waits":                                {nil, func(*fleet.Snapshot) {}, []string{"hold below_thresholds"}},
		"one job under the depth threshold":            {nil, func(s *fleet.Snapshot) { waiting(s, "media", 9, 299*time.Second) }, []string{"hold below_thresholds"}},
		"the depth threshold launches":                 {nil, func(s *fleet.Snapshot) { waiting(s, "media", 10, 0) }, []string{"launch"}},
		"the age threshold launches":                   {nil, func(s *fleet.Snapshot) { waiting(s, "media", 1, 300*time.Second) }, []string{"launch"}},
		"an age counts although the doorbell is empty": {nil, func(s *fleet.Snapshot) { waiting(s, "media", 1, 300*time.Second).Depth = 0 }, []string{"launch"}},
		"an age from the future is none":               {nil, func(s *fleet.Snapshot) { waiting(s, "media", 1, -time.Hour) }, []string{"hold below_thresholds"}},
		"a queue without cloud":                        {[]edit{set("queues.media.cloud_enabled", false)}, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0) }, []string{"hold cloud_disabled"}},
		"a queue that a managed batch works on":        {[]edit{set("queues.media.batch", "aws")}, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0) }, []string{"hold batch"}},
		"the database away":                            {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); failed(s, "database", 1) }, []string{"hold fault"}},
		"Redis away for one tick":                      {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); failed(s, "redis", 1) }, []string{"hold fault"}},
		"Redis away for two ticks":                     {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); failed(s, "redis", 2) }, []string{"hold fault"}},
		"Redis away for a third":                       {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); failed(s, "redis", 3) }, []string{"launch"}},
		"its only provider could not be listed":        {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); failed(s, "provider:aws", 1) }, []string{"hold fault"}},
		"another provider could not be listed":         {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); failed(s, "provider:google", 1) }, []string{"launch"}},
		"no full inventory yet":                        {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); s.Memory.Inventoried = false }, []string{"hold inventory"}},
		"the latch":                                    {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); s.Latch = &fleet.Latch{Limit: fleet.Cents(5000)} }, []string{"hold mode"}},
		"no price":                                     {nil, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0); priceless(s) }, []string{"hold no_price"}},
		"the hourly limit":                             {[]edit{set("cost_limits.max_hourly_spend_cents", 10)}, func(s *fleet.Snapshot) { waiting(s, "media", 99, 0) }, []string{"hold hourly_limit"}},
		"a cool-off of the whole provider": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, 0)
			s.Memory.CoolOffs = []fleet.CoolOff{{Place: fleet.Place{Provider: "aws"}, Until: noon.Add(time.Minute), Outcome: fleet.OverQuota}}
		}, []string{"hold cool_off"}},
		"cloud_first: nine interactive jobs are the VPS's": {[]edit{set("mode", "cloud_first")}, func(s *fleet.Snapshot) { interactive(waiting(s, "media", 9, 0)) }, []string{"hold below_thresholds"}},
		"cloud_first: ten are over the threshold":          {[]edit{set("mode", "cloud_first")}, func(s *fleet.Snapshot) { interactive(waiting(s, "media", 10, 0)) }, []string{"launch"}},
		"cloud_first and backlog: interactive jobs are the VPS's, others are not": {[]edit{set("mode", "cloud_first"), backlog}, func(s *fleet.Snapshot) {
			q := waiting(s, "media", 20, 0)
			q.Bands = [3]fleet.Band{{Depth: 10}, {Depth: 10}}
		}, []string{"launch"}},
		"a launch just under the cooldown ago": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, 0)
			s.Memory.LastUp = map[string]time.Time{"media": noon.Add(-119 * time.Second)}
		}, []string{"hold cooldown"}},
		"a launch the cooldown ago": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, 0)
			s.Memory.LastUp = map[string]time.Time{"media": noon.Add(-120 * time.Second)}
		}, []string{"launch"}},
		"a launch for another queue": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, 0)
			s.Memory.LastUp = map[string]time.Time{"ocr": noon.Add(-time.Second)}
		}, []string{"launch"}},
		"a removal a moment ago starts no cooldown for launches": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, 0)
			s.Memory.LastDown = map[string]time.Time{"media": noon.Add(-time.Second)}
		}, []string{"launch"}},
		"the most workers are there": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, 0)
			add(s, cloud("a"), cloud("b"), cloud("c", launching))
		}, []string{"hold max_workers"}},
		"a worker that leaves them alone": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, 20*time.Minute)
			add(s, cloud("a", idleFor(30*time.Minute)))
		}, []string{"hold not_taken"}},
		"a worker that was at work since they came": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, 20*time.Minute)
			add(s, cloud("a", idleFor(5*time.Minute)))
		}, []string{"launch"}},
		"jobs that have just come to an idle worker": {nil, func(s *fleet.Snapshot) {
			waiting(s, "media", 99, time.Minute)
			add(s, cloud("a", idleFor(30*time.Minute)))
		}, []string{"launch"}},
		"a spot worker leaves alone what it may not take": {nil, func(s *fleet.Snapshot) {
			interactive(waiting(s, "media", 99, 20*time.Minute))
			add(s, cloud("a", idleFor(30*time.Minute), onSpot))
		}, []string{"launch"}},

		"steps: five jobs are for the VPS":        {[]edit{steps}, func(s *fleet.Snapshot) { waiting(s, "media", 5, 119*time.Second) }, []string{"hold below_thresholds"}},
		"steps: six jobs want one":                {[]edit{steps}, func(s *fleet.Snapshot) { waiting(s, "media", 6, 0) }, []string{"launch"}},
		"steps: two minutes want one":             {[]edit{steps}, func(s *fleet.Snapshot) { waiting(s, "media", 1, 2*time.Minute) }, []string{"launch"}},
		"steps: twenty jobs want one":             {[]edit{steps}, func(s *fleet.Snapshot) { waiting(s, "media", 20, 0) }, []string{"launch"}},
		"steps: 21 jobs want three":               {[]edit{steps, set("queues.media.max_workers", 9)}, func(s *fleet.Snapshot) { waiting(s, "media", 21, 0) }, []string{"launch", "launch", "launch"}},
		"steps: the higher row counts":            {[]edit{steps, set("queues.media.max_workers", 9)}, func(s *fleet.Snapshot) { waiting(s, "media", 6, 5*time.Minute) }, []string{"launch", "launch", "launch"}},
		"steps: a hundred jobs want three":        {[]edit{steps, set("queues.media.max_workers", 4)}, func(s *fleet.Snapshot) { waiting(s, "media", 100, 10*time.Minute) }, []string{"launch", "launch", "launch"}},
		"steps: 101 jobs want all":                {[]edit{steps, set("queues.media.max_workers", 4)}, func(s *fleet.Snapshot) { waiting(s, "media", 101, 0) }, []string{"launch", "launch", "launch", "launch"}},
		"steps: more than ten minutes want all":   {[]edit{steps, set("queues.media.max_workers", 4)}, func(s *fleet.Snapshot) { waiting(s, "media", 1, 601*time.Second) }, []string{"launch", "launch", "launch", "launch"}},
		"steps: launching ones are part of three": {[]edit{steps, set("queues.media.max_workers", 9)}, func(s *fleet.Snapshot) { waiting(s, "media", 30, 0); add(s, cloud("a", launching)) }, []string{"launch", "launch"}},
		"steps: what is there is enough":          {[]edit{steps}, func(s *fleet.Snapshot) { waiting(s, "media", 7, 0); add(s, cloud("a")) }, []string{"hold enough"}},
		"steps: a launch a moment ago is no hindrance": {[]edit{steps}, func(s *fleet.Snapshot) {
			waiting(s, "media", 7, 0)
			s.Memory.LastUp = map[string]time.Time{"media": noon}
		}, []string{"launch"}},
		"backlog: work for less than the VPS has":     {[]edit{backlog}, func(s *fleet.Snapshot) { waiting(s, "media", 10, 0) }, []string{"hold below_thresholds"}},
		"backlog: the waiting jobs within the target": {[]edit{backlog}, func(s *fleet.Snapshot) { waiting(s, "media", 40, 0) }, []string{"launch", "launch"}},
		"backlog: what arrives keeps workers busy":    {[]edit{backlog}, func(s *fleet.Snapshot) { waiting(s, "media", 1, 0).Arrivals = 0.1 }, []string{"launch", "launch"}},
		"backlog: launching ones count":               {[]edit{backlog}, func(s *fleet.Snapshot) { waiting(s, "media", 40, 0); add(s, cloud("a", launching)) }, []string{"launch"}},
		"backlog: machines of four slots are fewer":   {[]edit{backlog}, func(s *fleet.Snapshot) { waiting(s, "media", 60, 0); slots(s, 4) }, []string{"launch"}},
		"backlog: shared VPS slots are for all queues with jobs": {[]edit{backlog}, func(s *fleet.Snapshot) {
			waiting(s, "media", 40, 0)
			waiting(s, "ocr", 1, 0)
		}, []string{"launch", "launch", "launch"}},
		"backlog: the last bits of a sum are no machine": {[]edit{backlog, set("queues.media.max_workers", 9)}, func(s *fleet.Snapshot) {
			q := waiting(s, "media", 0, 0)
			q.Arrivals, q.Service = 0.07, 100*time.Second
		}, []string{"launch", "launch", "launch", "launch", "launch"}},
		"backlog: figures beyond reason want all that is allowed": {[]edit{backlog}, func(s *fleet.Snapshot) {
			waiting(s, "media", 1<<60, 0).Service = time.Hour
		}, []string{"launch", "launch", "launch"}},
		"backlog: slots of providers that are not enabled do not matter": {[]edit{backlog}, func(s *fleet.Snapshot) {
			waiting(s, "media", 60, 0)
			s.Offers[0].Slots, s.Offers[1].Slots = 4, 4
		}, []string{"launch"}},
		"a draining one takes the place of a new one": {[]edit{steps}, func(s *fleet.Snapshot) {
			waiting(s, "media", 30, 0)
			add(s, cloud("a", draining))
		}, []string{"launch", "launch"}},
		"no more come back than may be there": {[]edit{steps, set("queues.media.max_workers", 1)}, func(s *fleet.Snapshot) {
			waiting(s, "media", 30, 0)
			add(s, cloud("a", draining), cloud("b", draining))
			s.Memory.Drained = map[string]time.Time{"a": noon, "b": noon}
		}, []string{"undrain a"}},
		"backlog: no service time, so the rule decides": {[]edit{backlog}, func(s *fleet.Snapshot) { waiting(s, "media", 10, 0).Service = 0 }, []string{"launch"}},
		"backlog: no service time and under the rule":   {[]edit{backlog}, func(s *fleet.Snapshot) { waiting(s, "media", 9, 0).Service = 0 }, []string{"hold below_thresholds"}},
		"backlog: a stuck head adds one":                {[]edit{backlog}, func(s *fleet.Snapshot) { waiting(s, "media", 1, 300*time.Second) }, []string{"launch"}},
		"backlog: a stuck head adds none while one comes": {[]edit{backlog}, func(s *fleet.Snapshot) {
			waiting(s, "media", 1, 300*time.Second)
			add(s, cloud("a", launching))
		}, []string{"hold below_thresholds"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			c.snap(&s)
			all := fleet.Decide(noon, settings(t, c.edits...), s)
			if diff := cmp.Diff(c.want, of("media", all)); diff != "" {
				t.Errorf("%s\n%s", diff, show(all))
			}
		})
	}
}

func failed(s *fleet.Snapshot, source string, times int) {
	s.Faults = append(s.Faults, fleet.Fault{Source: source, Reason: "connection refused", Times: times})
}

func priceless(s *fleet.Snapshot) {
	for i := range s.Offers {
		s.Offers[i].Price = 0
	}
}

func slots(s *fleet.Snapshot, n int) {
	for i := range s.Offers {
		s.Offers[i].Slots = n
	}
}

func TestLaunchSaysWhatItDidAndWhyAndHowFar(t *testing.T) {
	s := quiet()
	waiting(&s, "media", 12, 75*time.Second+600*time.Millisecond)
	x := only(t, fleet.KindLaunch, fleet.Decide(noon, settings(t), s))
	if x.Sentence != "Scaling up media: depth=12, oldest=75s" {
		t.Error(x.Sentence)
	}
	if x.Rule != "seed.queue_depth_threshold" || x.Wanted != 1 || x.Allowed != 1 || x.Limit != "" || x.Origin != fleet.OriginTick || !x.At.Equal(noon) {
		t.Errorf("%+v", x)
	}
	inputs := map[string]string{}
	for _, f := range x.Inputs {
		inputs[f.Name] = f.Value
	}
	for name, want := range map[string]string{
		"mode": "hybrid", "policy": "seed", "queue_depth": "12", "queue_depth_threshold": "10",
		"oldest_age_seconds": "75", "oldest_job_age_seconds": "300", "workers": "0", "depth_from": "redis",
	} {
		if inputs[name] != want {
			t.Errorf("%s is %q, not %q", name, inputs[name], want)
		}
	}
	if len(x.Launch.Candidates) == 0 || cmp.Diff(x.Launch.Queues, []string{"media"}) != "" || len(x.Rejected) == 0 {
		t.Errorf("%+v, rejected %+v", x.Launch, x.Rejected)
	}
}

func TestEveryQueueHasADecisionInEveryTick(t *testing.T) {
	for _, mode := range []string{"vps_only", "hybrid", "cloud_first"} {
		s := quiet()
		s.Queues = s.Queues[1:] // bulk was not observed
		all := fleet.Decide(noon, settings(t, set("mode", mode)), s)
		for _, queue := range []string{"bulk", "documents", "images", "media", "ocr"} {
			if len(of(queue, all)) == 0 {
				t.Errorf("%s: nothing about %s", mode, queue)
			}
		}
	}
}

func TestWhatRedisBeingAwayMeansIsInTheDecision(t *testing.T) {
	s := quiet()
	waiting(&s, "media", 12, 0).Source = "database"
	failed(&s, "redis", 3)
	x := only(t, fleet.KindLaunch, fleet.Decide(noon, settings(t), s))
	found := map[fleet.Fact]bool{}
	for _, f := range x.Inputs {
		found[f] = true
	}
	if !found[fleet.Fact{Name: "depth_from", Value: "database"}] || !found[fleet.Fact{Name: "redis", Value: "away for 3 ticks"}] {
		t.Errorf("%+v", x.Inputs)
	}
}

func TestTheLastMoneyIsForTheMostUrgentQueue(t *testing.T) {
	s := quiet()
	waiting(&s, "bulk", 500, time.Hour)
	interactive(waiting(&s, "media", 10, time.Second))
	cfg := settings(t, set("queues.bulk.cloud_enabled", true), set("cost_limits.max_hourly_spend_cents", 25))
	all := fleet.Decide(noon, cfg, s)
	if x := only(t, fleet.KindLaunch, all); x.Queue != "media" {
		t.Errorf("launched for %s\n%s", x.Queue, show(all))
	}
	if diff := cmp.Diff([]string{"hold hourly_limit"}, of("bulk", all)); diff != "" {
		t.Errorf("%s\n%s", diff, show(all))
	}
}

func TestComplaint07LaunchingMachinesCount(t *testing.T) {
	for _, policy := range []string{"seed", "steps", "backlog"} {
		t.Run(policy, func(t *testing.T) {
			s := quiet()
			waiting(&s, "media", 1000, time.Hour)
			add(&s, cloud("a", launching), cloud("b", launching))
			all := fleet.Decide(noon, settings(t, set("policy", policy)), s)
			if n := count(fleet.KindLaunch, all); n != 1 {
				t.Errorf("%d launched beside 2 of 3\n%s", n, show(all))
			}
		})
	}
}

func TestComplaint10DrainingMachinesAreNoCapacity(t *testing.T) {
	s := quiet()
	waiting(&s, "media", 6, 0)
	add(&s, cloud("a", draining), cloud("b", draining))
	all := fleet.Decide(noon, settings(t, set("policy", "steps")), s)
	x := only(t, fleet.KindLaunch, all)
	if x.Wanted != 1 || x.Allowed != 1 {
		t.Errorf("wanted %d, allowed %d: two that drain were taken for workers", x.Wanted, x.Allowed)
	}
	add(&s, cloud("c", draining))
	if diff := cmp.Diff([]string{"hold max_workers"}, of("media", fleet.Decide(noon, settings(t, set("policy", "steps")), s))); diff != "" {
		t.Error("three that drain are paid for and count for max_workers:", diff)
	}
}

func TestComplaint11TooManyAreClampedAndNotRefused(t *testing.T) {
	s := quiet()
	waiting(&s, "media", 160, 0)
	all := fleet.Decide(noon, settings(t, set("policy", "backlog")), s)
	if n := count(fleet.KindLaunch, all); n != 3 {
		t.Fatalf("%d launched, not 3\n%s", n, show(all))
	}
	for _, x := range all {
		if x.Kind == fleet.KindLaunch && (x.Wanted != 14 || x.Allowed != 3 || x.Limit != "max_workers (3)") {
			t.Errorf("wanted %d, allowed %d, limit %q", x.Wanted, x.Allowed, x.Limit)
		}
	}
}

func TestComplaint16AQueueThatGetsNothingStillShrinks(t *testing.T) {
	s := quiet()
	waiting(&s, "bulk", 100, time.Hour)
	s.Memory.CoolOffs = []fleet.CoolOff{{Place: fleet.Place{Provider: "aws"}, Until: noon.Add(time.Hour), Outcome: fleet.OverQuota}}
	add(&s, cloud("a", idleFor(11*time.Minute)))
	all := fleet.Decide(noon, settings(t, set("queues.bulk.cloud_enabled", true)), s)
	if diff := cmp.Diff([]string{"hold cool_off"}, of("bulk", all)); diff != "" {
		t.Error(diff)
	}
	if x := only(t, fleet.KindDrain, all); x.WorkerID != "a" {
		t.Error(show(all))
	}
}

func TestComplaint17DrainingMachinesComeBackBeforeOthersAreLaunched(t *testing.T) {
	drained := func(ids ...string) func(*fleet.Snapshot) {
		return func(s *fleet.Snapshot) {
			s.Memory.Drained = map[string]time.Time{}
			for _, id := range ids {
				s.Memory.Drained[id] = noon.Add(-time.Minute)
			}
		}
	}
	cases := map[string]struct {
		worker fleet.Worker
		memory func(*fleet.Snapshot)
		want   []string
	}{
		"one that was idle comes back":         {cloud("a", idleFor(11*time.Minute), draining), drained("a"), []string{"undrain a"}},
		"one that was drained for another end": {cloud("a", idleFor(11*time.Minute), draining), drained(), []string{"launch"}},
		"one whose end has been asked for":     {cloud("a", idleFor(11*time.Minute), draining, func(w *fleet.Worker) { w.TerminateAt = noon }), drained("a"), []string{"launch"}},
		"one that has said goodbye":            {cloud("a", idleFor(11*time.Minute), draining, func(w *fleet.Worker) { w.LeftAt = noon }), drained("a"), []string{"launch"}},
		"one whose deadline is over":           {cloud("a", idleFor(11*time.Minute), draining, func(w *fleet.Worker) { w.DrainDeadline = noon }), drained("a"), []string{"launch"}},
		"one that ends itself soon":            {cloud("a", idleFor(11*time.Minute), draining, func(w *fleet.Worker) { w.Request.MaxLife = time.Hour }), drained("a"), []string{"launch"}},
		"one of another queue":                 {cloud("a", idleFor(11*time.Minute), draining, func(w *fleet.Worker) { w.Queues = []string{"ocr"} }), drained("a"), []string{"launch"}},
		"one that may not take these jobs":     {cloud("a", idleFor(11*time.Minute), draining, onSpot), drained("a"), []string{"launch"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := quiet()
			interactive(waiting(&s, "media", 10, 0))
			c.memory(&s)
			add(&s, c.worker)
			cfg := settings(t)
			all := fleet.Decide(noon, cfg, s)
			got := of("media", all)
			// The end of a drain is another matter.
			got = slices.DeleteFunc(got, func(word string) bool { return word == "terminate a" })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%s", diff, show(all))
			}
		})
	}
}

func TestReport26UnknownIsNotZero(t *testing.T) {
	for _, source := range []string{"database", "redis"} {
		s := quiet()
		failed(&s, source, 1)
		add(&s, cloud("a", idleFor(time.Hour)), cloud("b", idleFor(time.Hour)))
		all := fleet.Decide(noon, settings(t), s)
		if n := count(fleet.KindDrain, all) + count(fleet.KindTerminate, all) + count(fleet.KindLaunch, all); n != 0 {
			t.Errorf("%s away:\n%s", source, show(all))
		}
		x := fleet.Decision{}
		for _, d := range all {
			if d.Queue == "media" && d.Kind == fleet.KindHold {
				x = d
			}
		}
		if x.Rule != "fault" || x.Limit != "fault ("+source+")" {
			t.Errorf("%s away: %+v", source, x)
		}
	}
}

func TestComplaint21TimesFromAWrongClockHoldNothingUp(t *testing.T) {
	s := quiet()
	waiting(&s, "media", 10, 0)
	s.Memory.LastUp = map[string]time.Time{"media": noon.Add(time.Hour)}
	if n := count(fleet.KindLaunch, fleet.Decide(noon, settings(t), s)); n != 1 {
		t.Error("a launch an hour from now kept a cooldown open")
	}
	s = quiet()
	add(&s, cloud("a", idleFor(-time.Hour)))
	if n := count(fleet.KindDrain, fleet.Decide(noon, settings(t), s)); n != 0 {
		t.Error("a job that ends an hour from now made a worker idle")
	}
}

func TestAHoldNamesTheCandidatesThatWereLeftOut(t *testing.T) {
	s := quiet()
	waiting(&s, "media", 50, 0)
	priceless(&s)
	for _, x := range fleet.Decide(noon, settings(t), s) {
		if x.Queue == "media" && (x.Rule != "no_price" || len(x.Rejected) < 2) {
			t.Errorf("%+v", x)
		}
	}
}

// Jobs that run are in nobody's queue: they neither ask for machines nor let
// those go that run them.
func TestComplaint14JobsThatRunAreCountedWhereTheyAre(t *testing.T) {
	running := func(n int64) func(*fleet.Snapshot) {
		return func(s *fleet.Snapshot) { waiting(s, "media", 0, 0).Running = n }
	}
	for name, c := range map[string]struct {
		snap func(*fleet.Snapshot)
		want map[string][]string // by policy; "" for all others
	}{
		"many run and none waits": {running(500), map[string][]string{"": {"hold below_thresholds"}}},
		"as many wait as the rule says, beside those that run": {func(s *fleet.Snapshot) {
			waiting(s, "media", 10, 0).Running = 500
		}, map[string][]string{"": {"launch"}, "backlog": {"hold below_thresholds"}}},
		"one less waits, beside those that run": {func(s *fleet.Snapshot) {
			waiting(s, "media", 9, 0).Running = 1
		}, map[string][]string{"": {"hold below_thresholds"}, "steps": {"launch"}}},
		"none waits, and machines work": {func(s *fleet.Snapshot) {
			running(2)(s)
			add(s, cloud("a", idleFor(time.Hour), func(w *fleet.Worker) { w.Claimed = 1 }), cloud("b", func(w *fleet.Worker) { w.CurrentJobs = 0 }))
			s.Memory.Empty = map[string]time.Time{"media": noon.Add(-time.Hour)}
			s.Memory.Idle = map[string]int{"a": 9, "b": 9}
		}, map[string][]string{"": {"hold below_thresholds"}}},
		"one of two machines works, and none waits": {func(s *fleet.Snapshot) {
			running(1)(s)
			add(s, cloud("a"), cloud("b", idleFor(time.Hour)))
		}, map[string][]string{"": {"drain b", "hold below_thresholds"}}},
	} {
		for _, policy := range []string{"seed", "steps", "backlog"} {
			t.Run(policy+": "+name, func(t *testing.T) {
				s := quiet()
				c.snap(&s)
				want, own := c.want[policy]
				if !own {
					want = c.want[""]
				}
				all := fleet.Decide(noon, settings(t, set("policy", policy)), s)
				if diff := cmp.Diff(want, of("media", all)); diff != "" {
					t.Errorf("%s\n%s", diff, show(all))
				}
			})
		}
	}
}
