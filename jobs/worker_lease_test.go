package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// link is one worker's way to the store, which can be cut.
type link struct {
	*jobstest.Store
	cut      atomic.Bool
	finishes atomic.Int32
	beats    atomic.Int32
	slow     time.Duration // how long the answer to a claim is on its way
}

func (l *link) up() error {
	if l.cut.Load() {
		return jobs.ErrUnavailable
	}
	return nil
}

func (l *link) Claim(ctx context.Context, c jobs.Claim) ([]jobs.Job, error) {
	if err := l.up(); err != nil {
		return nil, err
	}
	found, err := l.Store.Claim(ctx, c)
	pass(l.slow)
	return found, err
}

func (l *link) Beat(ctx context.Context, id string, lease time.Duration, pulses []jobs.Pulse) ([]jobs.ID, error) {
	l.beats.Add(1)
	if err := l.up(); err != nil {
		return nil, err
	}
	return l.Store.Beat(ctx, id, lease, pulses)
}

func (l *link) Signals(ctx context.Context, id string) (jobs.Signals, error) {
	if err := l.up(); err != nil {
		return jobs.Signals{}, err
	}
	return l.Store.Signals(ctx, id)
}

func (l *link) SaveCheckpoints(ctx context.Context, lease jobs.Lease, parts []jobs.Checkpoint) error {
	if err := l.up(); err != nil {
		return err
	}
	return l.Store.SaveCheckpoints(ctx, lease, parts)
}

func (l *link) Finish(ctx context.Context, lease jobs.Lease, o jobs.Outcome) error {
	l.finishes.Add(1)
	if err := l.up(); err != nil {
		return err
	}
	return l.Store.Finish(ctx, lease, o)
}

func TestALeaseIsKeptOverLongWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		ids := p.enqueue(jobs.Spec{Type: "work"}, jobs.Spec{Type: "work"})
		way := &link{Store: p.store}
		w := p.startOn(way, func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(50 * time.Minute) })
		other := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(50 * time.Minute) })
		pass(49 * time.Minute)
		if n := way.beats.Load(); n < 4*48 || n > 4*50 {
			t.Errorf("%d beats in 49 minutes, want about one each 15 s for all jobs", n)
		}
		pass(2 * time.Minute)
		for _, id := range ids {
			if job := p.wants(id, jobs.Succeeded, ""); job.Deliveries != 1 {
				t.Errorf("it was delivered %d times", job.Deliveries)
			}
		}
		w.end()
		other.end()
	})
}

// zombie is a handler that goes on whatever it is told, for less than the
// grace, and then tries to write.
type zombie struct {
	cause       error
	saved       error
	fenced      error
	when        time.Duration
	returned    chan struct{}
	stubborn    time.Duration
	fenceBefore error
}

func (z *zombie) Need(*jobs.Job) jobs.Need { return jobs.Need{} }

func (z *zombie) Do(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	defer close(z.returned)
	began := time.Now()
	z.fenceBefore = task.Fence()
	<-ctx.Done()
	z.when, z.cause = time.Since(began), context.Cause(ctx)
	pass(z.stubborn)
	z.fenced = task.Fence()
	z.saved = task.Save(context.WithoutCancel(ctx), "part", 1)
	return json.RawMessage(`{"by":"zombie"}`), nil
}

func TestALostLeaseEndsTheWorkAndWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		way := &link{Store: p.store}
		z := &zombie{returned: make(chan struct{}), stubborn: 9 * time.Second}
		first := p.startOn(way, func(c *jobs.WorkerConfig) { c.Handlers["work"] = z })
		pass(time.Minute) // beats hold it
		way.cut.Store(true)
		second := p.start(func(c *jobs.WorkerConfig) {
			c.Handlers["work"] = does(func(ctx context.Context, _ *jobs.Task) (json.RawMessage, error) {
				return json.RawMessage(`{"by":"second"}`), work(ctx, time.Minute)
			})
		})
		<-z.returned
		if z.fenceBefore != nil || !errors.Is(z.cause, jobs.ErrLeaseLost) || z.when > 2*time.Minute || z.when < 105*time.Second {
			t.Errorf("the context ended after %s for %v; the fence said %v at first", z.when, z.cause, z.fenceBefore)
		}
		if !errors.Is(z.fenced, jobs.ErrLeaseLost) || !errors.Is(z.saved, jobs.ErrLeaseLost) {
			t.Errorf("after the loss the fence says %v, and saving %v", z.fenced, z.saved)
		}
		way.cut.Store(false)
		pass(2 * time.Minute)
		if n := way.finishes.Load(); n != 0 {
			t.Errorf("the first worker sent %d outcomes", n)
		}
		job := p.wants(id, jobs.Succeeded, "")
		if string(job.Result) != `{"by":"second"}` || job.Deliveries != 2 || job.Attempts != 0 {
			t.Errorf("job: %s after %d deliveries and %d attempts", job.Result, job.Deliveries, job.Attempts)
		}
		if s := first.Stats(); s.Lost != 1 || s.Fenced < 2 || s.Succeeded != 0 || s.Held != 0 {
			t.Errorf("stats of the first: %+v", s)
		}
		first.end()
		second.end()
	})
}

