package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// calls counts what a provider was asked.
func calls(c *fleettest.Cloud, method string) int {
	return len(slices.DeleteFunc(c.Calls(), func(x fleettest.Call) bool { return x.Method != method }))
}

// active launches one worker for jobs that take long, and answers its row.
func (l *loop) active(work time.Duration) fleet.Worker {
	l.t.Helper()
	l.enqueue(10, work)
	l.until("a worker is active", func() bool { r := l.rows(); return len(r) > 0 && r[0].Status == fleet.Active })
	return l.rows()[0]
}

// row is a worker's, whatever its status.
func (l *loop) row(id string) fleet.Worker {
	l.t.Helper()
	w, _, ok := l.store.Worker(id)
	if !ok {
		l.t.Fatalf("there is no worker %s", id)
	}
	return w
}

// ask files a request of an operator.
func (l *loop) ask(r fleet.Request) {
	l.t.Helper()
	r.ID, r.At = fleet.RequestID(l.world.Clock.Now()), l.world.Clock.Now()
	if err := l.store.Ask(l.t.Context(), r); err != nil {
		l.t.Fatal(err)
	}
}

func TestComplaint02AMachineThatNobodyFindsIsGoneOnceTheListSaysSo(t *testing.T) {
	l := newLoop(t, nil)
	w := l.active(10 * time.Hour)
	c := l.world.Clouds["aws"]
	c.SetKnobs(func(k *fleettest.Knobs) { k.Remember = time.Second })
	l.ask(fleet.Request{Do: fleet.KindDrain, WorkerID: w.ID})
	c.SetFaults(failing("Terminate", fleet.NotFound))
	l.until("its end was asked for", func() bool { return calls(c, "Terminate") > 0 })
	if l.row(w.ID).Status == fleet.Terminated {
		t.Error("not found alone was taken for gone, though the list has it")
	}
	c.SetFaults(nil)
	l.until("it is gone", func() bool { return l.row(w.ID).Status == fleet.Terminated })
	if n := l.store.Waiting("media") + len(l.store.Running()); n != 10 {
		t.Errorf("%d of 10 jobs are left", n)
	}
}

func TestComplaint03AJobThatCameBetweenTheLookAndTheEndIsNotKilled(t *testing.T) {
	l := newLoop(t, nil)
	w := l.active(10 * time.Hour)
	l.world.Kill(w.ID) // the test plays the worker from here
	l.store.Release(w.ID)
	if err := l.store.Drain(t.Context(), w.ID, 30*time.Minute); err != nil {
		t.Fatal(err)
	}
	l.store.Beat(w.ID, 0)
	l.point = func(step string) {
		if step != "reread" {
			return
		}
		if err := l.store.Undrain(t.Context(), w.ID); err != nil {
			t.Error(err)
		}
		if _, ok := l.store.Claim(w.ID); !ok {
			t.Error("there was no job to claim")
		}
	}
	r := l.tick()
	ends := kinds(r.Decisions, fleet.KindTerminate)
	if len(ends) != 1 || !ends[0].Failed || !strings.Contains(ends[0].Outcome, "it takes jobs") {
		t.Errorf("the decisions to end it are %+v", ends)
	}
	if n := calls(l.world.Clouds["aws"], "Terminate"); n != 0 {
		t.Errorf("the provider was asked %d times to end it", n)
	}
}

func TestComplaint04TheJobsOfAWorkerBeatWhatItSaysOfItself(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.ScaleDown.QueueBelow = 100 })
	w := l.active(10 * time.Hour)
	for range 30 {
		stale := l.row(w.ID)
		stale.CurrentJobs, stale.LastJobCompletedAt = 0, time.Time{}
		l.store.Put(stale)
		l.tick()
	}
	if got := l.row(w.ID); got.Status != fleet.Active || got.Claimed != 1 {
		t.Errorf("a worker with a job is %s", got.Status)
	}
}

