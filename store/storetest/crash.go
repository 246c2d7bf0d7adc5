package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// patiently does what fails while a server starts, until it does not.
func (f *fixture) patiently(try func(context.Context) error) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, 30*time.Second)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		pause := time.NewTimer(20 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			f.Fatalf("after thirty seconds still: %v", err)
		}
	}
}

func crashLosesNothing(f *fixture) {
	queued := f.one(keyed("k"), priority(9))
	done := f.begin(hooked)
	f.save(done, part("a", `1`))
	f.finish(done, succeeded())
	running := f.begin()
	f.save(running, part("b", `2`))
	delayed := f.one(after(time.Hour))
	var before []whole
	for _, id := range []jobs.ID{queued, done.ID, running.ID, delayed} {
		before = append(before, f.whole(id))
	}
	f.Crash()
	f.patiently(func(ctx context.Context) error { _, err := f.Store.Job(ctx, queued); return err })
	for _, was := range before {
		f.equal("what was acknowledged", f.whole(was.Job.ID), was)
	}
	f.existing(queued, keyed("k"))
	if n := len(f.due()); n != 1 {
		f.Errorf("%d notices are due; want 1", n)
	}
	f.finish(running, succeeded()) // its lease has outlived the server
	f.start(queued)
}

// told is what writers were told is done, before and after a crash.
type told struct {
	mu      sync.Mutex // guards all below
	entered []jobs.ID
	ended   []jobs.ID
	rounds  chan struct{} // a value for each round that was done
}

// round enqueues, claims and finishes once, whatever fails of it.
func (w *told) round(ctx context.Context, s jobs.Store) {
	list, err := s.Enqueue(ctx, many(10))
	w.mu.Lock()
	for _, e := range list {
		if err == nil {
			w.entered = append(w.entered, e.Job.ID)
		}
	}
	w.mu.Unlock()
	taken, _ := s.Claim(ctx, jobs.Claim{WorkerID: worker, Queues: []string{queue}, N: 4, Lease: time.Hour, Market: jobs.VPS})
	for _, j := range taken {
		if s.Finish(ctx, leaseOf(j), succeeded()) == nil {
			w.mu.Lock()
			w.ended = append(w.ended, j.ID)
			w.mu.Unlock()
		}
	}
	select {
	case w.rounds <- struct{}{}:
	default:
	}
}

// crashAmidWork lets the server die under writers, and looks for what they were
// told was done, and for halves of what they were told nothing of.
func crashAmidWork(f *fixture) {
	w := &told{rounds: make(chan struct{}, 10)}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					w.round(f.ctx, f.Store)
				}
			}
		})
	}
	for range 10 {
		<-w.rounds
	}
	f.Crash()
	close(stop)
	wg.Wait()
	f.patiently(func(ctx context.Context) error { _, err := f.Store.Queues(ctx, 1); return err })
	for _, id := range w.ended {
		f.is(id, jobs.Succeeded)
	}
	for _, id := range w.entered {
		j := f.job(id)
		if n := len(f.attempts(id)); n != j.Deliveries || (j.State == jobs.Running) != (j.Token != "") {
			f.Errorf("job %s is %s with %d attempts of %d deliveries", id, j.State, n, j.Deliveries)
		}
	}
	f.Logf("summary: crash amid work: %d jobs and %d ends acknowledged, none lost", len(w.entered), len(w.ended))
}
