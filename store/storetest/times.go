package storetest

import (
	"slices"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func timeRules() []rule {
	return []rule{
		{"a job begins after its delay", afterDelay},
		{"a job begins at its time, in any zone", atItsTime},
		{"a time that is past is now", pastIsNow},
		{"what is due is promoted oldest first and no more than asked for", promoteInOrder},
		{"two processes that promote at once promote each job once", promoteOnce},
		{"a promoted job keeps its priority", promoteByPriority},
		{"a job that waited too long is given up", givenUp},
		{"waiting begins when a job could be started", waitBegins},
		{"a running job and one without a limit are never given up", notGivenUp},
	}
}

func afterDelay(f *fixture) {
	id := f.one(after(10 * time.Minute))
	got := f.is(id, jobs.Queued)
	f.equal("its time", got.EligibleAt, got.CreatedAt.Add(10*time.Minute))
	f.Shift(9 * time.Minute)
	if moved := f.promote(); len(moved) != 0 {
		f.Fatalf("promoted %v too early", moved)
	}
	f.Shift(2 * time.Minute)
	f.equal("what became ready", f.promote(), []jobs.Moved{{ID: id, Queue: queue, State: jobs.Queued, Ready: true}})
	if moved := f.promote(); len(moved) != 0 {
		f.Errorf("promoted %v twice", moved)
	}
	f.equal("its time", f.start(id).EligibleAt, got.EligibleAt)
}

func atItsTime(f *fixture) {
	at := f.now().Add(time.Hour).In(time.FixedZone("far", 9*3600))
	id := f.one(func(s *jobs.Spec) { s.RunAt = at })
	f.equal("its time", f.job(id).EligibleAt, at)
	f.Shift(59 * time.Minute)
	f.promote()
	if n := len(f.claim(1)); n != 0 {
		f.Fatal("it was claimed before its time")
	}
	f.Shift(2 * time.Minute)
	f.promote()
	f.start(id)
}

func pastIsNow(f *fixture) {
	id := f.one(func(s *jobs.Spec) { s.RunAt, s.WaitLimit = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC), time.Minute })
	if moved, err := f.Store.GiveUp(f.ctx, 10); err != nil || len(moved) != 0 {
		f.Fatalf("gave up %v (%v) though it has waited for no time", moved, err)
	}
	if got := f.start(id); got.EligibleAt.Before(got.CreatedAt) {
		f.Errorf("eligible since %v, before it came at %v", got.EligibleAt, got.CreatedAt)
	}
}

func promoteInOrder(f *fixture) {
	var want []jobs.ID
	for _, minutes := range []int{5, 3, 4, 1, 2} {
		want = append(want, f.one(after(time.Duration(minutes)*time.Minute)))
	}
	want = []jobs.ID{want[3], want[4], want[1], want[2], want[0]}
	f.Shift(10 * time.Minute)
	for _, part := range [][]jobs.ID{want[:3], want[3:], nil} {
		moved, err := f.Store.Promote(f.ctx, 3)
		f.must(err)
		f.equal("what was promoted", f.moved(moved), sortedIDs(part))
	}
}

// moved lists what maintenance changed; in which order it does that within one
// step is its own affair.
func (f *fixture) moved(list []jobs.Moved) []jobs.ID {
	var all []jobs.ID
	for _, m := range list {
		all = append(all, m.ID)
	}
	return sortedIDs(all)
}

func promoteOnce(f *fixture) {
	const n = 60
	f.enqueue(many(n, after(time.Minute))...)
	f.Shift(2 * time.Minute)
	moved := make([][]jobs.Moved, 6)
	f.atOnce(len(moved), func(i int, s jobs.Store) (err error) {
		moved[i], err = s.Promote(f.ctx, 40)
		return err
	})
	times := map[jobs.ID]int{}
	for _, m := range slices.Concat(slices.Concat(moved...), f.promote()) {
		times[m.ID]++
	}
	for id, n := range times {
		if n != 1 {
			f.Errorf("job %s was promoted %d times", id, n)
		}
	}
	if got := len(f.claim(2 * n)); len(times) != n || got != n {
		f.Errorf("%d jobs were promoted and %d claimed; want %d", len(times), got, n)
	}
}

func promoteByPriority(f *fixture) {
	slow := f.one(priority(6))
	urgent := f.one(priority(2), after(time.Minute))
	f.Shift(2 * time.Minute)
	f.promote()
	f.equal("what comes first", ids(f.claim(2)), []jobs.ID{urgent, slow})
}

