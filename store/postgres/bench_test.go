package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/spillway-media/spillway/jobs"
)

// A worker of 50 slots: one loop claims for those that are free, each finishes
// by itself. The server has its defaults, so that every finish is on the disk.
func BenchmarkClaimAndFinish(b *testing.B) {
	c := newCluster(b)
	f := newFixture(b, c)
	f.worker(b, "w")
	const slots = 50
	for n := b.N; n > 0; n -= jobs.MaxBatch {
		if _, err := f.Enqueue(b.Context(), specs(min(n, jobs.MaxBatch))); err != nil {
			b.Fatal(err)
		}
	}
	free := make(chan struct{}, slots)
	for range slots {
		free <- struct{}{}
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for done := 0; done < b.N; {
		n := 1
		<-free
		for len(free) > 0 {
			<-free
			n++
		}
		claimed, err := f.Claim(b.Context(), claimOf("w", n, "images"))
		if err != nil {
			b.Fatal(err)
		}
		for range n - len(claimed) {
			free <- struct{}{}
		}
		for _, j := range claimed {
			wg.Go(func() {
				if err := f.Finish(b.Context(), lease(j), succeeded); err != nil && !errors.Is(err, context.Canceled) {
					b.Error(err)
				}
				free <- struct{}{}
			})
		}
		done += len(claimed)
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
