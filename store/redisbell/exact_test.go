package redisbell_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testservices"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
	"github.com/spillway-media/spillway/store/redisbell"
)

// crew is a process that claims from a store and tells its bell.
type crew struct {
	t     *testing.T
	store *jobstest.Store
	bell  *redisbell.Bell
	name  string
}

// work claims until there are no tickets left, one for each job.
func (c crew) work(ctx context.Context, tickets *atomic.Int64) {
	queues, token := []string{"images", "bulk"}, ""
	for ctx.Err() == nil {
		n := 1 + rand.IntN(3)
		if tickets.Add(int64(-n)) < 0 {
			break
		}
		claimed, err := c.store.Claim(context.WithoutCancel(ctx), jobs.Claim{
			WorkerID: c.name, Queues: queues, N: n, Lease: time.Hour, Market: jobs.VPS,
		})
		if err != nil {
			c.t.Error(err)
			return
		}
		tickets.Add(int64(n - len(claimed)))
		more := map[string]int{}
		if token != "" {
			more[token]--
		}
		for _, job := range claimed {
			more[job.Queue]++
		}
		if token = ""; len(more) > 0 {
			c.bell.Took(ctx, more)
		}
		if len(claimed) == 0 {
			token = c.bell.Wait(ctx, queues, 20*time.Millisecond)
		}
	}
	if token != "" {
		c.bell.Took(context.WithoutCancel(ctx), map[string]int{token: -1})
	}
}

func TestDepthIsExactAtRestHoweverClaimsAndRingsInterleave(t *testing.T) {
	server := testservices.Redis(t)
	store, c := jobstest.NewStore(time.Now), client(t, server.URL)
	kinds := jobs.NewKinds(jobs.Kind{Type: "image.derive", Queue: "images", Priority: 5}, jobs.Kind{Type: "bulk.derive", Queue: "bulk", Priority: 8})
	const (
		producers, each = 3, 200
		all             = producers * each
	)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var tickets atomic.Int64
	work := func(n int64, produce bool) {
		tickets.Store(n)
		var group sync.WaitGroup
		for i := range 4 {
			name := fmt.Sprint("w", i)
			if err := store.Register(ctx, jobs.WorkerRow{ID: name, Queues: []string{"images", "bulk"}, Slots: 9}); err != nil {
				t.Fatal(err)
			}
			bell := patient(t, server.URL)
			group.Go(func() { crew{t, store, bell, name}.work(ctx, &tickets) })
		}
		for range producers {
			if !produce {
				break
			}
			bell := patient(t, server.URL)
			client := jobs.NewClient(store, bell, kinds)
			group.Go(func() {
				for i := range each {
					if _, err := client.Enqueue(ctx, jobs.Spec{Type: kinds.Types()[i%2]}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
	}
	check := func(when string) {
		t.Helper()
		stats, err := store.Queues(ctx, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int64{}
		for _, q := range stats {
			want[q.Queue] = q.Depth
		}
		for _, queue := range []string{"images", "bulk"} {
			if got := depth(t, c, queue); got != want[queue] {
				t.Errorf("%s LLEN of %s is %d, the store has %d", when, queue, got, want[queue])
			}
		}
		t.Logf("%s: %v ready", when, want)
	}
	work(all/2, true)
	check("while half is left")
	work(all-all/2, false)
	check("when all is claimed")
}