func givenUp(f *fixture) {
	id := f.one(patient(time.Minute), hooked)
	f.Shift(50 * time.Second)
	moved, err := f.Store.GiveUp(f.ctx, 10)
	f.must(err)
	if len(moved) != 0 {
		f.Fatalf("gave up %v too early", moved)
	}
	f.Shift(20 * time.Second)
	moved, err = f.Store.GiveUp(f.ctx, 10)
	f.must(err)
	f.equal("what was given up", moved, []jobs.Moved{{ID: id, Queue: queue, State: jobs.Failed}})
	if got := f.is(id, jobs.Failed); got.Code != jobs.CodeWaitLimit || got.Reason == "" || got.FinishedAt.IsZero() || got.Attempts != 0 {
		f.Errorf("the job is %+v", got)
	}
	if n, notices := len(f.claim(1)), len(f.due()); n != 0 || notices != 1 {
		f.Errorf("claimed %d, %d notices; want 0 and 1", n, notices)
	}
}

func waitBegins(f *fixture) {
	delayed := f.one(patient(time.Minute), after(time.Hour))
	released1 := f.begin(patient(time.Minute))
	f.Shift(50 * time.Second)
	f.finish(released1, released())
	f.Shift(50 * time.Second)
	moved, err := f.Store.GiveUp(f.ctx, 10)
	f.must(err)
	f.equal("what was given up", f.moved(moved), []jobs.ID(nil))
	f.is(delayed, jobs.Queued)
	f.Shift(20 * time.Second)
	moved, err = f.Store.GiveUp(f.ctx, 10)
	f.must(err)
	f.equal("what was given up", f.moved(moved), []jobs.ID{released1.ID})
}

func notGivenUp(f *fixture) {
	running := f.begin(patient(time.Minute))
	endless := f.one()
	f.Shift(1000 * time.Hour)
	moved, err := f.Store.GiveUp(f.ctx, 10)
	f.must(err)
	f.equal("what was given up", f.moved(moved), []jobs.ID(nil))
	f.is(running.ID, jobs.Running)
	f.is(endless, jobs.Queued)
}

func ageRules() []rule {
	return []rule{
		{"waiting raises 4 to 10, never 1 to 3 and never above 4", agesWithinBounds},
		{"an aged job goes before one that has not waited", agedGoesFirst},
		{"ageing does no more than asked for and is done when all is", agesInSteps},
		{"delayed, running and finished jobs do not age", onlyReadyAges},
	}
}

// age raises what has waited for an hour or more.
func (f *fixture) age(limit int) int {
	f.Helper()
	n, err := f.Store.Age(f.ctx, time.Hour, limit)
	f.must(err)
	return n
}

