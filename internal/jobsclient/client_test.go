package jobsclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/jobsclient"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// client is what both answer.
type client interface {
	asking
	changing
}

type changing interface {
	Enqueue(ctx context.Context, spec jobs.Spec) (jobsclient.Entered, error)
	Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Document, error)
	Retry(ctx context.Context, id jobs.ID) (jobs.Document, error)
}

type asking interface {
	Job(ctx context.Context, id jobs.ID) (jobsclient.Detail, error)
	Jobs(ctx context.Context, q jobsclient.Question) (jobsclient.Page, error)
	Queues(ctx context.Context) ([]jobs.QueueDocument, error)
	Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error)
	Follow(ctx context.Context, id jobs.ID, watch jobsclient.Watcher) (jobs.Document, error)
}

// house is a store with jobs, and a server in front of it.
type house struct {
	store  *jobstest.Store
	local  *jobsclient.Local
	server *httptest.Server
	token  string
}

// build makes one. Only the type "work" is known, and no input "bad" of it.
func build(t *testing.T) *house {
	t.Helper()
	kinds := jobs.NewKinds(jobs.Kind{Type: "work", Queue: "images", Priority: 5, Check: func(s *jobs.Spec) error {
		if s.Input == "bad" {
			return &jobs.SpecError{Field: "input", Detail: "it is bad."}
		}
		return nil
	}})
	store := jobstest.NewStore(time.Now)
	queue := jobs.NewClient(store, jobs.NewProcessBell(), kinds)
	token, line, err := httpapi.NewToken("test", false)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := httpapi.ParseTokens([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	config := httpapi.DefaultConfig()
	config.Jobs = &httpapi.JobsConfig{Tokens: tokens, Client: queue, Store: store}
	edge, err := httpapi.New(config, struct{ httpapi.Transformer }{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- edge.Run(ctx) }()
	server := httptest.NewServer(edge.Public())
	t.Cleanup(func() {
		stop()
		<-ended
		server.Close()
	})
	return &house{store, jobsclient.NewLocal(store, queue), server, token}
}

func (h *house) remote(t *testing.T, token string) *jobsclient.Remote {
	t.Helper()
	r, err := jobsclient.NewRemote(h.server.URL, token)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// both runs a test in front of the server and in front of the store.
func both(t *testing.T, test func(t *testing.T, h *house, c client)) {
	t.Helper()
	t.Run("in the database", func(t *testing.T) {
		h := build(t)
		test(t, h, h.local)
	})
	t.Run("over HTTP", func(t *testing.T) {
		h := build(t)
		test(t, h, h.remote(t, h.token))
	})
}

// enqueue asks for one job that is taken.
func enqueue(t *testing.T, c client, spec jobs.Spec) jobsclient.Entered {
	t.Helper()
	spec.Type = "work"
	entered, err := c.Enqueue(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return entered
}

// claim has a worker take the next job.
func (h *house) claim(t *testing.T) jobs.Job {
	t.Helper()
	row := jobs.WorkerRow{ID: "w1", Queues: []string{"images"}, Status: jobs.WorkerActive, Market: jobs.VPS, Slots: 2}
	if err := h.store.Register(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	taken, err := h.store.Claim(t.Context(), jobs.Claim{WorkerID: "w1", Queues: row.Queues, N: 1, Lease: time.Minute, Market: jobs.VPS})
	if err != nil || len(taken) != 1 {
		t.Fatalf("claimed %d jobs, %v", len(taken), err)
	}
	return taken[0]
}

func (h *house) finish(t *testing.T, job jobs.Job, o jobs.Outcome) {
	t.Helper()
	if err := h.store.Finish(t.Context(), jobs.Lease{ID: job.ID, Token: job.Token}, o); err != nil {
		t.Fatal(err)
	}
}

func TestAJobArrivesAsItWasAskedFor(t *testing.T) {
	both(t, func(t *testing.T, _ *house, c client) {
		entered := enqueue(t, c, jobs.Spec{
			Queue: "own", Priority: 3, Tenant: "t", Input: "a.jpg", Params: json.RawMessage(`{"n":1}`), IdempotencyKey: "k",
			Delay: time.Hour, MaxAttempts: 2, WorkLimit: 90 * time.Second, WaitLimit: time.Minute, Webhook: "https://example.com/secret?x=1",
		})
		want := jobs.Document{
			ID: entered.ID, Type: "work", Queue: "own", Priority: 3, Tenant: "t", State: jobs.Queued, Input: "a.jpg",
			Params: json.RawMessage(`{"n":1}`), MaxAttempts: 2, IdempotencyKey: "k", WorkLimitSeconds: 90, WaitLimitSeconds: 60,
			EstimatedSeconds: 1, WebhookHost: "example.com", Version: entered.Version,
			CreatedAt: entered.CreatedAt, EligibleAt: entered.CreatedAt.Add(time.Hour),
		}
		if diff := cmp.Diff(want, entered.Document); diff != "" || entered.Existing {
			t.Errorf("job differs (-want +got), existing %v:\n%s", entered.Existing, diff)
		}
	})
}

func TestAKeyIsTheFirstJob(t *testing.T) {
	both(t, func(t *testing.T, _ *house, c client) {
		first := enqueue(t, c, jobs.Spec{Input: "a.jpg", Params: json.RawMessage(`{"a":1,"b":2}`), IdempotencyKey: "k"})
		again := enqueue(t, c, jobs.Spec{Input: "a.jpg", Params: json.RawMessage(`{"b":2, "a":1}`), IdempotencyKey: "k"})
		if again.ID != first.ID || !again.Existing || first.Existing {
			t.Errorf("first %s existing %v, again %s existing %v", first.ID, first.Existing, again.ID, again.Existing)
		}
		if _, err := c.Enqueue(t.Context(), jobs.Spec{Type: "work", Input: "b.jpg", IdempotencyKey: "k"}); err == nil {
			t.Error("the key of another job was taken")
		}
	})
}

func TestWhatCannotBeIsRefusedByName(t *testing.T) {
	both(t, func(t *testing.T, _ *house, c client) {
		_, err := c.Enqueue(t.Context(), jobs.Spec{Type: "work", Priority: 11, MaxAttempts: 99})
		want := "priority: 11 is not within 1 (first) to 10.\nmax_attempts: 99 is not within 1 to 25."
		if err == nil || err.Error() != want {
			t.Errorf("error = %v, want %q", err, want)
		}
		_, err = c.Enqueue(t.Context(), jobs.Spec{Type: "work", Input: "bad"})
		if err == nil || err.Error() != "input: it is bad." {
			t.Errorf("error = %v", err)
		}
	})
}

func TestAllOfAJobIsTold(t *testing.T) {
	both(t, func(t *testing.T, h *house, c client) {
		id := enqueue(t, c, jobs.Spec{}).ID
		job := h.claim(t)
		h.finish(t, job, jobs.Outcome{State: jobs.Failed, Attempt: jobs.AttemptFailed, Code: "broken", Reason: "It is broken."})
		detail, err := c.Job(t.Context(), id)
		if err != nil || detail.State != jobs.Failed || detail.Code != "broken" || len(detail.History) != 1 {
			t.Fatalf("job = %+v, %v", detail, err)
		}
		if a := detail.History[0]; a.Status != jobs.AttemptFailed || a.WorkerID != "w1" || a.Number != 1 {
			t.Errorf("attempt = %+v", a)
		}
		again, err := c.Retry(t.Context(), id)
		if err != nil || again.State != jobs.Queued || again.ID != id {
			t.Errorf("tried again: %+v, %v", again, err)
		}
		gone, err := c.Cancel(t.Context(), id, "no need")
		if err != nil || gone.State != jobs.Cancelled || gone.Reason != "no need" {
			t.Errorf("cancelled: %+v, %v", gone, err)
		}
	})
}

func TestWhatIsNotThereOrNotAllowedIsTold(t *testing.T) {
	both(t, func(t *testing.T, h *house, c client) {
		if _, err := c.Job(t.Context(), 99); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("a job that is not there: %v", err)
		}
		if _, err := c.Follow(t.Context(), 99, func(jobs.Document) {}); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("to follow it: %v", err)
		}
		id := enqueue(t, c, jobs.Spec{}).ID
		if _, err := c.Retry(t.Context(), id); !errors.Is(err, jobs.ErrState) {
			t.Errorf("a retry of a queued job: %v", err)
		}
		h.store.Fail(jobstest.Any, -1)
		if _, err := c.Enqueue(t.Context(), jobs.Spec{Type: "work"}); !errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("without a store: %v", err)
		}
	})
}

func TestAListIsReadPageByPage(t *testing.T) {
	both(t, func(t *testing.T, _ *house, c client) {
		for range 5 {
			enqueue(t, c, jobs.Spec{Tenant: "a"})
		}
		enqueue(t, c, jobs.Spec{Tenant: "b"})
		var ids []string
		q := jobsclient.Question{State: jobs.Queued, Tenant: "a", Type: "work", Queue: "images", Limit: 2}
		for pages := 0; pages == 0 || q.Cursor != ""; pages++ {
			page, err := c.Jobs(t.Context(), q)
			if err != nil || pages > 3 {
				t.Fatalf("page %d: %v", pages, err)
			}
			for _, job := range page.Jobs {
				ids = append(ids, job.ID.String())
			}
			q.Cursor = page.Next
		}
		if diff := cmp.Diff([]string{"5", "4", "3", "2", "1"}, ids); diff != "" {
			t.Errorf("jobs differ (-want +got):\n%s", diff)
		}
		q.Cursor = "nonsense"
		if _, err := c.Jobs(t.Context(), q); err == nil {
			t.Error("a cursor that is none was taken")
		}
	})
}

func TestQueuesAndWorkersAreCounted(t *testing.T) {
	both(t, func(t *testing.T, h *house, c client) {
		for _, priority := range []int{2, 5, 5} {
			enqueue(t, c, jobs.Spec{Priority: priority})
		}
		h.claim(t)
		queues, err := c.Queues(t.Context())
		if err != nil || len(queues) != 1 {
			t.Fatalf("queues = %+v, %v", queues, err)
		}
		q := queues[0]
		if q.Queue != "images" || q.Depth != 2 || q.Running != 1 || q.Priorities[4] != 2 || len(q.Priorities) != 10 {
			t.Errorf("queue = %+v", q)
		}
		workers, err := c.Workers(t.Context(), true)
		if err != nil || len(workers) != 1 || workers[0].ID != "w1" || workers[0].Status != jobs.WorkerActive {
			t.Errorf("workers = %+v, %v", workers, err)
		}
	})
}

func TestAJobIsFollowedToItsEnd(t *testing.T) {
	both(t, func(t *testing.T, h *house, c client) {
		id := enqueue(t, c, jobs.Spec{}).ID
		told := make(chan jobs.Document, 100)
		type end struct {
			job jobs.Document
			err error
		}
		ended := make(chan end, 1)
		go func() {
			job, err := c.Follow(t.Context(), id, func(job jobs.Document) { told <- job })
			ended <- end{job, err}
		}()
		if job := <-told; job.State != jobs.Queued {
			t.Errorf("first it was %s", job.State)
		}
		job := h.claim(t)
		if job := <-told; job.State != jobs.Running {
			t.Errorf("then it was %s", job.State)
		}
		pulse := jobs.Pulse{Lease: jobs.Lease{ID: id, Token: job.Token}, Progress: &jobs.Progress{Done: 1, Total: 2}}
		if _, err := h.store.Beat(t.Context(), "w1", time.Minute, []jobs.Pulse{pulse}); err != nil {
			t.Fatal(err)
		}
		if job := <-told; job.Progress.Done != 1 || job.Progress.Total != 2 {
			t.Errorf("its progress was %+v", job.Progress)
		}
		h.finish(t, job, jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded, Result: json.RawMessage(`{"x":1}`)})
		e := <-ended
		if e.err != nil || e.job.State != jobs.Succeeded || string(e.job.Result) != `{"x":1}` {
			t.Errorf("it ended as %+v, %v", e.job, e.err)
		}
	})
}

func TestWhoStopsFollowingIsLetGo(t *testing.T) {
	both(t, func(t *testing.T, _ *house, c client) {
		id := enqueue(t, c, jobs.Spec{}).ID
		why := errors.New("enough")
		ctx, stop := context.WithCancelCause(t.Context())
		_, err := c.Follow(ctx, id, func(jobs.Document) { stop(why) })
		if !errors.Is(err, why) {
			t.Errorf("error = %v", err)
		}
	})
}
