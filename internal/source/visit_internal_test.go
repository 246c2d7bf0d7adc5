package source

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
)

// patient is an origin whose answer can be changed, behind a router whose
// clock stands still.
type patient struct {
	*Router
	server  *httptest.Server
	handler atomic.Pointer[http.HandlerFunc]
	asked   atomic.Int64
	now     time.Time
}

func newPatient(t *testing.T, change func(*Config)) *patient {
	t.Helper()
	p := &patient{now: noon}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		(*p.handler.Load())(w, r)
	}))
	t.Cleanup(p.server.Close)
	cfg := Config{AllowPrivate: true, Allow: []string{"*", strings.TrimPrefix(p.server.URL, "http://")}, Retries: -1}
	if change != nil {
		change(&cfg)
	}
	router, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { router.Close() })
	p.Router = router
	p.origins.now = func() time.Time { return p.now }
	return p
}

func (p *patient) answers(handler http.HandlerFunc) { p.handler.Store(&handler) }

func (p *patient) get() error {
	object, err := p.Open(context.Background(), p.server.URL+"/a.jpg")
	if err != nil {
		return err
	}
	defer object.Body.Close()
	_, err = io.Copy(io.Discard, object.Body)
	return err
}

// wantAsked checks what an open leads to, and whether the origin was asked.
func (p *patient) wantAsked(t *testing.T, what string, code media.Code, want bool) {
	t.Helper()
	before := p.asked.Load()
	err := p.get()
	if got := p.asked.Load() > before; got != want {
		t.Errorf("%s: the origin was asked: %t (%v)", what, got, err)
	}
	if (err == nil) != (code == "") || (err != nil && codeOf(err) != code) {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}

func status(code int, lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
	}
}

func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, "half")
}

func TestWhatOpensTheBreakerOfAnOrigin(t *testing.T) {
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	large := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 2000)) }
	cases := []struct {
		name    string
		handler http.HandlerFunc
		opens   bool
	}{
		{"a 500", status(500), true},
		{"a 503", status(503), true},
		{"a connection that breaks", abort, true},
		{"a timeout", hang, true},
		{"a body that is cut", half, true},
		{"a 404", status(404), false},
		{"a 403", status(403), false},
		{"a 429", status(429), false},
		{"a 408", status(408), false},
		{"an original that is too large", large, false},
		{"a redirect to nowhere", status(302), false},
		{"an encoding that is not known", status(200, "Content-Encoding: br"), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newPatient(t, func(cfg *Config) { cfg.HeaderTimeout, cfg.MaxBytes = 20*time.Millisecond, 1000 })
			p.answers(c.handler)
			for range breakAfter {
				if err := p.get(); err == nil {
					t.Fatal("it came")
				}
			}
			p.answers(status(200))
			if !c.opens {
				p.wantAsked(t, "afterwards", "", true)
				return
			}
			err := p.get()
			wantUnavailable(t, err, firstCoolOff)
			p.wantAsked(t, "a second later", media.CodeSourceUnavailable, false)
			want := []OriginStats{{Host: p.server.URL, Failures: 5, Open: true, Until: noon.Add(firstCoolOff)}}
			if diff := cmp.Diff(want, p.Origins()); diff != "" {
				t.Error(diff)
			}
			p.now = p.now.Add(firstCoolOff)
			p.wantAsked(t, "after the cool-off", "", true)
			if p.Origins()[0].Open {
				t.Error("a success left the breaker open")
			}
		})
	}
}

func TestAClientThatLeavesIsNoFailure(t *testing.T) {
	p := newPatient(t, nil)
	begun := make(chan struct{})
	p.answers(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("body") {
			w.Header().Set("Content-Length", "100")
			w.(http.Flusher).Flush()
		}
		begun <- struct{}{}
		<-r.Context().Done()
	})
	for range 2 * breakAfter {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		if _, err := p.Open(ctx, p.server.URL+"/a.jpg"); codeOf(err) != media.CodeCancelled {
			t.Fatal(err)
		}
	}
	for range 2 * breakAfter {
		ctx, cancel := context.WithCancel(t.Context())
		object, err := p.Open(ctx, p.server.URL+"/a.jpg?body")
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		cancel()
		if _, err := io.Copy(io.Discard, object.Body); codeOf(err) != media.CodeCancelled {
			t.Error(err)
		}
		object.Body.Close()
	}
	p.answers(status(200))
	p.wantAsked(t, "afterwards", "", true)
	if got := p.Origins()[0]; got.Failures != 0 || got.InFlight != 0 || got.Unread != 0 {
		t.Errorf("stats are %+v", got)
	}
}

