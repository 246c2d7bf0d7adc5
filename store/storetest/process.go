package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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

// everyJobOnce has two processes that enqueue, and two that work, one of which
// now and then drops what it has claimed, or finishes it twice.
func everyJobOnce(f *fixture) {
	const batches, size, workers = 8, 25, 4
	var mu sync.Mutex
	ends := map[jobs.ID]int{}
	entering := make(chan struct{}, batches)
	work := func(s jobs.Store, n int) error {
		for {
			list, err := s.Claim(f.ctx, jobs.Claim{WorkerID: worker, Queues: []string{queue}, N: 3, Lease: lease, Market: jobs.VPS})
			if err != nil {
				return err
			}
			if len(list) == 0 && len(entering) == batches {
				return nil
			}
			for _, j := range list {
				o := succeeded()
				if n++; n%5 == 0 {
					o = released()
				}
				if err := s.Finish(f.ctx, leaseOf(j), o); err != nil {
					return err
				}
				if err := s.Finish(f.ctx, leaseOf(j), failed()); !errors.Is(err, jobs.ErrLeaseLost) {
					return fmt.Errorf("a second end of job %s: %w", j.ID, err)
				}
				mu.Lock()
				if o.State.Final() {
					ends[j.ID]++
				}
				mu.Unlock()
			}
		}
	}
	f.atOnce(batches+workers, func(i int, s jobs.Store) error {
		if i >= batches {
			return work(s, i)
		}
		_, err := s.Enqueue(f.ctx, many(size, priority(1+i), tenant(fmt.Sprint(i%3))))
		entering <- struct{}{}
		return err
	})
	f.must(work(f.Store, 1)) // what was left by those who met at the last ones
	f.must(work(f.Store, 1))
	if len(ends) != batches*size {
		f.Errorf("%d of %d jobs ended", len(ends), batches*size)
	}
	for id, n := range ends {
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

// extra is a rule for what not every back end has.
type extra struct {
	rule
	has func(*Backend) bool
}

func extras() []extra {
	crashes := func(b *Backend) bool { return b.Crash != nil }
	counts := func(b *Backend) bool { return b.LLEN != nil }
	return []extra{
		{rule{"a crash loses nothing that was acknowledged", crashLosesNothing}, crashes},
		{rule{"a crash in the middle of work leaves every job whole", crashAmidWork}, crashes},
		{rule{"the length of a queue's list is the number of ready jobs", llenIsDepth}, counts},
		{rule{"a list that is wrong is repaired to what SQL says", llenIsRepaired}, counts},
	}
}

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

// crashAmidWork lets the server die under writers, and looks for what they were
// told was done, and for halves of what they were told nothing of.
func crashAmidWork(f *fixture) {
	var mu sync.Mutex
	var entered, ended []jobs.ID
	begun, stop := make(chan struct{}, 1000), make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				list, err := f.Store.Enqueue(f.ctx, many(10))
				taken, _ := f.Store.Claim(f.ctx, jobs.Claim{WorkerID: worker, Queues: []string{queue}, N: 4, Lease: time.Hour, Market: jobs.VPS})
				mu.Lock()
				if err == nil {
					for _, e := range list {
						entered = append(entered, e.Job.ID)
					}
				}
				mu.Unlock()
				for _, j := range taken {
					if f.Store.Finish(f.ctx, leaseOf(j), succeeded()) == nil {
						mu.Lock()
						ended = append(ended, j.ID)
						mu.Unlock()
					}
				}
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 10 {
		<-begun
	}
	f.Crash()
	close(stop)
	wg.Wait()
	f.patiently(func(ctx context.Context) error { _, err := f.Store.Queues(ctx, 1); return err })
	for _, id := range ended {
		f.is(id, jobs.Succeeded)
	}
	for _, id := range entered {
		j := f.job(id)
		if n := len(f.attempts(id)); n != j.Deliveries || (j.State == jobs.Running) != (j.Token != "") {
			f.Errorf("job %s is %s with %d attempts of %d deliveries", id, j.State, n, j.Deliveries)
		}
	}
	f.Logf("summary: crash amid work: %d jobs acknowledged, %d ends acknowledged, none lost", len(entered), len(ended))
}

// depths is what SQL says.
func (f *fixture) depths() map[string]int64 {
	f.Helper()
	depths := map[string]int64{queue: 0, "bulk": 0}
	for name, q := range f.queues(10_000) {
		depths[name] = q.Depth
	}
	return depths
}

func (f *fixture) agree(when string) {
	f.Helper()
	for name, want := range f.depths() {
		if got := f.LLEN(f.T, name); got != want {
			f.Errorf("%s: the list of %s has %d tokens, SQL has %d ready jobs", when, name, got, want)
		}
	}
}

func llenIsDepth(f *fixture) {
	client := jobs.NewClient(f.Store, f.Bell, jobs.NewKinds(
		jobs.Kind{Type: "image.derive", Queue: queue, Priority: 5}, jobs.Kind{Type: "bulk.derive", Queue: "bulk", Priority: 8},
	))
	enqueue := func(specs ...jobs.Spec) {
		f.Helper()
		_, err := client.Enqueue(f.ctx, specs...)
		f.must(err)
	}
	f.agree("at first")
	enqueue(many(5)...)
	enqueue(with(in("bulk")), with(in("bulk")), with(after(time.Hour)))
	f.agree("after enqueue")
	enqueue(with(keyed("k")), with(keyed("k")), with(unique("u")), with(unique("u")))
	f.agree("after enqueue of keys that exist")
	took := f.Bell.Wait(f.ctx, []string{queue, "bulk"}, time.Second)
	list := f.claim(4, queue, "bulk")
	f.Bell.Took(f.ctx, more(list, took))
	f.agree("after a claim")
	f.finish(list[0], succeeded())
	f.finish(list[1], retried(time.Minute))
	f.finish(list[2], released())
	f.Bell.Ring(f.ctx, list[2].Queue, 1)
	f.agree("after three ends")
	f.Shift(2 * time.Minute)
	for _, m := range f.promote() {
		f.Bell.Ring(f.ctx, m.Queue, 1)
	}
	f.agree("after promotion")
	for took != "" {
		if took = f.Bell.Wait(f.ctx, []string{queue, "bulk"}, 10*time.Millisecond); took != "" {
			f.Bell.Took(f.ctx, more(f.claim(3, queue, "bulk"), took))
		}
	}
	f.agree("when all are taken")
}

// more is by how many jobs a claim was larger than the token taken before it.
func more(list []jobs.Job, took string) map[string]int {
	n := map[string]int{}
	for _, j := range list {
		n[j.Queue]++
	}
	if took != "" {
		n[took]--
	}
	return n
}

func llenIsRepaired(f *fixture) {
	f.enqueue(many(6)...)
	f.enqueue(many(2, in("bulk"))...)
	f.Bell.Ring(f.ctx, "bulk", 9)
	for range 2 {
		_, err := f.Bell.Repair(f.ctx, f.depths())
		f.must(err)
		f.agree("after repair")
	}
	f.Bell.Took(f.ctx, map[string]int{queue: 4, "bulk": -3})
	if _, err := f.Bell.Repair(f.ctx, f.depths()); err != nil {
		f.Fatal(err)
	}
	f.agree("after repair of a wrong claim")
	f.Bell.Took(f.ctx, map[string]int{queue: 400})
	if n := f.LLEN(f.T, queue); n < 0 {
		f.Errorf("the list has %d tokens", n)
	}
	changed, err := f.Bell.Repair(f.ctx, f.depths())
	f.must(err)
	if changed[queue] == 0 {
		f.Errorf("repair of an empty list changed %v", changed)
	}
	f.agree("after the list was emptied")
}
