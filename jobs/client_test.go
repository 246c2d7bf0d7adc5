package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// taker keeps what reaches a store.
type taker struct {
	jobs.ControlStore
	specs []jobs.Spec
	err   error
	reply func(i int, s jobs.Spec) jobs.Enqueued
}

func (s *taker) Enqueue(_ context.Context, specs []jobs.Spec) ([]jobs.Enqueued, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.specs = append(s.specs, specs...)
	var all []jobs.Enqueued
	for i, spec := range specs {
		all = append(all, s.reply(i, spec))
	}
	return all, nil
}

// rings counts.
type rings struct {
	jobs.Doorbell
	heard map[string]int
}

func (r *rings) Ring(ctx context.Context, queue string, n int) {
	if ctx.Err() == nil {
		r.heard[queue] += n
	}
}

func newClient() (*jobs.Client, *taker, *rings) {
	store := &taker{reply: func(i int, s jobs.Spec) jobs.Enqueued {
		return jobs.Enqueued{Job: jobs.Job{ID: jobs.ID(i + 1), Spec: s, State: jobs.Queued}}
	}}
	bell := &rings{heard: map[string]int{}}
	return jobs.NewClient(store, bell, jobs.NewKinds(
		jobs.Kind{Type: "image.derive", Queue: "images", Priority: jobs.DefaultPriority},
		jobs.Kind{Type: "bulk.derive", Queue: "bulk", Priority: jobs.BulkPriority, WorkLimit: 24 * time.Hour, Checkpointable: true, Check: func(s *jobs.Spec) error {
			if s.Input == "" {
				return &jobs.SpecError{Field: "input", Detail: "it is empty."}
			}
			return nil
		}},
	)), store, bell
}

func TestEnqueueFillsInDefaults(t *testing.T) {
	client, store, bell := newClient()
	if _, err := client.Enqueue(t.Context(), jobs.Spec{Type: "image.derive"}, jobs.Spec{Type: "bulk.derive", Input: "a"}); err != nil {
		t.Fatal(err)
	}
	image, bulk := store.specs[0], store.specs[1]
	if image.Queue != "images" || image.Priority != 5 || image.MaxAttempts != 5 || image.WorkLimit != time.Hour || string(image.Params) != "{}" || image.EstimatedSeconds != 1 || image.Checkpointable {
		t.Errorf("image.derive became %+v", image)
	}
	if bulk.Queue != "bulk" || bulk.Priority != 8 || !bulk.Checkpointable || bulk.WorkLimit != 24*time.Hour {
		t.Errorf("bulk.derive became %+v", bulk)
	}
	if want := map[string]int{"images": 1, "bulk": 1}; !maps.Equal(bell.heard, want) {
		t.Errorf("rang %v", bell.heard)
	}
}

func TestTheBellIsRungForReadyNewJobsOnly(t *testing.T) {
	client, store, bell := newClient()
	now := time.Now()
	store.reply = func(i int, s jobs.Spec) jobs.Enqueued {
		job := jobs.Job{Spec: s, State: jobs.Queued, CreatedAt: now, EligibleAt: now}
		if i == 1 {
			job.EligibleAt = now.Add(time.Second)
		}
		return jobs.Enqueued{Job: job, Existing: i == 2}
	}
	spec := jobs.Spec{Type: "image.derive"}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := client.Enqueue(gone, spec, spec, spec); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"images": 1}; !maps.Equal(bell.heard, want) {
		t.Errorf("rang %v, want %v, although the caller has left", bell.heard, want)
	}
}

func TestNothingIsRungForWhatTheStoreRefused(t *testing.T) {
	client, store, bell := newClient()
	store.err = fmt.Errorf("dial: %w", jobs.ErrUnavailable)
	if _, err := client.Enqueue(t.Context(), jobs.Spec{Type: "image.derive"}); !errors.Is(err, jobs.ErrUnavailable) || len(bell.heard) != 0 {
		t.Errorf("err = %v, rang %v", err, bell.heard)
	}
}

