package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

func description(t testing.TB, b *jobBench) *openapi3.T {
	t.Helper()
	text := body(t, send(b.public, "GET", "/v1/openapi.json", ""))
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// The description has every route of the server, and no other.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	b := newJobBench(t, nil)
	doc := description(t, b)
	described, names := map[string]bool{}, map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			described[method+" "+path] = true
			if names[operation.OperationID] || operation.OperationID == "" {
				t.Errorf("%s %s: the name %q stands twice or is empty", method, path, operation.OperationID)
			}
			names[operation.OperationID] = true
		}
	}
	served := map[string]bool{}
	for _, route := range b.Routes() {
		served[strings.Replace(route, "{key...}", "{key}", 1)] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(described))); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("it is of OpenAPI %s", doc.OpenAPI)
	}
}

// jsonFields are the names that a struct has in JSON.
func jsonFields(of any) []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// What is described is what the types have.
func TestOpenAPIHasEveryField(t *testing.T) {
	doc := description(t, newJobBench(t, nil))
	for schema, want := range map[string][]string{
		// Durations have no JSON of their own.
		"Spec":         append(jsonFields(jobs.Spec{}), "delay_seconds", "wait_limit_seconds", "work_limit_seconds"),
		"JobFields":    jsonFields(jobs.Document{}),
		"Progress":     jsonFields(jobs.Progress{}),
		"Attempt":      jsonFields(jobs.Attempt{}),
		"Checkpoint":   jsonFields(jobs.Checkpoint{}),
		"Worker":       jsonFields(jobs.WorkerRow{}),
		"WorkerMetric": jsonFields(jobs.WorkerMetric{}),

		"ScalingDecision": jsonFields(httpapi.ScalingDecision{}),
		"ScalingFact":     jsonFields(fleet.Fact{}),
		"ScalingDay":      jsonFields(fleet.Spending{}),
		"ScalingEntry":    jsonFields(httpapi.ScalingEntry{}),
	} {
		slices.Sort(want)
		got := slices.Sorted(maps.Keys(doc.Components.Schemas[schema].Value.Properties))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", schema, diff)
		}
	}
}

// Every described field of a job is one that an enqueue reads.
func TestEveryFieldOfAJobIsRead(t *testing.T) {
	b := newJobBench(t, nil)
	for name, schema := range description(t, b).Components.Schemas["Spec"].Value.Properties {
		var value any
		switch {
		case name == "type":
			continue
		case name == "run_at":
			value = "2030-01-02T03:04:05Z"
		case name == "webhook":
			value = "https://h.example/"
		case schema.Value.Type.Is("string"):
			value = "images"
		case schema.Value.Type.Is("boolean"):
			value = true
		case schema.Value.Type.Is("object"):
			value = map[string]any{}
		default:
			value = 2
		}
		text, err := json.Marshal(map[string]any{"type": "echo", name: value})
		if err != nil {
			t.Fatal(err)
		}
		if res := b.call("POST", "/v1/jobs", string(text)); res.StatusCode >= 300 {
			t.Errorf("%s: %s", text, body(t, res))
		}
	}
}

