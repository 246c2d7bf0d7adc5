package elastic_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// run starts a pool and shuts it down when the test, or its bubble, ends.
func run[T any](t *testing.T, cfg elastic.Config[T]) *elastic.DynamicScaler[T] {
	t.Helper()
	p, err := elastic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Run(ctx); err != nil && !errors.As(err, new(*elastic.ShutdownError)) {
			t.Errorf("run: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	for len(p.Decisions()) == 0 { // until it has started its first worker
		runtime.Gosched()
	}
	return p
}

// enqueue queues a job that must be accepted.
func enqueue[T any](t *testing.T, p *elastic.DynamicScaler[T], job T, options ...elastic.Option) *elastic.Ticket {
	t.Helper()
	ticket, err := p.Enqueue(context.Background(), job, options...)
	if err != nil {
		t.Fatalf("enqueue: %v", err)
	}
	return ticket
}

// job is a function, so that each test can say what its jobs do.
type job func(context.Context) error

func doJob(ctx context.Context, j job) error { return j(ctx) }

// pass lets time pass, which costs none in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// block returns a job that runs until release is called, and a channel that is
// closed when it has begun.
func block() (j job, began chan struct{}, release func()) {
	began, gate := make(chan struct{}), make(chan struct{})
	return func(context.Context) error {
		close(began)
		<-gate
		return nil
	}, began, sync.OnceFunc(func() { close(gate) })
}

// crew makes workers that note when they are closed.
type crew struct {
	mu     sync.Mutex
	made   []int64
	closed []int64
}

type crewMember struct {
	crew *crew
	idx  int64
}

func (c *crew) make(_ context.Context, idx int64) (elastic.Worker[job], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, idx)
	return &crewMember{c, idx}, nil
}

func (m *crewMember) Do(ctx context.Context, j job) error { return j(ctx) }

func (m *crewMember) Close() {
	m.crew.mu.Lock()
	defer m.crew.mu.Unlock()
	m.crew.closed = append(m.crew.closed, m.idx)
}

func (c *crew) gone() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.closed)
}

func limits[T any](t *testing.T, p *elastic.DynamicScaler[T], low, high int) {
	t.Helper()
	if err := p.SetLimits(low, high); err != nil {
		t.Fatal(err)
	}
}

func TestTheNewestWorkerIsRetiredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{}
		p := run(t, elastic.Config[job]{Factory: c.make, MinWorkers: 4, MaxWorkers: 4})
		synctest.Wait()
		for high := 3; high >= 1; high-- {
			limits(t, p, 1, high)
			synctest.Wait()
		}
		if want := []int64{3, 2, 1}; !slices.Equal(c.gone(), want) {
			t.Errorf("workers left in the order %v, want %v", c.gone(), want)
		}
	})
}

func TestAnIdleWorkerRetiresAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 3, MaxWorkers: 3})
		synctest.Wait()
		before := time.Now()
		limits(t, p, 1, 1)
		synctest.Wait()
		if s := p.Stats(); s.Total != 1 || s.Nudges != 0 {
			t.Errorf("%d workers are left and %d were nudged, want 1 and 0", s.Total, s.Nudges)
		}
		if spent := time.Since(before); spent != 0 {
			t.Errorf("it took %s of waiting", spent)
		}
	})
}

func TestABusyWorkerRetiresAfterItsJobAndTakesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{}
		p := run(t, elastic.Config[job]{Factory: c.make, MinWorkers: 2, MaxWorkers: 2})
		first, began, release := block()
		second, began2, release2 := block()
		a, b := enqueue(t, p, first), enqueue(t, p, second)
		<-began
		<-began2
		limits(t, p, 1, 1)
		waiting := enqueue(t, p, func(context.Context) error { return nil })
		synctest.Wait()
		if s := p.Stats(); s.Live != 1 || s.Retiring != 1 || s.Busy != 2 || s.Queued != 1 {
			t.Fatalf("live %d retiring %d busy %d queued %d, want 1 1 2 1", s.Live, s.Retiring, s.Busy, s.Queued)
		}
		// Let go of both, whichever worker has which: the job that waits is
		// the live worker's, and the other leaves.
		release()
		release2()
		synctest.Wait()
		if err := errors.Join(a.Err(), b.Err(), waiting.Err()); err != nil {
			t.Error(err)
		}
		if s := p.Stats(); s.Total != 1 || s.Done != 3 || !slices.Equal(c.gone(), []int64{1}) {
			t.Errorf("total %d done %d gone %v, want 1 3 [1]", s.Total, s.Done, c.gone())
		}
	})
}

