package storetest

import (
	"time"

	"github.com/spillway-media/spillway/jobs"
)

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
