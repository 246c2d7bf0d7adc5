package elastic_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

func nothing(context.Context) error { return nil }

// occupied is a pool of one worker that is busy until the test ends.
func occupied(t *testing.T, cfg elastic.Config[job]) *elastic.DynamicScaler[job] {
	t.Helper()
	cfg.Handler, cfg.MaxWorkers = doJob, 1
	p := run(t, cfg)
	hold, began, release := block()
	enqueue(t, p, hold)
	<-began
	t.Cleanup(release)
	return p
}

func TestAFullQueueRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := occupied(t, elastic.Config[job]{QueueSize: 2})
		tickets := []*elastic.Ticket{enqueue(t, p, nothing), enqueue(t, p, nothing)}
		if err := p.Submit(t.Context(), nothing); !errors.Is(err, elastic.ErrQueueFull) {
			t.Errorf("submit: %v", err)
		}
		if err := p.TrySubmit(t.Context(), nothing); !errors.Is(err, elastic.ErrQueueFull) {
			t.Errorf("try: %v", err)
		}
		if !tickets[0].Withdraw() {
			t.Fatal("a queued job could not be withdrawn")
		}
		if err := p.TrySubmit(t.Context(), nothing); err != nil {
			t.Errorf("the place of a withdrawn job is not free: %v", err)
		}
		if s := p.Stats(); s.Refused.QueueFull != 2 || s.Returned != 1 || s.Queued != 2 {
			t.Errorf("refused %d returned %d queued %d, want 2 1 2", s.Refused.QueueFull, s.Returned, s.Queued)
		}
	})
}

func TestAWithdrawnJobEndsOnceAndNeverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := occupied(t, elastic.Config[job]{})
		ticket := enqueue(t, p, func(context.Context) error { t.Error("it ran"); return nil })
		if !ticket.Withdraw() || ticket.Withdraw() {
			t.Error("the first withdrawal counts, a second does not")
		}
		if err := ticket.Wait(t.Context()); !errors.Is(err, elastic.ErrWithdrawn) {
			t.Errorf("its outcome is %v", err)
		}
	})
}

func TestAQueuedJobIsGivenUpWithItsCaller(t *testing.T) {
	left := errors.New("the client left")
	ways := map[string]func(context.Context, *testing.T, *elastic.DynamicScaler[job]) error{
		"who waits": func(ctx context.Context, _ *testing.T, p *elastic.DynamicScaler[job]) error {
			return p.Submit(ctx, nothing)
		},
		"who holds a ticket": func(ctx context.Context, t *testing.T, p *elastic.DynamicScaler[job]) error {
			ticket, err := p.Enqueue(ctx, nothing)
			if err != nil {
				t.Fatal(err)
			}
			return ticket.Wait(context.Background())
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := occupied(t, elastic.Config[job]{})
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(left) })
				if err := way(ctx, t, p); !errors.Is(err, left) {
					t.Errorf("the outcome is %v", err)
				}
				if s := p.Stats(); s.Queued != 0 || s.Returned != 1 {
					t.Errorf("queued %d returned %d, want 0 and 1", s.Queued, s.Returned)
				}
			})
		})
	}
}

func TestARunningJobIsToldThatItsCallerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob})
		left := errors.New("the client left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(left) })
		began := time.Now()
		err := p.Submit(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			pass(time.Second) // it tidies up
			return context.Cause(ctx)
		})
		if spent := time.Since(began); !errors.Is(err, left) || spent != 2*time.Second {
			t.Errorf("%v after %s, want the cause, and only when the handler is through", err, spent)
		}
	})
}

func TestDeadlines(t *testing.T) {
	t.Run("return a job that is still queued", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := occupied(t, elastic.Config[job]{})
			began := time.Now()
			err := p.Submit(t.Context(), nothing, elastic.Deadline(began.Add(time.Second)))
			if !errors.Is(err, elastic.ErrDeadline) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	})
	t.Run("end the context of a job that runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := run(t, elastic.Config[job]{Handler: doJob})
			at := time.Now().Add(time.Second)
			err := p.Submit(t.Context(), func(ctx context.Context) error {
				if told, ok := ctx.Deadline(); !ok || !told.Equal(at) {
					t.Errorf("the context tells %v", told)
				}
				<-ctx.Done()
				if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("its error is %v", ctx.Err())
				}
				return context.Cause(ctx)
			}, elastic.Deadline(at))
			if !errors.Is(err, elastic.ErrDeadline) {
				t.Errorf("the outcome is %v", err)
			}
		})
	})
	t.Run("refuse a job that would wait for longer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 1})
			slow := func(context.Context) error { pass(time.Second); return nil }
			for range 5 {
				enqueue(t, p, slow)
			}
			pass(2500 * time.Millisecond) // two are done, so the pace is known
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := p.Submit(ctx, slow); !errors.Is(err, elastic.ErrWouldWait) {
				t.Errorf("one second left, two queued: %v", err)
			}
			if err := p.TrySubmit(t.Context(), slow, elastic.Deadline(time.Now().Add(time.Minute))); err != nil {
				t.Errorf("a minute left: %v", err)
			}
		})
	})
	t.Run("refuse a job that is late already", func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob})
		if err := p.Submit(t.Context(), nothing, elastic.Deadline(time.Now())); !errors.Is(err, elastic.ErrDeadline) {
			t.Error(err)
		}
	})
}

func TestAJobMayNotWaitForItsOwnPool(t *testing.T) {
	p := run(t, elastic.Config[job]{Handler: doJob})
	other := run(t, elastic.Config[job]{Handler: doJob})
	err := p.Submit(t.Context(), func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := other.Submit(ctx, nothing); err != nil {
			t.Errorf("another pool: %v", err)
		}
		return p.Submit(ctx, nothing)
	})
	if !errors.Is(err, elastic.ErrNested) {
		t.Errorf("its own pool: %v", err)
	}
}

func TestAJobsContextCarriesTheValuesOfItsCaller(t *testing.T) {
	type key struct{}
	p := run(t, elastic.Config[job]{Handler: doJob})
	ctx := context.WithValue(t.Context(), key{}, "trace")
	leaked := make(chan context.Context, 1)
	err := p.Submit(ctx, func(ctx context.Context) error {
		leaked <- ctx
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		if ctx.Value(key{}) != "trace" || inner.Value(key{}) != "trace" || inner.Err() != nil {
			t.Error("the context lost its value, or ended")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if (<-leaked).Err() == nil {
		t.Error("the job's context outlives the job")
	}
}

func TestAConfigurationNamesEveryFault(t *testing.T) {
	_, err := elastic.New(elastic.Config[job]{MinWorkers: 5, MaxWorkers: 2, Classes: 99, CheckInterval: time.Nanosecond})
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"Handler", "MaxWorkers", "Classes", "CheckInterval"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
	for _, s := range []elastic.Signal{elastic.WaitTime, elastic.SmoothedBacklog, elastic.QueueLength} {
		if back, err := elastic.ParseSignal(s.String()); err != nil || back != s {
			t.Errorf("signal %s reads back as %s, %v", s, back, err)
		}
	}
}