func TestComplaint05MachinesBeyondTheFirstPagesAreNoOrphans(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		c.Queues["media"] = fleet.Queue{MaxWorkers: 2000, CloudEnabled: true}
		p := c.Providers["aws"]
		p.MaxInstances = 2000
		c.Providers["aws"] = p
		c.Limits = fleet.Limits{Hourly: fleet.Cents(1 << 30), Daily: fleet.Cents(1 << 40)}
	})
	c := l.world.Clouds["aws"]
	place := c.Offer(xlarge, "a", fleet.OnDemand, 0).Place
	for _, id := range c.Put("fleet-in-memory", 1001, place) {
		l.store.Put(fleet.Worker{
			ID: "w-" + id, InstanceID: id, Place: place, Queues: []string{"media"}, Slots: 1, Status: fleet.Active,
			ProvisionedAt: at(9, 0), LaunchedAt: at(9, 0), RegisteredAt: at(9, 1), LastJobCompletedAt: at(10, 0),
		})
	}
	for range 4 {
		for _, w := range l.rows() {
			l.store.Beat(w.ID, 50)
		}
		if _, err := l.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.world.Clock.Advance(time.Minute)
	}
	if n := len(l.rows()); n != 1001 || calls(c, "Terminate") != 0 {
		t.Errorf("%d workers are left, and %d ends were asked for", n, calls(c, "Terminate"))
	}
}

func TestComplaint06AMachineThatIsSeenLateOrUnderAnotherNameIsLeftAlone(t *testing.T) {
	t.Run("a list that lags behind", func(t *testing.T) {
		l := newLoop(t, nil)
		l.world.Clouds["aws"].SetKnobs(func(k *fleettest.Knobs) { k.Lag = 90 * time.Second })
		l.enqueue(40, 5*time.Minute)
		l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 40 })
		if n := len(l.of(fleet.KindForget)) + len(l.of(fleet.KindRequeue)); n != 0 {
			t.Errorf("%d living workers were forgotten:\n%s", n, l.story(200))
		}
		l.until("all are gone", func() bool { return l.live() == 0 && len(l.rows()) == 0 })
	})
	t.Run("a worker under another name on the machine", func(t *testing.T) {
		l := newLoop(t, nil)
		c := l.world.Clouds["aws"]
		place := c.Offer(xlarge, "a", fleet.OnDemand, 0).Place
		id := c.Put("fleet-in-memory", 1, place)[0]
		for range 10 {
			now := l.world.Clock.Now()
			l.store.Put(fleet.Worker{
				ID: "host-7", InstanceID: id, Place: place, Queues: []string{"media"}, Status: fleet.Active,
				ProvisionedAt: at(9, 59), RegisteredAt: at(9, 59), LastHeartbeat: now, LastJobCompletedAt: now,
			})
			l.tick()
		}
		if calls(c, "Terminate") != 0 {
			t.Errorf("it was taken for an orphan:\n%s", l.story(12))
		}
	})
}

func TestComplaint12RedisThatIsAwayHoldsForTwoTicksAndThenTheDatabaseCounts(t *testing.T) {
	l := newLoop(t, nil)
	l.enqueue(40, time.Hour)
	l.store.SetHooks(fleettest.Hooks{Before: func(_ context.Context, method string) error {
		if method == "Depths" {
			return errors.New("connection refused")
		}
		return nil
	}})
	l.run(2)
	if n := l.live(); n != 0 {
		t.Errorf("%d machines were launched on depths that nobody knows", n)
	}
	r := l.tick()
	launches := kinds(r.Decisions, fleet.KindLaunch)
	if len(launches) != 1 {
		t.Fatalf("the third tick decided\n%s", l.story(5))
	}
	if facts := fmt.Sprint(launches[0].Inputs); !strings.Contains(facts, "database") || !strings.Contains(facts, "away for 3 ticks") {
		t.Errorf("it does not say whose depth it is: %s", facts)
	}
	l.until("somebody was told", func() bool { return l.told.has("observation") })
}