func TestARetiringWorkerThatIsWokenPassesTheJobOn(t *testing.T) {
	// The select may choose the job although retirement is asked for, so this
	// is tried often: every job must run, on a worker that is not retiring.
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 2, MaxWorkers: 2})
			synctest.Wait()
			limits(t, p, 1, 1)
			ticket := enqueue(t, p, func(context.Context) error { return nil })
			synctest.Wait()
			select {
			case <-ticket.Done():
			default:
				t.Fatal("the job was left in the queue while a worker was idle")
			}
		})
	}
}

func TestGraceThenANudgeThatLeavesTheJobAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lives []context.Context
		var mu sync.Mutex
		c := &crew{}
		p := run(t, elastic.Config[job]{
			MinWorkers: 2, MaxWorkers: 2, RetireGrace: 2 * time.Second,
			Factory: func(ctx context.Context, idx int64) (elastic.Worker[job], error) {
				mu.Lock()
				defer mu.Unlock()
				lives = append(lives, ctx)
				return c.make(ctx, idx)
			},
		})
		var jobs []*elastic.Ticket
		for range 2 {
			jobs = append(jobs, enqueue(t, p, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(time.Minute):
					return nil
				}
			}))
		}
		synctest.Wait()
		limits(t, p, 1, 1)
		pass(1999 * time.Millisecond)
		if n := ended(lives); n != 0 {
			t.Fatalf("%d workers were nudged before the grace was over", n)
		}
		pass(2 * time.Millisecond)
		synctest.Wait()
		if n, s := ended(lives), p.Stats(); n != 1 || s.Nudges != 1 {
			t.Errorf("%d contexts ended and %d nudges were counted, want 1 and 1", n, s.Nudges)
		}
		for _, life := range lives {
			if life.Err() != nil && !errors.Is(context.Cause(life), elastic.ErrRetireGrace) {
				t.Errorf("the cause is %v", context.Cause(life))
			}
		}
		for _, j := range jobs {
			<-j.Done()
			if j.Err() != nil {
				t.Errorf("a job was ended by the nudge: %v", j.Err())
			}
		}
	})
}

func ended(lives []context.Context) (n int) {
	for _, life := range lives {
		if life.Err() != nil {
			n++
		}
	}
	return n
}

func TestANudgeEndsASetUpThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{}
		p := run(t, elastic.Config[job]{
			MinWorkers: 2, MaxWorkers: 2, RetireGrace: time.Second,
			Factory: func(ctx context.Context, idx int64) (elastic.Worker[job], error) {
				if idx == 1 {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				return c.make(ctx, idx)
			},
		})
		synctest.Wait()
		limits(t, p, 1, 1)
		pass(time.Second)
		synctest.Wait()
		if s := p.Stats(); s.Total != 1 || !errors.Is(s.LastCrash, elastic.ErrRetireGrace) {
			t.Errorf("%d workers are left; the last one ended by %v", s.Total, s.LastCrash)
		}
	})
}

func TestASlotIsKeptUntilItsWorkerHasReallyExited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 2, MaxWorkers: 2, RetireGrace: time.Second})
		a, began, releaseA := block()
		b, began2, releaseB := block()
		enqueue(t, p, a)
		enqueue(t, p, b)
		<-began
		<-began2
		limits(t, p, 1, 1)
		pass(time.Hour) // long past the nudge
		if s := p.Stats(); s.Total != 2 || s.Retiring != 1 {
			t.Errorf("total %d retiring %d, want 2 and 1", s.Total, s.Retiring)
		}
		releaseA()
		releaseB()
		synctest.Wait()
		if s := p.Stats(); s.Total != 1 || s.Retiring != 0 {
			t.Errorf("after its exit: total %d retiring %d, want 1 and 0", s.Total, s.Retiring)
		}
	})
}