func TestAStoppedProcessKnowsAtOnceThatItsLeaseIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.enqueue(jobs.Spec{Type: "work"})
		var jump atomic.Int64
		ask, fences := make(chan struct{}), make(chan error)
		way := &link{Store: p.store}
		w := p.startOn(way, func(c *jobs.WorkerConfig) {
			c.Clock = func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
			c.Handlers["work"] = does(func(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
				for range ask {
					fences <- task.Fence()
				}
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
		})
		ask <- struct{}{}
		if err := <-fences; err != nil {
			t.Errorf("the fence says %v while the lease holds", err)
		}
		// No timer has fired and no beat was sent when it goes on.
		jump.Store(int64(61 * time.Second))
		ask <- struct{}{}
		if err := <-fences; !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("the fence says %v after the stop", err)
		}
		close(ask)
		pass(2 * time.Minute)
		if s := w.Stats(); s.Lost != 1 || s.Held != 0 || way.finishes.Load() != 0 {
			t.Errorf("%d outcomes were sent; stats: %+v", way.finishes.Load(), s)
		}
		w.end()
	})
}

func TestTheStoreSaysThatALeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		ids := p.enqueue(jobs.Spec{Type: "work"}, jobs.Spec{Type: "work"})
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(10 * time.Minute) })
		pass(time.Second)
		p.store.Edit(ids[0], func(j *jobs.Job) { j.Token = "another" })
		pass(16 * time.Second)
		if s := w.Stats(); s.Lost != 1 || s.Held != 1 {
			t.Errorf("stats after a beat: %+v", s)
		}
		pass(10 * time.Minute)
		if job := p.job(ids[0]); job.State != jobs.Running || job.Token != "another" {
			t.Errorf("the job was changed: %+v", job)
		}
		p.wants(ids[1], jobs.Succeeded, "")
		w.end()
	})
}

func TestProgressIsWrittenAboutOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		way := &link{Store: p.store}
		w := p.startOn(way, func(c *jobs.WorkerConfig) {
			c.Handlers["work"] = does(func(_ context.Context, task *jobs.Task) (json.RawMessage, error) {
				for i := range int64(1000) {
					task.Report(jobs.Progress{Done: i, Total: 1000})
					pass(10 * time.Millisecond)
				}
				task.Report(jobs.Progress{Done: 1000, Total: 1000})
				return nil, nil
			})
		})
		pass(1100 * time.Millisecond)
		if rows, _ := p.store.Workers(t.Context(), false); len(rows) != 1 || rows[0].CurrentJobs != 1 {
			t.Errorf("a second after it began the worker's row is %+v", rows)
		}
		pass(4400 * time.Millisecond)
		if got := p.job(id).Progress; got.Done < 400 || got.Done > 560 {
			t.Errorf("after 5.5 s the store knows of %d parts of about 550", got.Done)
		}
		pass(10 * time.Second)
		if n := way.beats.Load(); n < 9 || n > 12 {
			t.Errorf("%d beats in ten seconds of progress", n)
		}
		if got := p.wants(id, jobs.Succeeded, "").Progress; got.Done != 1000 {
			t.Errorf("the last word is %d", got.Done)
		}
		if rows, _ := p.store.Workers(t.Context(), false); len(rows) != 1 || rows[0].CurrentJobs != 0 {
			t.Errorf("when it is over the worker's row is %+v", rows)
		}
		w.end()
	})
}

func TestAJobThatKillsItsWorkersIsPoisoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		var runs atomic.Int32
		for range jobs.MaxLost {
			way := &link{Store: p.store}
			began := make(chan struct{}, 1)
			w := p.startOn(way, func(c *jobs.WorkerConfig) {
				c.Handlers["work"] = does(func(ctx context.Context, _ *jobs.Task) (json.RawMessage, error) {
					runs.Add(1)
					began <- struct{}{}
					<-ctx.Done()
					return nil, context.Cause(ctx)
				})
			})
			<-began
			way.cut.Store(true)
			w.stop()
			pass(2 * time.Minute)
			w.end()
		}
		job := p.wants(id, jobs.Failed, jobs.CodePoisoned)
		if job.Attempts != 0 || job.Deliveries != 3 || runs.Load() != 3 {
			t.Errorf("%d attempts, %d deliveries, %d runs", job.Attempts, job.Deliveries, runs.Load())
		}
		next := p.enqueue(jobs.Spec{Type: "work"})[0]
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Second) })
		pass(time.Minute)
		p.wants(next, jobs.Succeeded, "")
		p.wants(id, jobs.Failed, jobs.CodePoisoned)
		w.end()
	})
}

func TestALeaseThatTheFenceRefusedStaysLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		var jump atomic.Int64
		way := &link{Store: p.store}
		w := p.startOn(way, func(c *jobs.WorkerConfig) {
			c.Clock = func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
			c.Handlers["work"] = does(func(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
				jump.Store(int64(61 * time.Second))
				if err := task.Fence(); err != nil {
					jump.Store(0) // as a beat that came too late would have it
					return nil, err
				}
				return nil, nil
			})
		})
		pass(time.Second)
		if s := w.Stats(); s.Lost != 1 || s.Held != 0 || way.finishes.Load() != 0 {
			t.Errorf("%d outcomes were sent; stats: %+v", way.finishes.Load(), s)
		}
		if job := p.wants(id, jobs.Running, ""); job.Attempts != 0 {
			t.Error("an attempt was burned")
		}
		w.end()
	})
}

func TestAWorkerWithALongLeaseIsNotTakenForStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Lease = 12 * time.Hour
			c.Handlers["work"] = takes(time.Second)
		})
		pass(10 * time.Minute)
		rows, _ := p.store.Workers(t.Context(), true)
		if len(rows) != 1 || rows[0].Stale || p.store.Calls("Register") != 1 {
			t.Errorf("rows: %+v", rows)
		}
		w.end()
	})
}
