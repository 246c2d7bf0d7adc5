package httpapi_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// headerCase is one rule: a request and a header of its answer.
type headerCase struct {
	rule    string
	change  func(*settings)
	method  string
	target  string
	headers []string
	status  int
	name    string
	want    string // "" means the header has to be absent
}

func (c headerCase) run(t *testing.T) {
	t.Helper()
	b := newBench(t, c.change)
	if c.method == "" {
		c.method = http.MethodGet
	}
	res := ask(b.public, c.method, c.target, c.headers...)
	if c.status == 0 {
		c.status = http.StatusOK
	}
	if res.StatusCode != c.status {
		t.Fatalf("status is %d, want %d: %s", res.StatusCode, c.status, body(t, res))
	}
	if got := strings.Join(res.Header.Values(c.name), "|"); got != c.want {
		t.Errorf("%s is %q, want %q", c.name, got, c.want)
	}
}

func runHeaderCases(t *testing.T, cases []headerCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.rule, c.run)
	}
}

const allHints = "Sec-CH-Width, Sec-CH-DPR, Sec-CH-Viewport-Width, Width, DPR, Viewport-Width"

func hints(s *settings) { s.http.ClientHints = true }

func TestContentHeaders(t *testing.T) {
	runHeaderCases(t, []headerCase{
		{rule: "the content type is that of what was written", target: "/resize?image_url=a.jpg&format=png", name: "Content-Type", want: "image/png"},
		{rule: "a negotiated answer has the chosen type", target: "/resize?image_url=a.jpg", headers: []string{"Accept: image/webp,*/*"}, name: "Content-Type", want: "image/webp"},
		{rule: "a negotiated answer falls back without a match", target: "/resize?image_url=a.jpg", headers: []string{"Accept: */*"}, name: "Content-Type", want: "image/jpeg"},
		{rule: "several accept lines count as one list", target: "/resize?image_url=a.jpg", headers: []string{"Accept: text/html", "Accept: image/webp"}, name: "Content-Type", want: "image/webp"},
		{rule: "types are never sniffed", target: "/resize?image_url=a.jpg", name: "X-Content-Type-Options", want: "nosniff"},
		{rule: "error types are never sniffed either", target: "/resize?image_url=missing", status: 404, name: "X-Content-Type-Options", want: "nosniff"},
		{rule: "a picture opened as a page can run nothing", target: "/resize?image_url=a.jpg", name: "Content-Security-Policy", want: "default-src 'none'; style-src 'unsafe-inline'; sandbox"},
		{rule: "the length is told when the picture is complete", target: "/resize?image_url=a.jpg&sizes=40x0&format=png", name: "Content-Length", want: strconv.Itoa(len("png picture of 40x30"))},
		{rule: "json is json", target: "/resize?image_url=a.jpg&encoder=json", name: "Content-Type", want: "application/json"},
		{rule: "info is json", target: "/info?image_url=a.jpg", name: "Content-Type", want: "application/json"},
	})
}

func TestVary(t *testing.T) {
	runHeaderCases(t, []headerCase{
		{rule: "an absent format varies", target: "/resize?image_url=a.jpg", name: "Vary", want: "Accept"},
		{rule: "format=auto varies", target: "/resize?image_url=a.jpg&format=auto", name: "Vary", want: "Accept"},
		{rule: "a fixed format does not vary", target: "/resize?image_url=a.jpg&format=webp", name: "Vary"},
		{rule: "a fixed format of a preset does not vary", change: presets, target: "/resize?image_url=a.jpg&preset=card", name: "Vary"},
		{rule: "hints vary where they can choose the size", change: hints, target: "/resize?image_url=a.jpg&format=webp", name: "Vary", want: allHints},
		{rule: "hints do not vary where the url has the size", change: hints, target: "/resize?image_url=a.jpg&format=webp&sizes=300x0", name: "Vary"},
		{rule: "format and hints vary together", change: hints, target: "/assets/a.jpg", name: "Vary", want: "Accept, " + allHints},
		{rule: "info does not vary", target: "/info?image_url=a.jpg", name: "Vary"},
	})
}

