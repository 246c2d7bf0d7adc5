package fleet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// counted counts who asks a store for its state: that is once a tick.
type counted struct {
	fleet.Ledger
	n atomic.Int64
}

func (c *counted) State(ctx context.Context) (fleet.State, error) {
	c.n.Add(1)
	return c.Ledger.State(ctx)
}

// rivals are schedulers of one store that run.
func (l *loop) rivals(n int) (ticks []*counted, stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	ended := make(chan error, n)
	for range n {
		p, c := l.parts(), &counted{Ledger: l.store}
		p.Ledger = c
		s, err := fleet.New(p)
		if err != nil {
			l.t.Fatal(err)
		}
		ticks = append(ticks, c)
		go func() { ended <- s.Run(ctx) }()
	}
	return ticks, func() {
		cancel()
		for range n {
			if err := <-ended; err != nil {
				l.t.Errorf("Run ended with %v", err)
			}
		}
	}
}

func TestOneSchedulerOfManyActsAndAnotherTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, nil)
		ticks, stop := l.rivals(3)
		pass(10*time.Minute + time.Second)
		acting := func() []*counted {
			return slices.DeleteFunc(slices.Clone(ticks), func(c *counted) bool { return c.n.Load() == 0 })
		}
		if a := acting(); len(a) != 1 || a[0].n.Load() != 11 {
			t.Fatalf("%d schedulers acted in the first ten minutes", len(a))
		}
		for range 20 { // the one that lost it may win it back
			l.store.Depose("scheduler")
			pass(20 * time.Second)
		}
		if len(acting()) < 2 {
			t.Errorf("nobody took over")
		}
		stop()
	})
}

func TestRunRefusesAProviderThatIsNotInTheProgram(t *testing.T) {
	l := newLoop(t, nil)
	l.cfg.Providers["ionos"] = fleet.ProviderConfig{Enabled: true}
	err := l.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ionos") {
		t.Errorf("Run answered %v", err)
	}
	if _, err = l.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "ionos") {
		t.Errorf("Once answered %v", err)
	}
}

func TestNewNamesThePartsThatAreMissing(t *testing.T) {
	_, err := fleet.New(fleet.Parts{})
	if err == nil || !strings.Contains(err.Error(), "Clock, Config, Demand, Drains, Elector, Ledger, Log, Notifier, Rows") {
		t.Errorf("New answered %v", err)
	}
}

func TestALeaderThatLosesTheDatabaseGuardsTheMoneyAndStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, func(c *fleet.Config) { c.Limits.Daily = fleet.Cents(60) })
		l.active(100 * time.Hour)
		p := l.parts()
		begun, sleeping := l.world.Clock.Now(), time.Now()
		p.Clock = func() time.Time { return begun.Add(time.Since(sleeping)) }
		s, err := fleet.New(p)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		pass(30 * time.Second)
		c := l.world.Clouds["aws"]
		launches := calls(c, "Launch")
		l.enqueue(50, time.Hour)
		l.store.SetHooks(fleettest.Hooks{Before: away}) // elections fail as well
		pass(3 * time.Hour)
		if calls(c, "Terminate") == 0 || l.live() != 1 { // the world stands still, so it goes on stopping
			t.Error("the machine was not ended at the daily limit")
		}
		if n := calls(c, "Launch") - launches; n != 0 {
			t.Errorf("%d machines were launched", n)
		}
		l.store.SetHooks(fleettest.Hooks{})
		pass(2 * time.Minute)
		if state, err := l.store.State(t.Context()); err != nil || state.Latch == nil {
			t.Errorf("the latch in the store is %v, %v", state.Latch, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestADryRunChangesNothing(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		c.Providers["ionos"] = fleet.ProviderConfig{
			Enabled: true, Types: []string{"cube-l"}, MaxInstances: 2, Prices: map[string]fleet.Price{"cube-l": {OnDemand: 3 * fleet.Cent}},
		}
	})
	p := l.parts()
	delete(p.Providers, "ionos")
	l.Scheduler, _ = fleet.New(p)
	l.enqueue(40, time.Hour)
	l.store.SetHooks(fleettest.Hooks{Before: func(_ context.Context, method string) error {
		if !slices.Contains([]string{"State", "Demand", "Fleet", "Spent", "Depths", "Bills"}, method) {
			t.Errorf("it called %s", method)
		}
		return nil
	}})
	r, err := l.DryRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	launches := kinds(r.Decisions, fleet.KindLaunch)
	if len(launches) != 1 || launches[0].Provider != "ionos" || launches[0].Outcome != fleet.OutcomeDryRun || len(launches[0].Rejected) == 0 {
		t.Errorf("it decided %+v", launches)
	}
	for name, c := range l.world.Clouds {
		if calls(c, "Launch")+calls(c, "Terminate")+calls(c, "RemoveDisk") > 0 {
			t.Errorf("it called %s", name)
		}
	}
}

