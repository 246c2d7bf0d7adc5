package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

// work runs a worker in this process until the test ends: the handlers of
// pictures, and one that waits until it is told to stop.
func (b *jobBench) work(t *testing.T) *jobs.Worker {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	handlers := derive.Handlers(derive.Config{Limits: media.DefaultLimits(), Images: b.images, Blobs: b.blobs, Log: log})
	handlers["echo"] = waiting{}
	worker, err := jobs.NewWorker(jobs.WorkerConfig{
		Row: jobs.WorkerRow{ID: "w1", Queues: []string{"images"}}, Handlers: handlers, Slots: 2,
		Poll: 20 * time.Millisecond, Signals: 20 * time.Millisecond, DrainTimeout: -1,
	}, b.store, b.bell, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("work: %v", err)
		}
	})
	return worker
}

type waiting struct{}

func (waiting) Need(*jobs.Job) jobs.Need { return jobs.Need{} }

func (waiting) Do(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	task.Report(jobs.Progress{Done: 1, Total: 2})
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// untilOver reads a job's events to their end and gives the last.
func (b *jobBench) untilOver(t *testing.T, id jobs.ID) (last string) {
	t.Helper()
	w := b.watch(t, "/v1/jobs/"+id.String()+"/events")
	for {
		event := w.event(t)
		if event == "over" {
			return last
		}
		last = event
	}
}

// The whole way over HTTP: an original is sent, pictures are made of it by a
// worker while somebody watches, and fetched; jobs are cancelled, tried again
// and listed.
func TestJobsFromEndToEnd(t *testing.T) {
	b, _ := running(t, nil)
	worker := b.work(t)

	sent := answer[uploaded](t, b.call("POST", "/v1/uploads", "\xff\xd8\xff the original"), 201)
	made := b.enter(t, `{"type":"image.derive","input":"`+sent.Input+`","params":{"sizes":"40x0,80x0","format":"png,webp"},"idempotency_key":"first"}`)
	if last := b.untilOver(t, made.ID); last != "end succeeded 4/4" {
		t.Fatalf("it ends with %q", last)
	}
	again := answer[jobs.Document](t, b.call("POST", "/v1/jobs", `{"type":"image.derive","input":"`+sent.Input+`","params":{"format":"png,webp","sizes":"40x0,80x0"}}`, "Idempotency-Key: first"), 200)
	var result struct {
		Outputs []struct {
			Key         string
			Bytes       int64
			ContentType string `json:"content_type"`
		}
	}
	if err := json.Unmarshal(again.Result, &result); err != nil || len(result.Outputs) != 4 {
		t.Fatalf("result %s: %v", again.Result, err)
	}
	for _, output := range result.Outputs {
		res := b.call("GET", "/v1/outputs/"+output.Key, "")
		if text := body(t, res); res.StatusCode != 200 || int64(len(text)) != output.Bytes || !strings.Contains(text, "picture of") ||
			res.Header.Get("Content-Type") != output.ContentType {
			t.Errorf("%s: %d %q %s", output.Key, res.StatusCode, text, res.Header.Get("Content-Type"))
		}
	}

	endless := b.enter(t, `{"type":"echo","tenant":"t"}`)
	w := b.watch(t, "/v1/jobs/"+endless.ID.String()+"/events")
	w.until(t, " running 1/2")
	answer[jobs.Document](t, b.call("POST", "/v1/jobs/"+endless.ID.String()+"/cancel", ""), 200)
	last := ""
	for event := w.event(t); event != "over"; event = w.event(t) {
		last = event
	}
	if last != "end cancelled 1/2" {
		t.Errorf("cancelled, it ends with %q", last)
	}
	if d := answer[jobs.Document](t, b.call("POST", "/v1/jobs/"+endless.ID.String()+"/retry", ""), 200); d.State != jobs.Queued {
		t.Errorf("retried it is %s", d.State)
	}
	w = b.watch(t, "/v1/jobs/"+endless.ID.String()+"/events")
	w.until(t, " running 1/2")
	listed := answer[jobPage](t, b.call("GET", "/v1/jobs?tenant=t&state=running", ""), 200)
	if len(listed.Jobs) != 1 || listed.Jobs[0].ID != endless.ID || listed.Jobs[0].Deliveries != 2 {
		t.Errorf("listed are %+v", listed.Jobs)
	}
	if s := worker.Stats(); s.Succeeded != 1 || s.Cancelled != 1 {
		t.Errorf("the worker tells %+v", s)
	}
}

// A picture that cannot be made is a job that failed, and says why.
func TestAJobThatFailsFromEndToEnd(t *testing.T) {
	b, _ := running(t, func(*httpapi.JobsConfig) {})
	b.work(t)
	d := b.enter(t, `{"type":"image.derive","input":"missing.jpg","params":{"sizes":"40x0"}}`)
	if last := b.untilOver(t, d.ID); !strings.HasPrefix(last, "end failed") {
		t.Errorf("it ends with %q", last)
	}
	if d = answer[jobs.Document](t, b.call(http.MethodGet, "/v1/jobs/"+d.ID.String(), ""), 200); d.Code != "source-not-found" || d.Reason == "" {
		t.Errorf("it says %s: %s", d.Code, d.Reason)
	}
}
