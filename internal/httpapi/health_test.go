package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/jobs/jobstest"
)

// Under full load health and metrics answer at once, what is too much is
// refused at once with a time to come back, and who leaves frees a place.
func TestBugReport17HealthAndMetricsNeverWaitBehindWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *settings) {
			s.transform.Jobs, s.transform.Queue = 1, 1
			s.transform.QueueWait, s.transform.Limits.Time = time.Hour, time.Hour
			s.http.MetricsOnPublic = true
		})
		b.engine.run = func(ctx context.Context, _ *media.Plan, _ transform.Begin) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		ctx, leave := context.WithCancel(t.Context())
		for _, target := range []string{"/assets/a.jpg", "/assets/b.jpg"} {
			go func() {
				defer func() {
					if p := recover(); p != http.ErrAbortHandler {
						t.Errorf("the request of a client that left ended with %v", p)
					}
				}()
				r := httptest.NewRequest(http.MethodGet, target, nil).WithContext(ctx)
				b.public.ServeHTTP(httptest.NewRecorder(), r)
			}()
		}
		synctest.Wait() // one runs, one waits, both for ever
		if s := b.images.Stats(); s.Running != 1 || s.Waiting != 1 {
			t.Fatalf("stats are %+v", s)
		}
		began := time.Now()
		for _, h := range []http.Handler{b.public, b.Admin()} {
			for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
				if res := ask(h, http.MethodGet, path); res.StatusCode != 200 {
					t.Errorf("%s answers %s", path, res.Status)
				}
			}
		}
		res := b.get("/assets/c.jpg")
		wantProblem(t, res, 503, "overloaded")
		if res.Header.Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("something waited for %s", waited)
		}
		leave()
		synctest.Wait()
		if s := b.images.Stats(); s.Running != 0 || s.Waiting != 0 {
			t.Errorf("places are still taken: %+v", s)
		}
	})
}

func TestReadiness(t *testing.T) {
	b := newBench(t, nil)
	if res := b.get("/readyz"); res.StatusCode != 200 || strings.TrimSpace(body(t, res)) != `{"status":"ready"}` {
		t.Error(res.Status)
	}
	if err := b.images.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]http.Handler{"public": b.public, "admin": b.Admin()} {
		t.Run("a stopping server is not ready on the "+name+" listener", func(t *testing.T) {
			res := ask(h, http.MethodGet, "/readyz")
			wantProblem(t, res, 503, "not-ready")
			if res.Header.Get("Cache-Control") != "no-store" {
				t.Error("the answer may be kept")
			}
		})
		t.Run("a stopping server is still healthy on the "+name+" listener", func(t *testing.T) {
			if res := ask(h, http.MethodGet, "/healthz"); res.StatusCode != 200 {
				t.Error(res.Status)
			}
		})
	}
}

// The reason stands in the answer, so that whoever balances load need not look
// into a log.
func TestReadinessTellsWhyNot(t *testing.T) {
	server, err := httpapi.New(httpapi.DefaultConfig(), saturated{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	res := ask(server.Public(), http.MethodGet, "/readyz")
	if p := wantProblem(t, res, 503, "not-ready"); !strings.Contains(p.Detail, "images have waited for more than 800ms") || res.Header.Get("Retry-After") == "" {
		t.Errorf("got %+v, Retry-After %q", p, res.Header.Get("Retry-After"))
	}
}

// saturated is a service whose line stands.
type saturated struct{ httpapi.Transformer }

func (saturated) Ready(time.Time) error {
	return errors.New("saturated: images have waited for more than 800ms since 12s ago")
}

func (saturated) RetryAfter() time.Duration { return time.Second }

func TestWhichListenerAnswersWhat(t *testing.T) {
	b := newBench(t, nil)
	up := newBench(t, func(s *settings) { s.http.MetricsOnPublic = true })
	site := newBench(t, func(s *settings) {
		s.http.Site = page{handler: func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("site " + r.URL.Path)) }}
	})
	cases := []struct {
		name    string
		handler http.Handler
		path    string
		status  int
	}{
		{"metrics are not public", b.public, "/metrics", 404},
		{"metrics are public where asked", up.public, "/metrics", 200},
		{"profiles are never public", up.public, "/debug/pprof/", 404},
		{"profiles are the operator's", b.Admin(), "/debug/pprof/", 200},
		{"single profiles are the operator's", b.Admin(), "/debug/pprof/goroutine?debug=1", 200},
		{"pools are never public", up.public, "/debug/pools", 404},
		{"pools are the operator's", b.Admin(), "/debug/pools", 200},
		{"pictures are not the operator's", b.Admin(), "/assets/a.jpg", 404},
		{"the site has the root", site.public, "/", 200},
		{"profiles are never the site's", site.public, "/debug/pprof/", 404},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if res := ask(c.handler, http.MethodGet, c.path); res.StatusCode != c.status {
				t.Errorf("got %s, want %d", res.Status, c.status)
			}
		})
	}
	if got := body(t, site.get("/")); got != "site /" {
		t.Errorf("the site's path answers %q", got)
	}
	if res := site.get("/assets/a.jpg?format=png"); body(t, res) != "png picture of 400x300" {
		t.Error("the site hides the pictures")
	}
}

