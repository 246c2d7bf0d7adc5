package fleet_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// booked sums what is in the ledger for a worker.
func (l *loop) booked(workerID string) fleet.Money {
	var sum fleet.Money
	for _, e := range l.store.AllEntries() {
		if e.WorkerID == workerID {
			sum += e.Amount
		}
	}
	return sum
}

func TestASpotMachineIsBookedWithTheSurchargeOfTheFile(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		p := c.Providers["aws"]
		p.Spot, p.Surcharge = true, 6*fleet.Cent
		c.Providers["aws"] = p
	})
	c := l.world.Clouds["aws"]
	c.SetOffer(c.Offer(xlarge, "a", fleet.Spot, 6*fleet.Cent))
	for range 10 {
		l.store.Enqueue(fleettest.Job{Queue: "media", Priority: 8, Work: 10 * time.Hour})
	}
	l.run(60)
	w := l.rows()[0]
	hours := w.AccruedUntil.Sub(w.ProvisionedAt).Hours()
	if got, want := l.booked(w.ID), fleet.Money(hours*float64(12*fleet.Cent)); got < want-fleet.Cent/10 || w.Market != fleet.Spot {
		t.Errorf("%.2f hours of a %s machine are booked as %s, with the disk they cost %s", hours, w.Market, got, want)
	}
}

// TestTheDailyLimitHoldsThoughCallsThatEndMachinesFail has the first calls fail
// that end a machine, with a quarter of an hour from tick to tick.
func TestTheDailyLimitHoldsThoughCallsThatEndMachinesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, func(c *fleet.Config) { c.Limits.Daily = fleet.Cents(60) })
		l.active(100 * time.Hour) // of 20 cents an hour
		l.cfg.EvaluationInterval = 15 * time.Minute
		l.restart()
		c := l.world.Clouds["aws"]
		var failed atomic.Int64
		c.SetFaults(func(x fleettest.Call) fleettest.Fault {
			if x.Method == "Terminate" && failed.Add(1) <= 5 {
				return fleettest.Fail(fleet.Throttled)
			}
			return fleettest.Fault{}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		for n := 0; l.live() > 0 && n < 5*60*4; n++ {
			pass(15 * time.Second)
			synctest.Wait()
			l.world.Advance(15 * time.Second)
		}
		if cost := c.Billed(at(0, 0), l.world.Clock.Now()); l.live() > 0 || cost > fleet.Cents(60) || failed.Load() < 6 {
			t.Errorf("%d machines are left, the day cost %s, the limit is 60 cents, and %d calls were made to end it", l.live(), cost, failed.Load())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAMachineThatDoesNotEndRaisesACriticalAlert(t *testing.T) {
	l := newLoop(t, nil)
	w := l.active(100 * time.Hour)
	c := l.world.Clouds["aws"]
	c.SetFaults(failing("Terminate", fleet.Permanent))
	l.cfg.Mode = fleet.VPSOnly
	l.until("its end was asked for", func() bool { return !l.row(w.ID).TerminateAt.IsZero() })
	if l.run(5); l.told.has("not_ended") {
		t.Error("it is told within five minutes")
	}
	if l.run(3); !l.told.has("not_ended") {
		t.Errorf("nobody was told:\n%s", l.story(10))
	}
	for _, n := range l.told.list {
		if n.Name == "not_ended" && (n.Level != fleet.Critical || n.Resolved) {
			t.Errorf("it is told as %+v", n)
		}
	}
	c.SetFaults(nil)
	l.until("it is over", func() bool { return l.live() == 0 })
	l.run(8)
	if !slices.ContainsFunc(l.told.list, func(n fleet.Notice) bool { return n.Name == "not_ended" && n.Resolved }) {
		t.Error("that it is over was not told")
	}
}

func TestAMachineWithoutARowIsEndedAtAProviderThatWasSwitchedOff(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		c.Mode = fleet.VPSOnly
		p := c.Providers["aws"]
		p.Enabled = false
		c.Providers["aws"] = p
	})
	c := l.world.Clouds["aws"]
	c.Put("fleet-in-memory", 2, c.Offer(xlarge, "a", fleet.OnDemand, 0).Place)
	if l.run(5); l.live() != 0 {
		t.Errorf("%d machines are left", l.live())
	}
	c.SetFaults(failing("Inventory", fleet.Permanent)) // as without a key
	for range 20 {
		if r := l.tick(); len(r.Snapshot.Faults) > 0 {
			t.Fatalf("that it does not answer is a fault: %+v", r.Snapshot.Faults)
		}
	}
	if n := calls(c, "Inventory"); n > 8 {
		t.Errorf("it was listed %d times in 25 minutes", n)
	}
}

func TestALaunchThatNobodyWaitsForAnyMoreIsRefused(t *testing.T) {
	l := newLoop(t, nil)
	old := fleet.Request{ID: "r-old", At: l.world.Clock.Now().Add(-62 * time.Minute), Do: fleet.KindLaunch, Queue: "media"}
	fresh := fleet.Request{ID: "r-new", At: l.world.Clock.Now().Add(-60 * time.Minute), Do: fleet.KindLaunch, Queue: "media"}
	for _, r := range []fleet.Request{old, fresh} {
		if err := l.store.Ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range l.tick().Decisions {
		if d.Request == old.ID && (d.Kind != fleet.KindHold || !d.Failed) || d.Request == fresh.ID && d.Kind != fleet.KindLaunch {
			t.Errorf("%s came to %s: %s", d.Request, d.Kind, d.Sentence)
		}
	}
	if l.live() != 1 || len(l.state().Requests) != 0 {
		t.Errorf("there are %d machines, and the requests %+v", l.live(), l.state().Requests)
	}
}

// putBack is a database whose clock was put back by an hour.
type putBack struct{ store fleet.Demand }

func (d putBack) Demand(ctx context.Context, queues []string) (time.Time, []fleet.QueueState, error) {
	at, states, err := d.store.Demand(ctx, queues)
	return at.Add(-time.Hour), states, err
}

func TestWhatWasBookedCountsThoughTheDatabasesClockIsPutBack(t *testing.T) {
	l := newLoop(t, nil)
	l.active(100 * time.Hour)
	l.run(180)
	before := l.tick().Snapshot.Spend
	p := l.parts()
	p.Demand = putBack{l.store}
	l.Scheduler, _ = fleet.New(p)
	r, err := l.Tick(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if now := r.Snapshot.Spend; now.Day < before.Day || now.Hour < before.Hour {
		t.Errorf("the day has cost %s and the hour %s, before it was %s and %s", now.Day, now.Hour, before.Day, before.Hour)
	}
}
