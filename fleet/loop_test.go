package fleet_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// loop is a scheduler over a world, ticked by the test.
type loop struct {
	t     *testing.T
	world *fleettest.World
	store *fleettest.Store
	cfg   fleet.Config
	*fleet.Scheduler
	point func(step string) // the failpoint; nil none
	told  notices
	peak  int // most machines at once
}

// notices is a Notifier that keeps what it was told.
type notices struct {
	mu   sync.Mutex
	list []fleet.Notice
}

func (n *notices) Notify(_ context.Context, x fleet.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, x)
	return nil
}

func (n *notices) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.list, func(x fleet.Notice) bool { return x.Name == name })
}

func at(hour, minute int) time.Time { return time.Date(2026, 12, 1, hour, minute, 0, 0, time.UTC) }

const xlarge = "c6i.xlarge"

// newLoop is a scheduler in mode hybrid, with a queue called media that may have
// three workers at a provider called aws.
func newLoop(t *testing.T, change func(*fleet.Config)) *loop {
	t.Helper()
	l := &loop{t: t, world: fleettest.NewWorld(at(10, 0))}
	l.store = l.world.Store
	l.cfg = fleet.Config{
		Mode: fleet.Hybrid, EvaluationInterval: time.Minute, Policy: fleet.PolicySeed, Location: time.UTC,
		TargetDrain: 5 * time.Minute, MaxTerminations: 5, RegistrationTime: 10 * time.Minute,
		Queues:    map[string]fleet.Queue{"media": {MaxWorkers: 3, CloudEnabled: true}},
		Providers: map[string]fleet.ProviderConfig{"aws": {Enabled: true, Types: []string{xlarge}, MaxInstances: 5, Image: "ami-1"}},
		ScaleUp:   fleet.ScaleUp{QueueDepth: 10, OldestAge: 5 * time.Minute, Cooldown: 2 * time.Minute},
		ScaleDown: fleet.ScaleDown{Idle: 10 * time.Minute, QueueBelow: 2, Cooldown: 5 * time.Minute},
		Limits:    fleet.Limits{Hourly: fleet.Cents(500), Daily: fleet.Cents(5000)},
	}
	if change != nil {
		change(&l.cfg)
	}
	for name, p := range l.cfg.Providers {
		c := l.world.AddCloud(name)
		for _, kind := range p.Types {
			c.SetOffer(c.Offer(kind, "a", fleet.OnDemand, 20*fleet.Cent))
		}
		c.SetKnobs(func(k *fleettest.Knobs) { k.Boot, k.Shutdown = time.Minute, 30*time.Second })
	}
	l.restart()
	return l
}

// restart is a new scheduler, which knows nothing but what is written down.
func (l *loop) restart() {
	l.t.Helper()
	s, err := fleet.New(l.parts())
	if err != nil {
		l.t.Fatal(err)
	}
	l.Scheduler = s
}

func (l *loop) parts() fleet.Parts {
	return fleet.Parts{
		Demand: l.store, Depths: l.store, Rows: l.store, Drains: l.store, Ledger: l.store, Providers: l.world.Providers(),
		Notifier: &l.told, Elector: l.store, Config: func() fleet.Config { return l.cfg }, Clock: l.world.Clock.Now,
		Log: slog.New(slog.DiscardHandler),
		Failpoint: func(step string) {
			if l.point != nil {
				l.point(step)
			}
		},
	}
}

// tick does one round, and moves the world on by a minute.
func (l *loop) tick() fleet.Report {
	l.t.Helper()
	r, err := l.Tick(l.t.Context())
	if err != nil {
		l.t.Fatalf("at %s: %v", l.world.Clock.Now().Format(time.TimeOnly), err)
	}
	l.after()
	return r
}

func (l *loop) after() {
	l.peak = max(l.peak, l.live())
	l.world.Advance(time.Minute)
	l.peak = max(l.peak, l.live())
}

func (l *loop) live() int {
	n := 0
	for _, c := range l.world.Clouds {
		n += c.Live()
	}
	return n
}

// run ticks for some minutes.
func (l *loop) run(minutes int) {
	l.t.Helper()
	for range minutes {
		l.tick()
	}
}

// until ticks until what is said has come about, for two hours at most.
func (l *loop) until(what string, is func() bool) {
	l.t.Helper()
	for range 120 {
		if is() {
			return
		}
		l.tick()
	}
	l.t.Fatalf("after two hours it has not come about that %s; the last decisions:\n%s", what, l.story(12))
}

// story is the latest decisions in words.
func (l *loop) story(n int) string {
	var lines []string
	all := l.store.AllDecisions()
	for _, d := range all[max(0, len(all)-n):] {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s [%s]", d.At.Format(time.TimeOnly), d.Kind, d.Rule, d.Sentence, d.Outcome))
	}
	return strings.Join(lines, "\n")
}

// enqueue puts jobs of priority 1, so that they are for machines on demand.
func (l *loop) enqueue(n int, work time.Duration) {
	for range n {
		l.store.Enqueue(fleettest.Job{Queue: "media", Priority: 1, Work: work})
	}
}

// rows are the workers that are not terminated.
func (l *loop) rows() []fleet.Worker {
	l.t.Helper()
	list, err := l.store.Fleet(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	return list
}

// of picks the decisions of a kind, of all that were recorded.
func (l *loop) of(kind fleet.Kind) []fleet.Decision {
	return slices.DeleteFunc(l.store.AllDecisions(), func(d fleet.Decision) bool { return d.Kind != kind })
}

func kinds(ds []fleet.Decision, kind fleet.Kind) []fleet.Decision {
	return slices.DeleteFunc(slices.Clone(ds), func(d fleet.Decision) bool { return d.Kind != kind })
}

func TestABurstBringsMachinesThatGoAgain(t *testing.T) {
	l := newLoop(t, nil)
	l.enqueue(40, 2*time.Minute)
	l.until("a worker is active", func() bool {
		return slices.ContainsFunc(l.rows(), func(w fleet.Worker) bool { return w.Status == fleet.Active })
	})
	l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 40 })
	l.until("no machine and no row is left", func() bool { return l.live() == 0 && len(l.rows()) == 0 })
	if l.peak != 3 {
		t.Errorf("there were %d machines at once, max_workers is 3", l.peak)
	}
	if n := l.store.Ended("released"); n != 0 {
		t.Errorf("%d jobs were given back", n)
	}
	if launches := l.of(fleet.KindLaunch); len(launches) != 3 || launches[0].Sentence != "Scaling up media: depth=40, oldest=0s" {
		t.Errorf("%d launches, the first says %q", len(launches), launches[0].Sentence)
	}
	for _, d := range l.of(fleet.KindTerminate) {
		if want := fmt.Sprintf("Scaling down worker %s: idle for ", d.WorkerID); !strings.HasPrefix(d.Sentence, want) {
			t.Errorf("a termination says %q", d.Sentence)
		}
	}
}

// loseLaunches loses the answers of launches, which it counts.
func loseLaunches(n *int) func(fleettest.Call) fleettest.Fault {
	return func(c fleettest.Call) fleettest.Fault {
		if c.Method != "Launch" {
			return fleettest.Fault{}
		}
		*n++
		return fleettest.LoseAnswer()
	}
}

// failing fails calls of a method with an outcome.
func failing(method string, o fleet.Outcome) func(fleettest.Call) fleettest.Fault {
	return func(c fleettest.Call) fleettest.Fault {
		if c.Method != method {
			return fleettest.Fault{}
		}
		return fleettest.Fail(o)
	}
}

// pass lets time pass where it is not real.
func pass(d time.Duration) { <-time.After(d) }