// page is a site that answers some paths, "/" alone when none is named.
type page struct {
	paths   []string
	handler http.HandlerFunc
}

func (p page) Has(path string) bool {
	return slices.Contains(p.paths, path) || (len(p.paths) == 0 && path == "/")
}

func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler(w, r) }

// The edge has one form of error, whether a site lies beside the routes or not.
func TestWhatNeitherRouteNorSiteHasIsAProblem(t *testing.T) {
	b := newBench(t, func(s *settings) {
		s.http.Site = page{handler: func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("site")) }}
	})
	for _, path := range []string{"/nope", "/assets", "/debug/pprof/", "/metrics", "//"} {
		t.Run(path+" is not found", func(t *testing.T) {
			wantProblem(t, b.get(path), 404, "not-found")
		})
	}
	t.Run("the site is only read", func(t *testing.T) {
		res := ask(b.public, http.MethodPost, "/")
		wantProblem(t, res, 405, "method-not-allowed")
		if got := res.Header.Get("Allow"); got != "GET, HEAD" {
			t.Errorf("Allow = %q", got)
		}
	})
}

func TestMetrics(t *testing.T) {
	b := newBench(t, func(s *settings) {
		s.http.Engine = func() httpapi.EngineStats { return httpapi.EngineStats{MemoryBytes: 4711, OpenFiles: 3} }
		s.http.Origins = someOrigins
	})
	b.get("/assets/a.jpg?format=png")
	b.get("/assets/missing")
	waitIdle(t, b)
	b.get("/assets/a.jpg?format=png")
	text := body(t, ask(b.Admin(), http.MethodGet, "/metrics"))
	for _, line := range []string{
		`spillway_http_requests_total{format="png",route="assets",status="2xx"} 2`,
		`spillway_http_requests_total{format="",route="assets",status="4xx"} 1`,
		`spillway_http_request_seconds_count{route="assets"} 3`,
		`spillway_stage_seconds_count{format="png",outcome="whole",stage="work"} 1`,
		`spillway_stage_seconds_count{format="png",outcome="whole",stage="first"} 1`,
		`spillway_stage_seconds_count{format="png",outcome="whole",stage="write"} 2`,
		`spillway_queue_age_seconds 0`, `spillway_backlog_seconds 0`, `spillway_overloaded 0`,
		`spillway_flights 0`, `spillway_flights_joined_total 0`, `spillway_flights_merged_total 0`, `spillway_effort_reduced_total 0`,
		`spillway_origins{breaker="open"} 2`, `spillway_origins{breaker="closed"} 1`, `spillway_origin_breaker_open{origin="https://b.example"} 1`,
		`spillway_origin_fetches{state="in-flight"} 3`, `spillway_origin_fetches{state="waiting"} 5`,
		`spillway_originals_opened_total 3`,
		`spillway_jobs_in_flight 0`, `spillway_jobs_waiting 0`, `spillway_jobs_limit 2`, `spillway_jobs_done_total 1`,
		`spillway_cache_hits_total{store="memory"} 1`, `spillway_cache_entries{store="memory"} 1`, `spillway_cache_entries{store="disk"} 0`,
		`spillway_decoded_bytes{kind="reserved"} 0`, `spillway_decoded_bytes{kind="budget"} 4.29496729e+08`,
		`spillway_spools_open 0`, `spillway_spool_bytes{place="memory"} 0`, `spillway_spool_bytes{place="disk"} 0`,
		`spillway_vips_memory_bytes 4711`, `spillway_vips_files 3`,
		`spillway_http_response_bytes_total{route="assets"}`,
		`spillway_pool_workers{pool="images",state="live"} 1`, `spillway_pool_workers{pool="images",state="busy"} 0`,
		`spillway_pool_queued{pool="images"} 0`, `spillway_pool_oldest_wait_seconds{pool="images"} 0`,
		`spillway_pool_scale_total{direction="up",pool="images"} 0`,
		`spillway_pool_gate_refusals_total{pool="images",reason="gate-cpu"} 0`,
		"go_goroutines", "process_open_fds",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("%s is missing", line)
		}
	}
	if t.Failed() {
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "spillway_") && !strings.Contains(line, "_bucket") {
				t.Log(line)
			}
		}
	}
}