// Every answer of a negotiated URL carries Vary: Accept, errors and 304
// included, or a shared cache would mix the formats.
func TestBugReport13VaryOnEveryAnswerOfANegotiatedURL(t *testing.T) {
	key := func(s *settings) { s.http.Keys = [][]byte{testKey} }
	runHeaderCases(t, []headerCase{
		{rule: "the answer that became webp", target: "/resize?image_url=a.jpg", headers: []string{"Accept: image/webp"}, name: "Vary", want: "Accept"},
		{rule: "the answer that did not become webp", target: "/resize?image_url=a.jpg", headers: []string{"Accept: image/png"}, name: "Vary", want: "Accept"},
		{rule: "an answer to no accept header at all", target: "/resize?image_url=a.jpg", name: "Vary", want: "Accept"},
		{rule: "an answer to HEAD", method: http.MethodHead, target: "/resize?image_url=a.jpg", name: "Vary", want: "Accept"},
		{rule: "304", target: "/resize?image_url=a.jpg", headers: []string{"If-None-Match: *"}, status: 304, name: "Vary", want: "Accept"},
		{rule: "a wrong parameter", target: "/resize?image_url=a.jpg&quality=101", status: 400, name: "Vary", want: "Accept"},
		{rule: "a broken query", target: "/resize?image_url=%zz", status: 400, name: "Vary", want: "Accept"},
		{rule: "a missing source", target: "/resize?image_url=missing", status: 404, name: "Vary", want: "Accept"},
		{rule: "a missing asset", target: "/assets/missing", status: 404, name: "Vary", want: "Accept"},
		{rule: "a missing signature", change: key, target: "/resize?image_url=a.jpg", status: 403, name: "Vary", want: "Accept"},
		{rule: "a wrong method", method: http.MethodPost, target: "/resize?image_url=a.jpg", status: 405, name: "Vary", want: "Accept"},
		{rule: "an overlong url", target: "/resize?image_url=" + strings.Repeat("a", 9000), status: 414, name: "Vary", want: "Accept"},
		{rule: "several sizes", target: "/resize?image_url=a.jpg&sizes=10x0,20x0", name: "Vary", want: "Accept"},
		{rule: "json", target: "/resize?image_url=a.jpg&encoder=json", name: "Vary", want: "Accept"},
	})
}

