package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet/fleettest"
	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// jobBench is a whole server whose /v1 stands on a store in memory and a blob
// store in a folder. who may write and look may only ask.
type jobBench struct {
	*bench
	store     *jobstest.Store
	fleet     *fleettest.Store
	bell      jobs.Doorbell
	client    *jobs.Client
	blobs     blob.Store
	who, look string
}

func newJobBench(t testing.TB, change func(*httpapi.JobsConfig)) *jobBench {
	t.Helper()
	b := &jobBench{store: jobstest.NewStore(time.Now), fleet: fleettest.NewStore(time.Now), bell: jobs.NewProcessBell()}
	var err error
	if b.blobs, err = blob.Open(t.Context(), blob.Config{Location: t.TempDir()}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	kinds := derive.Kinds(media.DefaultLimits())
	kinds["echo"] = jobs.Kind{Type: "echo", Queue: "images", Priority: jobs.DefaultPriority}
	b.client = jobs.NewClient(b.store, b.bell, kinds)
	var tokens string
	b.who, tokens = newToken(t, "backend", false)
	look, line := newToken(t, "dashboard", true)
	b.look, tokens = look, "# who may ask\n\n"+tokens+"\n"+line+"\n"
	parsed, err := httpapi.ParseTokens([]byte(tokens))
	if err != nil {
		t.Fatal(err)
	}
	config := &httpapi.JobsConfig{
		Tokens: parsed, Client: b.client, Store: b.store, Scaling: b.fleet,
		Uploads: derive.NewUploads(b.blobs, t.TempDir()), Outputs: b.blobs, MaxUpload: 1 << 20,
	}
	if change != nil {
		change(config)
	}
	b.bench = newBench(t, func(s *settings) { s.http.Jobs = config })
	return b
}

func newToken(t testing.TB, name string, readOnly bool) (token, line string) {
	t.Helper()
	token, line, err := httpapi.NewToken(name, readOnly)
	if err != nil {
		t.Fatal(err)
	}
	return token, line
}

// call asks with the token that may write; headers are "Name: value".
func (b *jobBench) call(method, target, text string, headers ...string) *http.Response {
	return send(b.public, method, target, text, append([]string{"Authorization: Bearer " + b.who}, headers...)...)
}

// sendBody posts what is not known the length of.
func sendBody(h http.Handler, target string, text io.Reader, token string) *http.Response {
	r := httptest.NewRequest(http.MethodPost, target, text)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func send(h http.Handler, method, target, text string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(text))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// answer reads a document of the status.
func answer[T any](t testing.TB, res *http.Response, status int) (v T) {
	t.Helper()
	text := body(t, res)
	if res.StatusCode != status || res.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("got %d %s %s, want %d", res.StatusCode, res.Header.Get("Content-Type"), text, status)
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// enter enqueues one job.
func (b *jobBench) enter(t testing.TB, text string) jobs.Document {
	t.Helper()
	return answer[jobs.Document](t, b.call("POST", "/v1/jobs", text), 201)
}

// begin has a worker take the next job.
func (b *jobBench) begin(t testing.TB) jobs.Job {
	t.Helper()
	if err := b.store.Register(t.Context(), jobs.WorkerRow{ID: "w1", Hostname: "h", Provider: "vps", Market: jobs.VPS, Slots: 1}); err != nil {
		t.Fatal(err)
	}
	got, err := b.store.Claim(t.Context(), jobs.Claim{WorkerID: "w1", Queues: []string{"images", "bulk"}, N: 1, Lease: time.Minute, Market: jobs.VPS})
	if err != nil || len(got) != 1 {
		t.Fatalf("claim: %d jobs, %v", len(got), err)
	}
	return got[0]
}

func (b *jobBench) report(t testing.TB, job jobs.Job, done, total int64) {
	t.Helper()
	pulse := jobs.Pulse{Lease: jobs.Lease{ID: job.ID, Token: job.Token}, Progress: &jobs.Progress{Done: done, Total: total}}
	if lost, err := b.store.Beat(t.Context(), "w1", time.Minute, []jobs.Pulse{pulse}); err != nil || len(lost) > 0 {
		t.Fatalf("beat: %v, %v", lost, err)
	}
}

func (b *jobBench) finish(t testing.TB, job jobs.Job, o jobs.Outcome) {
	t.Helper()
	if err := b.store.Finish(t.Context(), jobs.Lease{ID: job.ID, Token: job.Token}, o); err != nil {
		t.Fatal(err)
	}
}

var (
	wellDone = jobs.Outcome{State: jobs.Succeeded, Attempt: jobs.AttemptSucceeded, Result: json.RawMessage(`{"outputs":[]}`)}
	failed   = jobs.Outcome{State: jobs.Failed, Attempt: jobs.AttemptFailed, Code: "broken", Reason: "The picture is broken."}
)

func TestEnqueue(t *testing.T) {
	t.Run("a new job is answered with where it is", func(t *testing.T) {
		b := newJobBench(t, nil)
		res := b.call("POST", "/v1/jobs", `{"type":"echo","input":"a.jpg","priority":2,"tenant":"t","params":{"a":1},"work_limit_seconds":1.5,"wait_limit_seconds":60}`)
		d := answer[jobs.Document](t, res, 201)
		if got := res.Header.Get("Location"); got != "/v1/jobs/"+d.ID.String() {
			t.Errorf("Location is %q", got)
		}
		want := jobs.Document{ID: d.ID, Type: "echo", Queue: "images", Priority: 2, Tenant: "t", State: jobs.Queued, Input: "a.jpg",
			Params: json.RawMessage(`{"a":1}`), MaxAttempts: 5, WorkLimitSeconds: 1.5, WaitLimitSeconds: 60, EstimatedSeconds: 1,
			CreatedAt: d.CreatedAt, EligibleAt: d.EligibleAt, Version: d.Version}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a job may begin later", func(t *testing.T) {
		d := newJobBench(t, nil).enter(t, `{"type":"echo","delay_seconds":90}`)
		if wait := d.EligibleAt.Sub(d.CreatedAt); wait != 90*time.Second {
			t.Errorf("it begins after %s", wait)
		}
	})
	t.Run("a batch tells of each", func(t *testing.T) {
		b := newJobBench(t, nil)
		earlier := b.enter(t, `{"type":"echo","idempotency_key":"k"}`)
		type batch struct {
			Jobs []struct {
				Existing bool
				Code     string
				Job      jobs.Document
			}
		}
		got := answer[batch](t, b.call("POST", "/v1/jobs", `{"jobs":[{"type":"echo"},{"type":"echo","idempotency_key":"k"},{"type":"echo","input":"x","idempotency_key":"k"}]}`), 201)
		if len(got.Jobs) != 3 || got.Jobs[0].Existing || !got.Jobs[1].Existing || got.Jobs[1].Job.ID != earlier.ID || got.Jobs[1].Code != "" {
			t.Errorf("got %+v", got)
		}
		if got.Jobs[2].Code != "idempotency-key-reused" {
			t.Errorf("a key of another job is answered with %q", got.Jobs[2].Code)
		}
		answer[batch](t, b.call("POST", "/v1/jobs", `{"jobs":[{"type":"echo","idempotency_key":"k"}]}`), 200)
	})
}

func TestIdempotencyOverHTTP(t *testing.T) {
	cases := map[string]struct {
		body   string
		header string
		status int
	}{
		"the same again is the same job":           {`{"type":"echo","input":"a","params":{"x":1,"y":2.50},"idempotency_key":"k"}`, "", 200},
		"order and spaces of params do not matter": {`{"type":"echo","input":"a","params":{ "y": 2.50, "x":1 },"idempotency_key":"k"}`, "", 200},
		"the key may stand in a header":            {`{"type":"echo","input":"a","params":{"x":1,"y":2.50}}`, "k", 200},
		"or in both, the same":                     {`{"type":"echo","input":"a","params":{"x":1,"y":2.50},"idempotency_key":"k"}`, "k", 200},
		"other priorities are not another job":     {`{"type":"echo","input":"a","params":{"x":1,"y":2.50},"priority":1}`, "k", 200},
		"another input is another job":             {`{"type":"echo","input":"b","params":{"x":1,"y":2.50}}`, "k", 422},
		"other params are another job":             {`{"type":"echo","input":"a","params":{"x":1,"y":2.51}}`, "k", 422},
		"another key is a new job":                 {`{"type":"echo","input":"b"}`, "l", 201},
		"two different keys are a mistake":         {`{"type":"echo","input":"a","idempotency_key":"l"}`, "k", 400},
		"a header for several is a mistake":        {`{"jobs":[{"type":"echo"}]}`, "k", 400},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newJobBench(t, nil)
			first := b.enter(t, `{"type":"echo","input":"a","params":{"x":1,"y":2.50},"idempotency_key":"k"}`)
			var headers []string
			if c.header != "" {
				headers = append(headers, "Idempotency-Key: "+c.header)
			}
			res := b.call("POST", "/v1/jobs", c.body, headers...)
			switch c.status {
			case 200:
				if got := answer[jobs.Document](t, res, 200); got.ID != first.ID || res.Header.Get("Location") != "/v1/jobs/"+first.ID.String() {
					t.Errorf("got job %s, want %s", got.ID, first.ID)
				}
			case 201:
				answer[jobs.Document](t, res, 201)
			case 422:
				if p := wantProblem(t, res, 422, "idempotency-key-reused"); p.Parameter != "idempotency_key" {
					t.Errorf("parameter is %q", p.Parameter)
				}
			case 400:
				wantProblem(t, res, 400, "invalid-parameter")
			}
		})
	}
	t.Run("the result is kept with the key", func(t *testing.T) {
		b := newJobBench(t, nil)
		b.enter(t, `{"type":"echo","idempotency_key":"k"}`)
		b.finish(t, b.begin(t), wellDone)
		if d := answer[jobs.Document](t, b.call("POST", "/v1/jobs", `{"type":"echo","idempotency_key":"k"}`), 200); d.State != jobs.Succeeded || string(d.Result) != `{"outputs":[]}` {
			t.Errorf("got %+v", d)
		}
	})
}

func TestWhatIsWrongWithAJob(t *testing.T) {
	type fault struct{ Parameter, Detail string }
	type answered struct{ Errors []fault }
	cases := map[string]struct {
		body   string
		status int
		code   string
		want   []string // parameters
		says   string
	}{
		"no JSON":                {`priority=1`, 400, "invalid-body", nil, "not a JSON object"},
		"nothing":                {``, 400, "invalid-body", nil, "not a JSON object"},
		"a list":                 {`[]`, 400, "invalid-body", nil, "not a JSON object"},
		"broken JSON":            {`{"type":"echo",}`, 400, "invalid-body", nil, "not JSON from byte"},
		"half of it":             {`{"type":"echo"`, 400, "invalid-body", nil, "breaks off"},
		"two of them":            {`{"type":"echo"}{"type":"echo"}`, 400, "invalid-body", nil, "more stands behind"},
		"a field twice":          {`{"type":"echo","type":"echo"}`, 400, "invalid-body", nil, `"type" stands twice`},
		"an unknown field":       {`{"type":"echo","priorty":1}`, 400, "invalid-body", []string{"priorty"}, "the nearest is priority"},
		"a field's other case":   {`{"Type":"echo"}`, 400, "invalid-body", []string{"Type"}, "the nearest is type"},
		"a field of the answer":  {`{"type":"echo","state":"running"}`, 400, "invalid-body", []string{"state"}, "no field of a job"},
		"types that are others":  {`{"type":1,"priority":"1","checkpointable":"yes","run_at":"soon","delay_seconds":"1"}`, 400, "invalid-body", []string{"type", "priority", "checkpointable", "run_at", "delay_seconds"}, "not a text"},
		"an unknown type":        {`{"type":"echoes"}`, 422, "invalid-job", []string{"type"}, "image.derive"},
		"values out of range":    {`{"type":"echo","priority":11,"max_attempts":99,"delay_seconds":1e300}`, 422, "invalid-job", []string{"priority", "max_attempts", "delay_seconds"}, "11 is not within 1"},
		"params that are wrong":  {`{"type":"image.derive","input":"a.jpg","params":{"sizes":"300x0","quality":"900"}}`, 422, "invalid-job", []string{"params.quality"}, "900"},
		"no jobs":                {`{"jobs":[]}`, 422, "invalid-job", []string{"jobs"}, "not within 1 to 1000"},
		"jobs that are none":     {`{"jobs":{}}`, 400, "invalid-body", []string{"jobs"}, "not a list"},
		"fields beside jobs":     {`{"jobs":[{"type":"echo"}],"queue":"images"}`, 400, "invalid-body", []string{"queue"}, "cannot stand beside"},
		"faults in several jobs": {`{"jobs":[{"type":"echo"},{"type":"echo","prio":1},7]}`, 400, "invalid-body", []string{"jobs[1].prio", "jobs[2]"}, "jobs[1].prio"},
		"values in several jobs": {`{"jobs":[{"type":"echo","priority":-1},{"type":"echo"},{"type":"no"}]}`, 422, "invalid-job", []string{"jobs[0].priority", "jobs[2].type"}, "-1"},
	}
	b := newJobBench(t, nil)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			res := b.call("POST", "/v1/jobs", c.body)
			text := body(t, res)
			res.Body = io.NopCloser(strings.NewReader(text))
			p := wantProblem(t, res, c.status, c.code)
			if !strings.Contains(p.Detail, c.says) {
				t.Errorf("detail is %q, want %q", p.Detail, c.says)
			}
			var doc answered
			if err := json.Unmarshal([]byte(text), &doc); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range doc.Errors {
				got = append(got, f.Parameter)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(c.want) > 0 && p.Parameter != c.want[0] {
				t.Errorf("parameter is %q", p.Parameter)
			}
		})
	}
	if n := len(answer[jobPage](t, b.call("GET", "/v1/jobs", ""), 200).Jobs); n != 0 {
		t.Errorf("%d jobs are in all the same", n)
	}
	t.Run("too large a body", func(t *testing.T) {
		wantProblem(t, b.call("POST", "/v1/jobs", `{"type":"`+strings.Repeat("x", 2<<20)+`"}`), 413, "body-too-large")
	})
	t.Run("faults without end are told up to a hundred", func(t *testing.T) {
		many := strings.Repeat(`{"type":"no"},`, 999) + `{"type":"no"}`
		if got := errorsOf(t, b.call("POST", "/v1/jobs", `{"jobs":[`+many+`]}`)); got != 100 {
			t.Errorf("%d are told", got)
		}
	})
}