func TestComplaint13RedisThatComesBackIsAskedAgain(t *testing.T) {
	l := newLoop(t, nil)
	l.enqueue(3, time.Hour)
	l.store.SetHooks(fleettest.Hooks{Before: func(_ context.Context, method string) error {
		if method == "Depths" {
			return errors.New("connection refused")
		}
		return nil
	}})
	l.run(5)
	l.store.SetHooks(fleettest.Hooks{})
	if r := l.tick(); r.Snapshot.Queues[0].Source != "redis" || len(r.Snapshot.Faults) != 0 {
		t.Errorf("after it came back the depth is from %s, and the faults are %v", r.Snapshot.Queues[0].Source, r.Snapshot.Faults)
	}
}

func TestComplaint15ADrainKeepsItsDeadlineThroughRestartsAndFurtherDrains(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.Queues["media"] = fleet.Queue{MaxWorkers: 1, CloudEnabled: true} })
	w := l.active(10 * time.Hour)
	l.ask(fleet.Request{Do: fleet.KindDrain, WorkerID: w.ID})
	l.tick()
	deadline := l.row(w.ID).DrainDeadline
	if deadline.IsZero() {
		t.Fatal("it has no deadline")
	}
	for range 3 {
		l.restart()
		l.ask(fleet.Request{Do: fleet.KindDrain, WorkerID: w.ID})
		l.tick()
	}
	if got := l.row(w.ID).DrainDeadline; !got.Equal(deadline) {
		t.Errorf("its deadline has moved from %s to %s", deadline, got)
	}
	l.until("its end was asked for", func() bool { return !l.row(w.ID).TerminateAt.IsZero() })
	if late := l.row(w.ID).TerminateAt.Sub(deadline); late < 0 || late > time.Minute {
		t.Errorf("it was ended %v after its deadline", late)
	}
}

func TestComplaint16AProviderWithoutQuotaDoesNotStopTheEndOfOthers(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		c.Queues["bulk"] = fleet.Queue{MaxWorkers: 3, CloudEnabled: true}
	})
	l.enqueue(10, 30*time.Second)
	l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 10 })
	l.world.Clouds["aws"].SetFaults(failing("Launch", fleet.OverQuota))
	for range 100 {
		l.store.Enqueue(fleettest.Job{Queue: "bulk", Priority: 1, Work: time.Minute})
	}
	l.until("the idle machine is gone", func() bool { return l.live() == 0 })
}

func TestComplaint18WithoutCapacityTheNextCandidateIsAskedAtOnce(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		c.Providers["google"] = fleet.ProviderConfig{Enabled: true, Types: []string{"c2-standard-4"}, MaxInstances: 5}
		c.ProviderPreference = []string{"aws"}
	})
	l.world.Clouds["aws"].SetFaults(failing("Launch", fleet.NoCapacity))
	l.enqueue(10, time.Hour)
	launch := kinds(l.tick().Decisions, fleet.KindLaunch)[0]
	if launch.Failed || launch.Provider != "google" || len(launch.Attempts) != 2 || launch.Attempts[0].Outcome != string(fleet.NoCapacity) {
		t.Errorf("the launch came to %s at %s after %+v", launch.Outcome, launch.Provider, launch.Attempts)
	}
	rows := l.rows()
	if len(rows) != 1 || rows[0].Provider != "google" || rows[0].Rate != 20*fleet.Cent || rows[0].InstanceID == "" {
		t.Errorf("the rows are %+v", rows)
	}
	l.enqueue(30, time.Hour)
	l.run(3)
	if n := calls(l.world.Clouds["aws"], "Launch"); n != 1 {
		t.Errorf("the place without capacity was asked %d times", n)
	}
}

func TestAPlaceWithoutCapacityIsAskedOnceATick(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.Policy = fleet.PolicySteps })
	l.world.Clouds["aws"].SetFaults(failing("Launch", fleet.NoCapacity))
	l.enqueue(200, time.Hour)
	launches := kinds(l.tick().Decisions, fleet.KindLaunch)
	if n := calls(l.world.Clouds["aws"], "Launch"); len(launches) != 3 || n != 1 {
		t.Errorf("%d launches were decided, and %d asked for", len(launches), n)
	}
	if rows := l.rows(); len(rows) != 0 {
		t.Errorf("rows of machines that were plainly refused are left: %+v", rows)
	}
}

