package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func keyRules() []rule {
	return []rule{
		{"an idempotency key gives the first job, also when that is over", keyIsKept},
		{"an idempotency key is free when its job has been pruned", keyIsPruned},
		{"a unique key gives the first job while that is queued, delayed or running", uniqueWhileOpen},
		{"a unique key is free when its job is over, however it ended", uniqueIsFree},
		{"a unique key is kept while its job is tried again", uniqueWhileRetried},
		{"keys count within one batch", keysInBatch},
		{"jobs without keys are all different", keysAreOptional},
		{"a key that several processes use at once makes one job", keysAtOnce},
		{"batches that share keys in another order do not stop each other", keysCrosswise},
	}
}

// again enqueues once more and says which job it is, and that it existed.
func (f *fixture) again(changes ...func(*jobs.Spec)) (jobs.Job, bool) {
	f.Helper()
	entered, err := f.Store.Enqueue(f.ctx, []jobs.Spec{with(changes...)})
	f.must(err)
	return entered[0].Job, entered[0].Existing
}

func (f *fixture) existing(first jobs.ID, changes ...func(*jobs.Spec)) jobs.Job {
	f.Helper()
	j, existing := f.again(changes...)
	if !existing || j.ID != first {
		f.Fatalf("job %s (existing: %v); want the first, %s", j.ID, existing, first)
	}
	return j
}

func keyIsKept(f *fixture) {
	j := f.begin(keyed("k"))
	f.existing(j.ID, keyed("k"), priority(1), tenant("other"))
	f.finish(j, succeeded())
	f.Shift(48 * time.Hour)
	got := f.existing(j.ID, keyed("k"))
	f.equal("the job of the key", got, f.is(j.ID, jobs.Succeeded))
	if n := len(f.claim(5)); n != 0 {
		f.Errorf("%d jobs are ready; the key's is over", n)
	}
}

func keyIsPruned(f *fixture) {
	j := f.begin(keyed("k"))
	f.finish(j, succeeded())
	f.Shift(2 * time.Hour)
	n, err := f.Store.Prune(f.ctx, jobs.Retention{Succeeded: time.Hour}, 10)
	f.must(err)
	next, existing := f.again(keyed("k"))
	if n != 1 || existing || next.ID == j.ID {
		f.Errorf("pruned %d jobs; then job %s (existing: %v) has the key", n, next.ID, existing)
	}
}

func uniqueWhileOpen(f *fixture) {
	delayed := f.one(unique("later"), after(time.Hour))
	f.existing(delayed, unique("later"))
	queued := f.one(unique("u"))
	f.existing(queued, unique("u"))
	f.start(queued)
	f.existing(queued, unique("u"))
}

func uniqueIsFree(f *fixture) {
	for _, o := range []jobs.Outcome{succeeded(), failed(), cancelled()} {
		j := f.begin(unique("u"))
		f.finish(j, o)
		if next, existing := f.again(unique("u")); existing || next.ID == j.ID {
			f.Fatalf("after %s the key is still that of job %s", o.State, j.ID)
		} else if _, err := f.Store.Cancel(f.ctx, next.ID, ""); err != nil {
			f.Fatal(err)
		}
	}
	hasty := f.one(unique("u"), patient(time.Second))
	f.Shift(time.Minute)
	_, err := f.Store.GiveUp(f.ctx, 10)
	f.must(err)
	if next, existing := f.again(unique("u")); existing {
		f.Fatalf("job %s, which was given up, keeps its key (%s)", hasty, next.ID)
	}
}

func uniqueWhileRetried(f *fixture) {
	j := f.begin(unique("u"))
	f.finish(j, retried(time.Minute))
	f.existing(j.ID, unique("u"))
	f.Shift(2 * time.Minute)
	f.promote()
	f.start(j.ID)
	f.lose()
	f.existing(j.ID, unique("u"))
}

func keysInBatch(f *fixture) {
	entered, err := f.Store.Enqueue(f.ctx, []jobs.Spec{
		with(keyed("a")), with(unique("b")), with(keyed("a"), priority(1)), with(unique("b")), with(), with(keyed("b")),
	})
	f.must(err)
	var existing []bool
	for _, e := range entered {
		existing = append(existing, e.Existing)
	}
	f.equal("which existed", existing, []bool{false, false, true, true, false, false})
	if entered[2].Job.ID != entered[0].Job.ID || entered[3].Job.ID != entered[1].Job.ID || entered[5].Job.ID == entered[1].Job.ID {
		f.Errorf("the batch is %+v", entered)
	}
	if n := len(f.claim(10)); n != 4 {
		f.Errorf("%d jobs are ready; want 4", n)
	}
}

func keysAreOptional(f *fixture) {
	f.enqueue(many(3)...)
	for _, j := range f.claim(3) {
		f.finish(j, succeeded())
	}
	f.enqueue(many(3)...)
	if n := len(f.claim(5)); n != 3 {
		f.Errorf("%d jobs are ready; want 3", n)
	}
}

// atOnce runs f by n callers over two processes' views and joins their errors.
func (f *fixture) atOnce(n int, call func(i int, s jobs.Store) error) {
	f.Helper()
	views := []jobs.Store{f.Store, f.Reopen(f.T)}
	errs := make([]error, n)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			errs[i] = call(i, views[i%len(views)])
		})
	}
	close(begin)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			f.Fatalf("caller %d: %v", i, err)
		}
	}
}

func keysAtOnce(f *fixture) {
	for name, key := range map[string]func(string) func(*jobs.Spec){"idempotency": keyed, "unique": unique} {
		made := make([]jobs.Enqueued, 8)
		f.atOnce(len(made), func(i int, s jobs.Store) error {
			entered, err := s.Enqueue(f.ctx, []jobs.Spec{with(key("same"), tenant(fmt.Sprint(i)))})
			if err == nil {
				made[i] = entered[0]
			}
			return err
		})
		first := slices.IndexFunc(made, func(e jobs.Enqueued) bool { return !e.Existing })
		if first < 0 {
			f.Fatalf("%s key: all are said to exist already", name)
		}
		for i, e := range made {
			if e.Job.ID != made[first].Job.ID || e.Existing != (i != first) {
				f.Errorf("%s key: caller %d has job %s (existing: %v), caller %d made %s", name, i, e.Job.ID, e.Existing, first, made[first].Job.ID)
			}
		}
	}
}

func keysCrosswise(f *fixture) {
	const keys = 40
	var mu sync.Mutex
	made := 0
	f.atOnce(4, func(i int, s jobs.Store) error {
		var specs []jobs.Spec
		for k := range keys {
			specs = append(specs, with(keyed(fmt.Sprint("i", k)), unique(fmt.Sprint("u", k))))
		}
		if i%2 == 1 {
			slices.Reverse(specs)
		}
		entered, err := s.Enqueue(f.ctx, specs)
		mu.Lock()
		defer mu.Unlock()
		for _, e := range entered {
			if !e.Existing {
				made++
			}
		}
		return err
	})
	if n := len(f.claim(10 * keys)); n != keys || made != keys {
		f.Errorf("%d jobs are ready, %d are said to be new; want %d", n, made, keys)
	}
}
