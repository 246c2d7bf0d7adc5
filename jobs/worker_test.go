package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// handler is a jobs.Handler made of functions.
type handler struct {
	need jobs.Need
	do   func(ctx context.Context, task *jobs.Task) (json.RawMessage, error)
}

func (h handler) Need(*jobs.Job) jobs.Need { return h.need }

func (h handler) Do(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	return h.do(ctx, task)
}

// does makes a handler that needs no core.
func does(do func(ctx context.Context, task *jobs.Task) (json.RawMessage, error)) handler {
	return handler{do: do}
}

// takes is a handler that works for a while, or until it is told to stop.
func takes(d time.Duration) handler {
	return does(func(ctx context.Context, _ *jobs.Task) (json.RawMessage, error) { return nil, work(ctx, d) })
}

func work(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// pass lets time go by in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// plant is a store with workers, in a bubble of testing/synctest.
type plant struct {
	t      *testing.T
	store  *jobstest.Store
	bell   *jobs.ProcessBell
	client *jobs.Client
	kinds  jobs.Kinds
}

func newPlant(t *testing.T) *plant {
	t.Helper()
	p := &plant{t: t, store: jobstest.NewStore(time.Now), bell: jobs.NewProcessBell()}
	p.kinds = jobs.NewKinds(
		jobs.Kind{Type: "work", Queue: "images", Priority: 5}, jobs.Kind{Type: "heavy", Queue: "images", Priority: 5},
		jobs.Kind{Type: "light", Queue: "images", Priority: 5}, jobs.Kind{Type: "bulk", Queue: "bulk", Priority: 8, Checkpointable: true},
		jobs.Kind{Type: "strange", Queue: "images", Priority: 5},
	)
	p.client = jobs.NewClient(p.store, p.bell, p.kinds)
	return p
}

// keep has the maintenance run until the test is over.
func (p *plant) keep() {
	p.t.Helper()
	k, err := jobs.NewKeeper(jobs.KeeperConfig{}, p.store, p.bell, slog.New(slog.DiscardHandler))
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = k.Run(ctx)
	}()
	p.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// enqueue adds jobs and answers their ids.
func (p *plant) enqueue(specs ...jobs.Spec) []jobs.ID {
	p.t.Helper()
	entered, err := p.client.Enqueue(p.t.Context(), specs...)
	if err != nil {
		p.t.Fatal(err)
	}
	ids := make([]jobs.ID, len(entered))
	for i, e := range entered {
		ids[i] = e.Job.ID
	}
	return ids
}

func (p *plant) job(id jobs.ID) jobs.Job {
	p.t.Helper()
	job, err := p.store.Job(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	return job
}

// wants checks the state of a job.
func (p *plant) wants(id jobs.ID, state jobs.State, code string) jobs.Job {
	p.t.Helper()
	job := p.job(id)
	if job.State != state || job.Code != code {
		p.t.Errorf("job %s is %q with code %q (%s), want %q with %q", id, job.State, job.Code, job.Reason, state, code)
	}
	return job
}

// status is what became of the latest attempt.
func (p *plant) attempt(id jobs.ID, want jobs.AttemptStatus) {
	p.t.Helper()
	all, err := p.store.Attempts(p.t.Context(), id)
	if err != nil || len(all) == 0 {
		p.t.Fatalf("attempts of job %s: %v, %v", id, all, err)
	}
	if got := all[len(all)-1].Status; got != want {
		p.t.Errorf("the latest attempt of job %s is %q, want %q", id, got, want)
	}
}

// running is a worker on its way.
type running struct {
	*jobs.Worker
	t    *testing.T
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// start runs a worker with two slots, unless told otherwise.
func (p *plant) start(change func(*jobs.WorkerConfig)) *running {
	p.t.Helper()
	return p.startOn(p.store, change)
}

// startOn does it with a store that is seen through something.
func (p *plant) startOn(store jobs.WorkerSide, change func(*jobs.WorkerConfig)) *running {
	p.t.Helper()
	return p.startAt(store, p.bell, change)
}

// startAt does it with a bell that is, too.
func (p *plant) startAt(store jobs.WorkerSide, bell jobs.Doorbell, change func(*jobs.WorkerConfig)) *running {
	p.t.Helper()
	cfg := jobs.WorkerConfig{
		Row: jobs.WorkerRow{Queues: []string{"images", "bulk"}}, Slots: 2, Handlers: map[string]jobs.Handler{},
	}
	change(&cfg)
	w, err := jobs.NewWorker(cfg, store, bell, slog.New(slog.DiscardHandler))
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	r := &running{Worker: w, t: p.t, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = w.Run(ctx)
	}()
	synctest.Wait()
	return r
}

// end tells the process to end and waits until it has.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	<-r.done
	if r.err != nil {
		r.t.Errorf("Run: %v", r.err)
	}
}

// over says whether Run has returned.
func (r *running) over() bool {
	synctest.Wait()
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func TestJobsGoInOrderOfPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		for priority := 10; priority >= 1; priority-- {
			p.enqueue(jobs.Spec{Type: "work", Priority: priority})
		}
		var mu sync.Mutex
		var order []int
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Slots = 1
			c.Handlers["work"] = does(func(_ context.Context, task *jobs.Task) (json.RawMessage, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, task.Job.Priority)
				return json.RawMessage(`{"ok":true}`), nil
			})
		})
		pass(time.Second)
		w.end()
		for i, priority := range order {
			if priority != i+1 {
				t.Fatalf("the order was %v", order)
			}
		}
		if len(order) != 10 {
			t.Errorf("%d of 10 jobs ran", len(order))
		}
		if s := w.Stats(); s.Succeeded != 10 || s.Claimed != 10 || s.Held != 0 || s.Condition != jobs.WorkerStopped {
			t.Errorf("stats: %+v", s)
		}
		if got := string(p.wants(1, jobs.Succeeded, "").Result); got != `{"ok":true}` {
			t.Errorf("the result is %s", got)
		}
		rows, _ := p.store.Workers(t.Context(), true)
		if len(rows) != 1 || rows[0].Status != jobs.WorkerTerminated {
			t.Errorf("the worker's row: %+v", rows)
		}
	})
}

