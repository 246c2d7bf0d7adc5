package elastic_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// offer submits jobs of that length at a steady rate, for that long.
func offer(t *testing.T, p *elastic.DynamicScaler[job], every, length, long time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < long; pass(every) {
		_ = p.TrySubmit(context.Background(), func(context.Context) error { pass(length); return nil })
	}
}

func acted(p *elastic.DynamicScaler[job]) (all []elastic.Decision) {
	for _, d := range p.Decisions() {
		if d.Changed > 0 {
			all = append(all, d)
		}
	}
	return all
}

func TestItGrowsWithin200msOfTheWaitPassingItsTarget(t *testing.T) {
	for _, signal := range []elastic.Signal{elastic.WaitTime, elastic.SmoothedBacklog} {
		t.Run(signal.String(), func(t *testing.T) {
			// Bursts that come at any moment between two checks.
			for offset := range 10 {
				synctest.Test(t, func(t *testing.T) {
					p := run(t, elastic.Config[job]{Handler: doJob, MaxWorkers: 16, Signal: signal})
					offer(t, p, 100*time.Millisecond, 20*time.Millisecond, 3*time.Second)
					pass(time.Duration(offset) * 5 * time.Millisecond)
					for range 50 {
						enqueue(t, p, func(context.Context) error { pass(200 * time.Millisecond); return nil })
					}
					pass(250 * time.Millisecond) // the target, and 200 ms
					if s := p.Stats(); s.Live < 2 {
						t.Errorf("a burst %d ms after a check: still %d worker", 5*offset, s.Live)
					}
				})
			}
		})
	}
}

func TestItTurnsRoundWithin2sOnlyWhenJobsWaitFarTooLong(t *testing.T) {
	for _, signal := range []elastic.Signal{elastic.WaitTime, elastic.SmoothedBacklog} {
		t.Run(signal.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 2, MaxWorkers: 16, Signal: signal, KeepIdle: 3 * time.Second})
				for i := range 12 { // quiet, a tenfold burst, quiet, at odd lengths
					offer(t, p, 100*time.Millisecond, 100*time.Millisecond, 5*time.Second+time.Duration(i)*330*time.Millisecond)
					offer(t, p, 10*time.Millisecond, 100*time.Millisecond, 3*time.Second)
				}
				last := elastic.Decision{}
				for _, d := range acted(p) {
					turned := last.Action != elastic.Hold && last.Action != d.Action && d.At.Sub(last.At) < 2*time.Second
					if urgent := d.Action == elastic.Grow && d.Wait > 200*time.Millisecond; turned && !urgent {
						t.Errorf("%s (%s), %s after %s (%s)", d.Action, d.Reason, d.At.Sub(last.At), last.Action, last.Reason)
					}
					last = d
				}
				if s := p.Stats(); s.ScaleUps < 12 || s.ScaleDowns < 12 {
					t.Errorf("%d ups and %d downs in 12 bursts", s.ScaleUps, s.ScaleDowns)
				}
			})
		})
	}
}

func TestItReturnsToItsFloorWhenQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 2, MaxWorkers: 16})
		offer(t, p, 10*time.Millisecond, 100*time.Millisecond, 5*time.Second)
		if s := p.Stats(); s.Live < 10 {
			t.Errorf("%d workers for a load of ten", s.Live)
		}
		pass(20 * time.Second)
		if s := p.Stats(); s.Live != 2 || s.Total != 2 {
			t.Errorf("20 s of quiet later, live %d total %d", s.Live, s.Total)
		}
	})
}

func TestASteadyLoadSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 1, MaxWorkers: 16})
		offer(t, p, 25*time.Millisecond, 100*time.Millisecond, 10*time.Second) // four busy workers
		before := len(acted(p))
		offer(t, p, 25*time.Millisecond, 100*time.Millisecond, time.Minute)
		if after := len(acted(p)); after != before {
			t.Errorf("%d actions in a minute in which nothing changed", after-before)
		}
	})
}

func TestQueueLengthStepsByOneAndCoolsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 1, MaxWorkers: 16, Signal: elastic.QueueLength,
			ScaleUpThreshold: 2, ScaleDownThreshold: 1})
		offer(t, p, 50*time.Millisecond, time.Second, 5*time.Minute)
		pass(10 * time.Minute)
		var last time.Time
		for _, d := range acted(p)[1:] {
			if d.Changed != 1 || d.At.Sub(last) < 30*time.Second {
				t.Errorf("%s by %d, %s after the last", d.Action, d.Changed, d.At.Sub(last))
			}
			last = d.At
		}
		if s := p.Stats(); s.ScaleUps < 8 || s.ScaleDowns < 8 {
			t.Errorf("%d ups and %d downs", s.ScaleUps, s.ScaleDowns)
		}
	})
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{Handler: doJob, MinWorkers: 2, MaxWorkers: 2, Classes: 2})
		offer(t, p, 100*time.Millisecond, 150*time.Millisecond, 20*time.Second)
		s := p.Stats()
		if s.ArrivalRate < 9 || s.ArrivalRate > 11 || s.ServiceTime.Round(10*time.Millisecond) != 150*time.Millisecond ||
			s.Working < 1.4 || s.Working > 1.6 {
			t.Errorf("10 jobs a second of 150 ms on 1.5 workers are told as %.1f, %s, %.1f", s.ArrivalRate, s.ServiceTime, s.Working)
		}
		for range 3 {
			enqueue(t, p, second, elastic.Class(1))
		}
		for range 2 {
			enqueue(t, p, second)
		}
		pass(500 * time.Millisecond)
		s = p.Stats()
		if s.Busy != 2 || s.Queued != 3 || s.OldestWait < 300*time.Millisecond ||
			s.Arrived != s.Done+s.Failed+s.Returned+uint64(s.Queued+s.Busy) {
			t.Errorf("%+v", s)
		}
	})
}
