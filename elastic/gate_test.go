package elastic_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

func newGate(t *testing.T, cfg elastic.GateConfig) *elastic.Gate {
	t.Helper()
	g, err := elastic.NewGate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// peak keeps the highest value of a counter.
type peak struct {
	mu        sync.Mutex
	now, most int
}

func (p *peak) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now += n
	p.most = max(p.most, p.now)
}

func (p *peak) highest() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// onCPU is a job that fetches first, then works for that long.
func onCPU(work time.Duration, bytes int64, p *peak) job {
	return func(ctx context.Context) error {
		pass(20 * time.Millisecond)
		leave, err := elastic.EnterCPU(ctx, bytes)
		if err != nil {
			return err
		}
		defer leave()
		p.add(1)
		defer p.add(-1)
		pass(work)
		return nil
	}
}

func TestTheGateBoundsTheCPUStageOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, elastic.GateConfig{Slots: 2})
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 16, MaxWorkers: 16, Gate: gate})
		var cpu peak
		var busy int
		for range 100 {
			enqueue(t, p, onCPU(30*time.Millisecond, 0, &cpu))
		}
		for range 20 {
			pass(21 * time.Millisecond)
			synctest.Wait()
			busy = max(busy, p.Stats().Busy)
			if s := p.Stats(); s.OnCPU != gate.Stats().Running {
				t.Fatalf("the pool counts %d on the CPU, the gate %d", s.OnCPU, gate.Stats().Running)
			}
		}
		if cpu.highest() != 2 || busy != 16 {
			t.Errorf("at most %d were on the CPU and %d in a job, want 2 and 16", cpu.highest(), busy)
		}
	})
}

func TestASlowOriginDoesNotFreezeAGatedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 1, MaxWorkers: 32,
			Gate: newGate(t, elastic.GateConfig{Slots: 2})})
		for range 200 {
			enqueue(t, p, func(ctx context.Context) error {
				pass(time.Second) // the origin
				leave, err := elastic.EnterCPU(ctx, 0)
				if err != nil {
					return err
				}
				defer leave()
				pass(10 * time.Millisecond)
				return nil
			})
		}
		pass(3 * time.Second)
		if s := p.Stats(); s.Live != 32 {
			t.Errorf("%d workers wait for the origin, 32 could; refusals %v", s.Live, s.GateRefusals)
		}
	})
}

func TestTheGateHoldsItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, elastic.GateConfig{Slots: 8, Memory: 100})
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 8, MaxWorkers: 8, Gate: gate, CPUBound: true})
		var cpu peak
		large := func(context.Context) error {
			cpu.add(1)
			defer cpu.add(-1)
			pass(time.Second)
			return nil
		}
		var all []*elastic.Ticket
		for range 8 {
			all = append(all, enqueue(t, p, large, elastic.Weight(40)))
		}
		synctest.Wait()
		if s := gate.Stats(); s.Held != 80 || s.Running != 2 || s.Waiting != 6 {
			t.Errorf("held %d running %d waiting %d, want 80 2 6", s.Held, s.Running, s.Waiting)
		}
		if err := p.TrySubmit(t.Context(), large, elastic.Weight(101)); !errors.Is(err, elastic.ErrTooHeavy) {
			t.Errorf("a job above the budget got %v", err)
		}
		for _, ticket := range all {
			<-ticket.Done()
		}
		synctest.Wait()
		if s := gate.Stats(); s.Held != 0 || s.Running != 0 || cpu.highest() != 2 {
			t.Errorf("in the end held %d running %d, at most %d at once", s.Held, s.Running, cpu.highest())
		}
	})
}

func TestASmallJobDoesNotPassALargeOneThatWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, elastic.GateConfig{Slots: 8, Memory: 100})
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 8, MaxWorkers: 8, Gate: gate, CPUBound: true})
		began := time.Now()
		submit := func(bytes int64, after *time.Duration) *elastic.Ticket {
			defer synctest.Wait()
			return enqueue(t, p, func(context.Context) error {
				*after = time.Since(began)
				pass(time.Second)
				return nil
			}, elastic.Weight(bytes))
		}
		var after [3]time.Duration
		for _, ticket := range []*elastic.Ticket{submit(60, &after[0]), submit(90, &after[1]), submit(10, &after[2])} {
			<-ticket.Done()
		}
		if want := [3]time.Duration{0, time.Second, time.Second}; after != want {
			t.Errorf("they began after %v, want %v", after, want)
		}
	})
}

func TestPoolsShareAGateByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, elastic.GateConfig{Slots: 4})
		ctx, cancel := context.WithCancel(t.Context())
		start := func(name string, share int) *elastic.DynamicScaler[job] {
			p := run(t, elastic.Config[job]{Name: name, Handler: doJob, MinWorkers: 16, MaxWorkers: 16,
				Gate: gate, GateShare: share, CPUBound: true})
			for range 32 {
				go func() {
					for ctx.Err() == nil {
						_ = p.Submit(ctx, func(context.Context) error { pass(10 * time.Millisecond); return nil })
					}
				}()
			}
			return p
		}
		images, videos := start("images", 3), start("videos", 1)
		pass(10 * time.Second)
		a, b := float64(images.Stats().Done), float64(videos.Stats().Done)
		if ratio := a / b; ratio < 2.8 || ratio > 3.2 || a+b < 3900 {
			t.Errorf("%.0f and %.0f jobs, %.2f to 1, want 3 to 1 and no slot idle", a, b, ratio)
		}
		cancel()
		synctest.Wait()
	})
}

func TestLongJobsOfOnePoolDoNotStopAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, elastic.GateConfig{Slots: 2})
		videos := run(t, elastic.Config[job]{Name: "videos", Handler: doJob, MinWorkers: 4, MaxWorkers: 4, Gate: gate, CPUBound: true})
		images := run(t, elastic.Config[job]{Name: "images", Handler: doJob, MinWorkers: 4, MaxWorkers: 4, Gate: gate, CPUBound: true})
		for range 4 {
			enqueue(t, videos, func(ctx context.Context) error { <-ctx.Done(); return nil })
		}
		synctest.Wait()
		began := time.Now()
		var all []*elastic.Ticket
		for range 50 {
			all = append(all, enqueue(t, images, func(context.Context) error { pass(10 * time.Millisecond); return nil }))
		}
		for _, ticket := range all {
			<-ticket.Done()
			if s := gate.Stats(); s.Running > 3 {
				t.Fatalf("%d are on the CPU, of 2 slots and one extra", s.Running)
			}
		}
		if spent := time.Since(began); spent != 500*time.Millisecond {
			t.Errorf("50 images took %s beside two videos", spent)
		}
	})
}

func TestWaitingForTheGateEndsWithTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, elastic.GateConfig{Slots: 1})
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 2, MaxWorkers: 2, Gate: gate, CPUBound: true})
		hold, began, release := block()
		enqueue(t, p, hold)
		<-began
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Submit(ctx, nothing); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it got %v", err)
		}
		if s := gate.Stats(); s.Waiting != 0 {
			t.Errorf("%d still wait", s.Waiting)
		}
		release()
		synctest.Wait()
		if s := gate.Stats(); s.Running != 0 {
			t.Errorf("%d are still on the CPU", s.Running)
		}
	})
}

func TestEnteringTheCPUIsForgiving(t *testing.T) {
	gate := newGate(t, elastic.GateConfig{Slots: 1})
	p := run(t, elastic.Config[job]{Handler: doJob, Gate: gate})
	cases := map[string]job{
		"twice in one job": func(ctx context.Context) error {
			first, err := elastic.EnterCPU(ctx, 0)
			if err != nil {
				return err
			}
			second, err := elastic.EnterCPU(ctx, 0)
			if err != nil {
				return err
			}
			second()
			first()
			first()
			return nil
		},
		"without leaving": func(ctx context.Context) error { _, err := elastic.EnterCPU(ctx, 0); return err },
		"and panicking": func(ctx context.Context) error {
			if _, err := elastic.EnterCPU(ctx, 0); err != nil {
				return err
			}
			panic("in the middle")
		},
	}
	for name, j := range cases {
		t.Run(name, func(t *testing.T) {
			if err := p.Submit(t.Context(), j); err != nil && !errors.As(err, new(*elastic.PanicError)) {
				t.Error(err)
			}
			if s := gate.Stats(); s.Running != 0 {
				t.Errorf("%d are on the CPU afterwards", s.Running)
			}
		})
	}
	t.Run("outside a pool", func(t *testing.T) {
		leave, err := elastic.EnterCPU(t.Context(), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		leave()
	})
}
