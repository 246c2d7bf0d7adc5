package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/spillway-media/spillway/jobs"
)

func processRules() []rule {
	return []rule{
		{"what one process writes another reads", seenByOthers},
		{"processes that enqueue, claim and finish at once end each job once", everyJobOnce},
		{"a worker that finishes and a rescuer at once leave one end", finishAgainstRescue},
		{"a worker that finishes and somebody who cancels at once leave one end", finishAgainstCancel},
	}
}

func seenByOthers(f *fixture) {
	other := f.Reopen(f.T)
	j := f.begin()
	f.must(other.SaveCheckpoints(f.ctx, leaseOf(j), []jobs.Checkpoint{part("a", `1`)}))
	f.must(other.Finish(f.ctx, leaseOf(j), succeeded()))
	f.is(j.ID, jobs.Succeeded)
	if n := len(f.parts(j.ID)); n != 1 {
		f.Errorf("%d parts are seen", n)
	}
}

// shift is several workers that end each job once, and count that.
type shift struct {
	f    *fixture
	full func() bool // all jobs are in

	mu   sync.Mutex // guards ends
	ends map[jobs.ID]int
}

// work claims and finishes until nothing is ready. Every fifth job is released,
// and every job is finished a second time.
func (w *shift) work(s jobs.Store, n int) error {
	for {
		list, err := s.Claim(w.f.ctx, jobs.Claim{WorkerID: worker, Queues: []string{queue}, N: 3, Lease: lease, Market: jobs.VPS})
		if err != nil || len(list) == 0 && w.full() {
			return err
		}
		for _, j := range list {
			o := succeeded()
			if n++; n%5 == 0 {
				o = released()
			}
			if err := w.end(s, j, o); err != nil {
				return err
			}
		}
	}
}

func (w *shift) end(s jobs.Store, j jobs.Job, o jobs.Outcome) error {
	if err := s.Finish(w.f.ctx, leaseOf(j), o); err != nil {
		return err
	}
	if err := s.Finish(w.f.ctx, leaseOf(j), failed()); !errors.Is(err, jobs.ErrLeaseLost) {
		return fmt.Errorf("a second end of job %s: %w", j.ID, err)
	}
	if o.State.Final() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ends[j.ID]++
	}
	return nil
}

func everyJobOnce(f *fixture) {
	const batches, size, workers = 8, 25, 4
	entered := make(chan struct{}, batches)
	w := &shift{f: f, full: func() bool { return len(entered) == batches }, ends: map[jobs.ID]int{}}
	f.atOnce(batches+workers, func(i int, s jobs.Store) error {
		if i >= batches {
			return w.work(s, i)
		}
		_, err := s.Enqueue(f.ctx, many(size, priority(1+i), tenant(fmt.Sprint(i%3))))
		entered <- struct{}{}
		return err
	})
	f.must(w.work(f.Store, 1)) // what was released last
	if len(w.ends) != batches*size {
		f.Errorf("%d of %d jobs ended", len(w.ends), batches*size)
	}
	for id, n := range w.ends {
		if n != 1 || f.job(id).State != jobs.Succeeded {
			f.Errorf("job %s ended %d times and is %s", id, n, f.job(id).State)
		}
	}
}

func finishAgainstRescue(f *fixture) {
	f.enqueue(many(20)...)
	list := f.claim(20)
	f.Shift(2 * lease)
	finished, rescued := make([]bool, len(list)), make([]bool, len(list))
	f.atOnce(2*len(list), func(i int, s jobs.Store) (err error) {
		j := list[i/2]
		if i%2 == 0 {
			err = s.Finish(f.ctx, leaseOf(j), succeeded())
			finished[i/2] = err == nil
			if errors.Is(err, jobs.ErrLeaseLost) {
				err = nil
			}
			return err
		}
		rescued[i/2], err = s.Rescue(f.ctx, leaseOf(j), jobs.AfterLoss(&j))
		return err
	})
	for i, j := range list {
		want := jobs.Queued
		if finished[i] {
			want = jobs.Succeeded
		}
		if finished[i] == rescued[i] {
			f.Errorf("job %s was finished: %v, and rescued: %v", j.ID, finished[i], rescued[i])
		}
		f.is(j.ID, want)
		if n := len(f.attempts(j.ID)); n != 1 {
			f.Errorf("job %s has %d attempts", j.ID, n)
		}
	}
}

func finishAgainstCancel(f *fixture) {
	f.enqueue(many(20)...)
	list := f.claim(20)
	f.Shift(2 * lease) // so that a cancel ends them at once
	finished, refused := make([]bool, len(list)), make([]bool, len(list))
	f.atOnce(2*len(list), func(i int, s jobs.Store) (err error) {
		if i%2 == 0 {
			err = s.Finish(f.ctx, leaseOf(list[i/2]), succeeded())
			finished[i/2] = err == nil
			if errors.Is(err, jobs.ErrLeaseLost) {
				err = nil
			}
			return err
		}
		_, err = s.Cancel(f.ctx, list[i/2].ID, "")
		if errors.Is(err, jobs.ErrState) {
			refused[i/2], err = true, nil
		}
		return err
	})
	for i, j := range list {
		want := jobs.Cancelled
		if finished[i] {
			want = jobs.Succeeded
		}
		if finished[i] != refused[i] {
			f.Errorf("job %s was finished: %v, its cancel refused: %v", j.ID, finished[i], refused[i])
		}
		f.is(j.ID, want)
	}
}
