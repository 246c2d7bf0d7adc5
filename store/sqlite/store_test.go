package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/sqlite"
)

func open(t testing.TB, path string, options ...sqlite.Option) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, discard(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// other is a connection that knows nothing of the store.
func other(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func file(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "jobs.db")
}

func spec(queue string) jobs.Spec {
	return jobs.Spec{
		Type: "test.work", Queue: queue, Priority: jobs.DefaultPriority, Params: json.RawMessage(`{}`),
		MaxAttempts: 5, WorkLimit: time.Hour, EstimatedSeconds: 1,
	}
}

func register(t testing.TB, s *sqlite.Store, id string) {
	t.Helper()
	if err := s.Register(t.Context(), jobs.WorkerRow{ID: id, Market: jobs.VPS, Queues: []string{"images"}}); err != nil {
		t.Fatal(err)
	}
}

func claim(worker string, n int) jobs.Claim {
	return jobs.Claim{WorkerID: worker, Queues: []string{"images"}, N: n, Lease: time.Minute, Market: jobs.VPS}
}

func lease(j jobs.Job) jobs.Lease { return jobs.Lease{ID: j.ID, Token: j.Token} }

func succeeded() jobs.Outcome {
	return jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded, Result: json.RawMessage(`{}`)}
}

// work claims and finishes until nothing is ready, and tells how long each claim took.
func work(ctx context.Context, s jobs.Store, worker string) (took []time.Duration, err error) {
	for {
		began := time.Now()
		list, err := s.Claim(ctx, claim(worker, 1))
		if err != nil || len(list) == 0 {
			return took, err
		}
		took = append(took, time.Since(began))
		if err := s.Finish(ctx, lease(list[0]), succeeded()); err != nil {
			return took, fmt.Errorf("finish: %w", err)
		}
	}
}

func BenchmarkEnqueueClaimFinish(b *testing.B) {
	for _, callers := range []int{1, 8, 16, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b, file(b))
			register(b, s, "w")
			var mu sync.Mutex
			var took []time.Duration
			each := func(do func() ([]time.Duration, error)) {
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						some, err := do()
						if err != nil {
							b.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						took = append(took, some...)
					})
				}
				wg.Wait()
			}
			each(func() ([]time.Duration, error) {
				for range b.N/callers + 1 {
					if _, err := s.Enqueue(b.Context(), []jobs.Spec{spec("images")}); err != nil {
						return nil, err
					}
				}
				return nil, nil
			})
			enqueued := b.Elapsed()
			b.ResetTimer()
			each(func() ([]time.Duration, error) { return work(b.Context(), s, "w") })
			b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric(float64(b.N)/enqueued.Seconds(), "enqueues/s")
			slices.Sort(took)
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "claim-p99-ms")
			b.ReportMetric(s.OperationsPerCommit(), "ops/commit")
		})
	}
}

// Claims of several queues look at the head of each.
func BenchmarkClaimQueues(b *testing.B) {
	for _, queues := range []int{1, 5} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			s := open(b, file(b))
			register(b, s, "w")
			c := claim("w", 10)
			c.Queues = []string{"images", "documents", "ocr", "media", "bulk"}[:queues]
			for left := b.N; left > 0; left -= jobs.MaxBatch {
				specs := make([]jobs.Spec, min(left, jobs.MaxBatch))
				for i := range specs {
					specs[i] = spec(c.Queues[i%queues])
				}
				if _, err := s.Enqueue(b.Context(), specs); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for claimed := 0; claimed < b.N; {
				list, err := s.Claim(b.Context(), c)
				if err != nil || len(list) == 0 {
					b.Fatal(len(list), err)
				}
				claimed += len(list)
			}
		})
	}
}
