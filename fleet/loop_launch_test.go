package fleet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

func TestAMachineThatDoesNotRegisterIsEndedBookedCooledOffAndTold(t *testing.T) {
	l := newLoop(t, nil)
	l.world.Register = 3 * time.Hour
	l.enqueue(10, time.Minute)
	l.until("its end is decided", func() bool { return len(l.of(fleet.KindTerminate)) > 0 })
	d := l.of(fleet.KindTerminate)[0]
	if d.Rule != fleet.RuleRegistration || d.At.Sub(at(10, 0)) != 10*time.Minute {
		t.Errorf("after %v it decided %s: %s", d.At.Sub(at(10, 0)), d.Rule, d.Sentence)
	}
	r := l.tick()
	if !l.told.has("worker_not_registered") {
		t.Error("nobody was told")
	}
	if len(r.Snapshot.Memory.CoolOffs) != 1 {
		t.Errorf("the places that cool off are %+v", r.Snapshot.Memory.CoolOffs)
	}
	booked := slices.ContainsFunc(l.store.AllEntries(), func(e fleet.SpendEntry) bool { return e.WorkerID == d.WorkerID && e.Amount > 0 })
	if !booked {
		t.Error("it was not booked")
	}
}

// otherMarket answers launches with machines of another market.
type otherMarket struct{ fleet.Provider }

func (p otherMarket) Launch(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
	r.Market = fleet.OnDemand
	return p.Provider.Launch(ctx, r)
}

func TestAMachineThatCameInAnotherMarketIsEndedAtOnce(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		p := c.Providers["aws"]
		p.Spot, p.SpotMaxPrice = true, 5*fleet.Cent
		c.Providers["aws"] = p
	})
	c := l.world.Clouds["aws"]
	c.SetOffer(c.Offer(xlarge, "a", fleet.Spot, 4*fleet.Cent))
	p := l.parts()
	p.Providers["aws"] = otherMarket{c}
	l.Scheduler, _ = fleet.New(p)
	l.ask(fleet.Request{Do: fleet.KindLaunch, Queue: "media", Spot: true})
	d := kinds(l.tick().Decisions, fleet.KindLaunch)[0]
	if !d.Failed || !strings.Contains(d.Outcome, "came as on_demand, not spot") {
		t.Errorf("it came to %q", d.Outcome)
	}
	if w := l.row(d.WorkerID); w.Rate != 20*fleet.Cent {
		t.Errorf("it is counted at %s an hour", w.Rate)
	}
	l.run(2)
	if l.live() != 0 || len(l.rows()) != 0 {
		t.Errorf("%d machines and %d rows are left", l.live(), len(l.rows()))
	}
}

// without has one method of the store fail.
func without(method string) fleettest.Hooks {
	return fleettest.Hooks{Before: func(_ context.Context, m string) error {
		if m == method {
			return errors.New("connection reset")
		}
		return nil
	}}
}

func TestNothingIsLaunchedThatHasNoRow(t *testing.T) {
	l := newLoop(t, nil)
	l.store.SetHooks(without("Provision"))
	l.enqueue(10, time.Hour)
	l.run(3)
	if n := calls(l.world.Clouds["aws"], "Launch"); n != 0 {
		t.Errorf("%d machines were asked for", n)
	}
	l.store.SetHooks(fleettest.Hooks{})
	if l.tick(); l.live() != 1 {
		t.Errorf("%d machines were launched once rows could be made: a launch that failed began a cooldown", l.live())
	}
}

func TestARowThatCouldNotBeAttachedIsAttachedLater(t *testing.T) {
	l := newLoop(t, nil)
	l.store.SetHooks(without("Attach"))
	l.enqueue(10, time.Hour)
	l.run(5)
	l.store.SetHooks(fleettest.Hooks{})
	l.tick()
	rows := l.rows()
	if len(rows) == 0 || len(rows) != l.live() || slices.ContainsFunc(rows, func(w fleet.Worker) bool { return w.InstanceID == "" }) {
		t.Errorf("there are %d machines, and the rows %+v", l.live(), rows)
	}
}

func TestALostElectionLaunchesNothingMore(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.Policy = fleet.PolicySteps })
	l.enqueue(200, time.Hour)
	launched := 0
	l.point = func(step string) {
		if step == "attach" {
			launched++
			l.store.Depose("scheduler")
		}
	}
	if _, err := l.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if launched != 1 || l.live() != 1 {
		t.Errorf("%d machines were launched after the election was lost", launched-1)
	}
}

// mute is a Notifier that does not answer.
type mute struct{}

func (mute) Notify(ctx context.Context, _ fleet.Notice) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestAChannelThatHangsHoldsUpNoTickAndIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, func(c *fleet.Config) { c.Policy = fleet.PolicySteps })
		p := l.parts()
		p.Notifier = mute{}
		l.Scheduler, _ = fleet.New(p)
		l.enqueue(200, time.Hour)
		l.run(2)
		began := time.Now()
		r := l.tick()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("a tick with %d notices took %v", len(kinds(r.Decisions, fleet.KindAlert)), took)
		}
		l.Scheduler, _ = fleet.New(l.parts())
		l.tick()
		if !l.told.has("worker_launched") {
			t.Error("what could not be told was not told later")
		}
	})
}

func TestManyMachinesAreEndedSideBySideAtTheDailyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, func(c *fleet.Config) { c.Limits.Daily = fleet.Cents(10) })
		c := l.world.Clouds["aws"]
		c.Put("fleet-in-memory", 40, c.Offer(xlarge, "a", fleet.OnDemand, 0).Place)
		p := l.parts()
		p.Providers["aws"] = slow{c}
		l.Scheduler, _ = fleet.New(p)
		began := time.Now()
		l.tick()
		if took := time.Since(began); took > 30*time.Second || l.live() != 0 {
			t.Errorf("after %v %d machines are left", took, l.live())
		}
	})
}

// slow takes five seconds to end a machine.
type slow struct{ fleet.Provider }

func (p slow) Terminate(ctx context.Context, id string) error {
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
	return p.Provider.Terminate(ctx, id)
}

func TestMachinesOfAProviderThatWasSwitchedOffAreEnded(t *testing.T) {
	l := newLoop(t, nil)
	w := l.active(time.Minute)
	off := l.cfg.Providers["aws"]
	off.Enabled = false
	l.cfg.Providers = map[string]fleet.ProviderConfig{"aws": off}
	l.until("its machine is gone", func() bool { return l.live() == 0 && l.row(w.ID).Status == fleet.Terminated })
}

func TestAnInterruptedMachineGivesItsJobsBackOnce(t *testing.T) {
	l := newLoop(t, nil)
	w := l.active(10 * time.Minute)
	l.world.Blind = true
	l.world.Clouds["aws"].Interrupt(w.InstanceID, 0)
	l.until("the row is closed", func() bool { return l.row(w.ID).Status == fleet.Terminated })
	if n := l.store.Ended("released"); n != 1 {
		t.Errorf("%d jobs were given back", n)
	}
	l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 10 })
}
