package fleet_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// died is what a failpoint panics with.
type died struct{ step string }

// crash ticks with a scheduler that dies before the nth time it takes a step, and
// answers whether it came to that.
func (l *loop) crash(step string, nth int) (crashed bool) {
	l.t.Helper()
	l.point = func(s string) {
		if s != step {
			return
		}
		if nth--; nth == 0 {
			panic(died{step})
		}
	}
	defer func() {
		l.point = nil
		if cause := recover(); cause != nil {
			if _, ours := cause.(died); !ours {
				panic(cause)
			}
			crashed = true
			l.after()
			l.restart()
		}
	}()
	l.tick()
	return false
}

// crashAt ticks until the scheduler has died at a step.
func (l *loop) crashAt(step string, nth int) {
	l.t.Helper()
	for range 120 {
		if l.crash(step, nth) {
			return
		}
	}
	l.t.Fatalf("in two hours it never came to step %s; the last decisions:\n%s", step, l.story(12))
}

func TestACrashAtAnyStepLeaksNoMachineAndMakesNoneTwice(t *testing.T) {
	steps := []string{"provision", "launch", "attach", "drain", "reread", "terminating", "terminate", "gone", "record"}
	for _, step := range steps {
		for _, nth := range []int{1, 2} {
			t.Run(step, func(t *testing.T) {
				l := newLoop(t, func(c *fleet.Config) { c.ScaleUp.Cooldown = 0 })
				l.enqueue(40, 2*time.Minute)
				if step != "record" {
					l.crashAt(step, 1)
				} else {
					for range 3 * nth {
						l.crashAt(step, 1)
					}
				}
				if nth == 2 {
					l.crash(step, 1) // again, at once
				}
				l.until("all jobs are done", func() bool { return l.store.Ended("succeeded") == 40 })
				l.until("no machine and no row is left", func() bool { return l.live() == 0 && len(l.rows()) == 0 })
				if l.peak > 3 {
					t.Errorf("there were %d machines at once, max_workers is 3", l.peak)
				}
				l.run(3)
				if n := l.live(); n != 0 {
					t.Errorf("%d machines came back", n)
				}
			})
		}
	}
}

func TestComplaint01ACrashBetweenTheProvidersAnswerAndTheRowIsRepairedByTheNextTick(t *testing.T) {
	l := newLoop(t, nil)
	l.enqueue(40, time.Hour)
	l.crashAt("attach", 1)
	machines := l.world.Clouds["aws"].Machines()
	if rows := l.rows(); len(rows) != 1 || rows[0].InstanceID != "" || len(machines) != 1 {
		t.Fatalf("after the crash there are %d machines and the rows %+v", len(machines), rows)
	}
	l.tick()
	if rows := l.rows(); rows[0].InstanceID != machines[0].ID {
		t.Errorf("the next tick has not adopted %s: %+v", machines[0].ID, rows[0])
	}
	if adopted := l.of(fleet.KindAdopt); len(adopted) != 1 || adopted[0].Outcome != fleet.OutcomeDone {
		t.Errorf("it decided %+v", adopted)
	}
}

func TestARowWhoseMachineNeverWasIsForgottenAfterTwoPassesAndTwoMinutes(t *testing.T) {
	l := newLoop(t, nil)
	l.enqueue(10, time.Minute)
	l.crashAt("launch", 1)
	l.enqueue(0, 0)
	first := l.rows()[0].ID
	l.tick()
	if len(l.of(fleet.KindForget)) != 0 {
		t.Error("it was forgotten after one minute")
	}
	l.until("the row is forgotten", func() bool { return len(l.of(fleet.KindForget)) > 0 })
	if d := l.of(fleet.KindForget)[0]; d.WorkerID != first || d.At.Before(at(10, 3)) || d.At.After(at(10, 4)) {
		t.Errorf("%s was forgotten at %s", d.WorkerID, d.At)
	}
}

func TestALaunchWhoseAnswerIsLostCountsUntilTheInventoryTells(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		c.Queues["media"] = fleet.Queue{MaxWorkers: 1, CloudEnabled: true}
		c.ScaleUp.Cooldown = 0
	})
	c := l.world.Clouds["aws"]
	lost := 0
	c.SetFaults(loseLaunches(&lost))
	l.enqueue(40, 2*time.Minute)
	l.run(4)
	if lost != 1 || l.live() != 1 {
		t.Errorf("%d launches were tried, and %d machines are there", lost, l.live())
	}
	if rows := l.rows(); len(rows) != 1 || rows[0].InstanceID == "" {
		t.Errorf("the rows are %+v", rows)
	}
}