func TestRetriesOfOneOpenAreOneFailure(t *testing.T) {
	p := newPatient(t, func(cfg *Config) { cfg.Retries = 1 })
	p.answers(status(500))
	for range breakAfter - 1 {
		p.wantAsked(t, "before", media.CodeSourceFailed, true)
	}
	if n := p.asked.Load(); n != 2*(breakAfter-1) {
		t.Errorf("%d requests", n)
	}
	p.wantAsked(t, "the fifth", media.CodeSourceFailed, true)
	p.wantAsked(t, "the sixth", media.CodeSourceUnavailable, false)
}

func TestOriginsSayWhenToComeBack(t *testing.T) {
	retryAfterOf := func(err error) time.Duration {
		var fault *media.Error
		errors.As(err, &fault)
		return fault.RetryAfter
	}
	t.Run("a 429 is heeded at once", func(t *testing.T) {
		p := newPatient(t, nil)
		p.answers(status(429, "Retry-After: 20"))
		if err := p.get(); codeOf(err) != media.CodeSourceFailed || retryAfterOf(err) != 20*time.Second {
			t.Errorf("error = %v after %s", err, retryAfterOf(err))
		}
		wantUnavailable(t, p.get(), 20*time.Second)
	})
	t.Run("for a minute at most", func(t *testing.T) {
		p := newPatient(t, nil)
		p.answers(status(429, "Retry-After: 86400"))
		_ = p.get()
		wantUnavailable(t, p.get(), time.Minute)
	})
	t.Run("a 503 is not tried again before, and prolongs the cool-off", func(t *testing.T) {
		p := newPatient(t, func(cfg *Config) { cfg.Retries = 3 })
		p.answers(status(503, "Retry-After: 20"))
		for range breakAfter {
			if err := p.get(); codeOf(err) != media.CodeSourceFailed || retryAfterOf(err) != 20*time.Second {
				t.Fatalf("error = %v after %s", err, retryAfterOf(err))
			}
		}
		if n := p.asked.Load(); n != breakAfter {
			t.Errorf("%d requests, want %d", n, breakAfter)
		}
		wantUnavailable(t, p.get(), 20*time.Second)
	})
	t.Run("a 404 says it in vain", func(t *testing.T) {
		p := newPatient(t, nil)
		p.answers(status(404, "Retry-After: 20"))
		if err := p.get(); codeOf(err) != media.CodeSourceNotFound || retryAfterOf(err) != 0 {
			t.Errorf("error = %v after %s", err, retryAfterOf(err))
		}
		p.wantAsked(t, "afterwards", media.CodeSourceNotFound, true)
	})
	t.Run("a server without breakers asks all the same", func(t *testing.T) {
		p := newPatient(t, func(cfg *Config) { cfg.NoBreaker = true })
		p.answers(status(429, "Retry-After: 20"))
		_ = p.get()
		p.answers(status(500))
		for range 3 * breakAfter {
			p.wantAsked(t, "a failing origin", media.CodeSourceFailed, true)
		}
	})
}

// A redirect is a visit to each of two origins, and the second's trouble is
// not the first's.
func TestRedirectsVisitEachOrigin(t *testing.T) {
	p := newPatient(t, nil)
	p.answers(status(500))
	ill := strings.Replace(p.server.URL, "127.0.0.1", "localhost", 1)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, ill, http.StatusFound)
		}
	}))
	t.Cleanup(front.Close)
	p.web.allow.web = append(p.web.allow.web, webRule{port: portOfServer(t, front)}, webRule{port: portOfServer(t, p.server)})
	for range breakAfter {
		if _, err := p.Open(t.Context(), front.URL+"/away"); codeOf(err) != media.CodeSourceFailed {
			t.Fatal(err)
		}
	}
	_, err := p.Open(t.Context(), front.URL+"/away")
	wantUnavailable(t, err, firstCoolOff)
	object, err := p.Open(t.Context(), front.URL+"/here")
	if err != nil {
		t.Fatal(err)
	}
	object.Body.Close()
	want := []OriginStats{{Host: front.URL}, {Host: ill, Failures: 5, Open: true, Until: noon.Add(firstCoolOff)}}
	if diff := cmp.Diff(want, p.Origins()); diff != "" {
		t.Error(diff)
	}
}

func portOfServer(t *testing.T, server *httptest.Server) string {
	t.Helper()
	_, port, ok := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	if _, err := strconv.Atoi(port); !ok || err != nil {
		t.Fatalf("%s has no port", server.URL)
	}
	return port
}

