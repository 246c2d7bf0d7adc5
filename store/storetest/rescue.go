package storetest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func rescueRules() []rule {
	return []rule{
		{"a lease that holds is not expired", holdsIsNotExpired},
		{"a lost job is queued again at once and burns no attempt", rescueQueues},
		{"bug-reports 23: a running job without a lease is recovered", func(f *fixture) { rescueDamaged(f, loseLease) }},
		{"bug-reports 23: a running job without a token is recovered", func(f *fixture) { rescueDamaged(f, loseToken) }},
		{"bug-reports 25: a rescue of what finished meanwhile changes nothing", rescueTooLate},
		{"a rescue of what was beaten for, claimed again or released meanwhile changes nothing", rescueOvertaken},
		{"two rescuers at once rescue it once", rescueOnce},
		{"three lost leases in a row poison a job", poison},
		{"a good delivery between lost leases saves a job from being poisoned", noPoison},
		{"a job whose next loss would poison it is given to a worker that holds nothing else, alone", suspectAlone},
		{"a job whose cancel was asked is cancelled by its rescue", rescueCancels},
		{"expired jobs come oldest first and no more than asked for", expiredInOrder},
		{"jobs in other states are never expired", onlyRunningExpires},
	}
}

func (f *fixture) rescues(j jobs.Job, o jobs.Outcome, want bool) {
	f.Helper()
	got, err := f.Store.Rescue(f.ctx, leaseOf(j), o)
	f.must(err)
	if got != want {
		f.Fatalf("rescue of job %s: %v; want %v", j.ID, got, want)
	}
}

func holdsIsNotExpired(f *fixture) {
	j := f.begin()
	f.Shift(lease - 5*time.Second)
	if list := f.expired(); len(list) != 0 {
		f.Errorf("expired is %v", ids(list))
	}
	f.unchanged(j.ID, func() { f.rescues(j, lost(), false) })
}

func rescueQueues(f *fixture) {
	j := f.begin()
	f.Shift(lease + time.Second)
	list := f.expired()
	f.equal("what has expired", list, []jobs.Job{f.job(j.ID)})
	f.rescues(list[0], jobs.AfterLoss(&list[0]), true)
	got := f.is(j.ID, jobs.Queued)
	if got.Lost != 1 || got.Attempts != 0 || got.Code != jobs.CodeLeaseLost || got.Token != "" {
		f.Errorf("the job is %+v", got)
	}
	f.equal("its attempts", f.statuses(j.ID), []jobs.AttemptStatus{jobs.AttemptLost})
	if a := f.attempts(j.ID)[0]; a.FinishedAt.IsZero() || a.Code != jobs.CodeLeaseLost {
		f.Errorf("the lost attempt is %+v", a)
	}
	f.start(j.ID)
}

func rescueDamaged(f *fixture, damage string) {
	j := f.begin()
	f.Exec(f.T, fmt.Sprintf(damage, j.ID))
	f.Shift(lease + time.Second)
	list := f.expired()
	f.equal("what has expired", ids(list), []jobs.ID{j.ID})
	f.rescues(list[0], jobs.AfterLoss(&list[0]), true)
	f.finish(f.start(j.ID), succeeded())
	f.equal("its attempts", f.statuses(j.ID), []jobs.AttemptStatus{jobs.AttemptLost, jobs.AttemptSucceeded})
}

func rescueTooLate(f *fixture) {
	for _, o := range []jobs.Outcome{succeeded(), failed(), cancelled()} {
		j := f.begin()
		f.Shift(lease + time.Second)
		list := f.expired()
		f.finish(j, o) // between the look and the change
		f.unchanged(j.ID, func() { f.rescues(list[0], jobs.AfterLoss(&list[0]), false) })
		f.is(j.ID, o.State)
	}
}

func rescueOvertaken(f *fixture) {
	j := f.begin()
	f.Shift(lease + time.Second)
	seen := f.expired()[0]
	f.beat(jobs.Pulse{Lease: leaseOf(j)})
	f.unchanged(j.ID, func() { f.rescues(seen, jobs.AfterLoss(&seen), false) })
	f.finish(j, released())
	f.unchanged(j.ID, func() { f.rescues(seen, jobs.AfterLoss(&seen), false) })
	f.start(j.ID)
	f.Shift(lease + time.Second) // the next lease is over too, but it is another
	f.unchanged(j.ID, func() { f.rescues(seen, jobs.AfterLoss(&seen), false) })
}

func rescueOnce(f *fixture) {
	j := f.begin()
	f.Shift(lease + time.Second)
	var times atomic.Int64
	f.atOnce(6, func(_ int, s jobs.Store) error {
		done, err := s.Rescue(f.ctx, leaseOf(j), jobs.AfterLoss(&j))
		if done {
			times.Add(1)
		}
		return err
	})
	if got := f.is(j.ID, jobs.Queued); times.Load() != 1 || got.Lost != 1 {
		f.Errorf("rescued %d times, lost %d leases; want 1 and 1", times.Load(), got.Lost)
	}
}