// A job that has cost two workers may be the victim of another that ran beside
// it. It gets its third worker for itself, and nobody is idle for long for it.
func TestASuspectRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		suspect := p.enqueue(jobs.Spec{Type: "strange", Priority: 9})[0]
		row := jobs.WorkerRow{ID: "dead", Queues: []string{"images"}, Market: jobs.VPS}
		for range jobs.Suspect {
			if err := p.store.Register(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			if _, err := p.store.Claim(t.Context(), jobs.Claim{WorkerID: "dead", Queues: row.Queues, N: 1, Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
			pass(70 * time.Second) // until the lease is over and it was rescued
		}
		var others, beside, begun atomic.Int64
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Slots = 3
			c.Handlers["work"] = does(func(ctx context.Context, _ *jobs.Task) (json.RawMessage, error) {
				others.Add(1)
				defer others.Add(-1)
				// Of different lengths, so that the worker is never free by chance.
				return nil, work(ctx, time.Duration(7+begun.Add(1)%5)*time.Second)
			})
			c.Handlers["strange"] = does(func(ctx context.Context, _ *jobs.Task) (json.RawMessage, error) {
				for range 20 {
					beside.Add(others.Load())
					if err := work(ctx, time.Second); err != nil {
						return nil, err
					}
				}
				return nil, nil
			})
		})
		// It begins with the suspect, because it holds nothing; so another one
		// is needed for the harder case.
		pass(25 * time.Second)
		p.wants(suspect, jobs.Succeeded, "")
		second := p.enqueue(jobs.Spec{Type: "strange", Priority: 9, Queue: "bulk"})[0]
		for range jobs.Suspect {
			if _, err := p.store.Claim(t.Context(), jobs.Claim{WorkerID: "dead", Queues: []string{"bulk"}, N: 1, Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
			for range 200 { // so that the worker always has more to do
				p.enqueue(jobs.Spec{Type: "work"})
			}
			pass(70 * time.Second)
		}
		pass(2 * time.Minute)
		p.wants(second, jobs.Succeeded, "")
		if n := beside.Load(); n > 0 {
			t.Errorf("other jobs ran beside a suspect, %d times seen", n)
		}
		if s := w.Stats(); s.Succeeded < 30 {
			t.Errorf("only %d jobs were done meanwhile", s.Succeeded)
		}
		w.end()
	})
}

