package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// running is a bench whose server's loop runs until the test ends, or is
// stopped.
func running(t *testing.T, change func(*httpapi.JobsConfig)) (b *jobBench, stop func()) {
	t.Helper()
	b = newJobBench(t, change)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	stop = func() {
		if cancel(); ended == nil {
			return
		}
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		ended = nil
	}
	t.Cleanup(stop)
	return b, stop
}

// watching is one client of a stream.
type watching struct {
	res   *http.Response
	lines *bufio.Scanner
	leave func()
}

// watch asks for a stream over a connection of its own.
func (b *jobBench) watch(t *testing.T, target string, headers ...string) *watching {
	t.Helper()
	connection := serveOne(t, &http.Server{Handler: b.public})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range append(headers, "Authorization: Bearer "+b.who) {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	client := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return connection, nil }}
	res, err := client.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{res, bufio.NewScanner(res.Body), func() { cancel(); res.Body.Close(); client.CloseIdleConnections() }}
	t.Cleanup(w.leave)
	return w
}

// event is the next one that is no comment: its kind, id, and where the job is.
func (w *watching) event(t *testing.T) string {
	t.Helper()
	kind, id := "", ""
	var d jobs.Document
	for w.lines.Scan() {
		name, value, _ := strings.Cut(w.lines.Text(), ": ")
		switch name {
		case "event":
			kind = value
		case "id":
			id = value
		case "data":
			if err := json.Unmarshal([]byte(value), &d); err != nil {
				t.Fatalf("data %q: %v", value, err)
			}
			if fmt.Sprint(d.Version) != id {
				t.Errorf("version %d has the id %s", d.Version, id)
			}
		case "":
			if kind != "" {
				return fmt.Sprintf("%s %s %d/%d", kind, d.State, d.Progress.Done, d.Progress.Total)
			}
		}
	}
	return "over"
}

// until reads on to an event that tells where the job is. Its kind is "state"
// when the job was there before somebody watched, and "progress" otherwise.
func (w *watching) until(t *testing.T, where string) {
	t.Helper()
	for event := w.event(t); !strings.HasSuffix(event, where); event = w.event(t) {
		if event == "over" {
			t.Fatalf("the events ended before the job was%s", where)
		}
	}
}

// comment is the next line that is one.
func (w *watching) comment() string {
	for w.lines.Scan() {
		if text, found := strings.CutPrefix(w.lines.Text(), ": "); found {
			return text
		}
	}
	return "over"
}

func TestEventsOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := running(t, nil)
		b.enter(t, `{"type":"echo"}`)
		w := b.watch(t, "/v1/jobs/1/events")
		if kind := w.res.Header.Get("Content-Type"); w.res.StatusCode != 200 || kind != "text/event-stream" {
			t.Fatalf("got %d %s", w.res.StatusCode, kind)
		}
		got := []string{w.event(t)}
		job := b.begin(t)
		got = append(got, w.event(t))
		for done := range int64(3) {
			b.report(t, job, done+1, 3)
			got = append(got, w.event(t))
		}
		b.finish(t, job, wellDone)
		got = append(got, w.event(t), w.event(t))
		want := []string{
			"state queued 0/0", "state running 0/0", "progress running 1/3", "progress running 2/3", "progress running 3/3",
			"end succeeded 3/3", "over",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEventsGoOnWhereAClientWas(t *testing.T) {
	last := func(v int64) string { return fmt.Sprintf("Last-Event-ID: %d", v) }
	t.Run("with the current version it gets only what is newer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, _ := running(t, nil)
			d := b.enter(t, `{"type":"echo"}`)
			w := b.watch(t, "/v1/jobs/1/events", last(d.Version))
			job := b.begin(t)
			if got := w.event(t); got != "state running 0/0" {
				t.Errorf("got %s", got)
			}
			b.finish(t, job, failed)
			if got := w.event(t); got != "end failed 0/0" {
				t.Errorf("got %s", got)
			}
		})
	})
	t.Run("behind it, it gets the current one at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, _ := running(t, nil)
			d := b.enter(t, `{"type":"echo"}`)
			b.report(t, b.begin(t), 5, 9)
			began := time.Now()
			if got := b.watch(t, "/v1/jobs/1/events", last(d.Version)).event(t); got != "state running 5/9" || time.Since(began) > 0 {
				t.Errorf("got %s after %s", got, time.Since(began))
			}
		})
	})
	t.Run("a word that is no version is none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, _ := running(t, nil)
			b.enter(t, `{"type":"echo"}`)
			for _, given := range []string{"x", "-1", "99999999999999999999", "12"} {
				if got := b.watch(t, "/v1/jobs/1/events", "Last-Event-ID: "+given).event(t); got != "state queued 0/0" {
					t.Errorf("%s: got %s", given, got)
				}
			}
		})
	})
	t.Run("a job that is over is told once, and with its version not again", func(t *testing.T) {
		b := newJobBench(t, nil)
		b.enter(t, `{"type":"echo"}`)
		b.finish(t, b.begin(t), wellDone)
		text := body(t, b.call("GET", "/v1/jobs/1/events", ""))
		if !strings.HasPrefix(text, "id: ") || strings.Count(text, "event: ") != 1 || !strings.Contains(text, "event: end\n") {
			t.Errorf("got %s", text)
		}
		version, _, _ := strings.Cut(strings.TrimPrefix(text, "id: "), "\n")
		if res := b.call("GET", "/v1/jobs/1/events", "", "Last-Event-ID: "+version); res.StatusCode != 204 {
			t.Errorf("got %d", res.StatusCode)
		}
		if res := b.call("HEAD", "/v1/jobs/1/events", ""); res.StatusCode != 200 || body(t, res) != "" {
			t.Errorf("HEAD: got %d", res.StatusCode)
		}
	})
}

