package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/httpapi"
)

// streams is a server of HTTP/2 with the same connections at all times.
type streams struct {
	connections []h2.ConnInfo
	stats       h2.Stats
}

func (s streams) Connections() []h2.ConnInfo { return s.connections }
func (s streams) Stats() h2.Stats            { return s.stats }

// h2Now is the clock of the benches here. It is far ahead of any real one: the
// deadlines of a real connection are reckoned from it, and must not have passed.
var h2Now = time.Date(2226, 12, 1, 9, 0, 10, 0, time.UTC)

// busy has one connection with a picture under way, and another without streams.
func busy() streams {
	since := h2Now.Add(-10 * time.Second)
	return streams{
		connections: []h2.ConnInfo{{
			Remote: "192.0.2.1:4711", TLS: true, State: "open", Since: since, Window: 1 << 20, Buffered: 5000,
			Streams: []h2.StreamInfo{{
				ID: 7, Method: "GET", Path: "/assets/<b>.jpg", Urgency: 2, Incremental: true, Phase: priority.Preview,
				Buffered: 5000, Sent: 159, Window: 0, Since: h2Now.Add(-1500 * time.Millisecond),
			}},
		}, {Remote: "192.0.2.2:1", State: "draining", Since: since}},
		stats: h2.Stats{
			ConnectionsOpen: 2, ConnectionsTotal: 40, StreamsOpen: 1, StreamsTotal: 99,
			Frames:     [5]uint64{priority.Body: 1, priority.Header: 2, priority.Preview: 3, priority.Good: 4, priority.Rest: 5},
			Bytes:      [5]uint64{priority.Body: 10, priority.Header: 20, priority.Preview: 30, priority.Good: 40, priority.Rest: 100},
			ResetsSent: 6, ResetsReceived: 7, Stalls: 8,
			GoAways: map[http2.ErrCode]uint64{http2.ErrCodeNo: 1, http2.ErrCodeEnhanceYourCalm: 2},
		},
	}
}

// watched is a bench whose public listener has s.
func watched(t *testing.T, s httpapi.H2Server) *bench {
	t.Helper()
	return newBench(t, func(set *settings) {
		set.http.Now = func() time.Time { return h2Now }
		set.http.H2 = func() []httpapi.H2Listener { return []httpapi.H2Listener{{Name: "public", Server: s}} }
	})
}

func TestStreamsAreShownToPrograms(t *testing.T) {
	res := ask(watched(t, busy()).Admin(), http.MethodGet, "/debug/h2")
	if res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Vary") != "Accept" {
		t.Errorf("header %v", res.Header)
	}
	var got, want any
	if err := json.Unmarshal([]byte(body(t, res)), &got); err != nil {
		t.Fatal(err)
	}
	const expected = `{"at": "2226-12-01T09:00:10Z", "listeners": [{
		"listener": "public",
		"stats": {
			"connections_open": 2, "connections_total": 40, "streams_open": 1, "streams_total": 99,
			"frames": {"body": 1, "header": 2, "preview": 3, "good": 4, "rest": 5},
			"bytes": {"body": 10, "header": 20, "preview": 30, "good": 40, "rest": 100},
			"resets_by_server": 6, "resets_by_clients": 7, "stalls": 8, "goaways": {"NO_ERROR": 1, "ENHANCE_YOUR_CALM": 2}
		},
		"connections": [
			{"remote": "192.0.2.1:4711", "tls": true, "state": "open", "age_s": 10, "window": 1048576, "buffered": 5000, "streams": [
				{"id": 7, "method": "GET", "path": "/assets/<b>.jpg", "urgency": 2, "incremental": true, "phase": "preview",
				 "buffered": 5000, "sent": 159, "window": 0, "age_s": 1.5}]},
			{"remote": "192.0.2.2:1", "tls": false, "state": "draining", "age_s": 10, "window": 0, "buffered": 0, "streams": []}
		]}]}`
	if err := json.Unmarshal([]byte(expected), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// asBrowser asks as a browser does.
func asBrowser(t *testing.T, h http.Handler, method string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, "/debug/h2", nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	res := w.Result()
	return res, body(t, res)
}

func TestStreamsAreShownToBrowsers(t *testing.T) {
	res, text := asBrowser(t, watched(t, busy()).Admin(), http.MethodGet)
	if got := res.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("type %s", got)
	}
	for _, part := range []string{"192.0.2.1:4711", "/assets/&lt;b&gt;.jpg", "2, i", ">preview<", "4.9 KiB", "159 B", "draining", "ENHANCE_YOUR_CALM 2"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if outside := regexp.MustCompile(`(src|href)="(?:https?:)?//|@import|url\(`).FindString(text); outside != "" {
		t.Errorf("the page needs %q", outside)
	}
	policy := res.Header.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none'; ") {
		t.Errorf("policy %s", policy)
	}
	if res, text := asBrowser(t, watched(t, busy()).Admin(), http.MethodHead); res.StatusCode != 200 || text != "" {
		t.Errorf("HEAD answers %d, %q", res.StatusCode, text)
	}
	if res, _ := asBrowser(t, watched(t, busy()).Admin(), http.MethodPost); res.StatusCode != 405 {
		t.Errorf("POST answers %d", res.StatusCode)
	}
}

func TestAPageWithoutStreamsSaysWhy(t *testing.T) {
	if _, text := asBrowser(t, newBench(t, nil).Admin(), http.MethodGet); !strings.Contains(text, "the setting <code>http2</code>") {
		t.Error("it does not tell of the setting")
	}
	if _, text := asBrowser(t, watched(t, streams{}).Admin(), http.MethodGet); !strings.Contains(text, "Nobody is connected") {
		t.Error("it does not tell that nobody is connected")
	}
}

func TestStreamsAreTheOperatorsUnlessThePublicHasMetrics(t *testing.T) {
	b := watched(t, busy())
	wantProblem(t, b.get("/debug/h2"), 404, "not-found")
	b = newBench(t, func(s *settings) { s.http.MetricsOnPublic = true })
	if res := b.get("/debug/h2"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
}

func TestMetricsTellOfHTTP2(t *testing.T) {
	text := body(t, ask(watched(t, busy()).Admin(), http.MethodGet, "/metrics"))
	for _, line := range []string{
		`spillway_h2_connections{listener="public"} 2`, `spillway_h2_connections_total{listener="public"} 40`,
		`spillway_h2_streams{listener="public"} 1`, `spillway_h2_streams_total{listener="public"} 99`,
		`spillway_h2_data_frames_total{listener="public",phase="preview"} 3`, `spillway_h2_data_bytes_total{listener="public",phase="rest"} 100`,
		`spillway_h2_resets_total{by="server",listener="public"} 6`, `spillway_h2_resets_total{by="client",listener="public"} 7`,
		`spillway_h2_goaways_total{code="ENHANCE_YOUR_CALM",listener="public"} 2`, `spillway_h2_stalls_total{listener="public"} 8`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}
