package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/jobs"
)

// deaf is a handler that ignores its context until it is let go.
func deaf(let <-chan struct{}) handler {
	return handler{jobs.Need{CPU: true, Memory: 100}, func(context.Context, *jobs.Task) (json.RawMessage, error) {
		<-let
		return json.RawMessage(`{}`), nil
	}}
}

// See bug-reports 24: cancelling leads to a final state, wherever the job is.
func TestBug24ACancelledJobEndsForGood(t *testing.T) {
	for _, tc := range []struct {
		name  string
		first string // the type that goes to its handler; the second waits at the gate
		id    int
	}{{"in its handler", "work", 0}, {"at the gate", "work", 1}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t)
				p.keep()
				ids := p.enqueue(jobs.Spec{Type: "work"}, jobs.Spec{Type: "work"})
				g, _ := elastic.NewGate(elastic.GateConfig{Slots: 2, Memory: 100})
				causes := make(chan error, 2)
				w := p.start(func(c *jobs.WorkerConfig) {
					c.Gate = g
					c.Handlers["work"] = handler{jobs.Need{CPU: true, Memory: 60}, func(ctx context.Context, _ *jobs.Task) (json.RawMessage, error) {
						<-ctx.Done()
						causes <- context.Cause(ctx)
						return nil, ctx.Err()
					}}
				})
				pass(time.Second)
				if s := w.Stats(); s.Running != 1 || s.Waiting != 1 {
					t.Fatalf("stats: %+v", s)
				}
				if _, err := p.client.Cancel(t.Context(), ids[tc.id], "not wanted"); err != nil {
					t.Fatal(err)
				}
				pass(2 * time.Second)
				p.wants(ids[tc.id], jobs.Cancelled, jobs.CodeCancelled)
				p.attempt(ids[tc.id], jobs.AttemptCancelled)
				p.wants(ids[1-tc.id], jobs.Running, "")
				if tc.id == 0 && !errors.Is(<-causes, jobs.ErrCancelled) {
					t.Error("the cause is another")
				}
				pass(10 * time.Minute)
				p.wants(ids[tc.id], jobs.Cancelled, jobs.CodeCancelled)
				w.end()
			})
		})
	}
}

func TestAJobIsStoppedAtItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work", WorkLimit: time.Minute, MaxAttempts: 2})[0]
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Hour) })
		pass(59 * time.Second)
		p.wants(id, jobs.Running, "")
		pass(2 * time.Second)
		if job := p.wants(id, jobs.Queued, jobs.CodeWorkLimit); job.Attempts != 1 {
			t.Errorf("%d attempts were burned", job.Attempts)
		}
		w.end()
	})
}

// See bug-reports 21: one job that hangs must not stop those after it.
func TestBug21AJobThatHangsDoesNotStopTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work", WorkLimit: time.Minute, MaxAttempts: 1})[0]
		g, _ := elastic.NewGate(elastic.GateConfig{Slots: 1, Memory: 100})
		let := make(chan struct{})
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Gate = g
			c.Handlers["work"] = deaf(let)
			c.Handlers["light"] = handler{jobs.Need{CPU: true, Memory: 100}, takes(time.Second).do}
		})
		next := p.enqueue(jobs.Spec{Type: "light"})[0]
		pass(69 * time.Second)
		p.wants(id, jobs.Running, "")
		p.wants(next, jobs.Queued, "")
		pass(4 * time.Second)
		p.wants(id, jobs.Failed, jobs.CodeWorkLimit)
		p.wants(next, jobs.Succeeded, "")
		if s := w.Stats(); s.Stuck != 1 || s.Held != 0 || s.Failed != 1 {
			t.Errorf("stats: %+v", s)
		}
		close(let)
		synctest.Wait()
		if s := w.Stats(); s.Stuck != 0 || s.Succeeded != 1 {
			t.Errorf("stats when it came back: %+v", s)
		}
		p.wants(id, jobs.Failed, jobs.CodeWorkLimit)
		w.end()
	})
}

func TestTooManyStuckHandlersEndTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		let := make(chan struct{})
		p.enqueue(jobs.Spec{Type: "work", WorkLimit: time.Minute}, jobs.Spec{Type: "work", WorkLimit: 20 * time.Minute})
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Slots = 2
			c.Handlers["work"] = deaf(let)
			c.Handlers["light"] = takes(time.Hour)
		})
		pass(2 * time.Minute)
		if w.over() {
			t.Fatal("one stuck handler has ended it")
		}
		light := p.enqueue(jobs.Spec{Type: "light"})[0]
		pass(time.Second)
		p.wants(light, jobs.Running, "")
		pass(20 * time.Minute)
		if !w.over() || w.err == nil {
			t.Fatalf("two stuck handlers of two slots did not end it: %v", w.err)
		}
		if job := p.wants(light, jobs.Queued, jobs.CodeReleased); job.Attempts != 0 {
			t.Errorf("the job beside them lost %d attempts", job.Attempts)
		}
		if rows, _ := p.store.Workers(t.Context(), false); len(rows) != 0 {
			t.Errorf("it is still there: %+v", rows)
		}
		close(let)
	})
}

func TestAnUnknownTypeIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		id := p.enqueue(jobs.Spec{Type: "strange"})[0]
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Second) })
		pass(10 * time.Minute)
		job := p.wants(id, jobs.Queued, jobs.CodeUnknownType)
		if job.Attempts != 0 || job.Lost != 0 || job.Deliveries < 5 || job.Deliveries > 11 {
			t.Errorf("%d attempts, %d lost, %d deliveries in ten minutes", job.Attempts, job.Lost, job.Deliveries)
		}
		other := p.start(func(c *jobs.WorkerConfig) { c.Handlers["strange"] = takes(time.Second) })
		w.end()
		pass(3 * time.Minute)
		p.wants(id, jobs.Succeeded, "")
		other.end()
	})
}

func TestAHandlerThatCannotSayWhatItNeedsFailsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work", MaxAttempts: 1})[0]
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = needy{} })
		pass(time.Second)
		p.wants(id, jobs.Failed, jobs.CodePanic)
		w.end()
	})
}

type needy struct{ handler }

func (needy) Need(*jobs.Job) jobs.Need { panic("no params") }
