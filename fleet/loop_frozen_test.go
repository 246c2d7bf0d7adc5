package fleet_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// other is a second scheduler of the same database, which takes over.
func (l *loop) other() *fleet.Scheduler {
	l.t.Helper()
	p := l.parts()
	p.Failpoint = nil
	s, err := fleet.New(p)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// takeOver has another scheduler act for some minutes, while this one stands still.
func (l *loop) takeOver(s *fleet.Scheduler, minutes int) {
	l.t.Helper()
	l.store.Depose("scheduler")
	for range minutes {
		if _, err := s.Once(l.t.Context()); err != nil {
			l.t.Fatal(err)
		}
		l.world.Advance(time.Minute)
	}
}

func TestASchedulerThatWasStoppedBeforeALaunchDoesNotLaunchWhenItWakes(t *testing.T) {
	l := newLoop(t, nil)
	l.enqueue(10, time.Hour)
	l.point = func(step string) {
		if step == "launch" {
			l.takeOver(l.other(), 5)
		}
	}
	if _, err := l.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows := l.rows(); l.live() != 1 || len(rows) != 1 || rows[0].InstanceID == "" {
		t.Errorf("there are %d machines and the rows %+v:\n%s", l.live(), rows, l.story(20))
	}
}

// heldUp is a provider whose first launch takes until something has happened.
type heldUp struct {
	fleet.Provider
	once sync.Once
	wait func()
}

func (p *heldUp) Launch(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
	p.once.Do(p.wait)
	return p.Provider.Launch(ctx, r)
}

func TestAMachineThatComesAfterItsRowHasEndedIsEndedAtOnce(t *testing.T) {
	l := newLoop(t, nil)
	p := l.parts()
	p.Providers["aws"] = &heldUp{Provider: p.Providers["aws"], wait: func() { l.takeOver(l.other(), 5) }}
	l.Scheduler, _ = fleet.New(p)
	l.enqueue(10, time.Hour)
	if _, err := l.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.world.Advance(time.Minute)
	if rows := l.rows(); l.live() != 1 || len(rows) != 1 {
		t.Errorf("there are %d machines for %d rows:\n%s", l.live(), len(rows), l.story(20))
	}
}

func (l *loop) state() fleet.State {
	l.t.Helper()
	s, err := l.store.State(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func TestASchedulerThatWokeLateLeavesTheMemoryToTheOneThatTookOver(t *testing.T) {
	l := newLoop(t, nil)
	l.enqueue(10, time.Hour)
	var want fleet.Memory
	l.point = func(step string) {
		if step == "record" {
			l.point = nil
			l.takeOver(l.other(), 1)
			want = l.state().Memory
		}
	}
	if _, err := l.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, l.state().Memory); diff != "" {
		t.Errorf("it wrote over what the other remembers (-other's +now):\n%s", diff)
	}
}

func TestWhatCouldNotBeRecordedIsForgottenOnceAnotherHasActed(t *testing.T) {
	l := newLoop(t, nil)
	l.point = func(step string) {
		if step == "record" {
			l.store.SetHooks(fleettest.Hooks{Before: func(context.Context, string) error { return errors.New("connection reset") }})
		}
	}
	if _, err := l.Once(t.Context()); err == nil {
		t.Fatal("it was recorded")
	}
	l.point = nil
	l.store.SetHooks(fleettest.Hooks{})
	l.enqueue(10, time.Hour)
	l.world.Clouds["aws"].SetFaults(failing("Launch", fleet.NoCapacity))
	l.takeOver(l.other(), 1) // and the place cools off
	r, err := l.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Snapshot.Memory.CoolOffs); n != 1 {
		t.Errorf("it knows of %d places that cool off", n)
	}
}
