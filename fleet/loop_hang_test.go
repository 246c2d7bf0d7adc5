package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// deaf is a provider that does not even notice that its caller has given up,
// until it is let go.
type deaf struct {
	fleet.Provider
	letGo chan struct{}
}

func (p *deaf) Inventory(ctx context.Context, fleetID string) (fleet.Inventory, error) {
	<-p.letGo
	return p.Provider.Inventory(ctx, fleetID)
}

// twoProviders has queue ocr at google, beside media at aws.
func twoProviders(c *fleet.Config) {
	c.Providers["google"] = fleet.ProviderConfig{Enabled: true, Types: []string{"c2-standard-4"}, MaxInstances: 5}
	c.Queues["media"] = fleet.Queue{MaxWorkers: 3, CloudEnabled: true, CloudProvider: "aws"}
	c.Queues["ocr"] = fleet.Queue{MaxWorkers: 3, CloudEnabled: true, CloudProvider: "google"}
}

func (l *loop) enqueueOCR(n int) {
	for range n {
		l.store.Enqueue(fleettest.Job{Queue: "ocr", Priority: 1, Work: time.Hour})
	}
}

func TestAProviderThatHangsHoldsUpItsOwnQueuesOnly(t *testing.T) {
	for _, method := range []string{"Inventory", "Offers", "Launch"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLoop(t, twoProviders)
				l.tick() // once every provider has answered
				l.world.Clouds["aws"].SetFaults(func(c fleettest.Call) fleettest.Fault { return fleettest.Fault{Hang: c.Method == method} })
				l.enqueue(10, time.Hour)
				l.enqueueOCR(10)
				began := time.Now()
				l.tick()
				if took := time.Since(began); took > time.Minute {
					t.Errorf("the tick took %v", took)
				}
				if n := l.world.Clouds["google"].Live(); n != 1 {
					t.Errorf("the other provider has %d machines", n)
				}
			})
		})
	}
}

func TestAProviderThatNeverAnswersIsNotCalledForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, twoProviders)
		p := l.parts()
		hung := &deaf{p.Providers["aws"], make(chan struct{})}
		p.Providers["aws"] = hung
		l.Scheduler, _ = fleet.New(p)
		for range 10 {
			began := time.Now()
			l.tick()
			if took := time.Since(began); took > time.Minute {
				t.Fatalf("a tick took %v", took)
			}
		}
		r := l.tick()
		f := r.Snapshot.Fault("provider:aws")
		if f == nil || !strings.Contains(f.Reason, "4 earlier calls have not come back") {
			t.Errorf("the fault is %+v", f)
		}
		close(hung.letGo)
		synctest.Wait()
		if r = l.tick(); r.Snapshot.Fault("provider:aws") != nil {
			t.Errorf("once it answers again the faults are %+v", r.Snapshot.Faults)
		}
	})
}

func TestALaunchThatHangsIsTriedOnceATickAndResolvedByTheInventory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, func(c *fleet.Config) { c.Policy = fleet.PolicySteps })
		c := l.world.Clouds["aws"]
		c.SetFaults(func(x fleettest.Call) fleettest.Fault {
			return fleettest.Fault{Hang: x.Method == "Launch", After: true} // it is carried out all the same
		})
		l.enqueue(200, time.Hour)
		l.tick()
		if n := calls(c, "Launch"); n != 1 || l.live() != 1 {
			t.Errorf("%d launches were tried, %d machines are there", n, l.live())
		}
		c.SetFaults(nil)
		l.tick()
		if rows := l.rows(); len(rows) != 3 || l.live() != 3 || len(l.of(fleet.KindAdopt)) != 1 {
			t.Errorf("there are %d rows and %d machines:\n%s", len(rows), l.live(), l.story(12))
		}
	})
}

// away has every call of the database fail, and Redis with it.
func away(context.Context, string) error { return errors.New("connection refused") }

