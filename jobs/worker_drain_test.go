package jobs_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// steps is a job of ten parts of a minute each, which goes on where it stopped.
func steps() handler {
	return does(func(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
		saved, err := task.Saved(ctx)
		if err != nil {
			return nil, err
		}
		for i := len(saved); i < 10; i++ {
			if err := work(ctx, time.Minute); err != nil {
				return nil, err
			}
			if err := task.Save(ctx, string(rune('a'+i)), i); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

func TestADrainEnds(t *testing.T) {
	begin := map[string]func(t *testing.T, p *plant, w *running, within time.Duration){
		"by the worker's status": func(t *testing.T, p *plant, w *running, within time.Duration) {
			if err := p.store.Drain(t.Context(), w.ID(), within); err != nil {
				t.Fatal(err)
			}
		},
		"by a notice": func(_ *testing.T, _ *plant, w *running, within time.Duration) { w.Drain(within, "spot notice") },
		"by the end of the process": func(_ *testing.T, _ *plant, w *running, _ time.Duration) {
			w.stop()
		},
	}
	for name, drain := range begin {
		t.Run(name+", with time left", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t)
				id := p.enqueue(jobs.Spec{Type: "work"})[0]
				w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(4 * time.Minute) })
				drain(t, p, w, 5*time.Minute)
				pass(time.Second)
				next := p.enqueue(jobs.Spec{Type: "work"})[0]
				pass(3 * time.Minute)
				rows, _ := p.store.Workers(t.Context(), false)
				if w.over() || len(rows) != 1 || rows[0].Status != jobs.WorkerDraining || w.Stats().Condition != jobs.WorkerEnding {
					t.Fatalf("after three minutes: %+v, %+v", rows, w.Stats())
				}
				pass(time.Minute)
				if !w.over() || w.err != nil {
					t.Fatalf("it is not over: %v", w.err)
				}
				p.wants(id, jobs.Succeeded, "")
				if job := p.wants(next, jobs.Queued, ""); job.Deliveries != 0 {
					t.Error("a draining worker has claimed")
				}
				if rows, _ := p.store.Workers(t.Context(), false); len(rows) != 0 {
					t.Errorf("it is still there: %+v", rows)
				}
			})
		})
		t.Run(name+", with too little time", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t)
				id := p.enqueue(jobs.Spec{Type: "bulk"})[0]
				w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["bulk"] = steps() })
				pass(30 * time.Second)
				drain(t, p, w, 5*time.Minute)
				pass(5*time.Minute + 2*time.Second)
				if !w.over() || w.err != nil {
					t.Fatalf("it is not over: %v, %+v", w.err, w.Stats())
				}
				job := p.wants(id, jobs.Queued, jobs.CodeReleased)
				p.attempt(id, jobs.AttemptReleased)
				if job.Attempts != 0 || job.Lost != 0 || !job.Ready(time.Now()) {
					t.Errorf("%d attempts and %d leases were burned", job.Attempts, job.Lost)
				}
				// Another begins where it stopped: five parts are left.
				other := p.start(func(c *jobs.WorkerConfig) { c.Handlers["bulk"] = steps() })
				pass(5*time.Minute + time.Second)
				p.wants(id, jobs.Succeeded, "")
				other.end()
			})
		})
	}
}

func TestADeafHandlerDoesNotHoldUpADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		let := make(chan struct{})
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = deaf(let) })
		w.Drain(2*time.Minute, "spot notice")
		pass(2*time.Minute + 11*time.Second)
		if !w.over() || w.err != nil {
			t.Fatalf("it is not over: %v, %+v", w.err, w.Stats())
		}
		p.wants(id, jobs.Queued, jobs.CodeReleased)
		close(let)
	})
}

func TestAPartThatIsDoneWhenTheTimeIsOverIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "bulk"})[0]
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Handlers["bulk"] = does(func(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
				<-ctx.Done()
				if err := task.Save(ctx, "part", 1); err != nil {
					t.Errorf("save: %v", err)
				}
				return nil, context.Cause(ctx)
			})
		})
		w.Drain(time.Minute, "notice")
		<-w.done
		parts, err := p.store.Checkpoints(t.Context(), id, "", 10)
		if err != nil || len(parts) != 1 {
			t.Errorf("saved: %v, %v", parts, err)
		}
		p.wants(id, jobs.Queued, jobs.CodeReleased)
	})
}

func TestAnIdleWorkerIsDrainedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Second) })
		pass(time.Minute)
		began := time.Now()
		w.end()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAClaimThatIsOnItsWayWhenADrainBeginsIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		w := p.startOn(&link{Store: p.store, slow: 5 * time.Second}, func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Minute) })
		pass(time.Second)
		w.end()
		if job := p.wants(id, jobs.Succeeded, ""); job.Deliveries != 1 {
			t.Errorf("%d deliveries", job.Deliveries)
		}
	})
}

func TestAReleasedJobIsRungFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		first := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Hour) })
		second := p.start(func(c *jobs.WorkerConfig) {
			c.Poll = time.Hour
			c.Handlers["work"] = takes(time.Second)
		})
		pass(time.Minute)
		first.Drain(0, "notice")
		pass(2 * time.Second)
		p.wants(id, jobs.Succeeded, "")
		first.end()
		second.end()
	})
}

func TestADrainEndsThoughTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Hour) })
		pass(time.Second)
		p.store.Fail(jobstest.Any, -1)
		w.stop()
		pass(time.Minute + 10*time.Second) // the lease, and a few tries to say goodbye
		if !w.over() || w.err != nil {
			t.Fatalf("it is not over: %v, %+v", w.err, w.Stats())
		}
		if s := w.Stats(); s.Lost != 1 || s.Released != 0 {
			t.Errorf("stats: %+v", s)
		}
		p.store.Fail(jobstest.Any, 0)
		p.keep()
		pass(10 * time.Second)
		if job := p.wants(id, jobs.Queued, jobs.CodeLeaseLost); job.Attempts != 0 {
			t.Error("an attempt was burned")
		}
	})
}

func TestADrainIsUndone(t *testing.T) {
	for _, tc := range []struct {
		name  string
		begin func(p *plant, w *running) error
	}{
		{"that began in the row", func(p *plant, w *running) error { return p.store.Drain(p.t.Context(), w.ID(), time.Hour) }},
		{"that began in the worker", func(_ *plant, w *running) error { w.Drain(time.Hour, "notice"); return nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t)
				p.enqueue(jobs.Spec{Type: "work"})
				w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(10 * time.Minute) })
				if err := tc.begin(p, w); err != nil {
					t.Fatal(err)
				}
				pass(2 * time.Second)
				next := p.enqueue(jobs.Spec{Type: "work"})[0]
				pass(time.Minute)
				p.wants(next, jobs.Queued, "")
				if err := p.store.Undrain(t.Context(), w.ID()); err != nil {
					t.Fatal(err)
				}
				pass(4 * time.Second)
				p.wants(next, jobs.Running, "")
				w.stop()
				pass(time.Second)
				if err := p.store.Undrain(t.Context(), w.ID()); err != nil {
					t.Fatal(err)
				}
				pass(10 * time.Minute)
				if !w.over() {
					t.Error("the end of the process was undone")
				}
			})
		})
	}
}
