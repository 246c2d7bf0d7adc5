package process_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
	"github.com/spillway-media/spillway/fleet/process"
)

// loop is a scheduler over stand-ins. Both it and its provider are new in each
// tick, as if they crashed after each; what workers do is done for them.
type loop struct {
	*rig
	store *fleettest.Store
	cfg   fleet.Config
	works bool // workers register and work
}

type nobody struct{}

func (nobody) Notify(context.Context, fleet.Notice) error { return nil }

func newLoop(t *testing.T, standin string) *loop {
	l := &loop{rig: start(t, standin), works: true}
	l.store = fleettest.NewStore(func() time.Time { return l.now })
	l.cfg = fleet.Config{
		Mode: fleet.Hybrid, EvaluationInterval: time.Minute, Policy: fleet.PolicySeed, Location: time.UTC,
		TargetDrain: 5 * time.Minute, MaxTerminations: 5, RegistrationTime: 10 * time.Minute,
		Queues:    map[string]fleet.Queue{"images": {BaselineWorkers: 1, MaxWorkers: 3, CloudEnabled: true}},
		Providers: map[string]fleet.ProviderConfig{process.Name: {Enabled: true, Types: []string{process.Name}, MaxInstances: 5, Slots: 1}},
		ScaleUp:   fleet.ScaleUp{QueueDepth: 10, OldestAge: 5 * time.Minute, Cooldown: 2 * time.Minute},
		ScaleDown: fleet.ScaleDown{Idle: 10 * time.Minute, QueueBelow: 2, Cooldown: 5 * time.Minute},
		Limits:    fleet.Limits{Hourly: fleet.Cents(500), Daily: fleet.Cents(5000)},
	}
	return l
}

// tick decides and acts, and lets a minute pass.
func (l *loop) tick() {
	l.t.Helper()
	l.restart()
	s, err := fleet.New(fleet.Parts{
		Demand: l.store, Rows: l.store, Drains: l.store, Ledger: l.store, Elector: l.store, Notifier: nobody{},
		Providers: map[string]fleet.Provider{process.Name: l.p}, Config: func() fleet.Config { return l.cfg },
		Clock: func() time.Time { return l.now }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := s.Tick(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	for range 6 {
		l.now = l.now.Add(10 * time.Second)
		if l.works {
			l.work()
		}
	}
}

// work is what the workers of this fleet's processes do in ten seconds.
func (l *loop) work() {
	l.t.Helper()
	rows, err := l.store.Fleet(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, w := range rows {
		if w.InstanceID == "" || !w.TerminateAt.IsZero() {
			continue
		}
		l.store.Register(w.ID)
		for _, j := range l.store.Running() {
			if j.WorkerID == w.ID {
				l.store.Finish(w.ID, j.ID)
			}
		}
		l.store.Beat(w.ID, 50)
		l.store.Claim(w.ID)
	}
}

// alive are the processes that run, by the market of their workers.
func (l *loop) alive(market fleet.Market) int {
	l.t.Helper()
	state, err := l.store.State(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	all, err := l.p.Inventory(l.t.Context(), state.FleetID)
	if err != nil {
		l.t.Fatal(err)
	}
	return len(slices.DeleteFunc(all.Machines, func(m fleet.Machine) bool {
		return m.State == fleet.MachineTerminated || m.Market != market
	}))
}

func (l *loop) until(what string, is func() bool) {
	l.t.Helper()
	for range 90 {
		if is() {
			return
		}
		l.tick()
	}
	var story []string
	for _, d := range l.store.AllDecisions() {
		story = append(story, fmt.Sprintf("%s %s %s: %s [%s]", d.At.Format(time.TimeOnly), d.Kind, d.Rule, d.Sentence, d.Outcome))
	}
	l.t.Fatalf("it has not come about that %s:\n%s", what, strings.Join(story[max(0, len(story)-15):], "\n"))
}

func TestABurstBringsProcessesThatGoWhenItIsOver(t *testing.T) {
	for _, standin := range []string{"quiet", "deaf"} {
		t.Run("with a worker that is "+standin, func(t *testing.T) {
			l := newLoop(t, standin)
			l.until("the server has its own worker", func() bool { return l.alive(fleet.VPS) == 1 })
			for range 120 {
				l.store.Enqueue(fleettest.Job{Queue: "images", Priority: 5})
			}
			most := 0
			l.until("all jobs are done", func() bool {
				most = max(most, l.alive(fleet.OnDemand))
				return l.store.Ended("succeeded") == 120
			})
			if most == 0 || most > 2 {
				t.Errorf("%d processes helped the server's own, which may have two of them", most)
			}
			l.until("the burst is over", func() bool { return l.alive(fleet.OnDemand) == 0 })
			if n := l.alive(fleet.VPS); n != 1 {
				t.Errorf("the server has %d workers of its own", n)
			}
			if n := l.store.Ended("released"); n != 0 {
				t.Errorf("%d jobs were given back", n)
			}
		})
	}
}

func TestAWorkerThatCrashesAsItStartsIsNotStartedEveryMinute(t *testing.T) {
	l := newLoop(t, "crashes")
	l.works = false
	for range 30 {
		l.tick()
		for end := time.Now().Add(20 * time.Second); l.alive(fleet.VPS) > 0; {
			if time.Now().After(end) {
				t.Fatal("it does not crash")
			}
		}
	}
	launched := 0
	for _, d := range l.store.AllDecisions() {
		if d.Kind == fleet.KindLaunch {
			launched++
		}
	}
	if launched < 2 || launched > 10 {
		t.Errorf("it was started %d times in half an hour", launched)
	}
}
