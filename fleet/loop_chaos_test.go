package fleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// chaos has whatever can go wrong go wrong at random, the same for each seed.
type chaos struct {
	mu  sync.Mutex
	rnd *rand.Rand // guarded by mu: two lanes may ask at once
}

func (c *chaos) one(in int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.IntN(in) == 0
}

// cloud loses answers, is full, or is asked too often.
func (c *chaos) cloud(x fleettest.Call) fleettest.Fault {
	switch {
	case c.one(12):
		return fleettest.LoseAnswer()
	case c.one(12):
		return fleettest.Fail(fleet.Unknown)
	case x.Method == "Launch" && c.one(6):
		return fleettest.Fail(fleet.NoCapacity)
	case c.one(30):
		return fleettest.Fail(fleet.Throttled)
	case x.Method == "Launch" && c.one(20):
		return fleettest.Fault{Vanish: true}
	}
	return fleettest.Fault{}
}

// database fails before or after it has done something.
func (c *chaos) database() fleettest.Hooks {
	fail := func(_ context.Context, method string) error {
		if method != "Held" && c.one(60) {
			return fmt.Errorf("%s: connection reset", method)
		}
		return nil
	}
	return fleettest.Hooks{Before: fail, After: fail}
}

// chaoticTick ticks, and may die before any step.
func (l *loop) chaoticTick(c *chaos) {
	l.t.Helper()
	l.point = func(step string) {
		if c.one(40) {
			panic(died{step})
		}
	}
	defer func() {
		l.point = nil
		if cause := recover(); cause != nil {
			if _, ours := cause.(died); !ours {
				panic(cause)
			}
			l.after()
			l.restart()
		}
	}()
	_, _ = l.Tick(l.t.Context()) // what it could not record is one of the things that go wrong
	l.after()
}

func TestWhateverGoesWrongNoMachineAndNoJobIsForgotten(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c := &chaos{rnd: rand.New(rand.NewPCG(seed, 1))}
			l := newLoop(t, func(cfg *fleet.Config) {
				cfg.Providers["google"] = fleet.ProviderConfig{Enabled: true, Types: []string{"c2-standard-4"}, MaxInstances: 5}
				cfg.ScaleUp.Cooldown = time.Minute
			})
			for _, cloud := range l.world.Clouds {
				cloud.SetKnobs(func(k *fleettest.Knobs) { k.Lag, k.LeaveDisks = 30*time.Second, seed%2 == 0 })
				cloud.SetFaults(c.cloud)
			}
			l.store.SetHooks(c.database())
			l.enqueue(60, 3*time.Minute)
			for range 60 {
				l.chaoticTick(c)
			}
			for _, cloud := range l.world.Clouds {
				cloud.SetFaults(nil)
			}
			l.store.SetHooks(fleettest.Hooks{})
			l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 60 })
			l.until("no machine, row or disk is left", func() bool {
				return l.live() == 0 && len(l.rows()) == 0 && l.world.Clouds["aws"].Disks()+l.world.Clouds["google"].Disks() == 0
			})
			if l.peak > 3 {
				t.Errorf("there were %d machines at once, max_workers is 3", l.peak)
			}
			checkBooks(t, l)
		})
	}
}

// checkBooks says whether what was booked covers what is paid: not less, as
// limits are held against it.
func checkBooks(t *testing.T, l *loop) {
	t.Helper()
	l.run(40) // reconciled twice
	var paid, booked fleet.Money
	for _, c := range l.world.Clouds {
		paid += c.Billed(at(0, 0), l.world.Clock.Now())
	}
	for _, e := range l.store.AllEntries() {
		booked += e.Amount
	}
	if booked < paid-fleet.Cent || booked > paid+paid/2+5*fleet.Cent {
		t.Errorf("%s were booked, %s paid", booked, paid)
	}
}

func TestACrashBetweenTwoCandidatesLeaksNoMachine(t *testing.T) {
	for _, step := range []string{"provision", "launch", "move", "attach"} {
		t.Run(step, func(t *testing.T) {
			l := newLoop(t, func(c *fleet.Config) {
				c.Providers["google"] = fleet.ProviderConfig{Enabled: true, Types: []string{"c2-standard-4"}, MaxInstances: 5}
				c.ProviderPreference = []string{"aws"}
			})
			l.world.Clouds["aws"].SetFaults(failing("Launch", fleet.NoCapacity))
			l.enqueue(20, 2*time.Minute)
			nth := 1
			if step == "launch" {
				nth = 2 // that of the second candidate
			}
			l.crashAt(step, nth)
			l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 20 })
			l.until("all are gone", func() bool { return l.live() == 0 && len(l.rows()) == 0 })
			if l.peak > 3 {
				t.Errorf("there were %d machines at once", l.peak)
			}
		})
	}
}