func someOrigins() []source.OriginStats {
	return []source.OriginStats{
		{Host: "https://a.example", InFlight: 2, Failures: 1},
		{Host: "https://b.example", Failures: 9, Open: true},
		{Host: "https://c.example", InFlight: 1, Waiting: 5, Failures: 7, Open: true},
	}
}

// Names are chosen by clients, so there must not be any number of them.
func TestMetricsNameFewOrigins(t *testing.T) {
	b := newBench(t, func(s *settings) {
		s.http.Origins = func() (all []source.OriginStats) {
			for i := range 500 {
				all = append(all, source.OriginStats{Host: fmt.Sprint("https://", i, ".example"), Open: true, Failures: int64(i)})
			}
			return all
		}
	})
	text := body(t, ask(b.Admin(), http.MethodGet, "/metrics"))
	if n := strings.Count(text, "spillway_origin_breaker_open{"); n != 20 || !strings.Contains(text, `origin="https://499.example"`) {
		t.Errorf("%d are named", n)
	}
}

// The reference lists the metrics there are, and no others.
func TestDocsListEveryMetric(t *testing.T) {
	b := newBench(t, func(s *settings) {
		s.http.Engine, s.http.Origins = func() httpapi.EngineStats { return httpapi.EngineStats{} }, someOrigins
		s.http.JobStats = someJobStats(jobstest.NewStore(time.Now))
		s.http.H2 = func() []httpapi.H2Listener { return []httpapi.H2Listener{{Name: "public", Server: busy()}} }
	})
	b.get("/assets/a.jpg")
	b.engine.run = func(context.Context, *media.Plan, transform.Begin) error {
		return media.Errorf(media.CodeDecodeFailed, "The picture is broken.")
	}
	b.get("/assets/b.jpg")
	waitIdle(t, b)
	served := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (spillway_\w+)`).FindAllStringSubmatch(body(t, ask(b.Admin(), http.MethodGet, "/metrics")), -1) {
		served[m[1]] = true
	}
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(spillway_\\w+)`").FindAllStringSubmatch(string(text), -1) {
		if !served[m[1]] {
			t.Errorf("docs/http.md has %s, which is not served", m[1])
		}
		delete(served, m[1])
	}
	for name := range served {
		t.Errorf("%s is missing in docs/http.md", name)
	}
}

func TestAccessLog(t *testing.T) {
	b := newBench(t, nil)
	b.get("/resize?image_url=https://images.example.com/a.jpg&format=png", "X-Request-Id: abc")
	b.get("/assets/missing")
	b.get("/healthz")
	lines := b.logged.lines(t)
	if len(lines) != 3 {
		t.Fatalf("%d lines for 3 requests", len(lines))
	}
	for key, want := range map[string]any{
		"level": "INFO", "request_id": "abc", "protocol": "HTTP/1.1", "method": "GET", "route": "resize", "path": "/resize", "status": 200.0,
		"source_host": "images.example.com", "bytes": float64(len("png picture of 400x300")), "cache_hit": false, "format": "png",
	} {
		if lines[0][key] != want {
			t.Errorf("%s is %v, want %v", key, lines[0][key], want)
		}
	}
	for _, key := range []string{"fetch_ms", "wait_ms", "first_ms", "work_ms", "write_ms", "duration_ms"} {
		if _, ok := lines[0][key].(float64); !ok {
			t.Errorf("%s is %v", key, lines[0][key])
		}
	}
	if lines[1]["code"] != "source-not-found" || lines[1]["status"] != 404.0 {
		t.Errorf("a fault is logged as %v", lines[1])
	}
	if lines[2]["level"] != "DEBUG" {
		t.Errorf("a probe is logged at %v", lines[2]["level"])
	}
}

// Origins and clients choose some of the words, but not how many.
func TestNoLineOfTheLogIsLong(t *testing.T) {
	b := newBench(t, nil)
	b.source.err = media.Wrap(media.CodeSourceFailed, errors.New("malformed answer "+strings.Repeat("\xff", 100_000)), "The source failed.")
	long := strings.Repeat("x", 7000)
	b.get("/resize?image_url=http://" + long + "/")
	ask(b.public, strings.Repeat("M", 7000), "/assets/"+long)
	for _, line := range strings.Split(strings.TrimSpace(b.logged.String()), "\n") {
		if len(line) > 4096 {
			t.Errorf("a line has %d bytes: %.300s", len(line), line)
		}
	}
}