func TestRetiringWorkersCountTowardsTheTotalCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 4, MaxWorkers: 4})
		var release []func()
		for range 4 {
			j, began, let := block()
			enqueue(t, p, j)
			<-began
			release = append(release, let)
		}
		limits(t, p, 1, 1) // three retire, but their jobs go on
		synctest.Wait()
		limits(t, p, 1, 4)
		for range 8 { // a backlog that wants more workers
			enqueue(t, p, func(context.Context) error { pass(time.Second); return nil })
		}
		for range 100 {
			pass(50 * time.Millisecond)
			if s := p.Stats(); s.Total > 4 {
				t.Fatalf("%d workers exist, of 4 allowed", s.Total)
			}
		}
		if !slices.ContainsFunc(p.Decisions(), func(d elastic.Decision) bool { return d.Limit == elastic.LimitMaximum }) {
			t.Error("no decision tells that the maximum stopped it")
		}
		for _, let := range release {
			let()
		}
		pass(time.Second)
		if s := p.Stats(); s.Total > 4 || s.Live < 2 {
			t.Errorf("after they left: total %d live %d; growth should go on", s.Total, s.Live)
		}
	})
}

func TestTheFloorIsRefilledDuringTheCooldownAfterACrashStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{}
		p := run(t, elastic.Config[job]{
			Factory: c.make, MinWorkers: 3, MaxWorkers: 6,
			Signal: elastic.QueueLength, ScaleUpThreshold: 1, CheckInterval: time.Second, ScaleCooldown: time.Hour,
		})
		for range 4 {
			if err := p.Submit(context.Background(), func(context.Context) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute) // the storm comes long after the start, within the cooldown
		for range 20 {
			var all []*elastic.Ticket
			for range 3 {
				all = append(all, enqueue(t, p, func(context.Context) error { pass(time.Second); panic("storm") }))
			}
			for _, ticket := range all {
				<-ticket.Done()
			}
			pass(time.Second) // one check
			if s := p.Stats(); s.Live < 3 {
				t.Fatalf("%d workers live one check after a crash, at least 3 promised", s.Live)
			}
		}
		if s := p.Stats(); s.Panicked != 60 || s.Refills < 60 {
			t.Errorf("%d panics and %d refills, want 60 of each", s.Panicked, s.Refills)
		}
	})
}

func TestACrashLoopBacksOffAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{}
		var made atomic.Int64
		var broken atomic.Bool
		broken.Store(true)
		p := run(t, elastic.Config[job]{MinWorkers: 1, MaxWorkers: 2,
			Factory: func(ctx context.Context, idx int64) (elastic.Worker[job], error) {
				made.Add(1)
				if broken.Load() {
					return nil, errors.New("no connection")
				}
				return c.make(ctx, idx)
			},
		})
		pass(time.Minute)
		if n := made.Load(); n < 60 || n > 80 {
			t.Errorf("a worker was tried %d times in a minute, want about one a second", n)
		}
		if s := p.Stats(); s.LastCrash == nil {
			t.Error("the stats do not tell what is wrong")
		}
		broken.Store(false)
		pass(time.Second)
		synctest.Wait()
		if s := p.Stats(); s.Live != 1 || s.Total != 1 {
			t.Errorf("live %d total %d a second after the fault is gone, want 1 and 1", s.Live, s.Total)
		}
	})
}

func TestAGateRefusalIsRecordedWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, err := elastic.NewGate(elastic.GateConfig{Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 8, Gate: gate, CPUBound: true})
		for range 40 {
			enqueue(t, p, func(context.Context) error { pass(100 * time.Millisecond); return nil })
		}
		pass(2 * time.Second)
		s := p.Stats()
		if s.GateRefusals[elastic.LimitCPU] == 0 || s.Live > 2 {
			t.Errorf("%d refusals and %d workers, want some and at most 2", s.GateRefusals[elastic.LimitCPU], s.Live)
		}
		last := p.Decisions()[len(p.Decisions())-1]
		if last.Action != elastic.Grow || last.Wanted < 1 || last.Changed != 0 || last.Limit != elastic.LimitCPU ||
			last.Reason == "" || last.Stopped == "" || last.Times < 10 {
			t.Errorf("the decision tells %+v", last)
		}
	})
}

