package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
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

// work claims and finishes until nothing is ready.
func work(ctx context.Context, s jobs.Store, worker string) (done int, err error) {
	for {
		list, err := s.Claim(ctx, claim(worker, 1))
		if err != nil || len(list) == 0 {
			return done, err
		}
		if err := s.Finish(ctx, lease(list[0]), succeeded()); err != nil {
			return done, fmt.Errorf("finish: %w", err)
		}
		done++
	}
}

func BenchmarkEnqueueClaimFinish(b *testing.B) {
	for _, callers := range []int{1, 8, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b, file(b))
			register(b, s, "w")
			var wg sync.WaitGroup
			each := func(do func() error) {
				for range callers {
					wg.Go(func() {
						if err := do(); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}
			each(func() error {
				for range b.N/callers + 1 {
					if _, err := s.Enqueue(b.Context(), []jobs.Spec{spec("images")}); err != nil {
						return err
					}
				}
				return nil
			})
			enqueued := b.Elapsed()
			b.ResetTimer()
			each(func() error { _, err := work(b.Context(), s, "w"); return err })
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claim+finish/s")
			b.ReportMetric(float64(b.N)/enqueued.Seconds(), "enqueue/s")
			b.ReportMetric(s.OperationsPerCommit(), "ops/commit")
		})
	}
}