func errorsOf(t *testing.T, res *http.Response) int {
	t.Helper()
	var doc struct{ Errors []any }
	if err := json.Unmarshal([]byte(body(t, res)), &doc); err != nil {
		t.Fatal(err)
	}
	return len(doc.Errors)
}

// A webhook's address may hold a secret; no answer and no log repeats it.
func TestAWebhooksAddressIsNotRepeated(t *testing.T) {
	b := newJobBench(t, nil)
	made := body(t, b.call("POST", "/v1/jobs", `{"type":"echo","webhook":"https://u:hunter2@h.example/hunter2?key=hunter2"}`))
	refused := body(t, b.call("POST", "/v1/jobs", `{"type":"echo","webhook":"ftp://u:hunter2@h.example/?key=hunter2"}`))
	if strings.Contains(made+refused+b.logged.String(), "hunter2") {
		t.Errorf("it is in %s %s %s", made, refused, b.logged.String())
	}
	if !strings.Contains(made, `"webhook_host":"h.example"`) {
		t.Errorf("the host is missing in %s", made)
	}
}

type jobPage struct {
	Jobs []jobs.Document
	Next string
}

func TestListOfJobs(t *testing.T) {
	b := newJobBench(t, nil)
	for i := range 7 {
		b.enter(t, fmt.Sprintf(`{"type":"echo","tenant":"t%d"}`, i%2))
	}
	t.Run("pages go from the newest to the oldest", func(t *testing.T) {
		var seen []string
		target := "/v1/jobs?limit=3"
		for range 5 {
			res := b.call("GET", target, "")
			got := answer[jobPage](t, res, 200)
			for _, d := range got.Jobs {
				seen = append(seen, d.ID.String())
			}
			if got.Next == "" {
				if res.Header.Get("Link") != "" {
					t.Errorf("the last page links to %s", res.Header.Get("Link"))
				}
				break
			}
			rest, _ := strings.CutPrefix(res.Header.Get("Link"), "<")
			next, _ := strings.CutSuffix(rest, `>; rel="next"`)
			target = "/v1/jobs" + next
		}
		if diff := cmp.Diff([]string{"7", "6", "5", "4", "3", "2", "1"}, seen); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("filters are kept from page to page", func(t *testing.T) {
		res := b.call("GET", "/v1/jobs?tenant=t0&state=queued&queue=images&type=echo&limit=2", "")
		if got := answer[jobPage](t, res, 200); len(got.Jobs) != 2 || got.Jobs[0].ID != 7 || got.Next != "5" {
			t.Errorf("got %+v", got)
		}
		if got := res.Header.Get("Link"); got != `<?cursor=5&limit=2&queue=images&state=queued&tenant=t0&type=echo>; rel="next"` {
			t.Errorf("Link is %q", got)
		}
		if got := answer[jobPage](t, b.call("GET", "/v1/jobs?state=failed", ""), 200); len(got.Jobs) != 0 {
			t.Errorf("got %+v", got)
		}
	})
	for query, parameter := range map[string]string{
		"limit=0": "limit", "limit=201": "limit", "limit=x": "limit", "limit=1&limit=2": "limit",
		"state=done": "state", "stat=queued": "stat", "cursor=abc": "cursor", "cursor=-1": "cursor", "tenant=%00": "tenant",
	} {
		t.Run("refuses "+query, func(t *testing.T) {
			if p := wantProblem(t, b.call("GET", "/v1/jobs?"+query, ""), 400, "invalid-parameter"); p.Parameter != parameter {
				t.Errorf("parameter is %q", p.Parameter)
			}
		})
	}
}

func TestOneJob(t *testing.T) {
	type shown struct {
		jobs.Document
		History []jobs.Attempt
	}
	b := newJobBench(t, nil)
	b.enter(t, `{"type":"echo"}`)
	job := b.begin(t)
	b.report(t, job, 3, 10)
	res := b.call("GET", "/v1/jobs/1", "")
	got := answer[shown](t, res, 200)
	if got.State != jobs.Running || got.Progress != (jobs.Progress{Done: 3, Total: 10}) || got.WorkerID != "w1" ||
		len(got.History) != 1 || got.History[0].Status != jobs.AttemptRunning {
		t.Errorf("got %+v", got)
	}
	t.Run("its version is its tag", func(t *testing.T) {
		tag := res.Header.Get("ETag")
		if again := b.call("GET", "/v1/jobs/1", "", "If-None-Match: W/"+tag); again.StatusCode != 304 {
			t.Errorf("unchanged: %d", again.StatusCode)
		}
		b.report(t, job, 4, 10)
		if again := b.call("GET", "/v1/jobs/1", "", "If-None-Match: "+tag); again.StatusCode != 200 || again.Header.Get("ETag") == tag {
			t.Errorf("changed: %d", again.StatusCode)
		}
	})
	t.Run("the lease's token is in no answer", func(t *testing.T) {
		if text := body(t, b.call("GET", "/v1/jobs/1", "")); strings.Contains(text, job.Token) {
			t.Error(text)
		}
	})
	for _, target := range []string{"/v1/jobs/2", "/v1/jobs/0", "/v1/jobs/x", "/v1/jobs/-1", "/v1/jobs/99999999999999999999", "/v1/jobs/2/events", "/v1/jobs/2/checkpoints"} {
		t.Run(target+" does not exist", func(t *testing.T) {
			wantProblem(t, b.call("GET", target, ""), 404, "job-not-found")
		})
	}
}

func TestCancelAndRetry(t *testing.T) {
	b := newJobBench(t, nil)
	b.enter(t, `{"type":"echo"}`)
	if d := answer[jobs.Document](t, b.call("POST", "/v1/jobs/1/cancel", `{"reason":"Not wanted any more."}`), 200); d.State != jobs.Cancelled || d.Reason != "Not wanted any more." {
		t.Errorf("cancelled: %+v", d)
	}
	if d := answer[jobs.Document](t, b.call("POST", "/v1/jobs/1/cancel", ""), 200); d.State != jobs.Cancelled {
		t.Errorf("cancelled twice: %+v", d)
	}
	if d := answer[jobs.Document](t, b.call("POST", "/v1/jobs/1/retry", ""), 200); d.State != jobs.Queued {
		t.Errorf("retried: %+v", d)
	}
	if p := wantProblem(t, b.call("POST", "/v1/jobs/1/retry", ""), 409, "job-state"); !strings.Contains(p.Detail, "is queued") {
		t.Errorf("detail is %q", p.Detail)
	}
	job := b.begin(t)
	if d := answer[jobs.Document](t, b.call("POST", "/v1/jobs/1/cancel", ""), 200); d.State != jobs.Running || !d.CancelAsked || d.Reason != "Cancelled by backend." {
		t.Errorf("a running one: %+v", d)
	}
	b.finish(t, job, wellDone)
	if p := wantProblem(t, b.call("POST", "/v1/jobs/1/cancel", "{}"), 409, "job-state"); !strings.Contains(p.Detail, "is succeeded") {
		t.Errorf("detail is %q", p.Detail)
	}
	first := b.enter(t, `{"type":"echo","unique_key":"u"}`)
	answer[jobs.Document](t, b.call("POST", "/v1/jobs/"+first.ID.String()+"/cancel", ""), 200)
	b.enter(t, `{"type":"echo","unique_key":"u"}`)
	if p := wantProblem(t, b.call("POST", "/v1/jobs/"+first.ID.String()+"/retry", ""), 409, "job-state"); !strings.Contains(p.Detail, "unique key another has") {
		t.Errorf("detail is %q", p.Detail)
	}
	wantProblem(t, b.call("POST", "/v1/jobs/9/cancel", ""), 404, "job-not-found")
	wantProblem(t, b.call("POST", "/v1/jobs/x/retry", ""), 404, "job-not-found")
	wantProblem(t, b.call("POST", "/v1/jobs/1/cancel", `{"why":"x"}`), 400, "invalid-body")
	wantProblem(t, b.call("POST", "/v1/jobs/1/cancel", `{"reason":"`+strings.Repeat("x", 501)+`"}`), 400, "invalid-body")
	wantProblem(t, b.call("POST", "/v1/jobs/1/retry", `{"reason":"x"}`), 400, "invalid-body")
}

func TestCheckpointsQueuesAndWorkers(t *testing.T) {
	b := newJobBench(t, nil)
	b.enter(t, `{"type":"echo","priority":2}`)
	b.enter(t, `{"type":"echo"}`)
	b.enter(t, `{"type":"echo","delay_seconds":60}`)
	job := b.begin(t)
	parts := []jobs.Checkpoint{{Key: "a", Value: json.RawMessage(`1`)}, {Key: "b & c", Value: json.RawMessage(`{"x":2}`)}, {Key: "d", Value: json.RawMessage(`3`)}}
	if err := b.store.SaveCheckpoints(t.Context(), jobs.Lease{ID: job.ID, Token: job.Token}, parts); err != nil {
		t.Fatal(err)
	}
	type parted struct {
		Checkpoints []jobs.Checkpoint
		Next        string
	}
	res := b.call("GET", "/v1/jobs/1/checkpoints?limit=2", "")
	if got := answer[parted](t, res, 200); len(got.Checkpoints) != 2 || got.Next != "b & c" || res.Header.Get("Link") != `<?cursor=b+%26+c&limit=2>; rel="next"` {
		t.Errorf("got %+v %s", got, res.Header.Get("Link"))
	}
	if got := answer[parted](t, b.call("GET", "/v1/jobs/1/checkpoints?cursor=b+%26+c&limit=2", ""), 200); len(got.Checkpoints) != 1 || got.Next != "" {
		t.Errorf("got %+v", got)
	}
	if got := body(t, b.call("GET", "/v1/jobs/2/checkpoints", "")); got != `{"checkpoints":[]}`+"\n" {
		t.Errorf("none are %s", got)
	}
	type queues struct{ Queues []map[string]any }
	got := answer[queues](t, b.call("GET", "/v1/queues", ""), 200).Queues
	if len(got) != 1 || got[0]["queue"] != "images" || got[0]["depth"] != 1.0 || got[0]["delayed"] != 1.0 || got[0]["running"] != 1.0 || got[0]["more"] != false {
		t.Errorf("queues are %v", got)
	}
	type workers struct{ Workers []jobs.WorkerRow }
	if got := answer[workers](t, b.call("GET", "/v1/workers", ""), 200).Workers; len(got) != 1 || got[0].ID != "w1" {
		t.Errorf("workers are %+v", got)
	}
	if err := b.store.Leave(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	if got := body(t, b.call("GET", "/v1/workers", "")); got != `{"workers":[]}`+"\n" {
		t.Errorf("workers are %s", got)
	}
	if got := answer[workers](t, b.call("GET", "/v1/workers?all=true", ""), 200).Workers; len(got) != 1 {
		t.Errorf("all workers are %+v", got)
	}
	wantProblem(t, b.call("GET", "/v1/workers?all=some", ""), 400, "invalid-parameter")
	wantProblem(t, b.call("GET", "/v1/queues?x=1", ""), 400, "invalid-parameter")
}

// With the database away nothing is promised.
func TestTheStoreIsAway(t *testing.T) {
	b := newJobBench(t, nil)
	b.enter(t, `{"type":"echo"}`)
	b.store.Fail(jobstest.Any, -1)
	for _, request := range []string{
		"POST /v1/jobs", "GET /v1/jobs", "GET /v1/jobs/1", "GET /v1/jobs/1/events", "GET /v1/jobs/1/checkpoints",
		"GET /v1/queues", "GET /v1/workers", "POST /v1/jobs/1/cancel", "POST /v1/jobs/1/retry",
	} {
		t.Run(request, func(t *testing.T) {
			method, target, _ := strings.Cut(request, " ")
			text := ""
			if target == "/v1/jobs" && method == "POST" {
				text = `{"type":"echo"}`
			}
			res := b.call(method, target, text)
			wantProblem(t, res, 503, "store-unavailable")
			if res.Header.Get("Retry-After") == "" {
				t.Error("Retry-After is missing")
			}
		})
	}
	b.store.Fail(jobstest.Any, 0)
	if n := len(answer[jobPage](t, b.call("GET", "/v1/jobs", ""), 200).Jobs); n != 1 {
		t.Errorf("%d jobs are there", n)
	}
	t.Run("an enqueue whose answer is lost is safe with a key", func(t *testing.T) {
		b.store.LoseAnswers("Enqueue", 1)
		const text = `{"type":"echo","idempotency_key":"once"}`
		wantProblem(t, b.call("POST", "/v1/jobs", text), 503, "store-unavailable")
		answer[jobs.Document](t, b.call("POST", "/v1/jobs", text), 200)
	})
}