func TestWhatAnOperatorAsksForIsAnsweredUnderTheSameLimits(t *testing.T) {
	cases := map[string]struct {
		change  func(*fleet.Config)
		request fleet.Request
		rule    string // of the refusal; "" it is granted
		made    int
	}{
		"a launch":                               {nil, fleet.Request{Do: fleet.KindLaunch, Queue: "media", Count: 2}, "", 2},
		"a launch for a queue that never bursts": {func(c *fleet.Config) { c.Queues["media"] = fleet.Queue{MaxWorkers: 3} }, fleet.Request{Do: fleet.KindLaunch, Queue: "media"}, "", 1},
		"more than max_workers":                  {nil, fleet.Request{Do: fleet.KindLaunch, Queue: "media", Count: 5}, "max_workers", 3},
		"in vps_only":                            {func(c *fleet.Config) { c.Mode = fleet.VPSOnly }, fleet.Request{Do: fleet.KindLaunch, Queue: "media"}, "mode", 0},
		"over the hourly limit":                  {func(c *fleet.Config) { c.Limits.Hourly = fleet.Cents(30) }, fleet.Request{Do: fleet.KindLaunch, Queue: "media", Count: 3}, "hourly_limit", 1},
		"at a provider that is not there":        {nil, fleet.Request{Do: fleet.KindLaunch, Queue: "media", Provider: "awss"}, "provider", 0},
		"at a provider that is not enabled": {func(c *fleet.Config) {
			c.Providers["google"] = fleet.ProviderConfig{}
		}, fleet.Request{Do: fleet.KindLaunch, Queue: "media", Provider: "google"}, "provider", 0},
		"of a queue that is not there":  {nil, fleet.Request{Do: fleet.KindLaunch, Queue: "medai"}, "queue", 0},
		"of a worker that is not there": {nil, fleet.Request{Do: fleet.KindDrain, WorkerID: "w-9"}, "worker", 0},
		"to end a VPS worker":           {nil, fleet.Request{Do: fleet.KindTerminate, WorkerID: "vps-1"}, "vps", 0},
		"of what nobody can do":         {nil, fleet.Request{Do: fleet.KindSweep}, "request", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLoop(t, c.change)
			l.world.AddVPS("vps-1", 1, "media")
			c.request.ID = fleet.RequestID(at(10, 0))
			got, err := l.Ask(t.Context(), l.store, c.request)
			if err != nil {
				t.Fatal(err)
			}
			refused := slices.DeleteFunc(slices.Clone(got), func(d fleet.Decision) bool { return d.Kind != fleet.KindHold })
			if n := len(kinds(got, fleet.KindLaunch)); n != c.made || l.live() != c.made {
				t.Errorf("%d machines were launched, %d are there", n, l.live())
			}
			if (c.rule == "") != (len(refused) == 0) || len(refused) > 0 && refused[0].Rule != c.rule {
				t.Errorf("it was refused: %+v", refused)
			}
			for _, d := range got {
				if d.Origin != fleet.OriginManual || d.Request != c.request.ID {
					t.Errorf("decision %+v does not say whose it is", d)
				}
			}
			before := len(l.store.AllDecisions())
			l.tick()
			for _, d := range l.store.AllDecisions()[before:] {
				if d.Request != "" {
					t.Errorf("it was answered again: %s", d.Sentence)
				}
			}
		})
	}
}