func TestComplaint19WithoutAListNothingIsEnded(t *testing.T) {
	l := newLoop(t, nil)
	l.enqueue(10, 30*time.Second)
	l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 10 })
	c, rows := l.world.Clouds["aws"], len(l.rows())
	c.Put("fleet-in-memory", 3, c.Offer(xlarge, "a", fleet.OnDemand, 0).Place)
	c.SetFaults(failing("Inventory", fleet.Throttled))
	l.run(40)
	if n := calls(c, "Terminate"); n != 0 || len(l.rows()) != rows {
		t.Errorf("%d ends were asked for, and %d rows are left", n, len(l.rows()))
	}
	c.SetFaults(nil)
	l.until("all are gone", func() bool { return l.live() == 0 && len(l.rows()) == 0 })
}

func TestComplaint22ARefusedFileIsToldAndTheOldOneStaysInForce(t *testing.T) {
	l := newLoop(t, nil)
	p := l.parts()
	refused := errors.New("cost_limits.max_daily_spend_cent: is not known")
	p.Refused = func() error { return refused }
	l.Scheduler, _ = fleet.New(p)
	l.enqueue(10, time.Hour)
	r := l.tick()
	if r.Snapshot.Refused != refused.Error() || len(kinds(r.Decisions, fleet.KindLaunch)) != 1 {
		t.Errorf("refused is %q, and it decided\n%s", r.Snapshot.Refused, l.story(5))
	}
	if !l.told.has("settings") {
		t.Error("nobody was told")
	}
	for _, d := range kinds(r.Decisions, fleet.KindAlert) {
		if d.Rule == "alert.settings" && strings.Contains(d.Sentence, "max_daily") {
			t.Errorf("what is listed over HTTP has a line of the file: %s", d.Sentence)
		}
	}
}

func TestComplaint23AStoppedMachineIsEndedBecauseItsDiskIsPaidFor(t *testing.T) {
	l := newLoop(t, nil)
	w := l.active(10 * time.Hour)
	c := l.world.Clouds["aws"]
	c.Stop(w.InstanceID)
	l.until("it is terminated", func() bool { return l.row(w.ID).Status == fleet.Terminated })
	if c.Machines()[0].State != fleet.MachineTerminated {
		t.Error("its machine is still there")
	}
}

// deadToken answers the first launch with a machine that has ended.
type deadToken struct {
	fleet.Provider
	tokens []string
}

func (p *deadToken) Launch(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
	p.tokens = append(p.tokens, r.Token)
	if len(p.tokens) == 1 {
		return fleet.Machine{Place: r.Place, ID: "i-dead", State: fleet.MachineTerminated}, nil
	}
	return p.Provider.Launch(ctx, r)
}

func TestComplaint24TheTokenOfADeadMachineIsNotUsedAgain(t *testing.T) {
	l := newLoop(t, nil)
	p := l.parts()
	dead := &deadToken{Provider: p.Providers["aws"]}
	p.Providers["aws"] = dead
	l.Scheduler, _ = fleet.New(p)
	l.enqueue(10, time.Hour)
	launch := kinds(l.tick().Decisions, fleet.KindLaunch)[0]
	if launch.Failed || len(dead.tokens) != 2 || dead.tokens[0] == dead.tokens[1] {
		t.Errorf("with tokens %v it came to %q", dead.tokens, launch.Outcome)
	}
	for _, token := range dead.tokens {
		if len(token) > 64 || !strings.HasPrefix(token, launch.ID) {
			t.Errorf("token %q is not one of decision %s within 64 letters", token, launch.ID)
		}
	}
}

