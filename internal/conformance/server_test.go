package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// TestMain gives the process a temporary folder of its own, so that a file
// left behind by anybody, libvips included, is seen.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "spillway-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TMPDIR", folder)
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// server is the whole program, listening on a port of its own.
type server struct {
	url, admin string
	client     *http.Client
	cfg        app.Config
	origin     *origin
}

// origin is a web server that the one under test may fetch from. Under /good/
// it serves the scene, elsewhere what a test has set.
type origin struct {
	url     string
	handler atomic.Pointer[http.HandlerFunc]
}

func startOrigin(t testing.TB) *origin {
	t.Helper()
	o := &origin{}
	good := testpictures.JPEG(testpictures.Scene(90, 60), 90)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler := o.handler.Load()
		switch {
		case strings.HasPrefix(r.URL.Path, "/good/"):
			_, _ = w.Write(good)
		case handler == nil:
			http.NotFound(w, r)
		default:
			(*handler)(w, r)
		}
	}))
	t.Cleanup(s.Close)
	o.url = s.URL
	return o
}

func (o *origin) serve(handler http.HandlerFunc) { o.handler.Store(&handler) }

// serveFolder serves a folder without telling what is in it.
func (o *origin) serveFolder(root string) {
	files := http.FileServer(http.Dir(root))
	o.serve(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		files.ServeHTTP(w, r)
	})
}

type option func(*app.Config)

func withRoot(root string) option { return func(c *app.Config) { c.SourceRoot = root } }

// withFile serves a folder with one file.
func withFile(t testing.TB, name string, data []byte) option {
	root := t.TempDir()
	put(t, root, name, data)
	return withRoot(root)
}

func withFrames(n int) option { return func(c *app.Config) { c.MaxFrames = n } }

func put(t testing.TB, root, name string, data []byte) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// start runs the server until the test ends, and fails the test when it does
// not end well. Loopback origins are allowed.
func start(t testing.TB, options ...option) *server {
	t.Helper()
	cfg := settings.Defaults()
	cfg.Listen, cfg.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	from := startOrigin(t)
	cfg.AllowSource, cfg.AllowPrivateSources = []string{from.url}, true
	cfg.SourceRetries = 0
	for _, o := range options {
		o(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatalf("settings of the test: %v", err)
	}
	addresses := &addressLog{public: make(chan string, 1), admin: make(chan string, 1), out: testWriter{t}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, cfg, app.Serve, slog.New(addresses)) }()
	s := &server{cfg: cfg, origin: from, client: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}, Timeout: 2 * time.Minute}}
	for _, each := range []struct {
		from chan string
		to   *string
	}{{addresses.admin, &s.admin}, {addresses.public, &s.url}} {
		select {
		case address := <-each.from:
			*each.to = "http://" + address
		case err := <-ended:
			t.Fatalf("the server did not start: %v", err)
		case <-time.After(30 * time.Second):
			t.Fatal("the server did not start in 30 s")
		}
	}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ended badly: %v", err)
			}
		case <-time.After(40 * time.Second):
			t.Error("the server did not end in 40 s")
		}
		addresses.close()
	})
	return s
}

// addressLog is a log handler that picks out the addresses and shows what is
// worse than a warning.
type addressLog struct {
	public, admin chan string
	mu            sync.Mutex // guards out
	out           io.Writer
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("server: %s", strings.TrimSpace(string(p)))
	return len(p), nil
}

// close drops what is logged after the test.
func (l *addressLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = io.Discard
}

func (l *addressLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *addressLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *addressLog) WithGroup(string) slog.Handler            { return l }

func (l *addressLog) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "address" && r.Message == "listening" {
			l.public <- a.Value.String()
		} else if a.Key == "address" && r.Message == "listening for operators" {
			l.admin <- a.Value.String()
		}
		fmt.Fprintf(&text, " %s=%v", a.Key, a.Value)
		return true
	})
	if r.Level < slog.LevelError {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.out, "%s %s%s\n", r.Level, r.Message, text.String())
	return err
}

// answer is one response, its body read to the end.
type answer struct {
	url    string
	status int
	header http.Header
	body   []byte
	broken error // the body ended before it should have
	took   time.Duration
}

// get asks for a path, with pairs of header names and values.
func (s *server) get(t testing.TB, target string, headers ...string) answer {
	t.Helper()
	return s.ask(t, http.MethodGet, s.url+target, headers...)
}

func (s *server) ask(t testing.TB, method, address string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	began := time.Now()
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	defer resp.Body.Close()
	a := answer{url: method + " " + r.URL.RequestURI(), status: resp.StatusCode, header: resp.Header}
	a.body, a.broken = io.ReadAll(resp.Body)
	a.took = time.Since(began)
	return a
}

// good is get for an answer that has to be a whole picture or document.
func (s *server) good(t testing.TB, target string, headers ...string) answer {
	t.Helper()
	a := s.get(t, target, headers...)
	if a.status != http.StatusOK || a.broken != nil {
		t.Fatalf("%s: status %d (%v) %s", a.url, a.status, a.broken, a.excerpt())
	}
	return a
}

