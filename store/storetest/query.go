package storetest

import (
	"slices"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func sortedIDs(list []jobs.ID) []jobs.ID {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func queryRules() []rule {
	return []rule{
		{"jobs are listed newest first, page by page", pages},
		{"a page has fifty jobs unless told, and two hundred at most", pageSizes},
		{"jobs are chosen by state, queue, type and tenant", filters},
		{"queues are counted by what is ready, delayed and running", queueCounts},
		{"the oldest age is that of what became ready first", oldestAge},
		{"counting stops at the bound and says so", boundedCounts},
		{"queues without open jobs are not listed", emptyQueues},
		{"a question that no row can answer is no fault of the store", oddQuestions},
	}
}

func (f *fixture) list(filter jobs.Filter) []jobs.ID {
	f.Helper()
	list, err := f.Store.Jobs(f.ctx, filter)
	f.must(err)
	return ids(list)
}

func newestFirst(list []jobs.ID) []jobs.ID {
	list = sortedIDs(list)
	slices.Reverse(list)
	return list
}

func pages(f *fixture) {
	all := f.enqueue(many(23)...)
	var got []jobs.ID
	before := jobs.ID(0)
	for {
		page := f.list(jobs.Filter{Before: before, Limit: 7})
		got = append(got, page...)
		if len(page) < 7 {
			break
		}
		before = page[len(page)-1]
		f.one(in("later")) // what comes in meanwhile shifts no page
	}
	f.equal("the pages together", got, newestFirst(all))
}

func pageSizes(f *fixture) {
	f.enqueue(many(230)...)
	for limit, want := range map[int]int{0: 50, 1: 1, 200: 200, 500: 200} {
		if n := len(f.list(jobs.Filter{Limit: limit})); n != want {
			f.Errorf("limit %d gives %d jobs; want %d", limit, n, want)
		}
	}
}

func filters(f *fixture) {
	kind := func(name string) func(*jobs.Spec) { return func(s *jobs.Spec) { s.Type = name } }
	list := f.enqueue(
		with(tenant("a")), with(tenant("b"), in("bulk"), kind("bulk.derive")), with(tenant("a"), in("bulk")),
		with(tenant("b"), after(time.Minute)), with(kind("bulk.derive")),
	)
	running := f.claim(1)[0]
	f.equal("the first one", running.ID, list[0])
	for name, test := range map[string]struct {
		filter jobs.Filter
		want   []jobs.ID
	}{
		"all":               {jobs.Filter{}, list},
		"queued":            {jobs.Filter{State: jobs.Queued}, list[1:]},
		"running":           {jobs.Filter{State: jobs.Running}, list[:1]},
		"failed":            {jobs.Filter{State: jobs.Failed}, nil},
		"queue":             {jobs.Filter{Queue: "bulk"}, list[1:3]},
		"type":              {jobs.Filter{Type: "bulk.derive"}, []jobs.ID{list[1], list[4]}},
		"tenant":            {jobs.Filter{Tenant: "a"}, []jobs.ID{list[0], list[2]}},
		"tenant and queue":  {jobs.Filter{Tenant: "b", Queue: "bulk"}, list[1:2]},
		"state and type":    {jobs.Filter{State: jobs.Queued, Type: "image.derive"}, list[2:4]},
		"all four":          {jobs.Filter{State: jobs.Queued, Type: "image.derive", Tenant: "a", Queue: "bulk"}, list[2:3]},
		"older than one":    {jobs.Filter{Before: list[3], Tenant: "b"}, list[1:2]},
		"a strange tenant":  {jobs.Filter{Tenant: "' OR '1'='1"}, nil},
		"older than oldest": {jobs.Filter{Before: list[0]}, nil},
	} {
		f.equal("the choice of "+name, f.list(test.filter), newestFirst(test.want))
	}
}

func (f *fixture) queues(most int) map[string]jobs.QueueStats {
	f.Helper()
	list, err := f.Store.Queues(f.ctx, most)
	f.must(err)
	queues := map[string]jobs.QueueStats{}
	for _, q := range list {
		if _, twice := queues[q.Queue]; twice {
			f.Fatalf("queue %s is listed twice", q.Queue)
		}
		queues[q.Queue] = q
	}
	return queues
}

func queueCounts(f *fixture) {
	f.enqueue(with(priority(1)), with(priority(5)), with(priority(5)), with(priority(10)), with(after(time.Hour)))
	f.enqueue(with(in("bulk"), priority(8), after(time.Minute)), with(in("ocr")))
	f.claim(1)
	f.claim(1, "ocr")
	got := f.queues(1000)
	for name, q := range got {
		q.OldestAge, q.OldestInteractive = 0, 0
		got[name] = q
	}
	f.equal("the queues", got, map[string]jobs.QueueStats{
		"images": {Queue: "images", Depth: 3, Delayed: 1, Running: 1, Priorities: [10]int64{4: 2, 9: 1}},
		"bulk":   {Queue: "bulk", Delayed: 1},
		"ocr":    {Queue: "ocr", Running: 1},
	})
	f.Shift(2 * time.Minute)
	f.promote()
	if q := f.queues(1000)["bulk"]; q.Depth != 1 || q.Delayed != 0 || q.Priorities[7] != 1 {
		f.Errorf("after its time the queue is %+v", q)
	}
}

func oldestAge(f *fixture) {
	f.one(priority(8))
	f.Shift(10 * time.Minute)
	f.enqueue(with(priority(3)), with(priority(1)), with(after(time.Hour)))
	f.Shift(5 * time.Minute)
	check := func(oldest, interactive time.Duration) {
		f.Helper()
		q := f.queues(1000)[queue]
		for _, age := range []struct{ got, want time.Duration }{{q.OldestAge, oldest}, {q.OldestInteractive, interactive}} {
			if d := age.got - age.want; d < 0 || d > time.Minute {
				f.Errorf("the oldest ages are %v and %v; want %v and %v", q.OldestAge, q.OldestInteractive, oldest, interactive)
			}
		}
	}
	check(15*time.Minute, 5*time.Minute)
	f.claim(2)
	check(15*time.Minute, 0)
	f.claim(1)
	f.Shift(time.Hour)
	f.promote()
	check(5*time.Minute, 0)
	f.claim(1)
	check(0, 0)
}

func boundedCounts(f *fixture) {
	f.enqueue(many(25)...)
	f.enqueue(many(3, in("bulk"))...)
	bounded := f.queues(10)
	if q := bounded[queue]; q.Depth != 10 || !q.More {
		f.Errorf("counted up to 10, the queue is %+v", q)
	}
	if q := bounded["bulk"]; q.Depth != 3 || q.More {
		f.Errorf("counted up to 10, the other queue is %+v", q)
	}
	if q := f.queues(100)[queue]; q.Depth != 25 || q.More {
		f.Errorf("counted up to 100, the queue is %+v", q)
	}
}

func emptyQueues(f *fixture) {
	j := f.begin()
	f.finish(j, succeeded())
	f.cancel(f.one(in("bulk")))
	if got := f.queues(10); len(got) != 0 {
		f.Errorf("the queues are %+v", got)
	}
}

func oddQuestions(f *fixture) {
	id := f.one(tenant("t"))
	for _, odd := range []string{"\x00", "\xff", "'", "%"} {
		for _, filter := range []jobs.Filter{{Queue: odd}, {Type: odd}, {Tenant: odd}, {State: jobs.State(odd)}} {
			f.equal("the jobs of a filter that fits none", f.list(filter), []jobs.ID{})
		}
		_, err := f.Store.Checkpoints(f.ctx, id, odd, 10)
		f.must(err)
		f.wants(f.Store.Drain(f.ctx, odd, time.Minute), jobs.ErrNotFound)
		f.wants(f.Store.Undrain(f.ctx, odd), jobs.ErrNotFound)
	}
}

func electionRules() []rule {
	return []rule{
		{"one of two processes is elected, until it releases", electsOne},
		{"elections of different names are apart", electsApart},
		{"of many that try at once one is elected", electsOnce},
	}
}

func (f *fixture) elect(s jobs.Store, name string) jobs.Election {
	f.Helper()
	e, err := s.Elect(f.ctx, name)
	f.must(err)
	return e
}

func electsOne(f *fixture) {
	other := f.Reopen(f.T)
	first := f.elect(f.Store, "reconciler")
	if first == nil {
		f.Fatal("nobody holds it and nobody is elected")
	}
	f.must(first.Held(f.ctx))
	if f.elect(other, "reconciler") != nil || f.elect(f.Store, "reconciler") != nil {
		f.Fatal("two are elected")
	}
	first.Release()
	if err := first.Held(f.ctx); err == nil {
		f.Error("a released election is said to hold")
	}
	second := f.elect(other, "reconciler")
	if second == nil {
		f.Fatal("nobody is elected after a release")
	}
	first.Release() // is nothing to the second
	f.must(second.Held(f.ctx))
	second.Release()
}

func electsApart(f *fixture) {
	a, b := f.elect(f.Store, "a"), f.elect(f.Store, "b")
	if a == nil || b == nil {
		f.Fatal("one name stands in the way of another")
	}
	a.Release()
	f.must(b.Held(f.ctx))
	b.Release()
}

func electsOnce(f *fixture) {
	won := make([]jobs.Election, 6)
	f.atOnce(len(won), func(i int, s jobs.Store) (err error) {
		won[i], err = s.Elect(f.ctx, "reconciler")
		return err
	})
	n := 0
	for _, e := range won {
		if e != nil {
			n++
			defer e.Release()
		}
	}
	if n != 1 {
		f.Errorf("%d are elected", n)
	}
}