func TestComplaint25DisksThatOutliveTheirMachinesAreDeleted(t *testing.T) {
	l := newLoop(t, nil)
	c := l.world.Clouds["aws"]
	c.SetKnobs(func(k *fleettest.Knobs) { k.LeaveDisks = true })
	l.enqueue(10, 30*time.Second)
	l.until("all are gone", func() bool { return l.store.Ended("succeeded") == 10 && l.live() == 0 && len(l.rows()) == 0 })
	l.until("the disk is gone", func() bool {
		list, err := c.Inventory(t.Context(), "fleet-in-memory")
		return err == nil && len(list.Disks) == 0
	})
	if n := len(l.of(fleet.KindSweep)); n != len(c.Machines()) {
		t.Errorf("it took %d decisions for the disks of %d machines", n, len(c.Machines()))
	}
}

func TestReport26ADatabaseThatIsAwayStartsAndEndsNothing(t *testing.T) {
	l := newLoop(t, nil)
	l.active(30 * time.Second)
	l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 10 })
	c := l.world.Clouds["aws"]
	launches := calls(c, "Launch")
	l.store.SetHooks(fleettest.Hooks{Before: func(context.Context, string) error { return errors.New("connection refused") }})
	for range 40 {
		r, err := l.Tick(t.Context())
		if err == nil {
			t.Fatal("a tick without a database says that it was recorded")
		}
		if len(kinds(r.Decisions, fleet.KindHold)) == 0 {
			t.Fatalf("it decided %+v", r.Decisions)
		}
		l.world.Clock.Advance(time.Minute)
	}
	if calls(c, "Launch") != launches || calls(c, "Terminate") != 0 {
		t.Errorf("%d machines were launched and %d ended", calls(c, "Launch")-launches, calls(c, "Terminate"))
	}
	l.store.SetHooks(fleettest.Hooks{})
	l.tick()
	if !strings.Contains(l.story(1000), "fault") {
		t.Error("what was decided meanwhile is not recorded")
	}
}

func TestReport27AWorkerIsCordonedAndLookedAtAgainBeforeItIsEnded(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.Queues["media"] = fleet.Queue{MaxWorkers: 1, CloudEnabled: true} })
	l.enqueue(10, 30*time.Second)
	var steps []string
	l.point = func(step string) { steps = append(steps, step) }
	l.until("all are gone", func() bool { return l.store.Ended("succeeded") == 10 && l.live() == 0 && len(l.rows()) == 0 })
	steps = slices.DeleteFunc(steps, func(s string) bool { return s == "record" })
	want := []string{"provision", "launch", "attach", "drain", "reread", "terminating", "terminate", "gone"}
	if !slices.Equal(steps, want) {
		t.Errorf("the steps were %v, not %v", steps, want)
	}
}

func TestReport28ZeroIsReachedThoughEndsFailAndMachinesAreForgotten(t *testing.T) {
	l := newLoop(t, nil)
	c := l.world.Clouds["aws"]
	place := c.Offer(xlarge, "a", fleet.OnDemand, 0).Place
	c.Put("fleet-in-memory", 12, place)
	c.Put("another-fleet", 1, place)
	failed := 0
	c.SetFaults(func(x fleettest.Call) fleettest.Fault {
		if x.Method == "Terminate" && failed < 20 {
			failed++
			return fleettest.Fail(fleet.Unknown)
		}
		return fleettest.Fault{}
	})
	l.enqueue(10, 30*time.Second)
	l.until("only the other fleet's machine is left", func() bool {
		return l.store.Ended("succeeded") == 10 && l.live() == 1 && len(l.rows()) == 0
	})
	ends := map[string]int{}
	for _, d := range l.of(fleet.KindTerminate) {
		ends[d.Tick]++
		if d.Rule == "orphan" && ends[d.Tick] > 6 {
			t.Errorf("tick %s ends more than five machines without a row", d.Tick)
		}
	}
	if n := len(slices.DeleteFunc(l.of(fleet.KindTerminate), func(d fleet.Decision) bool { return !d.Failed })); n != 20 {
		t.Errorf("%d ends are recorded as failed, not 20", n)
	}
}