// code is the stable name of the fault, empty for anything but a problem.
func (a answer) code() string {
	var p struct{ Code string }
	if a.header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}

// excerpt is the beginning of the body for messages.
func (a answer) excerpt() string {
	return strconv.Quote(string(a.body[:min(len(a.body), 300)]))
}

// isProblem holds a refusal to the form that all have: a code and a sentence
// for people, and nothing of a library, a path or a stack.
func (a answer) isProblem(t testing.TB) {
	t.Helper()
	var p struct {
		Type, Title, Detail, Code string
		Status                    int
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Errorf("%s: status %d without a problem document: %s", a.url, a.status, a.excerpt())
		return
	}
	if p.Code == "" || p.Title == "" || p.Detail == "" || p.Status != a.status || !strings.HasSuffix(p.Type, p.Code) {
		t.Errorf("%s: an incomplete problem document: %s", a.url, a.excerpt())
	}
	lower := strings.ToLower(p.Detail)
	for _, leak := range []string{"vips", "libjpeg", "libpng", "glib", "goroutine", os.TempDir(), "no such file", ".go:", " 0x"} {
		if strings.Contains(lower, strings.ToLower(leak)) {
			t.Errorf("%s: the detail tells of the inside (%q): %s", a.url, leak, p.Detail)
		}
	}
}

// isWell asks for a picture that is made anew and may fail for no reason.
func (s *server) isWell(t testing.TB) {
	t.Helper()
	name := strconv.FormatInt(time.Now().UnixNano(), 36)
	got := s.good(t, "/resize?format=png&sizes=45x0&image_url="+s.origin.url+"/good/"+name+".jpg")
	if got.took > 5*time.Second {
		t.Errorf("a small good picture took %s", got.took)
	}
	alike(t, "a good picture", mustDecode(t, got.body).first(), testpictures.Scene(45, 30), 7)
}

// canary counts requests to an address that nothing may ever ask.
type canary struct {
	mu   sync.Mutex // guards hits
	hits []string
}

// listenCanary listens where the corpus's hostile files point.
func listenCanary(t testing.TB) *canary {
	t.Helper()
	c := &canary{}
	listener, err := net.Listen("tcp", "127.0.0.1:18999")
	if err != nil {
		t.Fatalf("the canary needs the address that hostile files name: %v", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			head := make([]byte, 200)
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			n, _ := conn.Read(head)
			conn.Close()
			c.mu.Lock()
			c.hits = append(c.hits, string(head[:n]))
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return c
}

func (c *canary) untouched(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hit := range c.hits {
		t.Errorf("a hostile file made the server ask: %q", hit)
	}
	c.hits = nil
}

// spoolsInUse leaves out those of originals that are kept for later.
func (s *server) spoolsInUse(t testing.TB) float64 {
	t.Helper()
	return s.metric(t, "spillway_spools_open") - s.metric(t, "spillway_originals_kept")
}

// leavesNothing waits a moment for the server to give back what the last
// request used, and fails when it does not.
func (s *server) leavesNothing(t testing.TB) {
	t.Helper()
	eventually(t, 5*time.Second, func() string {
		if left := temporaries(t); len(left) > 0 {
			return fmt.Sprintf("temporary files are left: %v", left)
		}
		if open := s.spoolsInUse(t); open != 0 {
			return fmt.Sprintf("%v spools are still open", open)
		}
		if reserved := s.metric(t, `spillway_decoded_bytes{kind="reserved"}`); reserved != 0 {
			return fmt.Sprintf("%v bytes are still reserved", reserved)
		}
		return ""
	})
}

// temporaries is what lies in the temporary folder besides the tests' own
// folders, and the deleted files that are still open.
func temporaries(t testing.TB) []string {
	t.Helper()
	var left []string
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "Test") && !strings.HasPrefix(e.Name(), "Benchmark") {
			left = append(left, e.Name())
		}
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return left // no such thing on this system
	}
	for _, fd := range fds {
		name := "/proc/self/fd/" + fd.Name()
		target, err := os.Readlink(name)
		if info, statErr := os.Stat(name); statErr != nil || info.IsDir() {
			continue // the root of an earlier server
		}
		if err == nil && strings.HasPrefix(target, os.TempDir()) && strings.HasSuffix(target, "(deleted)") {
			left = append(left, target)
		}
	}
	return left
}

// eventually asks again until fault is empty or time is up.
func eventually(t testing.TB, patience time.Duration, fault func() string) {
	t.Helper()
	last := fault()
	if last == "" {
		return
	}
	over := time.After(patience)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			if last = fault(); last == "" {
				return
			}
		case <-over:
			t.Errorf("after %s: %s", patience, last)
			return
		}
	}
}

// metric reads one number from the operators' listener.
func (s *server) metric(t testing.TB, name string) float64 {
	t.Helper()
	got := s.ask(t, http.MethodGet, s.admin+"/metrics")
	for line := range bytes.Lines(got.body) {
		if rest, found := bytes.CutPrefix(line, []byte(name+" ")); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(string(rest)), 64)
			if err != nil {
				t.Fatalf("metric %s: %v", name, err)
			}
			return v
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