// A job that takes longer than a worker keeps itself free for a suspect does not
// get the suspect beside it, nor does it keep the other slots empty.
func TestASuspectWaitsForTheEndOfALongJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Handlers["heavy"] = takes(30 * time.Minute)
			c.Handlers["work"], c.Handlers["strange"] = takes(10*time.Second), takes(10*time.Second)
		})
		p.enqueue(jobs.Spec{Type: "heavy"})
		pass(time.Second)
		if err := p.store.Register(t.Context(), jobs.WorkerRow{ID: "dead", Market: jobs.VPS}); err != nil {
			t.Fatal(err)
		}
		for range 10 { // so that the other slot is taken while the suspect becomes one
			p.enqueue(jobs.Spec{Type: "work", Priority: 1})
		}
		suspect := p.enqueue(jobs.Spec{Type: "strange", Queue: "bulk", Priority: 2})[0]
		for range jobs.Suspect {
			if list, err := p.store.Claim(t.Context(), jobs.Claim{WorkerID: "dead", Queues: []string{"bulk"}, N: 1, Lease: 10 * time.Second}); err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			pass(16 * time.Second)
		}
		pass(5 * time.Minute)
		later := p.enqueue(jobs.Spec{Type: "work", Priority: 9})[0]
		pass(20 * time.Second)
		p.wants(later, jobs.Succeeded, "")
		p.wants(suspect, jobs.Queued, jobs.CodeLeaseLost)
		pass(26 * time.Minute)
		p.wants(suspect, jobs.Succeeded, "")
		w.end()
	})
}

func TestNoJobIsHoarded(t *testing.T) {
	gate := func(t *testing.T, slots int, memory int64) *elastic.Gate {
		g, err := elastic.NewGate(elastic.GateConfig{Slots: slots, Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, tc := range []struct {
		name          string
		slots, cores  int
		memory        int64
		need          jobs.Need
		claimed, runs int
	}{
		{"without a gate slots are the limit", 3, 0, 0, jobs.Need{CPU: true}, 3, 3},
		{"cores are, when they are fewer", 8, 2, 0, jobs.Need{CPU: true}, 2, 2},
		{"jobs that only wait need no core", 8, 2, 0, jobs.Need{}, 8, 8},
		{"memory is, and one job may turn out not to fit", 8, 4, 100, jobs.Need{CPU: true, Memory: 60}, 2, 1},
		{"jobs that fill the memory exactly leave none to wait", 8, 4, 100, jobs.Need{CPU: true, Memory: 50}, 2, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t)
				for range 20 {
					p.enqueue(jobs.Spec{Type: "work"})
				}
				w := p.start(func(c *jobs.WorkerConfig) {
					c.Slots = tc.slots
					if tc.cores > 0 {
						c.Gate = gate(t, tc.cores, tc.memory)
					}
					h := takes(time.Minute)
					h.need = tc.need
					c.Handlers["work"] = h
				})
				pass(30 * time.Second)
				if s := w.Stats(); s.Held != tc.claimed || s.Running != tc.runs || s.Waiting != tc.claimed-tc.runs {
					t.Errorf("%d jobs held, %d run and %d wait; want %d and %d", s.Held, s.Running, s.Waiting, tc.claimed, tc.runs)
				}
				pass(30 * time.Minute)
				if s := w.Stats(); s.Succeeded != 20 || s.Lost != 0 {
					t.Errorf("stats at the end: %+v", s)
				}
				w.end()
			})
		})
	}
}

func TestTwoHeavyJobsAreNeverTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		for range 5 {
			p.enqueue(jobs.Spec{Type: "heavy"})
			for range 4 {
				p.enqueue(jobs.Spec{Type: "light"})
			}
		}
		g, err := elastic.NewGate(elastic.GateConfig{Slots: 4, Memory: 100})
		if err != nil {
			t.Fatal(err)
		}
		var heavy, light, most, beside atomic.Int32
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Slots, c.Gate = 8, g
			c.Handlers["heavy"] = handler{jobs.Need{CPU: true, Memory: 70}, func(ctx context.Context, _ *jobs.Task) (json.RawMessage, error) {
				most.Store(max(most.Load(), heavy.Add(1)))
				defer heavy.Add(-1)
				return nil, work(ctx, time.Minute)
			}}
			c.Handlers["light"] = handler{jobs.Need{CPU: true, Memory: 10}, func(ctx context.Context, _ *jobs.Task) (json.RawMessage, error) {
				light.Add(1)
				beside.Add(min(heavy.Load(), 1))
				return nil, work(ctx, time.Second)
			}}
		})
		pass(10 * time.Minute)
		if s := w.Stats(); s.Succeeded != 25 {
			t.Errorf("stats: %+v", s)
		}
		if most.Load() != 1 || beside.Load() < 10 {
			t.Errorf("%d heavy jobs were together; %d light ones ran beside one", most.Load(), beside.Load())
		}
		w.end()
	})
}

