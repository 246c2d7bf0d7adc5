package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/spillway-media/spillway/jobs"
)

func claimRules() []rule {
	return []rule{
		{"ten priorities over several queues go in order, one at a time", prioritiesInOrder},
		{"several jobs at once are the first over all the queues, in order", batchInOrder},
		{"jobs of one priority go in the order they came", arrivalOrder},
		{"queues that were not asked for are left alone", otherQueues},
		{"nothing that is ready is no error", nothingReady},
		{"a claimed job runs under a new token until now plus the lease", claimedJob},
		{"no more are taken than asked for", noHoarding},
		{"a worker that is not active gets nothing", inactiveWorker},
		{"a delayed job is not taken before its time", delayedIsNotTaken},
		{"a market gets what the routing table allows, and is not held up by the rest", routing},
		{"two processes that claim at once get each job once", claimOnce},
	}
}

func prioritiesInOrder(f *fixture) {
	queues := []string{"images", "documents", "ocr"}
	var specs []jobs.Spec
	for i := range 30 {
		specs = append(specs, with(priority(1+i*7%10), in(queues[i%3])))
	}
	f.enqueue(specs...)
	var got []int
	for range specs {
		list := f.claim(1, queues...)
		if len(list) != 1 {
			f.Fatalf("got %d jobs after %v", len(list), got)
		}
		got = append(got, list[0].Priority)
	}
	if !slices.IsSorted(got) {
		f.Errorf("priorities came in the order %v", got)
	}
}

func batchInOrder(f *fixture) {
	queues := []string{"images", "documents"}
	list := f.enqueue(
		with(in("images"), priority(1)), with(in("images"), priority(9)), with(in("documents"), priority(2)),
		with(in("documents"), priority(8)), with(in("images"), priority(2)), with(in("images"), priority(3)),
	)
	first := ids(f.claim(4, queues...))
	if len(first) != 4 || first[0] != list[0] || first[3] != list[5] || !slices.Contains(first, list[2]) || !slices.Contains(first, list[4]) {
		f.Fatalf("first came %v of %v; want priorities 1, 2, 2, 3", first, list)
	}
	f.equal("the rest", ids(f.claim(9, queues...)), []jobs.ID{list[3], list[1]})
}

func arrivalOrder(f *fixture) {
	list := f.enqueue(many(12)...)
	f.equal("the first five", ids(f.claim(5)), list[:5])
	f.equal("the others", ids(f.claim(50)), list[5:])
}

func otherQueues(f *fixture) {
	f.one(in("documents"), priority(1))
	mine := f.one(in("images"), priority(10))
	f.equal("what is taken", ids(f.claim(5, "images", "media")), []jobs.ID{mine})
}

func nothingReady(f *fixture) {
	if list := f.claim(3, "images", "documents"); len(list) != 0 {
		f.Errorf("claimed %v of nothing", list)
	}
}

func claimedJob(f *fixture) {
	id := f.one()
	f.register("worker-2")
	before := f.job(id)
	j := f.claimBy("worker-2", 1)[0]
	f.equal("what Claim answers", j, f.job(id))
	if j.State != jobs.Running || j.Token == "" || j.WorkerID != "worker-2" || j.Deliveries != 1 || j.Attempts != 0 || j.Version <= before.Version {
		f.Errorf("the claimed job is %+v", j)
	}
	if j.StartedAt.Before(j.CreatedAt) || !j.LeaseUntil.Equal(j.StartedAt.Add(lease)) {
		f.Errorf("started at %v, lease until %v; want %v later", j.StartedAt, j.LeaseUntil, lease)
	}
	f.equal("its attempts", f.attempts(id), []jobs.Attempt{
		{JobID: id, Number: 1, WorkerID: "worker-2", Status: jobs.AttemptRunning, StartedAt: j.StartedAt},
	})
	other := f.begin()
	if other.Token == j.Token {
		f.Error("two jobs have the same token")
	}
}

func noHoarding(f *fixture) {
	f.enqueue(many(7)...)
	for _, want := range []int{3, 3, 1, 0} {
		if got := len(f.claim(3)); got != want {
			f.Fatalf("took %d; want %d", got, want)
		}
	}
	f.enqueue(many(2)...)
	if got := len(f.claim(0)); got != 0 {
		f.Errorf("took %d of none asked for", got)
	}
}

func inactiveWorker(f *fixture) {
	id := f.one()
	for _, name := range []string{"draining", "gone", "asked-for", "buried"} {
		f.register(name)
	}
	f.must(f.Store.Drain(f.ctx, "draining", lease))
	f.must(f.Store.Leave(f.ctx, "gone"))
	f.Exec(f.T, fmt.Sprintf(provision, "asked-for"))
	for _, name := range []string{"draining", "gone", "asked-for", "never-seen"} {
		if list := f.claimBy(name, 1); len(list) != 0 {
			f.Errorf("worker %s got a job", name)
		}
	}
	f.must(f.Store.Undrain(f.ctx, "draining"))
	if list := f.claimBy("draining", 1); len(list) != 1 || list[0].ID != id {
		f.Errorf("an undrained worker got %v", ids(list))
	}
}

func delayedIsNotTaken(f *fixture) {
	f.one(after(lease), priority(1))
	now := f.one(priority(10))
	f.equal("what is taken", ids(f.claim(5)), []jobs.ID{now})
}

func routing(f *fixture) {
	var specs []jobs.Spec
	for p := jobs.HighestPriority; p <= jobs.LowestPriority; p++ {
		for _, seconds := range []float64{1, 1800, 1800.5, 7200} {
			for _, checkpointable := range []bool{false, true} {
				specs = append(specs, with(priority(p), taking(seconds), func(s *jobs.Spec) { s.Checkpointable = checkpointable }))
			}
		}
	}
	all := f.enqueue(specs...)
	var allowed []jobs.ID
	for i, s := range specs {
		if jobs.Spot.Allowed(s) {
			allowed = append(allowed, all[i])
		}
	}
	c := jobs.Claim{WorkerID: worker, Queues: []string{queue}, N: len(specs), Lease: lease, Market: jobs.Spot}
	first, err := f.Store.Claim(f.ctx, c)
	f.must(err)
	got := ids(first)
	slices.Sort(got)
	f.equal("what a spot machine got", got, allowed)
	c.Market = jobs.OnDemand
	rest, err := f.Store.Claim(f.ctx, c)
	f.must(err)
	if len(rest) != len(all)-len(allowed) {
		f.Errorf("on demand got %d of the other %d", len(rest), len(all)-len(allowed))
	}
}

func claimOnce(f *fixture) {
	const n = 200
	f.enqueue(many(n)...)
	var mu sync.Mutex
	taken := map[jobs.ID]int{}
	f.atOnce(6, func(i int, s jobs.Store) error {
		for {
			list, err := s.Claim(f.ctx, jobs.Claim{WorkerID: worker, Queues: []string{queue, "ocr"}, N: 1 + i%4, Lease: lease, Market: jobs.VPS})
			if err != nil || len(list) == 0 {
				return err
			}
			mu.Lock()
			for _, j := range list {
				taken[j.ID]++
			}
			mu.Unlock()
		}
	})
	for _, j := range f.claim(n) { // left by those who met at the last ones
		taken[j.ID]++
	}
	for id, times := range taken {
		if times != 1 {
			f.Errorf("job %s was claimed %d times", id, times)
		}
		if a := f.attempts(id); len(a) != 1 {
			f.Errorf("job %s has %d attempts", id, len(a))
		}
	}
	if len(taken) != n {
		f.Errorf("%d of %d jobs were claimed", len(taken), n)
	}
}
