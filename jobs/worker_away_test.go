package jobs_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

func TestTheStoreIsAwayForAWhile(t *testing.T) {
	for _, tc := range []struct {
		name    string
		methods []string
		from    time.Duration
		away    time.Duration
	}{
		{"when the worker begins", []string{jobstest.Any}, 0, 10 * time.Minute},
		{"when it claims", []string{"Claim"}, 0, 10 * time.Minute},
		{"when it beats, for less than a lease", []string{"Beat", "Signals"}, 5 * time.Second, 50 * time.Second},
		{"when it saves", []string{"SaveCheckpoints"}, 5 * time.Second, 2 * time.Minute},
		{"when it finishes", []string{"Finish"}, 5 * time.Second, 5 * time.Minute},
		{"for all, for less than a lease", []string{jobstest.Any}, 20 * time.Second, 44 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t)
				id := p.enqueue(jobs.Spec{Type: "work"})[0]
				runs := 0
				set := func(n int) {
					for _, m := range tc.methods {
						p.store.Fail(m, n)
					}
				}
				if tc.from == 0 {
					set(-1)
				}
				w := p.start(func(c *jobs.WorkerConfig) {
					c.Handlers["work"] = does(func(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
						runs++
						if err := work(ctx, 30*time.Second); err != nil {
							return nil, err
						}
						return nil, task.Save(ctx, "all", 1)
					})
				})
				pass(max(tc.from, time.Second))
				set(-1)
				pass(tc.away)
				if s := w.Stats(); s.Succeeded != 0 && p.job(id).State != jobs.Succeeded {
					t.Error("a success was counted that the store does not know of")
				}
				set(0)
				pass(time.Minute)
				if job := p.wants(id, jobs.Succeeded, ""); job.Deliveries != 1 || job.Attempts != 0 || runs != 1 {
					t.Errorf("%d deliveries, %d attempts, %d runs", job.Deliveries, job.Attempts, runs)
				}
				if s := w.Stats(); s.Succeeded != 1 || s.Condition != jobs.WorkerWorking {
					t.Errorf("stats: %+v", s)
				}
				w.end()
			})
		})
	}
}

func TestNothingIsReportedDoneThatTheStoreDoesNotConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		way := &link{Store: p.store}
		w := p.startOn(way, func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(30 * time.Second) })
		pass(time.Second)
		way.cut.Store(true)
		pass(2 * time.Minute)
		if s := w.Stats(); s.Succeeded != 0 || s.Lost != 1 || s.Held != 0 {
			t.Errorf("stats: %+v", s)
		}
		if n := way.finishes.Load(); n < 5 {
			t.Errorf("%d tries to finish in half a minute", n)
		}
		way.cut.Store(false)
		pass(time.Minute)
		if job := p.wants(id, jobs.Succeeded, ""); job.Deliveries != 2 {
			t.Errorf("%d deliveries", job.Deliveries)
		}
		w.end()
	})
}

func TestALostAnswerToAFinishDoesNotEndTheJobTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.keep()
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Second) })
		p.store.LoseAnswers("Finish", 1)
		pass(5 * time.Minute)
		if job := p.wants(id, jobs.Succeeded, ""); job.Deliveries != 1 {
			t.Errorf("%d deliveries", job.Deliveries)
		}
		w.end()
	})
}

func TestAServerThatDoesNotAnswerCostsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(5 * time.Minute) })
		for range 4 {
			pass(30 * time.Second)
			p.store.Slow("Beat", time.Hour)
			pass(30 * time.Second)
			p.store.Slow("Beat", 0)
		}
		pass(2 * time.Minute)
		p.wants(id, jobs.Succeeded, "")
		if s := w.Stats(); s.Lost != 0 || s.BeatFailures == 0 {
			t.Errorf("stats: %+v", s)
		}
		w.end()
	})
}

func TestAStoreThatRefusesAnOutcomeIsNotAskedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.enqueue(jobs.Spec{Type: "work"})
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Second) })
		p.store.Before("Finish", func(context.Context) error { return errBroken })
		pass(time.Minute)
		if n := p.store.Calls("Finish"); n != 3 {
			t.Errorf("it was asked %d times", n)
		}
		if s := w.Stats(); s.Held != 0 || s.Lost != 1 {
			t.Errorf("stats: %+v", s)
		}
		w.end()
	})
}

func TestAWorkerThatWasBuriedComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		w := p.start(func(c *jobs.WorkerConfig) { c.Handlers["work"] = takes(time.Second) })
		pass(time.Minute)
		p.store.EditWorker(w.ID(), func(r *jobs.WorkerRow) { r.Status = jobs.WorkerTerminated })
		id := p.enqueue(jobs.Spec{Type: "work"})[0]
		pass(10 * time.Second)
		p.wants(id, jobs.Succeeded, "")
		rows, _ := p.store.Workers(t.Context(), false)
		if len(rows) != 1 || rows[0].Status != jobs.WorkerActive {
			t.Errorf("rows: %+v", rows)
		}
		w.end()
	})
}

func TestTheMachineIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.enqueue(jobs.Spec{Type: "work"})
		w := p.start(func(c *jobs.WorkerConfig) {
			c.Handlers["work"] = takes(time.Minute)
			c.Machine = func() jobs.WorkerMetric { return jobs.WorkerMetric{CPUPercent: 42, MemoryBytes: 1 << 20} }
		})
		pass(59 * time.Second)
		rows, _ := p.store.Workers(t.Context(), false)
		if len(rows) != 1 || rows[0].Latest == nil || rows[0].Latest.CPUPercent != 42 || rows[0].Latest.JobsRunning != 1 {
			t.Errorf("rows: %+v", rows)
		}
		if n := p.store.Calls("Record"); n != 3 {
			t.Errorf("%d records in 59 s", n)
		}
		w.end()
	})
}

// counter is a bell with a depth, as Redis keeps one. After tokens that led to
// nothing it gives none for a poll, as the contract has it.
type counter struct {
	*jobs.ProcessBell
	mu     sync.Mutex
	tokens map[string]int
	vain   bool
}

func (c *counter) Wait(ctx context.Context, queues []string, poll time.Duration) string {
	c.mu.Lock()
	if c.vain {
		c.vain = false
		c.mu.Unlock()
		_ = work(ctx, poll)
		return ""
	}
	for _, queue := range queues {
		if c.tokens[queue] > 0 {
			c.tokens[queue]--
			c.mu.Unlock()
			return queue
		}
	}
	c.mu.Unlock()
	_ = work(ctx, poll)
	return ""
}

func (c *counter) Took(_ context.Context, more map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0
	for queue, n := range more {
		c.tokens[queue] = max(0, c.tokens[queue]-n)
		sum += n
	}
	c.vain = sum < 0
}

func (c *counter) depth(queue string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens[queue]
}

func startWith(p *plant, bell jobs.Doorbell, cfg jobs.WorkerConfig) *running {
	p.t.Helper()
	w, err := jobs.NewWorker(cfg, p.store, bell, slog.New(slog.DiscardHandler))
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	r := &running{Worker: w, t: p.t, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = w.Run(ctx)
	}()
	return r
}

func TestASpotWorkerPutsBackTheTokenOfAJobThatIsNotForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		p.enqueue(jobs.Spec{Type: "work", Priority: 1})
		bell := &counter{ProcessBell: p.bell, tokens: map[string]int{"images": 1}}
		cfg := jobs.WorkerConfig{
			Row:      jobs.WorkerRow{Queues: []string{"images"}, Market: jobs.Spot},
			Handlers: map[string]jobs.Handler{"work": takes(time.Second)}, Slots: 2,
		}
		w := startWith(p, bell, cfg)
		pass(time.Minute + time.Second/2)
		if n := p.store.Calls("Claim"); n > 70 || n < 20 {
			t.Errorf("%d claims in a minute with a poll of 2 s", n)
		}
		if bell.depth("images") != 1 {
			t.Errorf("the depth is %d", bell.depth("images"))
		}
		w.end()
		cfg.Row.Market = jobs.OnDemand
		w = startWith(p, bell, cfg)
		pass(10 * time.Second)
		p.wants(1, jobs.Succeeded, "")
		if bell.depth("images") != 0 {
			t.Errorf("the depth is %d when the job is done", bell.depth("images"))
		}
		w.end()
	})
}

func TestClaimsKeepTheDepthRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		for range 30 {
			p.enqueue(jobs.Spec{Type: "work"})
			p.enqueue(jobs.Spec{Type: "bulk"})
		}
		bell := &counter{ProcessBell: p.bell, tokens: map[string]int{"images": 30, "bulk": 30}}
		w := startWith(p, bell, jobs.WorkerConfig{
			Row:      jobs.WorkerRow{Queues: []string{"bulk", "images"}},
			Handlers: map[string]jobs.Handler{"work": takes(time.Second), "bulk": takes(time.Second)}, Slots: 4,
		})
		pass(5500 * time.Millisecond)
		images, _ := p.store.Queues(t.Context(), 1000)
		for _, q := range images {
			if got := bell.depth(q.Queue); int64(got) != q.Depth {
				t.Errorf("queue %s has %d tokens for %d jobs", q.Queue, got, q.Depth)
			}
		}
		pass(30 * time.Second)
		if s := w.Stats(); s.Succeeded != 60 || bell.depth("images") != 0 || bell.depth("bulk") != 0 {
			t.Errorf("%+v, depths %d and %d", s, bell.depth("images"), bell.depth("bulk"))
		}
		w.end()
	})
}

func TestTokensInVainDoNotMakeAHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		bell := &counter{ProcessBell: p.bell, tokens: map[string]int{"images": 100000}}
		w := startWith(p, bell, jobs.WorkerConfig{
			Row:      jobs.WorkerRow{Queues: []string{"images"}},
			Handlers: map[string]jobs.Handler{"work": takes(time.Second)},
		})
		pass(time.Minute)
		if n := p.store.Calls("Claim"); n > 80 {
			t.Errorf("%d claims in a minute", n)
		}
		w.end()
	})
}