func poison(f *fixture) {
	j := f.begin(hooked)
	for n := 1; n < jobs.MaxLost; n++ {
		f.lose()
		f.is(j.ID, jobs.Queued)
		f.start(j.ID)
	}
	f.lose()
	got := f.is(j.ID, jobs.Failed)
	if got.Code != jobs.CodePoisoned || got.Reason == "" || got.Attempts != 0 || got.Lost != jobs.MaxLost || got.FinishedAt.IsZero() {
		f.Errorf("the job is %+v", got)
	}
	f.Shift(time.Hour)
	f.promote()
	if n := len(f.claim(1)); n != 0 {
		f.Error("a poisoned job is given to another worker")
	}
	if n := len(f.due()); n != 1 {
		f.Errorf("%d notices of its end; want 1", n)
	}
}

func noPoison(f *fixture) {
	j := f.begin()
	for range 3 {
		f.lose()
		f.start(j.ID)
		f.lose()
		f.finish(f.start(j.ID), released())
		f.start(j.ID)
	}
	if got := f.is(j.ID, jobs.Running); got.Lost != 0 || got.Deliveries != 10 {
		f.Errorf("the job is %+v", got)
	}
}

func suspectAlone(f *fixture) {
	j := f.begin(priority(2))
	f.lose()
	if told := f.signals(worker); told.Suspect {
		f.Error("after one lost lease a job is a suspect")
	}
	f.start(j.ID)
	f.lose()
	others := f.enqueue(with(priority(1)), with(priority(3)))
	if told := f.signals(worker); !told.Suspect {
		f.Error("the worker is not told that a job waits to run alone")
	}
	f.register("elsewhere", func(w *jobs.WorkerRow) { w.Queues = []string{"ocr"} })
	if f.signals("elsewhere").Suspect {
		f.Error("a worker of other queues is told of it")
	}
	f.register("spot", func(w *jobs.WorkerRow) { w.Market = jobs.Spot })
	if f.signals("spot").Suspect {
		f.Error("a spot worker is told of a suspect that is not for it")
	}
	spot := jobs.Claim{WorkerID: "spot", Queues: []string{queue}, N: 3, Lease: lease, Market: jobs.Spot, Alone: true}
	if taken, err := f.Store.Claim(f.ctx, spot); err != nil || len(taken) > 0 {
		f.Errorf("a spot worker claimed %v (%v)", ids(taken), err)
	}
	busy, err := f.Store.Claim(f.ctx, jobs.Claim{WorkerID: worker, Queues: []string{queue}, N: 3, Lease: lease, Market: jobs.VPS})
	f.must(err)
	if got := ids(busy); !slices.Equal(got, others) {
		f.Errorf("a busy worker claimed %v; want %v and not the suspect", got, others)
	}
	f.must(f.Store.Drain(f.ctx, worker, time.Hour))
	if got := ids(f.claim(3)); len(got) > 0 {
		f.Errorf("a draining worker claimed %v", got)
	}
	f.must(f.Store.Undrain(f.ctx, worker))
	if got := ids(f.claim(3)); !slices.Equal(got, []jobs.ID{j.ID}) {
		f.Errorf("a worker that holds nothing claimed %v; want the suspect alone", got)
	}
	if f.signals(worker).Suspect {
		f.Error("the worker is told of a suspect that runs")
	}
	f.lose()
	f.is(j.ID, jobs.Failed)
}

func rescueCancels(f *fixture) {
	for _, o := range []jobs.Outcome{lost(), {State: jobs.Failed, Attempt: jobs.AttemptLost, Code: jobs.CodePoisoned}} {
		j := f.begin(unique("u"))
		f.cancel(j.ID)
		f.Shift(lease + time.Second)
		f.rescues(j, o, true)
		if got := f.is(j.ID, jobs.Cancelled); got.Code != jobs.CodeCancelled || got.FinishedAt.IsZero() {
			f.Errorf("the job is %+v", got)
		}
	}
}

func expiredInOrder(f *fixture) {
	var all []jobs.ID
	for range 4 {
		all = append(all, f.begin().ID)
		f.Shift(time.Second)
	}
	f.Shift(lease)
	list, err := f.Store.Expired(f.ctx, 3)
	f.must(err)
	f.equal("the first three", ids(list), all[:3])
}

func onlyRunningExpires(f *fixture) {
	for _, o := range []jobs.Outcome{succeeded(), failed(), cancelled(), released(), retried(time.Minute)} {
		j := f.begin()
		f.finish(j, o)
		if o.State == jobs.Queued {
			f.cancel(j.ID)
		}
	}
	f.enqueue(with(), with(after(time.Minute)))
	f.Shift(time.Hour)
	if list := f.expired(); len(list) != 0 {
		f.Errorf("expired is %v", ids(list))
	}
}
