package storetest

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func cancelRules() []rule {
	return []rule{
		{"a queued or delayed job is cancelled at once", cancelQueued},
		{"a running job is asked to stop, and its worker is told", cancelRunning},
		{"bug-reports 24: a cancelled job never runs again", cancelLasts},
		{"bug-reports 24: an orphan is cancelled at once", cancelOrphan},
		{"cancelling what was cancelled changes nothing", cancelAgain},
		{"what succeeded or failed cannot be cancelled", cancelOver},
		{"a job that ends while it is cancelled has ended", cancelWhileItEnds},
	}
}

// cancelWhileItEnds also has two try a job again at once.
func cancelWhileItEnds(f *fixture) {
	for range 20 {
		j := f.begin()
		f.atOnce(2, func(i int, s jobs.Store) error {
			if i == 0 {
				return s.Finish(f.ctx, leaseOf(j), failed())
			}
			_, err := s.Cancel(f.ctx, j.ID, "It is not wanted any more.")
			return unless(err, jobs.ErrState)
		})
		f.is(j.ID, jobs.Failed)
		var tries atomic.Int64
		f.atOnce(4, func(_ int, s jobs.Store) error {
			_, err := s.Retry(f.ctx, j.ID)
			if err == nil {
				tries.Add(1)
			}
			return unless(err, jobs.ErrState)
		})
		if n := tries.Load(); n != 1 {
			f.Fatalf("it was tried again %d times at once", n)
		}
		f.finish(f.start(j.ID), succeeded())
	}
}

// unless is err, but for one that is expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func cancelQueued(f *fixture) {
	for _, d := range []time.Duration{0, time.Minute} {
		id := f.one(after(d), hooked)
		f.equal("what Cancel answers", f.cancel(id), f.job(id))
		got := f.is(id, jobs.Cancelled)
		if got.Code != jobs.CodeCancelled || got.Reason != "It is not wanted any more." || got.FinishedAt.IsZero() || got.CancelAsked {
			f.Errorf("the job is %+v", got)
		}
		if n := len(f.attempts(id)); n != 0 {
			f.Errorf("it has %d attempts", n)
		}
	}
	f.Shift(time.Hour)
	f.promote()
	if n := len(f.claim(5)); n != 0 {
		f.Errorf("%d cancelled jobs were claimed", n)
	}
	if n := len(f.due()); n != 2 {
		f.Errorf("%d notices; want 2", n)
	}
}

func (f *fixture) signals(id string) jobs.Signals {
	f.Helper()
	s, err := f.Store.Signals(f.ctx, id)
	f.must(err)
	return s
}

func cancelRunning(f *fixture) {
	j, other := f.begin(), f.begin()
	f.register("worker-2")
	theirs := f.claimBy("worker-2", 1)
	f.equal("what is told before", f.signals(worker).Cancel, []jobs.ID(nil))
	if got := f.cancel(j.ID); got.State != jobs.Running || !got.CancelAsked {
		f.Fatalf("the job is %+v", got)
	}
	f.equal("what its worker is told", f.signals(worker).Cancel, []jobs.ID{j.ID})
	f.equal("what another is told", f.signals("worker-2").Cancel, []jobs.ID(nil))
	f.beat(jobs.Pulse{Lease: leaseOf(j)}, jobs.Pulse{Lease: leaseOf(other)})
	f.equal("what its worker is told again", f.signals(worker).Cancel, []jobs.ID{j.ID})
	f.finish(j, cancelled())
	f.equal("what is told after", f.signals(worker).Cancel, []jobs.ID(nil))
	f.equal("its attempts", f.statuses(j.ID), []jobs.AttemptStatus{jobs.AttemptCancelled})
	if got := f.is(j.ID, jobs.Cancelled); got.CancelAsked || len(theirs) != 0 {
		f.Errorf("the job is %+v", got)
	}
}

// cancelLasts tries all that could bring a cancelled job back.
func cancelLasts(f *fixture) {
	j := f.begin()
	f.cancel(j.ID)
	f.beat(jobs.Pulse{Lease: leaseOf(j), Progress: &jobs.Progress{Done: 5}})
	f.finish(j, retried(0))
	f.Shift(time.Hour)
	f.unchanged(j.ID, func() {
		f.promote()
		f.rescues(j, lost(), false)
		f.beat(jobs.Pulse{Lease: leaseOf(j), Progress: &jobs.Progress{Done: 6}})
		if n := len(f.claim(1)); n != 0 {
			f.Error("it was claimed")
		}
	})
	f.is(j.ID, jobs.Cancelled)
}