func TestARequestIsNotCarriedOutTwiceAfterACrash(t *testing.T) {
	// A launch that was begun is not begun again: whether there is a machine is
	// for the inventory to tell, and here there is none.
	for step, want := range map[string]int{"provision": 2, "launch": 1, "attach": 2, "record": 2} {
		t.Run(step, func(t *testing.T) {
			l := newLoop(t, nil)
			l.ask(fleet.Request{Do: fleet.KindLaunch, Queue: "media", Count: 2, For: 2 * time.Hour})
			if !l.crash(step, 1) {
				t.Fatal("it did not come to that")
			}
			l.run(10)
			if n := l.live(); n != want || len(l.rows()) != want {
				t.Errorf("%d machines and %d rows are there:\n%s", n, len(l.rows()), l.story(12))
			}
			for _, w := range l.rows() {
				if w.Origin != fleet.OriginManual || w.KeepUntil.IsZero() {
					t.Errorf("the row is %+v", w)
				}
			}
			l.run(130)
			if n := l.live(); n != 0 {
				t.Errorf("after two hours %d are still there", n)
			}
		})
	}
}

func TestAnOperatorsEndWaitsForJobsUntilItsDeadline(t *testing.T) {
	for _, do := range []fleet.Kind{fleet.KindDrain, fleet.KindTerminate} {
		t.Run(string(do), func(t *testing.T) {
			l := newLoop(t, func(c *fleet.Config) { c.Queues["media"] = fleet.Queue{MaxWorkers: 1, CloudEnabled: true} })
			w := l.active(10 * time.Hour)
			began := l.world.Clock.Now()
			l.ask(fleet.Request{Do: do, WorkerID: w.ID})
			l.until("it is gone", func() bool { return l.row(w.ID).Status == fleet.Terminated })
			took := l.row(w.ID).TerminateAt.Sub(began)
			least := map[fleet.Kind]time.Duration{fleet.KindDrain: 5 * time.Minute, fleet.KindTerminate: 2 * time.Minute}[do]
			if took < least || took > least+2*time.Minute {
				t.Errorf("its end was asked for after %v", took)
			}
		})
	}
}

func TestOnceLeavesTheWorkToTheLeader(t *testing.T) {
	l := newLoop(t, nil)
	e, err := l.store.Elect(t.Context(), "scheduler")
	if err != nil || e == nil {
		t.Fatal(err)
	}
	if _, err := l.Once(t.Context()); !errors.Is(err, fleet.ErrNotLeader) {
		t.Errorf("while another is elected it answers %v", err)
	}
	e.Release()
	if _, err := l.Once(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAskWaitsForTheLeadersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, nil)
		_, stop := l.rivals(1)
		pass(10 * time.Second)
		got, err := l.Ask(t.Context(), l.store, fleet.Request{ID: "r1", Do: fleet.KindLaunch, Queue: "media"})
		if err != nil || len(got) != 1 || got[0].Failed {
			t.Errorf("it answers %+v, %v", got, err)
		}
		stop()
	})
}

func TestALeaderThatIsDeposedInTheMiddleOfALookTellsNoFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, nil)
		_, stop := l.rivals(1)
		pass(30 * time.Second)
		looking := make(chan struct{})
		l.store.SetHooks(fleettest.Hooks{Before: func(ctx context.Context, method string) error {
			if method != "Demand" {
				return nil
			}
			select {
			case <-looking:
				return nil
			default:
			}
			close(looking)
			<-ctx.Done() // until the tick is broken off
			return ctx.Err()
		}})
		<-looking
		l.store.Depose("scheduler")
		pass(30 * time.Second)
		if l.told.has("observation") {
			t.Errorf("it told %+v", l.told.list)
		}
		stop()
	})
}

func TestARefusalNamesWhatIsWrongAndHowManyWereWanted(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) { c.Providers["google"] = fleet.ProviderConfig{} })
	for provider, want := range map[string]string{
		"awss":   `Refused to launch media: the scheduler's file has no provider "awss"`,
		"google": "Refused to launch media: provider google is not enabled",
	} {
		got, err := l.Ask(t.Context(), l.store, fleet.Request{ID: "r-" + provider, Do: fleet.KindLaunch, Queue: "media", Provider: provider})
		if err != nil || len(got) != 1 || got[0].Sentence != want || got[0].Wanted != 1 || got[0].Allowed != 0 {
			t.Errorf("it answers %+v, %v", got, err)
		}
	}
}