func agesWithinBounds(f *fixture) {
	var all []jobs.ID
	for p := jobs.HighestPriority; p <= jobs.LowestPriority; p++ {
		all = append(all, f.one(priority(p)))
	}
	look := func(want ...int) {
		f.Helper()
		var ranks []int
		for i, id := range all {
			j := f.job(id)
			ranks = append(ranks, j.Rank)
			if j.Priority != i+1 {
				f.Errorf("ageing changed what was asked for: priority %d is %d", i+1, j.Priority)
			}
		}
		f.equal("the ranks", ranks, want)
	}
	f.age(100)
	look(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	f.Shift(time.Hour + time.Minute)
	f.age(100)
	look(1, 2, 3, 4, 4, 5, 6, 7, 8, 9)
	f.age(100)
	look(1, 2, 3, 4, 4, 5, 6, 7, 8, 9)
	f.Shift(2 * time.Hour)
	f.age(100)
	look(1, 2, 3, 4, 4, 4, 4, 5, 6, 7)
	f.Shift(100 * time.Hour)
	f.age(100)
	look(1, 2, 3, 4, 4, 4, 4, 4, 4, 4)
}

func agedGoesFirst(f *fixture) {
	old := f.one(priority(9))
	f.Shift(3*time.Hour + time.Minute)
	young := f.one(priority(7))
	urgent := f.one(priority(3))
	if n := f.age(10); n != 1 {
		f.Fatalf("%d jobs were aged; want 1", n)
	}
	f.equal("the order", ids(f.claim(3)), []jobs.ID{urgent, old, young})
}

func agesInSteps(f *fixture) {
	f.enqueue(many(5, priority(8))...)
	f.Shift(90 * time.Minute)
	for _, want := range []int{2, 2, 1, 0} {
		if n := f.age(2); n != want {
			f.Fatalf("%d jobs were aged; want %d", n, want)
		}
	}
}

func onlyReadyAges(f *fixture) {
	running := f.begin(priority(9))
	done := f.begin(priority(9))
	f.finish(done, succeeded())
	delayed := f.one(priority(9), after(48*time.Hour))
	f.Shift(10 * time.Hour)
	if n := f.age(10); n != 0 {
		f.Errorf("%d jobs were aged", n)
	}
	for _, id := range []jobs.ID{running.ID, done.ID, delayed} {
		if r := f.job(id).Rank; r != 9 {
			f.Errorf("job %s has rank %d", id, r)
		}
	}
}

func pruneRules() []rule {
	return []rule{
		{"finished jobs are deleted when their time is over, by state", pruneByState},
		{"a deleted job takes all that belongs to it along", pruneWhole},
		{"no more are deleted than asked for", pruneInSteps},
		{"jobs that are not over are kept for ever", pruneKeepsOpen},
		{"old metrics and workers are deleted", pruneWorkers},
		{"all old metrics are deleted, however few jobs are", pruneAllMetrics},
	}
}

func (f *fixture) prune(keep jobs.Retention, limit int) int {
	f.Helper()
	n, err := f.Store.Prune(f.ctx, keep, limit)
	f.must(err)
	return n
}

func (f *fixture) gone(id jobs.ID) bool {
	f.Helper()
	_, err := f.Store.Job(f.ctx, id)
	if err == nil {
		return false
	}
	f.wants(err, jobs.ErrNotFound)
	return true
}

func pruneByState(f *fixture) {
	var list []jobs.ID
	for _, o := range []jobs.Outcome{succeeded(), failed(), cancelled()} {
		j := f.begin()
		f.finish(j, o)
		list = append(list, j.ID)
	}
	keep := jobs.Retention{Succeeded: time.Hour, Failed: 3 * time.Hour, Cancelled: 2 * time.Hour}
	for _, step := range []struct{ n, succeeded, failed, cancelled int }{{0, 0, 0, 0}, {1, 1, 0, 0}, {1, 1, 0, 1}, {1, 1, 1, 1}} {
		if n := f.prune(keep, 10); n != step.n {
			f.Fatalf("pruned %d; want %d", n, step.n)
		}
		for i, want := range []int{step.succeeded, step.failed, step.cancelled} {
			if f.gone(list[i]) != (want == 1) {
				f.Fatalf("job %s is gone: %v", list[i], want != 1)
			}
		}
		f.Shift(time.Hour + time.Second)
	}
}

func pruneWhole(f *fixture) {
	j := f.begin(hooked, keyed("k"))
	f.save(j, part("a", `1`))
	f.finish(j, failed())
	f.Shift(time.Hour)
	if n := f.prune(jobs.Retention{Failed: time.Minute, Succeeded: time.Minute, Cancelled: time.Minute}, 10); n != 1 {
		f.Fatalf("pruned %d", n)
	}
	if len(f.attempts(j.ID)) != 0 || len(f.parts(j.ID)) != 0 || len(f.due()) != 0 {
		f.Error("something of it is left")
	}
	versions, err := f.Store.Versions(f.ctx, []jobs.ID{j.ID})
	f.must(err)
	if len(versions) != 0 {
		f.Errorf("its version is %v", versions)
	}
}

func pruneInSteps(f *fixture) {
	f.enqueue(many(7)...)
	for _, j := range f.claim(7) {
		f.finish(j, succeeded())
	}
	f.Shift(time.Hour)
	for _, want := range []int{3, 3, 1, 0} {
		if n := f.prune(jobs.Retention{Succeeded: time.Minute, Failed: time.Minute, Cancelled: time.Minute}, 3); n != want {
			f.Fatalf("pruned %d; want %d", n, want)
		}
	}
}

func pruneKeepsOpen(f *fixture) {
	running := f.begin()
	delayed := f.one(after(time.Hour))
	ready := f.one()
	f.Shift(10_000 * time.Hour)
	if n := f.prune(jobs.Retention{Succeeded: time.Minute, Failed: time.Minute, Cancelled: time.Minute}, 10); n != 0 {
		f.Errorf("pruned %d", n)
	}
	for _, id := range []jobs.ID{running.ID, delayed, ready} {
		f.job(id)
	}
}

func pruneWorkers(f *fixture) {
	f.register("left")
	f.must(f.Store.Record(f.ctx, "left", jobs.WorkerMetric{CPUPercent: 5}))
	f.must(f.Store.Record(f.ctx, worker, jobs.WorkerMetric{CPUPercent: 5}))
	f.must(f.Store.Leave(f.ctx, "left"))
	f.Shift(25 * time.Hour)
	f.prune(jobs.Retention{Failed: 48 * time.Hour}, 10)
	if w := f.worker(worker); w.Latest != nil {
		f.Errorf("a metric of yesterday is kept: %+v", w.Latest)
	}
	f.worker("left") // for as long as failed jobs
	f.Shift(25 * time.Hour)
	f.prune(jobs.Retention{Failed: 48 * time.Hour}, 10)
	list, err := f.Store.Workers(f.ctx, true)
	f.must(err)
	if len(list) != 1 || list[0].ID != worker {
		f.Errorf("the workers are %+v", list)
	}
}

func pruneAllMetrics(f *fixture) {
	for range 25 {
		f.must(f.Store.Record(f.ctx, worker, jobs.WorkerMetric{CPUPercent: 5}))
		f.Shift(15 * time.Second)
	}
	f.Shift(25 * time.Hour)
	f.prune(jobs.Retention{Failed: 48 * time.Hour}, 10)
	if w := f.worker(worker); w.Latest != nil {
		f.Errorf("a metric of yesterday is kept: %+v", w.Latest)
	}
}