// TestASlowOriginTakesItsOwnPlacesOnly fills one origin with requests it does
// not answer and uses another, and files, beside it.
func TestASlowOriginTakesItsOwnPlacesOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.jpg"), []byte("file"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPatient(t, func(cfg *Config) {
		cfg.Root, cfg.FetchesPerOrigin, cfg.Fetches = dir, 2, 4
		cfg.TotalTimeout = time.Minute
	})
	slow := make(chan struct{})
	p.answers(func(_ http.ResponseWriter, r *http.Request) {
		if r.Host == strings.TrimPrefix(p.server.URL, "http://") {
			<-slow
		}
	})
	p.web.allow.web = append(p.web.allow.web, webRule{port: portOfServer(t, p.server)})
	ended := make(chan error, 100)
	for range 2 + waitersPerPlace*2 {
		go func() { ended <- p.get() }()
	}
	for at := p.Origins(); len(at) == 0 || at[0].InFlight != 2 || at[0].Waiting != 8 || p.asked.Load() != 2; at = p.Origins() {
		<-time.After(time.Millisecond)
	}
	wantUnavailable(t, p.get(), time.Second)
	for _, ref := range []string{"a.jpg", strings.Replace(p.server.URL, "127.0.0.1", "localhost", 1)} {
		for range 20 {
			object, err := p.Open(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, object.Body); err != nil {
				t.Error(err)
			}
			object.Body.Close()
		}
	}
	if n := p.asked.Load(); n != 22 {
		t.Errorf("the origins were asked %d times, want 2 and 20", n)
	}
	close(slow)
	for range 10 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestAWaitForAPlaceEnds(t *testing.T) {
	p := newPatient(t, func(cfg *Config) { cfg.FetchesPerOrigin, cfg.TotalTimeout = 2, 200*time.Millisecond })
	object := [2]*Object{}
	p.answers(status(200))
	for i := range object {
		var err error
		if object[i], err = p.Open(t.Context(), p.server.URL); err != nil {
			t.Fatal(err)
		}
		defer object[i].Body.Close()
		if _, err := io.Copy(io.Discard, object[i].Body); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.get(); codeOf(err) != media.CodeSourceTimeout {
		t.Errorf("with the total timeout: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Open(ctx, p.server.URL); codeOf(err) != media.CodeCancelled {
		t.Errorf("with its caller: %v", err)
	}
	if got := p.Origins()[0]; got.InFlight != 2 || got.Waiting != 0 || got.Failures != 0 {
		t.Errorf("stats are %+v", got)
	}
}

func TestRetriesWaitAsLongAsTheOriginAsks(t *testing.T) {
	now := time.Now()
	for header, want := range map[string]time.Duration{"1": time.Second, "0": firstBackoff / 2, "": firstBackoff / 2} {
		err := statusFault("host", http.StatusServiceUnavailable, retryAfter(headers("Retry-After: "+header), now))
		if got := waitFor(err, 0, 0); got != want {
			t.Errorf("Retry-After: %s leads to a wait of %s, want %s", header, got, want)
		}
	}
	if got := waitFor(io.ErrUnexpectedEOF, 0, 0); got != firstBackoff/2 {
		t.Errorf("a broken connection leads to a wait of %s", got)
	}
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want verdict
	}{
		"no fault":                            {nil, verdict{kind: verdictGood}},
		"an address that may not be asked":    {media.Wrap(media.CodeSourceForbidden, ErrPrivate, "No."), verdict{}},
		"a redirect that may not be followed": {media.Errorf(media.CodeSourceForbidden, "No."), verdict{kind: verdictGood}},
		"a 429 with a time":                   {statusFault("h", 429, time.Second), verdict{verdictLeaveAlone, time.Second}},
		"a 429 without":                       {statusFault("h", 429, 0), verdict{kind: verdictGood}},
		"a 503 with a time":                   {statusFault("h", 503, time.Hour), verdict{verdictBad, time.Minute}},
		"a 500 with a time":                   {statusFault("h", 500, time.Hour), verdict{kind: verdictBad}},
		"a timeout":                           {media.Wrap(media.CodeSourceTimeout, errIdle, "Slow."), verdict{kind: verdictBad}},
	} {
		if got := judge(c.err); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A caller's deadline is its own, and one that leaves while it tries an ill
// origin has not found it well.
func TestACallersDeadlineProvesNothing(t *testing.T) {
	p := newPatient(t, nil)
	p.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	late := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if _, err := p.Open(ctx, p.server.URL); codeOf(err) != media.CodeSourceTimeout {
			t.Fatal(err)
		}
	}
	for range 2 * breakAfter {
		late()
	}
	if got := p.Origins()[0]; got.Failures != 0 || got.Open {
		t.Errorf("stats are %+v", got)
	}
	p.answers(status(500))
	for range breakAfter {
		_ = p.get()
	}
	p.now = p.now.Add(firstCoolOff)
	p.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	late()
	if got := p.Origins()[0]; got.Failures != breakAfter || !got.Open {
		t.Errorf("stats are %+v", got)
	}
	p.answers(status(200))
	p.wantAsked(t, "the next that tries", "", true)
}
