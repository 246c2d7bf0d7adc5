package storetest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// backlog is how many ready jobs are measured against.
const backlog = 2_000

// Million fills a store with finished jobs (a few thousand; a million when
// SPILLWAY_HEAVY is 1 and the race detector is off) and compares how long a claim, the count of queues with
// their oldest ages, a page of the newest and a scheduler's look at demand take with what they took before. What is
// printed is for the documents; held is only that nothing grows with history.
func Million(t *testing.T, open func(t *testing.T) *Backend) {
	n := 5_000
	if os.Getenv("SPILLWAY_HEAVY") == "1" && !raced {
		n = 1_000_000
	}
	f := enter(t, open(t))
	for _, name := range []string{queue, "documents", "bulk"} {
		f.enqueue(many(backlog, in(name), priority(5))...)
	}
	f.sample() // the first calls open connections and prepare statements
	empty := f.sample()
	began := time.Now()
	f.Fill(t, n)
	t.Logf("summary: %d finished jobs put in within %v", n, time.Since(began).Round(time.Millisecond))
	f.sample()
	full := f.sample()
	for _, what := range slices.Sorted(maps.Keys(full)) {
		t.Logf("summary: %s with %d finished jobs: %s; with none: %s", what, n, percentiles(full[what]), percentiles(empty[what]))
		// A plan that reads history is thousands of times slower with a
		// million rows; a noisy machine is not.
		for _, p := range []int{50, 99} {
			if a, b := at(full[what], p), at(empty[what], p); a > 20*max(b, time.Millisecond) {
				t.Errorf("%s takes %v at percentile %d with %d finished jobs, and %v with none", what, a, p, n, b)
			}
		}
	}
}

// sample measures each of the calls that must not grow with history.
func (f *fixture) sample() map[string][]time.Duration {
	f.Helper()
	times := map[string][]time.Duration{}
	measure := func(what string, call func() error) {
		began := time.Now()
		err := call()
		times[what] = append(times[what], time.Since(began))
		f.must(err)
	}
	claim := jobs.Claim{WorkerID: worker, Queues: []string{queue, "documents", "bulk"}, N: 1, Lease: lease, Market: jobs.VPS}
	for range 200 {
		var list []jobs.Job
		measure("claim", func() (err error) { list, err = f.Store.Claim(f.ctx, claim); return err })
		if len(list) != 1 {
			f.Fatalf("claimed %d jobs", len(list))
		}
		measure("beat", func() error {
			_, err := f.Store.Beat(f.ctx, worker, lease, []jobs.Pulse{{Lease: leaseOf(list[0])}})
			return err
		})
		f.finish(list[0], succeeded())
	}
	for range 50 {
		measure("queues", func() error { _, err := f.Store.Queues(f.ctx, 100_000); return err })
		measure("page", func() error {
			_, err := f.Store.Jobs(f.ctx, jobs.Filter{State: jobs.Queued, Queue: "bulk"})
			return err
		})
	}
	if f.Fleet == nil {
		return times
	}
	for range 20 {
		measure("demand", func() error { _, _, err := f.Fleet.Demand(f.ctx, claim.Queues); return err })
		measure("fleet", func() error { _, err := f.Fleet.Fleet(f.ctx); return err })
	}
	return times
}

// at is a percentile.
func at(times []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

func percentiles(times []time.Duration) string {
	round := func(p int) time.Duration { return at(times, p).Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p90 %v, p99 %v", round(50), round(90), round(99))
}