// However many watch, the store is asked once each half second, and not at
// all when nobody does.
func TestManyWatchersAreOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := running(t, nil)
		var all []*watching
		for i := range 20 {
			b.enter(t, `{"type":"echo"}`)
			all = append(all, b.watch(t, fmt.Sprintf("/v1/jobs/%d/events", i+1)), b.watch(t, fmt.Sprintf("/v1/jobs/%d/events", i+1)))
		}
		for _, w := range all {
			w.event(t)
		}
		<-time.After(time.Second)
		versions, reads := b.store.Calls("Versions"), b.store.Calls("Job")
		<-time.After(10 * time.Second)
		if n := b.store.Calls("Versions") - versions; n < 19 || n > 21 {
			t.Errorf("asked %d times in 10 s", n)
		}
		if n := b.store.Calls("Job") - reads; n != 0 {
			t.Errorf("%d jobs were read that had not changed", n)
		}
		for _, w := range all {
			w.leave()
		}
		<-time.After(2 * time.Second)
		versions = b.store.Calls("Versions")
		<-time.After(time.Minute)
		if n := b.store.Calls("Versions") - versions; n != 0 {
			t.Errorf("asked %d times for nobody", n)
		}
	})
}

func TestAQuietStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := running(t, nil)
		b.enter(t, `{"type":"echo"}`)
		w := b.watch(t, "/v1/jobs/1/events")
		w.event(t)
		began := time.Now()
		if got := w.comment(); got != "still here" || time.Since(began) != 15*time.Second {
			t.Errorf("got %q after %s", got, time.Since(began))
		}
	})
}

func TestAStreamOutlivesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := running(t, nil)
		b.enter(t, `{"type":"echo"}`)
		w := b.watch(t, "/v1/jobs/1/events")
		w.event(t)
		b.store.Fail(jobstest.Any, -1)
		for range 4 {
			w.comment() // it goes on reading, for a minute
		}
		b.store.Fail(jobstest.Any, 0)
		b.begin(t)
		if got := w.event(t); got != "state running 0/0" {
			t.Errorf("got %s", got)
		}
		if n := strings.Count(b.logged.String(), "watched jobs not read"); n != 1 {
			t.Errorf("an outage is logged %d times", n)
		}
	})
}

func TestAStreamOfAJobThatIsRemovedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := running(t, nil)
		b.enter(t, `{"type":"echo"}`)
		w := b.watch(t, "/v1/jobs/1/events")
		w.event(t)
		<-time.After(1100 * time.Millisecond) // between two looks at the store
		if _, err := b.client.Cancel(t.Context(), 1, ""); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
		if n, err := b.store.Prune(t.Context(), jobs.Retention{}, 10); err != nil || n != 1 {
			t.Fatalf("prune: %d, %v", n, err)
		}
		if got := w.event(t); got != "over" {
			t.Errorf("got %s", got)
		}
	})
}

// An orderly stop does not wait for those who watch; they come back elsewhere.
func TestStoppingEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := running(t, nil)
		b.enter(t, `{"type":"echo"}`)
		w := b.watch(t, "/v1/jobs/1/events")
		w.event(t)
		stop()
		if got := w.event(t); got != "over" || w.lines.Err() != nil {
			t.Errorf("got %s, %v", got, w.lines.Err())
		}
		wantProblem(t, b.call("GET", "/v1/jobs/1/events", ""), 503, "overloaded")
	})
}

func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := running(t, func(c *httpapi.JobsConfig) { c.MaxStreams = 2 })
		b.enter(t, `{"type":"echo"}`)
		first, second := b.watch(t, "/v1/jobs/1/events"), b.watch(t, "/v1/jobs/1/events")
		first.event(t)
		second.event(t)
		res := b.call("GET", "/v1/jobs/1/events", "")
		wantProblem(t, res, 503, "overloaded")
		if res.Header.Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
		first.leave()
		synctest.Wait()
		<-time.After(time.Second)
		if got := b.watch(t, "/v1/jobs/1/events").event(t); got != "state queued 0/0" {
			t.Errorf("got %s", got)
		}
	})
}

// Who does not read is cut off, and costs nobody else anything meanwhile.
func TestAWatcherThatDoesNotReadIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := running(t, nil)
		b.enter(t, `{"type":"echo"}`)
		stalled := serveOne(t, &http.Server{Handler: b.public})
		io.WriteString(stalled, "GET /v1/jobs/1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+b.who+"\r\n\r\n")
		w := b.watch(t, "/v1/jobs/1/events")
		w.event(t)
		job := b.begin(t)
		w.event(t)
		for done := range int64(100) {
			b.report(t, job, done, 100)
			if got := w.event(t); got != fmt.Sprintf("progress running %d/100", done) {
				t.Fatalf("got %s", got)
			}
		}
		if n, err := stalled.Read(make([]byte, 1)); err == nil {
			t.Errorf("a client that stood still got %d bytes more", n)
		}
	})
}