func cancelOrphan(f *fixture) {
	asked := f.begin(unique("a"))
	f.cancel(asked.ID)
	fresh := f.begin(unique("b"), hooked)
	f.Shift(lease + time.Second) // their worker is gone
	for _, j := range []jobs.Job{asked, fresh} {
		if got := f.cancel(j.ID); got.State != jobs.Cancelled || got.Code != jobs.CodeCancelled || got.FinishedAt.IsZero() {
			f.Fatalf("the orphan is %+v", got)
		}
		if a := f.attempts(j.ID)[0]; a.Status == jobs.AttemptRunning || a.FinishedAt.IsZero() {
			f.Errorf("its attempt is %+v", a)
		}
		f.refused(leaseOf(j))
	}
	if n := len(f.due()); n != 1 {
		f.Errorf("%d notices; want 1", n)
	}
	if _, existing := f.again(unique("b")); existing {
		f.Error("the orphan keeps its unique key")
	}
}

func cancelAgain(f *fixture) {
	queued := f.one()
	f.cancel(queued)
	f.unchanged(queued, func() { f.cancel(queued) })
	running := f.begin()
	f.cancel(running.ID)
	f.unchanged(running.ID, func() { f.cancel(running.ID) })
	f.finish(running, cancelled())
	f.unchanged(running.ID, func() { f.cancel(running.ID) })
}

func cancelOver(f *fixture) {
	for _, o := range []jobs.Outcome{succeeded(), failed()} {
		j := f.begin()
		f.finish(j, o)
		f.unchanged(j.ID, func() {
			_, err := f.Store.Cancel(f.ctx, j.ID, "too late")
			f.wants(err, jobs.ErrState)
		})
	}
}

func retryRules() []rule {
	return []rule{
		{"a failed or cancelled job is queued anew with fresh budgets", retryFresh},
		{"what is queued, runs or succeeded cannot be retried", retryRefused},
		{"a job whose unique key is another's by now cannot be retried", retryUnique},
		{"a retried job keeps its unique key again", retryKeepsUnique},
		{"a retried job has the priority that it was asked for with", retryRank},
		{"a poisoned job gets three lost leases again", retryPoisoned},
	}
}

func retryFresh(f *fixture) {
	for _, o := range []jobs.Outcome{failed(), cancelled()} {
		j := f.begin()
		f.finish(j, retried(0))
		f.finish(f.start(j.ID), o)
		got, err := f.Store.Retry(f.ctx, j.ID)
		f.must(err)
		f.equal("what Retry answers", got, f.job(j.ID))
		if got.State != jobs.Queued || got.Attempts != 0 || got.Lost != 0 || got.Deliveries != 2 ||
			got.Code != "" || got.Reason != "" || got.CancelAsked || !got.FinishedAt.IsZero() || got.EligibleAt.Before(j.CreatedAt) {
			f.Errorf("the job is %+v", got)
		}
		again := f.start(j.ID)
		f.finish(again, succeeded())
		if n := len(f.attempts(j.ID)); n != 3 || again.Deliveries != 3 {
			f.Errorf("%d attempts, delivery %d; want 3 and 3", n, again.Deliveries)
		}
	}
}

func retryRefused(f *fixture) {
	j := f.begin()
	done := f.begin()
	f.finish(done, succeeded())
	for _, id := range []jobs.ID{j.ID, done.ID, f.one(), f.one(after(time.Minute))} {
		f.unchanged(id, func() {
			_, err := f.Store.Retry(f.ctx, id)
			f.wants(err, jobs.ErrState)
		})
	}
}

func retryUnique(f *fixture) {
	j := f.begin(unique("u"))
	f.finish(j, failed())
	later := f.one(unique("u"))
	f.unchanged(j.ID, func() {
		_, err := f.Store.Retry(f.ctx, j.ID)
		f.wants(err, jobs.ErrState)
	})
	f.existing(later, unique("u"))
}

func retryKeepsUnique(f *fixture) {
	j := f.begin(unique("u"))
	f.finish(j, failed())
	_, err := f.Store.Retry(f.ctx, j.ID)
	f.must(err)
	f.existing(j.ID, unique("u"))
}

func retryRank(f *fixture) {
	id := f.one(priority(9))
	f.Shift(3*time.Hour + time.Minute)
	f.age(10)
	f.finish(f.start(id), failed())
	got, err := f.Store.Retry(f.ctx, id)
	f.must(err)
	if got.Rank != 9 {
		f.Errorf("it has rank %d", got.Rank)
	}
}

func retryPoisoned(f *fixture) {
	j := f.begin()
	for range jobs.MaxLost - 1 {
		f.lose()
		f.start(j.ID)
	}
	f.lose()
	_, err := f.Store.Retry(f.ctx, j.ID)
	f.must(err)
	f.start(j.ID)
	f.lose()
	if got := f.is(j.ID, jobs.Queued); got.Lost != 1 {
		f.Errorf("it has lost %d leases", got.Lost)
	}
}