func TestMoneyIsCountedAndTheDailyLimitHoldsWithoutADatabase(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.Limits.Daily = fleet.Cents(60) })
	w := l.active(100 * time.Hour) // of 20 cents an hour
	c := l.world.Clouds["aws"]
	l.store.SetHooks(fleettest.Hooks{Before: away})
	ticks := 0
	for ; calls(c, "Terminate") == 0 && ticks < 300; ticks++ {
		if _, err := l.Tick(t.Context()); err == nil {
			t.Fatal("the tick says that it was recorded")
		}
		l.after()
	}
	cost := c.Billed(at(0, 0), l.world.Clock.Now())
	if l.world.Advance(time.Minute); c.Live() != 0 {
		t.Fatalf("after %d ticks and %s the machine is still there", ticks, cost)
	}
	if cost > fleet.Cents(60) || cost < fleet.Cents(50) {
		t.Errorf("it was ended at %s, the limit is 60 cents", cost)
	}
	l.store.SetHooks(fleettest.Hooks{})
	r := l.tick()
	if r.Snapshot.Latch == nil && len(kinds(r.Decisions, fleet.KindRevert)) == 0 {
		t.Error("the latch is not set")
	}
	if r = l.tick(); r.Snapshot.Latch == nil {
		t.Error("the latch is not in the store")
	}
	l.until("the row is closed", func() bool { return l.row(w.ID).Status == fleet.Terminated })
	var booked fleet.Money
	for _, e := range l.store.AllEntries() {
		booked += e.Amount
	}
	if paid := c.Billed(at(0, 0), l.world.Clock.Now()); booked < paid || booked > paid+fleet.Cents(5) {
		t.Errorf("%s were booked, %s paid", booked, paid)
	}
	l.enqueue(50, time.Hour)
	if l.run(10); l.live() != 0 {
		t.Error("machines were launched with the latch set")
	}
}

func TestADayThatBeginsWithoutADatabaseBeginsWithoutCost(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.Limits.Daily = fleet.Cents(400) })
	l.active(100 * time.Hour)
	l.store.SetHooks(fleettest.Hooks{Before: away})
	for l.world.Clock.Now().Before(at(24, 10)) {
		r, _ := l.Tick(t.Context())
		if s := r.Snapshot; s.At.After(at(24, 5)) && (s.Spend.Day > fleet.Cents(4) || s.Spend.Day == 0 || !s.Spend.Extrapolated) {
			t.Fatalf("at %s it counts %s for the day (extrapolated %t)", s.At, s.Spend.Day, s.Spend.Extrapolated)
		}
		l.world.Clock.Advance(time.Minute)
	}
	if l.live() != 1 {
		t.Error("the machine was ended")
	}
}

// lame takes 40 seconds to launch a machine.
type lame struct{ fleet.Provider }

func (p lame) Launch(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
	pass(40 * time.Second)
	return p.Provider.Launch(ctx, r)
}

// dawdling takes 20 seconds for a notice.
type dawdling struct{}

func (dawdling) Notify(context.Context, fleet.Notice) error {
	pass(20 * time.Second)
	return nil
}

func TestManyCallsThatAreSlowKeepNoTickFromComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, func(c *fleet.Config) {
			c.Queues["media"] = fleet.Queue{MaxWorkers: 100, CloudEnabled: true}
			c.Providers["aws"] = fleet.ProviderConfig{Enabled: true, Types: []string{xlarge}, MaxInstances: 100}
			c.Limits = fleet.Limits{Hourly: fleet.Cents(100_000), Daily: fleet.Cents(100_000)}
		})
		p := l.parts()
		p.Providers["aws"], p.Notifier = lame{p.Providers["aws"]}, dawdling{}
		l.Scheduler, _ = fleet.New(p)
		l.ask(fleet.Request{Do: fleet.KindLaunch, Queue: "media", Count: 100})
		for range 3 {
			began := time.Now()
			l.tick()
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("the tick took %v", took)
			}
		}
		if n := len(l.rows()); n < 2 || n != l.live() {
			t.Errorf("there are %d rows for %d machines", n, l.live())
		}
	})
}
