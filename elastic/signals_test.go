package elastic_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// workload is two minutes of random arrivals, with a burst in three seconds of
// every ten.
type workload struct {
	quiet, burst float64 // jobs a second
	fetch, cpu   time.Duration
}

// played is what a pool made of a workload.
type played struct {
	offered, done  int
	p50, p90, p99  time.Duration // from submission to the end
	actions, turns int           // changes of size; of those, the other way within 2 s
	most           int           // workers
	average        float64       // workers
}

// play runs a workload in a bubble, where the gate's two slots are two CPUs.
func (w workload) play(t *testing.T, signal elastic.Signal) (r played) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, elastic.Config[job]{
			Handler: doJob, MinWorkers: 2, MaxWorkers: 16, QueueSize: 10_000,
			Gate: newGate(t, elastic.GateConfig{Slots: 2}), Signal: signal,
		})
		random := rand.New(rand.NewPCG(7, 7))
		var mu sync.Mutex
		var took []time.Duration
		began := time.Now()
		tracker := track(p, began.Add(2*time.Minute), &r)
		for time.Since(began) < 2*time.Minute {
			rate := w.quiet
			if time.Since(began)%(10*time.Second) < 3*time.Second {
				rate = w.burst
			}
			pass(time.Duration(random.ExpFloat64() / rate * float64(time.Second)))
			submitted := time.Now()
			enqueue(t, p, func(ctx context.Context) error {
				pass(w.fetch)
				leave, err := elastic.EnterCPU(ctx, 0)
				if err != nil {
					return err
				}
				pass(w.cpu)
				leave()
				mu.Lock()
				took = append(took, time.Since(submitted))
				mu.Unlock()
				return nil
			})
			r.offered++
		}
		<-tracker
		mu.Lock()
		r.done = len(took)
		mu.Unlock()
		_ = p.Shutdown(context.Background()) // what is queued still counts for the percentiles
		slices.Sort(took)
		at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(time.Millisecond) }
		r.p50, r.p90, r.p99 = at(0.5), at(0.9), at(0.99)
	})
	return r
}

// track samples the pool until then.
func track(p *elastic.DynamicScaler[job], until time.Time, r *played) chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		samples := 0
		var last elastic.Decision
		for time.Now().Before(until) {
			pass(100 * time.Millisecond)
			total := p.Stats().Total
			r.most = max(r.most, total)
			r.average += float64(total)
			samples++
			for _, d := range acted(p) {
				if d.Forced() || !d.At.After(last.At) {
					continue
				}
				r.actions++
				if last.Action != elastic.Hold && last.Action != d.Action && d.At.Sub(last.At) < 2*time.Second {
					r.turns++
				}
				last = d
			}
		}
		r.average /= float64(samples)
	}()
	return over
}

// TestTheDefaultSignalIsTheBest is why WaitTime is the default: it was chosen
// by this measurement and is held by it.
func TestTheDefaultSignalIsTheBest(t *testing.T) {
	loads := map[string]workload{
		"mostly fetching":    {quiet: 15, burst: 100, fetch: 100 * time.Millisecond, cpu: 20 * time.Millisecond},
		"mostly computing":   {quiet: 6, burst: 60, fetch: 7 * time.Millisecond, cpu: 50 * time.Millisecond},
		"waits, hardly work": {quiet: 20, burst: 200, fetch: 50 * time.Millisecond, cpu: time.Millisecond},
	}
	for name, load := range loads {
		t.Run(name, func(t *testing.T) {
			results := map[elastic.Signal]played{}
			for _, signal := range []elastic.Signal{elastic.WaitTime, elastic.SmoothedBacklog, elastic.QueueLength} {
				r := load.play(t, signal)
				results[signal] = r
				t.Logf("summary: %-18s %-16s done %d of %d, p50 %v p90 %v p99 %v, workers %.1f at most %d, actions %d, turned %d",
					name, signal, r.done, r.offered, r.p50, r.p90, r.p99, r.average, r.most, r.actions, r.turns)
			}
			best, seed := results[elastic.WaitTime], results[elastic.QueueLength]
			if best.p99 > seed.p99 || best.done < seed.done {
				t.Errorf("queue length does better: p99 %s, %d done", seed.p99, seed.done)
			}
			if backlog := results[elastic.SmoothedBacklog]; float64(best.p99) > 1.3*float64(backlog.p99) {
				t.Errorf("smoothed backlog does much better: p99 %s against %s", backlog.p99, best.p99)
			}
			if best.turns != 0 {
				t.Errorf("it turned round %d times within 2 s", best.turns)
			}
		})
	}
}
