package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/notify"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// someJobStats has every part there is.
func someJobStats(store *jobstest.Store) *httpapi.JobStats {
	if _, err := store.Enqueue(context.Background(), []jobs.Spec{{Type: "echo", Queue: "images", Priority: 2}, {Type: "echo", Queue: "images", Priority: 5, Delay: time.Hour}}); err != nil {
		panic(err)
	}
	return &httpapi.JobStats{
		Store: store,
		Bell:  func() jobs.BellStats { return jobs.BellStats{Up: true, Failures: 3} },
		Keeper: func() jobs.KeeperStats {
			return jobs.KeeperStats{Rescued: 4, Roles: []jobs.RoleStats{{Name: "rescue"}}}
		},
		Worker:   func() jobs.WorkerStats { return jobs.WorkerStats{Slots: 2, Succeeded: 9} },
		Webhooks: func() notify.Stats { return notify.Stats{Sent: 7} },
	}
}

func TestJobMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := jobstest.NewStore(time.Now)
		if err := store.Register(t.Context(), jobs.WorkerRow{ID: "w", Queues: []string{"images", "ocr"}}); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, func(s *settings) { s.http.JobStats = someJobStats(store) })
		scrape := func() string { return body(t, ask(b.Admin(), http.MethodGet, "/metrics")) }
		has := func(text, line string) {
			t.Helper()
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%s is missing", line)
			}
		}
		<-time.After(10 * time.Second)
		text := scrape()
		for _, line := range []string{
			"spillway_jobs_store_up 1", `spillway_queue_depth{queue="images"} 1`, `spillway_queue_delayed{queue="images"} 1`,
			`spillway_queue_oldest_seconds{queue="images"} 10`, `spillway_queue_depth{queue="ocr"} 0`, `spillway_workers{status="active"} 1`,
			"spillway_bell_up 1", "spillway_bell_failures_total 3", `spillway_keeper_jobs_total{what="rescued"} 4`,
			`spillway_worker_attempts_total{outcome="succeeded"} 9`, `spillway_webhooks_total{outcome="sent"} 7`,
		} {
			has(text, line)
		}
		for range 10 {
			scrape()
		}
		if n := store.Calls("Queues"); n != 1 {
			t.Errorf("11 scrapes in a moment asked the store %d times", n)
		}
		store.Fail(jobstest.Any, -1)
		<-time.After(5 * time.Second)
		text = scrape()
		has(text, "spillway_jobs_store_up 0")
		if strings.Contains(text, "spillway_queue_depth") {
			t.Error("a depth is told that nobody knows")
		}
		store.Fail(jobstest.Any, 0)
		store.Slow("Queues", time.Hour)
		<-time.After(5 * time.Second)
		began := time.Now()
		has(scrape(), "spillway_jobs_store_up 0")
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("a scrape waited %s for the store", took)
		}
	})
}