func TestEnqueueRefuses(t *testing.T) {
	image := func(change func(*jobs.Spec)) jobs.Spec {
		s := jobs.Spec{Type: "image.derive", Input: "lake.jpg"}
		change(&s)
		return s
	}
	tests := []struct {
		name, field, says string
		spec              jobs.Spec
	}{
		{"an unknown type, and names those there are", "type", "bulk.derive, image.derive", jobs.Spec{Type: "image.dervie"}},
		{"a queue that is no name", "queue", "Images", image(func(s *jobs.Spec) { s.Queue = "Images" })},
		{"a queue that is too long", "queue", "40", image(func(s *jobs.Spec) { s.Queue = strings.Repeat("q", 41) })},
		{"a priority of eleven", "priority", "11 is not within 1 (first) to 10", image(func(s *jobs.Spec) { s.Priority = 11 })},
		{"a negative priority", "priority", "-1", image(func(s *jobs.Spec) { s.Priority = -1 })},
		{"an input that is too long", "input", "4097 bytes", image(func(s *jobs.Spec) { s.Input = strings.Repeat("i", 4097) })},
		{"an input with a control character", "input", "printable", image(func(s *jobs.Spec) { s.Input = "a\x00b" })},
		{"a tenant that is no UTF-8", "tenant", "printable", image(func(s *jobs.Spec) { s.Tenant = "a\xff" })},
		{"a webhook that is no URL, without repeating it", "webhook", "http or https", image(func(s *jobs.Spec) { s.Webhook = "ftp://x/?key=hidden" })},
		{"a webhook of no host", "webhook", "http or https", image(func(s *jobs.Spec) { s.Webhook = "https://:8443/hook" })},
		{"a webhook of a port there is none of", "webhook", "http or https", image(func(s *jobs.Spec) { s.Webhook = "https://example.com:99999/hook" })},
		{"params that are a list", "params", "object", image(func(s *jobs.Spec) { s.Params = json.RawMessage(`[1]`) })},
		{"params that are null", "params", "object", image(func(s *jobs.Spec) { s.Params = json.RawMessage(`null`) })},
		{"params that are no UTF-8", "params", "UTF-8", image(func(s *jobs.Spec) { s.Params = json.RawMessage("{\"a\":\"\xff\"}") })},
		{"params in which a name stands twice", "params", "sizes", image(func(s *jobs.Spec) { s.Params = json.RawMessage(`{"sizes":"1x0","format":"webp","si\u007aes":"2x0"}`) })},
		{"params that are too long", "params", "1048576", image(func(s *jobs.Spec) { s.Params = json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`) })},
		{"a hundred attempts", "max_attempts", "100", image(func(s *jobs.Spec) { s.MaxAttempts = 100 })},
		{"a delay of thousands of years, in plain numbers", "delay_seconds", "100000000 is not within 0 to 31622400", image(func(s *jobs.Spec) { s.Delay = 1e8 * time.Second })},
		{"a negative delay", "delay_seconds", "-1", image(func(s *jobs.Spec) { s.Delay = -time.Second })},
		{"a delay and a time", "run_at", "delay_seconds", image(func(s *jobs.Spec) { s.Delay, s.RunAt = time.Second, time.Now() })},
		{"a time that no answer could tell in UTC", "run_at", "10000", image(func(s *jobs.Spec) {
			s.RunAt = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*60*60))
		})},
		{"a time no database holds", "run_at", "9999", image(func(s *jobs.Spec) { s.RunAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) })},
		{"a work limit of a millisecond", "work_limit_seconds", "0.001", image(func(s *jobs.Spec) { s.WorkLimit = time.Millisecond })},
		{"a wait limit of a year", "wait_limit_seconds", "neither 0", image(func(s *jobs.Spec) { s.WaitLimit = 365 * 24 * time.Hour })},
		{"an estimate that is not a number", "estimated_seconds", "NaN", image(func(s *jobs.Spec) { s.EstimatedSeconds = math.NaN() })},
		{"what the type refuses", "input", "empty", jobs.Spec{Type: "bulk.derive"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, store, _ := newClient()
			_, err := client.Enqueue(t.Context(), test.spec)
			faults := jobs.SpecErrors(err)
			if len(faults) != 1 || faults[0].Field != test.field || !strings.Contains(faults[0].Detail, test.says) || strings.Contains(fmt.Sprint(err), "hidden") {
				t.Errorf("err = %v, want one fault of %s that says %q", err, test.field, test.says)
			}
			if len(store.specs) != 0 {
				t.Error("it reached the store")
			}
		})
	}
}

func TestOneBadSpecRefusesTheBatchAndAllFaultsAreTold(t *testing.T) {
	client, store, _ := newClient()
	_, err := client.Enqueue(t.Context(), jobs.Spec{Type: "image.derive"}, jobs.Spec{Type: "image.derive", Priority: 12, MaxAttempts: 99}, jobs.Spec{Type: "bulk.derive", Priority: 11})
	var fields []string
	for _, fault := range jobs.SpecErrors(err) {
		fields = append(fields, fault.Field)
	}
	if got := strings.Join(fields, " "); got != "jobs[1].priority jobs[1].max_attempts jobs[2].priority jobs[2].input" || len(store.specs) != 0 {
		t.Errorf("faults of %q, stored %d", got, len(store.specs))
	}
	for _, n := range []int{0, jobs.MaxBatch + 1} {
		if _, err := client.Enqueue(t.Context(), make([]jobs.Spec, n)...); len(jobs.SpecErrors(err)) != 1 {
			t.Errorf("%d jobs: %v", n, err)
		}
	}
}

func TestDocumentTellsNoSecret(t *testing.T) {
	job := jobs.Job{ID: 7, Token: "lease-secret", Spec: jobs.Spec{Webhook: "https://user:pw@hooks.example.com/x?key=hook-secret", Params: json.RawMessage(`{}`)}}
	text, err := json.Marshal(job.Document())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"lease-secret", "hook-secret", "pw"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the document tells %q: %s", secret, text)
		}
	}
	if !strings.Contains(string(text), `"id":"7"`) || !strings.Contains(string(text), `"webhook_host":"hooks.example.com"`) {
		t.Errorf("document: %s", text)
	}
	var read jobs.Document
	if err := json.Unmarshal(text, &read); err != nil || read.ID != 7 {
		t.Errorf("read back %+v, %v", read, err)
	}
}

func TestIDsAreReadAsTheyAreWritten(t *testing.T) {
	for _, bad := range []string{"", "0", "-1", "1.5", "x", "9223372036854775808", "1 "} {
		if id, err := jobs.ParseID(bad); err == nil {
			t.Errorf("ParseID(%q) = %d", bad, id)
		}
	}
	if id, err := jobs.ParseID(jobs.ID(math.MaxInt64).String()); err != nil || id != math.MaxInt64 {
		t.Error(id, err)
	}
}