func TestSaturatedStopsGrowthWithItsOwnWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 8,
			Saturated: func() (bool, string) { return true, "libvips has 4 of 4 threads busy" }})
		for range 40 {
			enqueue(t, p, func(context.Context) error { pass(100 * time.Millisecond); return nil })
		}
		pass(time.Second)
		last := p.Decisions()[len(p.Decisions())-1]
		if s := p.Stats(); s.Live != 1 || last.Limit != elastic.LimitSaturated || last.Stopped[:31] != "libvips has 4 of 4 threads busy" {
			t.Errorf("%d workers, decision %+v", s.Live, last)
		}
	})
}

func TestAPanicIsTheCallersErrorAndNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{}
		p := run(t, elastic.Config[job]{Factory: c.make, MinWorkers: 1, MaxWorkers: 1})
		cause := errors.New("broken picture")
		err := p.Submit(context.Background(), func(context.Context) error { panic(cause) })
		var caught *elastic.PanicError
		if !errors.As(err, &caught) || !errors.Is(err, cause) || len(caught.Stack) == 0 {
			t.Fatalf("the caller got %v", err)
		}
		if err := p.Submit(context.Background(), func(context.Context) error { return nil }); err != nil {
			t.Errorf("the next job: %v", err)
		}
		if !slices.Equal(c.gone(), []int64{0}) {
			t.Errorf("closed %v, want the worker that panicked", c.gone())
		}
	})
}

func TestAWorkerThatGivesUpIsReplaced(t *testing.T) {
	cases := map[string]struct {
		job  job
		want error
	}{
		"because its job said so": {func(context.Context) error {
			return errors.Join(elastic.ErrReplaceWorker, errors.New("decoder confused"))
		}, elastic.ErrReplaceWorker},
		"because its goroutine exits": {func(context.Context) error { runtime.Goexit(); return nil }, elastic.ErrWorkerExited},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				team := &crew{}
				p := run(t, elastic.Config[job]{Factory: team.make})
				if err := p.Submit(context.Background(), c.job); !errors.Is(err, c.want) {
					t.Errorf("the caller got %v, want %v", err, c.want)
				}
				synctest.Wait()
				if s := p.Stats(); s.Live != 1 || s.Refills != 1 || !slices.Equal(team.gone(), []int64{0}) {
					t.Errorf("live %d refills %d closed %v", s.Live, s.Refills, team.gone())
				}
			})
		})
	}
}

func TestPrioritiesDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 1, Classes: 3, Ageing: time.Second})
		tick := func(context.Context) error { pass(100 * time.Millisecond); return nil }
		stop := make(chan struct{})
		var flood sync.WaitGroup
		for range 4 { // always more urgent jobs than can be done
			flood.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_ = p.Submit(context.Background(), tick)
					}
				}
			})
		}
		pass(time.Second)
		began := time.Now()
		low := enqueue(t, p, tick, elastic.Class(2))
		<-low.Done()
		if wait := time.Since(began); wait < time.Second || wait > 3*time.Second {
			t.Errorf("the lowest class waited %s under a flood, want about two ageings", wait)
		}
		close(stop)
		flood.Wait()
	})
}

func TestAHigherClassGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 1, Classes: 2})
		hold, began, release := block()
		enqueue(t, p, hold)
		<-began
		var order []string
		note := func(name string) job {
			return func(context.Context) error { order = append(order, name); return nil }
		}
		enqueue(t, p, note("late"), elastic.Class(1))
		enqueue(t, p, note("later"), elastic.Class(7)) // taken for the last class
		last := enqueue(t, p, note("first"))
		release()
		<-last.Done()
		synctest.Wait()
		if want := []string{"first", "late", "later"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}