func TestOtherPoolsAtTheGateDoNotStarveJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		for range 10 {
			p.enqueue(jobs.Spec{Type: "work"})
		}
		g, _ := elastic.NewGate(elastic.GateConfig{Slots: 2, Memory: 100})
		pool, err := elastic.New(elastic.Config[int]{
			Name: "images", Gate: g, CPUBound: true, MinWorkers: 6, MaxWorkers: 6,
			Handler: func(ctx context.Context, _ int) error { return work(ctx, time.Second) },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var others sync.WaitGroup
		others.Go(func() { _ = pool.Run(ctx) })
		for range 6 {
			others.Go(func() {
				for ctx.Err() == nil {
					_ = pool.Submit(ctx, 1, elastic.Weight(50))
				}
			})
		}
		pass(5 * time.Second)
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Slots, c.Gate = 4, g
			c.Handlers["work"] = handler{jobs.Need{CPU: true, Memory: 50}, takes(time.Second).do}
		})
		pass(40 * time.Second)
		if s := w.Stats(); s.Succeeded != 10 {
			t.Errorf("stats after 40 s: %+v", s)
		}
		w.end()
		cancel()
		others.Wait()
	})
}

func TestTooHeavyIsAFailureOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "heavy", MaxAttempts: 1})[0]
		g, _ := elastic.NewGate(elastic.GateConfig{Slots: 1, Memory: 100})
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Gate = g
			c.Handlers["heavy"] = handler{need: jobs.Need{CPU: true, Memory: 101}}
		})
		pass(time.Second)
		p.wants(id, jobs.Failed, jobs.CodeTooHeavy)
		w.end()
	})
}

var errBroken = errors.New("broken")

func TestAnAttemptEnds(t *testing.T) {
	for _, tc := range []struct {
		name    string
		do      func(ctx context.Context, task *jobs.Task) (json.RawMessage, error)
		state   jobs.State
		attempt jobs.AttemptStatus
		code    string
		burned  int
	}{
		{"with a result", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			return json.RawMessage(`{}`), nil
		}, jobs.Succeeded, jobs.AttemptSucceeded, "", 0},
		{"with a result that is no object", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			return json.RawMessage(`[1`), nil
		}, jobs.Queued, jobs.AttemptFailed, jobs.CodeFailed, 1},
		{"with a result that is no UTF-8", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			return json.RawMessage("{\"a\":\"\xff\"}"), nil
		}, jobs.Queued, jobs.AttemptFailed, jobs.CodeFailed, 1},
		{"with a result that is too long", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			return json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`), nil
		}, jobs.Queued, jobs.AttemptFailed, jobs.CodeFailed, 1},
		{"with an error", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			return nil, errBroken
		}, jobs.Queued, jobs.AttemptFailed, jobs.CodeFailed, 1},
		{"with a failure for good", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			return nil, &jobs.Failure{Code: "no-picture", Permanent: true}
		}, jobs.Failed, jobs.AttemptFailed, "no-picture", 1},
		{"with a wish to be released", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			return nil, &jobs.Failure{Code: "busy", Release: time.Minute}
		}, jobs.Queued, jobs.AttemptReleased, "busy", 0},
		{"with a panic", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			panic("secret")
		}, jobs.Queued, jobs.AttemptFailed, jobs.CodePanic, 1},
		{"with its goroutine", func(context.Context, *jobs.Task) (json.RawMessage, error) {
			runtime.Goexit()
			return nil, nil
		}, jobs.Queued, jobs.AttemptFailed, jobs.CodePanic, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t)
				id := p.enqueue(jobs.Spec{Type: "work"})[0]
				w := p.start(func(c *jobs.WorkerConfig) {
					c.Slots = 1
					c.Handlers["work"] = does(tc.do)
					c.Handlers["light"] = takes(time.Second)
				})
				pass(time.Second)
				job := p.wants(id, tc.state, tc.code)
				p.attempt(id, tc.attempt)
				if job.Attempts != tc.burned {
					t.Errorf("%d attempts were burned, want %d", job.Attempts, tc.burned)
				}
				next := p.enqueue(jobs.Spec{Type: "light"})[0]
				pass(2 * time.Second)
				p.wants(next, jobs.Succeeded, "")
				w.end()
			})
		})
	}
}

func TestWhatAHandlerSaysIsCutToItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		long := strings.Repeat("é", 100_000)
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Handlers["work"] = does(func(_ context.Context, task *jobs.Task) (json.RawMessage, error) {
				task.Report(jobs.Progress{Done: 1, Note: long})
				return nil, &jobs.Failure{Code: "x", Reason: long, Permanent: true}
			})
		})
		pass(time.Second)
		job := p.wants(id, jobs.Failed, "x")
		for text, most := range map[string]int{job.Progress.Note: 500, job.Reason: 2000} {
			if len(text) > most || len(text) < most-3 || !utf8.ValidString(text) || !strings.HasSuffix(text, "é…") {
				t.Errorf("%d bytes are kept of a text of which at most %d should be", len(text), most)
			}
		}
		w.end()
	})
}