func TestCacheControl(t *testing.T) {
	honour := func(s *settings) { s.http.HonourOrigin = true }
	keep := func(s *settings) { s.http.ErrorMaxAge = time.Minute }
	runHeaderCases(t, []headerCase{
		{rule: "answers may be kept for the default age", target: "/resize?image_url=a.jpg", name: "Cache-Control", want: "public, max-age=86400"},
		{rule: "the age can be set", change: func(s *settings) { s.http.MaxAge = time.Hour }, target: "/assets/a.jpg", name: "Cache-Control", want: "public, max-age=3600"},
		{rule: "info may be kept as well", target: "/info?image_url=a.jpg", name: "Cache-Control", want: "public, max-age=86400"},
		{rule: "304 repeats it", target: "/resize?image_url=a.jpg", headers: []string{"If-None-Match: *"}, status: 304, name: "Cache-Control", want: "public, max-age=86400"},
		{rule: "an origin without an age leaves the default", change: honour, target: "/resize?image_url=a.jpg", name: "Cache-Control", want: "public, max-age=86400"},
		{rule: "errors are not kept", target: "/resize?image_url=missing", status: 404, name: "Cache-Control", want: "no-store"},
		{rule: "lasting errors are kept when allowed", change: keep, target: "/resize?image_url=missing", status: 404, name: "Cache-Control", want: "public, max-age=60"},
		{rule: "other errors are not kept even then", change: keep, target: "/resize?image_url=a.jpg&quality=0.5", status: 400, name: "Cache-Control", want: "no-store"},
		{rule: "a missing path is not kept even then", change: keep, target: "/nothing", status: 404, name: "Cache-Control", want: "no-store"},
		{rule: "health is never kept", target: "/healthz", name: "Cache-Control", want: "no-store"},
	})
	t.Run("the origin's age counts when it is honoured", func(t *testing.T) {
		b := newBench(t, honour)
		b.source.meta.MaxAge = 7 * time.Second
		if got := b.get("/assets/a.jpg").Header.Get("Cache-Control"); got != "public, max-age=7" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the origin's age does not count otherwise", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.meta.MaxAge = 7 * time.Second
		if got := b.get("/assets/a.jpg").Header.Get("Cache-Control"); got != "public, max-age=86400" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a source that may have been cut unseen is not kept", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.meta.OpenEnded = true
		if got := b.get("/assets/a.jpg").Header.Get("Cache-Control"); got != "public, max-age=0" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("no answer is kept beyond the end of its signed url", func(t *testing.T) {
		b := newBench(t, func(s *settings) {
			s.http.Keys = [][]byte{testKey}
			s.http.Now = func() time.Time { return now }
		})
		url := "/assets/a.jpg?expires=" + strconv.FormatInt(now.Unix()+90, 10)
		res := b.get(httpapi.SignURL(testKey, url))
		if got := res.Header.Get("Cache-Control"); res.StatusCode != 200 || got != "public, max-age=90" {
			t.Errorf("got %d %q", res.StatusCode, got)
		}
	})
}

func TestAccessFromOtherSites(t *testing.T) {
	one := func(s *settings) { s.http.AllowOrigin = "https://www.example.com" }
	nobody := func(s *settings) { s.http.AllowOrigin = "" }
	runHeaderCases(t, []headerCase{
		{rule: "everybody may read by default", target: "/assets/a.jpg", name: "Access-Control-Allow-Origin", want: "*"},
		{rule: "scripts may read errors", target: "/assets/missing", status: 404, name: "Access-Control-Allow-Origin", want: "*"},
		{rule: "one origin may be named", change: one, target: "/assets/a.jpg", name: "Access-Control-Allow-Origin", want: "https://www.example.com"},
		{rule: "nobody is nobody", change: nobody, target: "/assets/a.jpg", name: "Access-Control-Allow-Origin"},
		{rule: "timings may be read by the same", change: one, target: "/assets/a.jpg", name: "Timing-Allow-Origin", want: "https://www.example.com"},
		{rule: "pictures may be embedded anywhere", target: "/assets/a.jpg", name: "Cross-Origin-Resource-Policy", want: "cross-origin"},
		{rule: "a preflight is answered without a body", method: http.MethodOptions, target: "/resize?image_url=a.jpg", status: 204, name: "Access-Control-Allow-Methods", want: "GET, HEAD, OPTIONS"},
		{rule: "a preflight needs no signature", change: func(s *settings) { s.http.Keys = [][]byte{testKey} }, method: http.MethodOptions, target: "/resize?image_url=a.jpg", status: 204, name: "Access-Control-Max-Age", want: "86400"},
		{rule: "hints are asked for when enabled", change: hints, target: "/assets/a.jpg", name: "Accept-CH", want: "Sec-CH-Width, Sec-CH-DPR, Sec-CH-Viewport-Width"},
		{rule: "the site asks for hints as well", change: func(s *settings) { hints(s); s.http.Site = page{handler: func(http.ResponseWriter, *http.Request) {}} }, target: "/", name: "Accept-CH", want: "Sec-CH-Width, Sec-CH-DPR, Sec-CH-Viewport-Width"},
		{rule: "hints are not asked for otherwise", target: "/assets/a.jpg", name: "Accept-CH"},
		{rule: "405 names the methods", method: http.MethodDelete, target: "/assets/a.jpg", status: 405, name: "Allow", want: "GET, HEAD, OPTIONS"},
	})
}

func TestContentDisposition(t *testing.T) {
	runHeaderCases(t, []headerCase{
		{rule: "the name is the source's with the ending of what was written", target: "/resize?image_url=photos/cat.jpg&format=webp", name: "Content-Disposition", want: `inline; filename="cat.webp"`},
		{rule: "an asset is named alike", target: "/assets/photos/cat.jpeg?format=png", name: "Content-Disposition", want: `inline; filename="cat.png"`},
		{rule: "a url's query is not part of the name", target: "/resize?format=png&image_url=https%3A%2F%2Fh%2Fp%2Fcat.gif%3Fx%3D1%2F2", name: "Content-Disposition", want: `inline; filename="cat.png"`},
		{rule: "a name in another script comes in both forms", target: "/assets/%E7%8C%AB%20caf%C3%A9.jpg?format=webp", name: "Content-Disposition", want: `inline; filename="_ caf_.webp"; filename*=UTF-8''%E7%8C%AB%20caf%C3%A9.webp`},
		{rule: "quotes and backslashes cannot leave the name", target: `/assets/a%22%3B%20x=%5C.jpg?format=webp`, name: "Content-Disposition", want: `inline; filename="a_; x=_.webp"`},
		{rule: "invisible turns of writing direction are dropped", target: "/assets/a%E2%80%AEgpj.exe.jpg?format=webp", name: "Content-Disposition", want: `inline; filename="a_gpj.exe.webp"`},
		{rule: "bytes that are no text are replaced", target: "/assets/a%FFb.jpg?format=webp", name: "Content-Disposition", want: `inline; filename="a_b.webp"`},
		{rule: "a source without a name is an image", target: "/resize?format=webp&image_url=https%3A%2F%2Fhost%2F", name: "Content-Disposition", want: `inline; filename="image.webp"`},
		{rule: "a dot file is an image", target: "/assets/.jpg?format=webp", name: "Content-Disposition", want: `inline; filename="image.webp"`},
		{rule: "a long name is cut", target: "/assets/" + strings.Repeat("n", 300) + "?format=webp", name: "Content-Disposition", want: `inline; filename="` + strings.Repeat("n", 100) + `.webp"`},
	})
	t.Run("a line break cannot split the header", func(t *testing.T) {
		res := newBench(t, nil).get("/assets/a%0D%0ASet-Cookie:%20x=1.jpg")
		wantProblem(t, res, 400, "invalid-parameter")
		if res.Header.Get("Set-Cookie") != "" {
			t.Error("a header was injected")
		}
	})
}

func TestRequestID(t *testing.T) {
	b := newBench(t, nil)
	t.Run("a plain id of the client is kept", func(t *testing.T) {
		if got := b.get("/healthz", "X-Request-Id: trace-1.a_B").Header.Get("X-Request-Id"); got != "trace-1.a_B" {
			t.Errorf("got %q", got)
		}
	})
	for name, id := range map[string]string{
		"an id with spaces is replaced":    "a b",
		"an overlong id is replaced":       strings.Repeat("a", 65),
		"an id with line ends is replaced": "a\r\nb",
		"an empty id is replaced":          "",
	} {
		t.Run(name, func(t *testing.T) {
			got := b.get("/healthz", "X-Request-Id: "+id).Header.Get("X-Request-Id")
			if got == id || len(got) != 24 {
				t.Errorf("got %q", got)
			}
		})
	}
}

// The six cases that peers get wrong, in one place.
func TestTheSixCasesOfCorrectHTTP(t *testing.T) {
	png := "/assets/a.jpg?format=png"
	runHeaderCases(t, []headerCase{
		{rule: "1 preference values count", target: "/assets/a.jpg", headers: []string{"Accept: image/webp;q=0.2, image/avif;q=0.8"}, name: "Content-Type", want: "image/avif"},
		{rule: "1 q=0 excludes", target: "/assets/a.jpg", headers: []string{"Accept: image/webp;q=0, image/avif;q=0.0, */*"}, name: "Content-Type", want: "image/jpeg"},
		{rule: "2 Vary stands wherever the format is negotiable", target: "/assets/a.jpg", headers: []string{"Accept: image/jpeg"}, name: "Vary", want: "Accept"},
		{rule: "2 Vary does not stand where it is not", target: png, name: "Vary"},
		{rule: "3 hints choose the size", change: hints, target: png, headers: []string{"Sec-CH-Width: 40"}, name: "Content-Length", want: strconv.Itoa(len("png picture of 40x30"))},
		{rule: "4 HEAD makes nothing", method: http.MethodHead, target: png, name: "Cache-Status", want: "spillway; fwd=miss"},
	})
	t.Run("5 each variant has a tag, and 304 comes before work", func(t *testing.T) {
		b := newBench(t, nil)
		webp := b.get("/assets/a.jpg", "Accept: image/webp").Header.Get("ETag")
		avif := b.get("/assets/a.jpg", "Accept: image/avif").Header.Get("ETag")
		if webp == "" || webp == avif {
			t.Errorf("the tags are %s and %s", webp, avif)
		}
		runs := b.engine.runs.Load()
		if res := b.get("/assets/a.jpg", "Accept: image/webp", "If-None-Match: "+webp); res.StatusCode != 304 || b.engine.runs.Load() != runs {
			t.Errorf("got %s after %d runs", res.Status, b.engine.runs.Load()-runs)
		}
		if res := b.get("/assets/a.jpg", "Accept: image/avif", "If-None-Match: "+webp); res.StatusCode != 200 {
			t.Errorf("the tag of another variant gives %s", res.Status)
		}
	})
	t.Run("6 a stored picture is given in parts", func(t *testing.T) {
		b, etag := stored(t, png)
		res := b.get(png, "Range: bytes=0-2", "If-Range: "+etag)
		if got := body(t, res); res.StatusCode != 206 || got != "png" {
			t.Errorf("got %s %q", res.Status, got)
		}
	})
}

func TestCacheStatus(t *testing.T) {
	b := newBench(t, nil)
	const target = "/assets/a.jpg?format=png"
	first := b.get(target)
	waitIdle(t, b)
	for name, c := range map[string]struct {
		res  *http.Response
		want string
	}{
		"made anew":             {first, "spillway; fwd=miss"},
		"made before":           {b.get(target), "spillway; hit"},
		"not modified":          {b.get(target, "If-None-Match: *"), "spillway; hit"},
		"HEAD of what is there": {ask(b.public, http.MethodHead, target), "spillway; hit"},
		"an error":              {b.get("/assets/missing"), ""},
	} {
		if got := c.res.Header.Get("Cache-Status"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Everybody who asks while a picture is made gets that one.
func TestWhoJoinsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		goOn := make(chan struct{})
		b.engine.run = slowly("head", goOn, func(w io.Writer) error { _, err := io.WriteString(w, " and end"); return err })
		told := make(chan string)
		for range 3 {
			go func() { told <- b.get("/assets/a.jpg?format=png").Header.Get("Cache-Status") }()
		}
		synctest.Wait()
		close(goOn)
		got := map[string]int{}
		for range 3 {
			got[<-told]++
		}
		if got["spillway; fwd=miss"] != 1 || got["spillway; fwd=miss; collapsed"] != 2 {
			t.Errorf("told %v", got)
		}
	})
}

// What load has made worse is said so, and not kept for long.
func TestReducedEffortIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		result *transform.Result
		age    string
		effort string
		status string
	}{
		"as usual":                {&transform.Result{}, "public, max-age=86400", "", "spillway; fwd=miss"},
		"with less effort":        {&transform.Result{Reduced: true}, "public, max-age=60", "reduced", "spillway; fwd=miss"},
		"of a stale original":     {&transform.Result{Stale: true}, "public, max-age=60", "", "spillway; fwd=stale"},
		"kept, and now stale":     {&transform.Result{Stale: true, CacheHit: true}, "public, max-age=60", "", "spillway; hit; detail=stale"},
		"beside others":           {&transform.Result{Merged: true}, "public, max-age=86400", "", "spillway; fwd=miss; detail=merged"},
		"beside others long ago":  {&transform.Result{Merged: true, CacheHit: true}, "public, max-age=86400", "", "spillway; hit"},
		"for somebody else first": {&transform.Result{Joined: true, Merged: true}, "public, max-age=86400", "", "spillway; fwd=miss; collapsed; detail=merged"},
	} {
		t.Run(name, func(t *testing.T) {
			c.result.Format, c.result.ETag, c.result.Source.MaxAge = media.PNG, "tag", -1
			server, err := httpapi.New(httpapi.DefaultConfig(), fixed{result: c.result}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			res := ask(server.Public(), http.MethodHead, "/assets/a.jpg?format=png")
			for header, want := range map[string]string{"Cache-Control": c.age, "Spillway-Effort": c.effort, "Cache-Status": c.status} {
				if got := res.Header.Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
		})
	}
}

// fixed gives one result, whatever is asked.
type fixed struct {
	httpapi.Transformer
	result *transform.Result
}

func (f fixed) Do(context.Context, transform.Job) (*transform.Result, error) { return f.result, nil }
