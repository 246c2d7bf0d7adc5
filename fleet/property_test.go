package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// TestNothingIsOverspentOrForgotten runs schedulers in worlds in which anything
// fails at random, and holds them to what must never happen: money over a limit,
// more machines than a cap, a worker ended in the middle of a job before its
// deadline, a machine that is forgotten, anything created in vps_only.
func TestNothingIsOverspentOrForgotten(t *testing.T) {
	const worlds, ticks = 30, 150
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprintf("in world %d", seed), func(t *testing.T) {
			p := newProperty(t, seed)
			for range ticks {
				p.change()
				p.tick()
				if t.Failed() {
					return
				}
			}
			p.settle()
		})
	}
}

// property is one world, its scheduler, and what must hold.
type property struct {
	t     *testing.T
	rng   *rand.Rand
	world *fleettest.World
	cfg   fleet.Config
	s     *fleet.Scheduler

	databaseAway, redisAway int // ticks that are left of it
	// unruly is false once all faults have ended.
	unruly bool

	mu sync.Mutex // guards all below: providers are called side by side
	// lost draws which answers of the database do not arrive.
	lost *rand.Rand
	// launches were asked for in this tick, and blind it was when a call of the
	// database failed.
	launches []fleet.LaunchRequest
	blind    bool
	killed   map[string]bool // workers that died without a word
	story    []string        // the last decisions, for a failure
}

type silent struct{}

func (silent) Notify(context.Context, fleet.Notice) error { return nil }

func newProperty(t *testing.T, seed uint64) *property {
	p := &property{t: t, rng: rand.New(rand.NewPCG(seed, 6)), lost: rand.New(rand.NewPCG(seed, 7)), unruly: true, killed: map[string]bool{}}
	// Some worlds cross midnight.
	p.world = fleettest.NewWorld(time.Date(2026, 12, 1, 12+p.rng.IntN(12), p.rng.IntN(60), 0, 0, time.UTC))
	p.cfg = p.config()
	for _, name := range []string{"aws", "google"} {
		p.cloud(name)
	}
	p.world.AddVPS("vps-1", 2, "images", "media", "bulk")
	p.world.Store.SetHooks(fleettest.Hooks{Before: p.before, After: p.after})
	p.restart()
	return p
}

// config is one in which limits bind.
func (p *property) config() fleet.Config {
	pick := func(n ...int64) fleet.Money { return fleet.Cents(n[p.rng.IntN(len(n))]) }
	cfg := fleet.Config{
		Mode: fleet.Hybrid, Policy: fleet.PolicySeed, EvaluationInterval: time.Minute, Location: time.UTC, TargetDrain: 5 * time.Minute,
		MaxTerminations: 5, RegistrationTime: 6 * time.Minute,
		Queues: map[string]fleet.Queue{
			"images": {BaselineWorkers: 1, MaxWorkers: 1},
			"media":  {MaxWorkers: 2 + p.rng.IntN(8), CloudEnabled: true},
			"bulk":   {MaxWorkers: 2 + p.rng.IntN(8), CloudEnabled: true, SpotPreferred: true},
		},
		Providers: map[string]fleet.ProviderConfig{
			"aws": {Enabled: true, Region: "aws-1", Types: []string{"small", "large"}, Image: "ami", MaxInstances: 1 + p.rng.IntN(6), Spot: true,
				SpotMaxPrice: pick(0, 12), Surcharge: pick(0, 1), Slots: 1 + p.rng.IntN(2)},
			"google": {Enabled: p.rng.IntN(3) > 0, Zone: "google-1b", Types: []string{"small", "large"}, Image: "img", MaxInstances: 1 + p.rng.IntN(6), Spot: p.rng.IntN(2) > 0},
		},
		ScaleUp:   fleet.ScaleUp{QueueDepth: 3, OldestAge: 2 * time.Minute, Cooldown: time.Minute},
		ScaleDown: fleet.ScaleDown{Idle: 3 * time.Minute, QueueBelow: 2, Cooldown: time.Minute},
		Limits:    fleet.Limits{Hourly: pick(45, 80, 120, 500), Daily: pick(60, 120, 200, 5000)},
	}
	switch p.rng.IntN(4) {
	case 0:
		cfg.Mode = fleet.CloudFirst
	case 1:
		cfg.Policy = fleet.PolicySteps
	case 2:
		cfg.Policy, cfg.MinLifetime = fleet.PolicyBacklog, 15*time.Minute
	}
	return cfg
}