// asDescribed holds an answer to what the description says of it.
func asDescribed(t *testing.T, doc *openapi3.T, pattern, method string, res *http.Response) {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	operation := doc.Paths.Find(pattern).GetOperation(method)
	of := operation.Responses.Status(res.StatusCode)
	if of == nil {
		t.Fatalf("%s %s has no %d: %s", method, pattern, res.StatusCode, text)
	}
	for name := range of.Value.Headers {
		if res.Header.Get(name) == "" && name != "Link" && (name != "Location" || !bytes.HasPrefix(text, []byte(`{"jobs"`))) {
			t.Errorf("%s %s %d: the header %s is missing", method, pattern, res.StatusCode, name)
		}
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if len(of.Value.Content) == 0 {
		if len(text) > 0 {
			t.Errorf("%s %s %d has a body: %s", method, pattern, res.StatusCode, text)
		}
		return
	}
	content := of.Value.Content.Get(kind)
	if content == nil {
		t.Fatalf("%s %s %d is no %s: %s", method, pattern, res.StatusCode, kind, text)
	}
	if !strings.HasSuffix(kind, "json") {
		return
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	if err := content.Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s %s %d: %v\n%s", method, pattern, res.StatusCode, err, text)
	}
}

// Answers of every route are what their description says, those of the store's
// faults included.
func TestAnswersAreAsOpenAPIDescribesThem(t *testing.T) {
	b := newJobBench(t, nil)
	doc := description(t, b)
	key := b.fill(t)
	type request struct{ pattern, method, target, text, header string }
	requests := []request{
		{"/v1/jobs", "POST", "/v1/jobs", `{"type":"echo"}`, ""},
		{"/v1/jobs", "POST", "/v1/jobs", `{"type":"echo","idempotency_key":"full"}`, "Idempotency-Key: full"},
		{"/v1/jobs", "POST", "/v1/jobs", `{"jobs":[{"type":"echo"},{"type":"echo","input":"b","idempotency_key":"full"}]}`, ""},
		{"/v1/jobs", "POST", "/v1/jobs", `{"jobs":[{"type":"echo","idempotency_key":"full"}]}`, ""},
		{"/v1/jobs", "POST", "/v1/jobs", `{"type":"echo","prio":1}`, ""},
		{"/v1/jobs", "POST", "/v1/jobs", `{"type":"none","priority":99}`, ""},
		{"/v1/jobs", "POST", "/v1/jobs", `{"type":"echo","input":"other"}`, "Idempotency-Key: full"},
		{"/v1/jobs", "POST", "/v1/jobs", `"` + strings.Repeat("x", 3<<20), ""},
		{"/v1/jobs", "GET", "/v1/jobs?limit=2", "", ""},
		{"/v1/jobs", "GET", "/v1/jobs?limit=0", "", ""},
		{"/v1/jobs/{id}", "GET", "/v1/jobs/1", "", ""},
		{"/v1/jobs/{id}", "GET", "/v1/jobs/2", "", ""},
		{"/v1/jobs/{id}", "GET", "/v1/jobs/999", "", ""},
		{"/v1/jobs/{id}/cancel", "POST", "/v1/jobs/3/cancel", `{"reason":"x"}`, ""},
		{"/v1/jobs/{id}/cancel", "POST", "/v1/jobs/2/cancel", ``, ""},
		{"/v1/jobs/{id}/retry", "POST", "/v1/jobs/3/retry", ``, ""},
		{"/v1/jobs/{id}/retry", "POST", "/v1/jobs/3/retry", ``, ""},
		{"/v1/jobs/{id}/events", "GET", "/v1/jobs/2/events", ``, ""},
		{"/v1/jobs/{id}/checkpoints", "GET", "/v1/jobs/1/checkpoints?limit=1", ``, ""},
		{"/v1/queues", "GET", "/v1/queues", ``, ""},
		{"/v1/workers", "GET", "/v1/workers?all=true", ``, ""},
		{"/v1/scaling/decisions", "GET", "/v1/scaling/decisions?limit=1", ``, ""},
		{"/v1/scaling/decisions", "GET", "/v1/scaling/decisions?cursor=none", ``, ""},
		{"/v1/scaling/spend", "GET", "/v1/scaling/spend?limit=1", ``, ""},
		{"/v1/scaling/spend", "GET", "/v1/scaling/spend?days=0", ``, ""},
		{"/v1/uploads", "POST", "/v1/uploads", "some bytes", ""},
		{"/v1/uploads", "POST", "/v1/uploads", strings.Repeat("x", 2<<20), ""},
		{"/v1/outputs/{key}", "GET", "/v1/outputs/" + key, "", ""},
		{"/v1/outputs/{key}", "GET", "/v1/outputs/" + key, "", "Range: bytes=1-2"},
		{"/v1/outputs/{key}", "GET", "/v1/outputs/" + key, "", "Range: bytes=999-"},
		{"/v1/outputs/{key}", "GET", "/v1/outputs/jobs/none", "", ""},
		{"/v1/openapi.json", "GET", "/v1/openapi.json", "", ""},
	}
	seen := map[string]bool{}
	for _, r := range requests {
		var headers []string
		if r.header != "" {
			headers = append(headers, r.header)
		}
		seen[r.method+" "+r.pattern] = true
		asDescribed(t, doc, r.pattern, r.method, b.call(r.method, r.target, r.text, headers...))
	}
	for _, route := range b.Routes() {
		if !seen[strings.Replace(route, "{key...}", "{key}", 1)] {
			t.Errorf("no answer of %s was looked at", route)
		}
	}
	b.store.Fail(jobstest.Any, -1)
	b.fleet.SetHooks(fleettest.Hooks{Before: func(context.Context, string) error { return jobs.ErrUnavailable }})
	for _, r := range requests {
		if r.pattern == "/v1/openapi.json" {
			continue
		}
		asDescribed(t, doc, r.pattern, r.method, send(b.public, r.method, r.target, r.text))
		asDescribed(t, doc, r.pattern, r.method, b.call(r.method, r.target, r.text))
		if r.method == "POST" {
			asDescribed(t, doc, r.pattern, r.method, send(b.public, r.method, r.target, r.text, "Authorization: Bearer "+b.look))
		}
	}
}

// fill makes jobs that have all the fields there are, and gives the key of an
// output.
func (b *jobBench) fill(t *testing.T) (key string) {
	t.Helper()
	b.enter(t, `{"type":"echo","queue":"images","priority":2,"tenant":"t","input":"a.jpg","params":{"a":1},"idempotency_key":"full",
		"unique_key":"u","max_attempts":3,"wait_limit_seconds":60,"work_limit_seconds":60,"estimated_seconds":4,"checkpointable":true,"webhook":"https://h.example/x"}`)
	b.enter(t, `{"type":"echo"}`)
	b.enter(t, `{"type":"echo","delay_seconds":60}`)
	first := b.begin(t)
	b.report(t, first, 1, 2)
	if err := b.store.SaveCheckpoints(t.Context(), jobs.Lease{ID: first.ID, Token: first.Token}, []jobs.Checkpoint{{Key: "a", Value: json.RawMessage(`{"x":1}`)}, {Key: "b", Value: json.RawMessage(`7`)}}); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Record(t.Context(), "w1", jobs.WorkerMetric{CPUPercent: 12.5, MemoryBytes: 1 << 20, JobsRunning: 1}); err != nil {
		t.Fatal(err)
	}
	second := b.begin(t)
	b.finish(t, second, wellDone)
	if _, err := b.client.Cancel(t.Context(), first.ID, "Enough."); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Register(t.Context(), jobs.WorkerRow{ID: "w2", Hostname: "h", Provider: "p", Region: "r", InstanceID: "i", InstanceType: "t", Market: jobs.Spot, Queues: []string{"images"}, CostPerHour: 7}); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Leave(t.Context(), "w2"); err != nil {
		t.Fatal(err)
	}
	b.decide(t)
	key = "jobs/2/300x200.webp"
	b.put(t, key, "the picture")
	return key
}

func (b *jobBench) put(t testing.TB, key, text string) {
	t.Helper()
	if _, err := b.blobs.Put(t.Context(), key, strings.NewReader(text), int64(len(text)), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Without a place for files the server has no routes for them, and says so.
func TestRoutesOfFilesNeedAPlaceForFiles(t *testing.T) {
	b := newJobBench(t, func(c *httpapi.JobsConfig) { c.Uploads, c.Outputs = nil, nil })
	for _, request := range []string{"POST /v1/uploads", "GET /v1/outputs/jobs/1/a"} {
		method, target, _ := strings.Cut(request, " ")
		wantProblem(t, b.call(method, target, "x"), 404, "not-found")
	}
	if n := len(b.Routes()); n != 12 {
		t.Errorf("%d routes: %s", n, fmt.Sprint(b.Routes()))
	}
}
