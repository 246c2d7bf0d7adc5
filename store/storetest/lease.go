package storetest

import (
	"encoding/json"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func leaseRules() []rule {
	return []rule{
		{"every change is refused with a wrong token", wrongToken},
		{"every change is refused after the lease went to another", movedOn},
		{"every change is refused in a final state", inFinalState},
		{"every change is refused while the job is queued again", whileQueued},
		{"a beat extends leases", beatExtends},
		{"a beat extends a lease that is over but was not rescued", beatRevives},
		{"a beat tells which leases are lost and counts those that hold", beatTellsLost},
		{"a beat writes progress, and leaves it where none is given", beatProgress},
		{"a job may be finished after its time when nobody has rescued it", lateFinish},
		{"a worker that left keeps its leases until they run out", leaveKeepsLeases},
	}
}

// refused tries every change under a lease that does not hold.
func (f *fixture) refused(l jobs.Lease) {
	f.Helper()
	f.unchanged(l.ID, func() {
		for _, o := range []jobs.Outcome{succeeded(), failed(), cancelled(), retried(time.Minute), retried(0), released()} {
			f.wants(f.Store.Finish(f.ctx, l, o), jobs.ErrLeaseLost)
		}
		f.wants(f.Store.SaveCheckpoints(f.ctx, l, []jobs.Checkpoint{{Key: "stale", Value: json.RawMessage(`1`)}}), jobs.ErrLeaseLost)
		gone, err := f.Store.Beat(f.ctx, worker, 10*lease, []jobs.Pulse{{Lease: l, Progress: &jobs.Progress{Done: 99}}})
		f.must(err)
		f.equal("the leases that are lost", gone, []jobs.ID{l.ID})
		rescued, err := f.Store.Rescue(f.ctx, l, lost())
		f.must(err)
		if rescued {
			f.Fatal("a rescue on old knowledge was carried out")
		}
	})
}

func wrongToken(f *fixture) {
	j := f.begin()
	other := f.begin()
	for _, token := range []string{"", "x", other.Token, j.Token + "0", j.Token[:len(j.Token)-1], "' OR 1=1 --"} {
		f.refused(jobs.Lease{ID: j.ID, Token: token})
	}
	f.Shift(2 * lease) // nor when it is over
	f.refused(jobs.Lease{ID: j.ID, Token: other.Token})
}

func movedOn(f *fixture) {
	j := f.begin()
	f.lose()
	f.register("worker-2")
	again := f.claimBy("worker-2", 1)[0]
	if again.ID != j.ID || again.Token == j.Token {
		f.Fatalf("job %s has the token it had before", again.ID)
	}
	f.refused(leaseOf(j))
	f.finish(again, succeeded())
	f.refused(leaseOf(j))
}

func inFinalState(f *fixture) {
	for _, o := range []jobs.Outcome{succeeded(), failed(), cancelled()} {
		j := f.begin()
		f.finish(j, o)
		f.refused(leaseOf(j))
		f.refused(jobs.Lease{ID: j.ID})
	}
}

func whileQueued(f *fixture) {
	for _, o := range []jobs.Outcome{retried(time.Minute), released()} {
		j := f.begin()
		f.finish(j, o)
		f.refused(leaseOf(j))
		f.refused(jobs.Lease{ID: j.ID})
	}
}

func (f *fixture) beat(pulses ...jobs.Pulse) []jobs.ID {
	f.Helper()
	gone, err := f.Store.Beat(f.ctx, worker, lease, pulses)
	f.must(err)
	return gone
}

func beatExtends(f *fixture) {
	j := f.begin()
	for range 3 {
		f.Shift(lease * 3 / 4)
		if gone := f.beat(jobs.Pulse{Lease: leaseOf(j)}); len(gone) != 0 {
			f.Fatalf("lost %v", gone)
		}
		if list := f.expired(); len(list) != 0 {
			f.Fatalf("expired is %v though it was beaten for", ids(list))
		}
	}
	f.Shift(lease + time.Second)
	f.equal("what has expired", ids(f.expired()), []jobs.ID{j.ID})
}

func beatRevives(f *fixture) {
	j := f.begin()
	f.Shift(10 * lease)
	if gone := f.beat(jobs.Pulse{Lease: leaseOf(j)}); len(gone) != 0 {
		f.Fatalf("lost %v", gone)
	}
	if list := f.expired(); len(list) != 0 {
		f.Errorf("expired is %v", ids(list))
	}
	f.unchanged(j.ID, func() { f.rescues(j, lost(), false) })
}

func beatTellsLost(f *fixture) {
	f.enqueue(many(3)...)
	list := f.claim(3)
	f.finish(list[1], succeeded())
	gone := f.beat(
		jobs.Pulse{Lease: leaseOf(list[0])}, jobs.Pulse{Lease: leaseOf(list[1])},
		jobs.Pulse{Lease: leaseOf(list[2])}, jobs.Pulse{Lease: jobs.Lease{ID: 987654, Token: "x"}},
	)
	f.equal("the lost ones", sortedIDs(gone), []jobs.ID{list[1].ID, 987654})
	if n := f.worker(worker).CurrentJobs; n != 2 {
		f.Errorf("current_jobs is %d; want 2", n)
	}
	f.beat()
	if n := f.worker(worker).CurrentJobs; n != 0 {
		f.Errorf("current_jobs is %d after a beat without jobs", n)
	}
}

func beatProgress(f *fixture) {
	j := f.begin()
	p := jobs.Progress{Done: 3, Total: 500, Note: "three of them"}
	f.beat(jobs.Pulse{Lease: leaseOf(j), Progress: &p})
	written := f.job(j.ID)
	f.equal("the progress", written.Progress, p)
	f.beat(jobs.Pulse{Lease: leaseOf(j)})
	f.equal("the progress", f.job(j.ID).Progress, p)
	if written.Version <= j.Version {
		f.Errorf("version %d did not grow with progress", written.Version)
	}
}

func lateFinish(f *fixture) {
	j := f.begin()
	f.Shift(10 * lease)
	f.finish(j, succeeded())
	f.is(j.ID, jobs.Succeeded)
}

func leaveKeepsLeases(f *fixture) {
	j := f.begin()
	f.must(f.Store.Leave(f.ctx, worker))
	if list := f.expired(); len(list) != 0 {
		f.Fatalf("expired is %v", ids(list))
	}
	f.lose()
	f.is(j.ID, jobs.Queued)
}

func clockRules() []rule {
	return []rule{
		{"every moment is the database's when the process is an hour behind", func(f *fixture) { ownClock(f, time.Hour) }},
		{"every moment is the database's when the process is an hour ahead", func(f *fixture) { ownClock(f, -time.Hour) }},
		{"only the database's clock ends a lease, in every process", func(f *fixture) { onlyClock(f) }},
	}
}

// ownClock moves the database away from the clock of this process and looks at
// every time that is written.
func ownClock(f *fixture, skew time.Duration) {
	before := f.now()
	f.Shift(skew)
	now := f.now()
	if d := now.Sub(before) - skew; d < 0 || d > time.Minute {
		f.Fatalf("Shift moved the clock by %v; want %v", now.Sub(before), skew)
	}
	near := func(what string, at time.Time, from time.Duration) {
		f.Helper()
		if d := at.Sub(now) - from; d < -time.Second || d > time.Minute {
			f.Errorf("%s is %v off by the database's clock", what, d)
		}
	}
	f.register("skewed")
	id := f.one()
	j := f.claimBy("skewed", 1)[0]
	f.must(f.Store.SaveCheckpoints(f.ctx, leaseOf(j), []jobs.Checkpoint{{Key: "a", Value: json.RawMessage(`1`)}}))
	_, err := f.Store.Beat(f.ctx, "skewed", lease, []jobs.Pulse{{Lease: leaseOf(j)}})
	f.must(err)
	f.must(f.Store.Record(f.ctx, "skewed", jobs.WorkerMetric{CPUPercent: 1}))
	if list := f.expired(); len(list) != 0 {
		f.Errorf("expired is %v though its lease has a minute left", ids(list))
	}
	near("the lease", f.job(id).LeaseUntil, lease)
	f.finish(j, retried(time.Minute))
	j = f.job(id)
	w := f.worker("skewed")
	near("created_at", j.CreatedAt, 0)
	near("started_at", j.StartedAt, 0)
	near("eligible_at", j.EligibleAt, time.Minute)
	near("the attempt's begin", f.attempts(id)[0].StartedAt, 0)
	near("the attempt's end", f.attempts(id)[0].FinishedAt, 0)
	near("the checkpoint", f.parts(id)[0].CreatedAt, 0)
	near("registered_at", w.RegisteredAt, 0)
	near("last_heartbeat", w.LastHeartbeat, 0)
	near("last_job_completed_at", w.LastJobCompletedAt, 0)
	near("the metric", w.Latest.At, 0)
}

// onlyClock lets two processes look at one lease.
func onlyClock(f *fixture) {
	other := f.Reopen(f.T)
	j := f.begin()
	look := func(want int) {
		f.Helper()
		for name, s := range map[string]jobs.Store{"the first": f.Store, "another": other} {
			list, err := s.Expired(f.ctx, 10)
			f.must(err)
			if len(list) != want {
				f.Errorf("%s process sees %d expired leases; want %d", name, len(list), want)
			}
		}
	}
	look(0)
	f.Shift(lease - 5*time.Second)
	look(0)
	f.Shift(6 * time.Second)
	look(1)
	rescued, err := other.Rescue(f.ctx, leaseOf(j), lost())
	f.must(err)
	if !rescued {
		f.Error("another process could not rescue the job")
	}
}

func checkpointRules() []rule {
	return []rule{
		{"a part that was saved stays as it was", partsStay},
		{"parts are paged in the order of their keys", partsArePaged},
		{"parts outlive release, failure, a lost lease and retry", partsOutlive},
		{"a job without parts has none", func(f *fixture) { f.equal("parts", f.parts(f.one()), []jobs.Checkpoint(nil)) }},
	}
}

func part(key, value string) jobs.Checkpoint {
	return jobs.Checkpoint{Key: key, Value: json.RawMessage(value)}
}

func (f *fixture) save(j jobs.Job, parts ...jobs.Checkpoint) {
	f.Helper()
	f.must(f.Store.SaveCheckpoints(f.ctx, leaseOf(j), parts))
}

func partsStay(f *fixture) {
	j := f.begin()
	f.save(j, part("a", `{"bytes":1}`), part("a", `{"bytes":2}`))
	f.save(j, part("b", `[2]`), part("a", `3`))
	got := f.parts(j.ID)
	for i := range got {
		got[i].CreatedAt = time.Time{}
	}
	f.equal("the parts", got, []jobs.Checkpoint{
		{Key: "a", Value: json.RawMessage(`{"bytes":1}`), Number: 1, WorkerID: worker},
		{Key: "b", Value: json.RawMessage(`[2]`), Number: 1, WorkerID: worker},
	})
	f.save(j)
}

func partsArePaged(f *fixture) {
	j := f.begin()
	keys := []string{"0001", "0002", "0010", "A", "Z", "a-b", "a.b", "a/b", "z", "ä"} // by bytes
	for _, i := range []int{5, 3, 9, 0, 8, 1, 7, 2, 6, 4} {
		f.save(j, part(keys[i], `1`))
	}
	var got []string
	after := ""
	for {
		page, err := f.Store.Checkpoints(f.ctx, j.ID, after, 3)
		f.must(err)
		for _, p := range page {
			got = append(got, p.Key)
		}
		if len(page) < 3 {
			break
		}
		after = page[len(page)-1].Key
	}
	f.equal("the keys", got, keys)
}

func partsOutlive(f *fixture) {
	j := f.begin()
	f.save(j, part("1", `1`))
	f.finish(j, released())
	j = f.start(j.ID)
	f.save(j, part("1", `9`), part("2", `2`))
	f.finish(j, retried(0))
	j = f.start(j.ID)
	f.save(j, part("3", `3`))
	f.lose()
	j = f.start(j.ID)
	f.finish(j, failed())
	_, err := f.Store.Retry(f.ctx, j.ID)
	f.must(err)
	f.save(f.start(j.ID), part("4", `4`))
	var numbers []int
	for i, p := range f.parts(j.ID) {
		numbers = append(numbers, p.Number)
		if string(p.Value) != string(rune('1'+i)) {
			f.Errorf("part %s is %s", p.Key, p.Value)
		}
	}
	f.equal("the deliveries that wrote them", numbers, []int{1, 2, 3, 5})
}