func (p *property) cloud(name string) {
	c := p.world.AddCloud(name)
	for kind, cents := range map[string]int64{"small": 20, "large": 34} {
		for _, zone := range []string{name + "-1a", name + "-1b"} {
			c.SetOffer(p.offer(c, kind, zone, fleet.OnDemand, cents))
			c.SetOffer(p.offer(c, kind, zone, fleet.Spot, cents/4))
		}
	}
	c.SetKnobs(func(k *fleettest.Knobs) {
		k.Boot = time.Duration(30+p.rng.IntN(150)) * time.Second
		k.Shutdown = time.Duration(p.rng.IntN(45)) * time.Second
		k.Lag = time.Duration(p.rng.IntN(60)) * time.Second
		k.Remember = time.Duration(1+p.rng.IntN(60)) * time.Minute
		k.Page, k.Quota, k.LeaveDisks = 1+p.rng.IntN(4), 3+p.rng.IntN(8), p.rng.IntN(2) == 0
	})
	f := faults{p: p, rng: rand.New(rand.NewPCG(p.rng.Uint64(), 8)), failed: map[string]bool{}}
	c.SetFaults(f.next)
}

// offer has a ceiling: the price on demand, for a spot machine without a bid.
func (p *property) offer(c *fleettest.Cloud, kind, zone string, m fleet.Market, cents int64) fleet.Offer {
	o := c.Offer(kind, zone, m, fleet.Cents(cents))
	if m == fleet.Spot {
		o.Ceiling = fleet.Cents(map[string]int64{"small": 20, "large": 34}[kind])
		o.Granularity = time.Minute
	}
	return o
}

// restart is a scheduler that remembers no more than the store does.
func (p *property) restart() {
	providers := map[string]fleet.Provider{}
	for name, c := range p.world.Clouds {
		providers[name] = watched{c, p}
	}
	s, err := fleet.New(fleet.Parts{
		Demand: p.world.Store, Depths: p.world.Store, Rows: p.world.Store, Drains: p.world.Store, Ledger: p.world.Store,
		Providers: providers, Notifier: silent{}, Elector: p.world.Store, Config: func() fleet.Config { return p.cfg },
		Clock: p.world.Clock.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.s = s
}

var errAway = errors.New("connection refused")

func (p *property) before(_ context.Context, method string) error {
	if method == "Depths" {
		if p.redisAway > 0 {
			return errAway
		}
		return nil
	}
	if p.databaseAway > 0 {
		p.blinded()
		return errAway
	}
	return nil
}

func (p *property) blinded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blind = true
}

// after loses an answer of the database here and there. What ends machines at
// the daily limit has to work at once, or in the next tick: that is all the time
// the limit allows for.
func (p *property) after(_ context.Context, method string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unruly && !slices.Contains([]string{"Drain", "Terminating", "Depths"}, method) && p.lost.IntN(100) == 0 {
		p.blind = true
		return errAway
	}
	return nil
}

// faults are what goes wrong with the calls of one cloud, which asks for them
// one after the other.
type faults struct {
	p      *property
	rng    *rand.Rand
	failed map[string]bool // machines whose last Terminate failed: the next one works
}

func (f *faults) next(call fleettest.Call) fleettest.Fault {
	if !f.p.unruly || f.rng.IntN(12) > 0 {
		return fleettest.Fault{}
	}
	switch call.Method {
	case "Terminate":
		if f.failed[call.ID] = !f.failed[call.ID]; f.failed[call.ID] {
			return fleettest.LoseAnswer()
		}
		return fleettest.Fault{}
	case "Launch":
		return []fleettest.Fault{
			fleettest.Fail(fleet.NoCapacity), fleettest.Fail(fleet.NoCapacity), fleettest.Fail(fleet.OverQuota), fleettest.Fail(fleet.Throttled),
			fleettest.Fail(fleet.Permanent), {Err: errAway}, fleettest.LoseAnswer(), {Vanish: true},
		}[f.rng.IntN(8)]
	}
	return fleettest.Fault{Err: errAway}
}
