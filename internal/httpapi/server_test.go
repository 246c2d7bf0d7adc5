package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
	"github.com/spillway-media/spillway/internal/transform"
)

// now is when tests of expiry take place.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// memorySource serves named bytes and remembers what it was asked for.
type memorySource struct {
	mu     sync.Mutex
	meta   source.Meta
	opened []string
	err    error
	reads  int
}

func (m *memorySource) Open(_ context.Context, ref string) (*source.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened = append(m.opened, ref)
	if m.err != nil {
		return nil, m.err
	}
	if strings.Contains(ref, "missing") {
		return nil, media.Errorf(media.CodeSourceNotFound, "There is no source named %q.", ref)
	}
	meta := m.meta
	meta.Name = ref
	return &source.Object{Meta: meta, Body: io.NopCloser(&countingReader{m, strings.NewReader("source bytes of " + ref)})}, nil
}

type countingReader struct {
	m *memorySource
	r io.Reader
}

func (c *countingReader) Read(p []byte) (int, error) {
	c.m.mu.Lock()
	c.m.reads++
	c.m.mu.Unlock()
	return c.r.Read(p)
}

func (m *memorySource) lastRef() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.opened) == 0 {
		return ""
	}
	return m.opened[len(m.opened)-1]
}

// textEngine writes pictures that say in words what they are.
type textEngine struct {
	info media.Info
	runs atomic.Int32
	// run replaces the engine's own way, when set.
	run func(ctx context.Context, plan *media.Plan, begin transform.Begin) error
}

func (e *textEngine) Abilities() media.Abilities {
	all := map[media.Format]bool{
		media.JPEG: true, media.PNG: true, media.WebP: true, media.AVIF: true, media.GIF: true, media.TIFF: true,
	}
	return media.Abilities{Read: all, Write: all}
}

func (e *textEngine) Probe(context.Context, []byte, media.Limits) (media.Info, error) {
	return e.info, nil
}

func (e *textEngine) Run(ctx context.Context, _, _ []byte, plan *media.Plan, begin transform.Begin) error {
	e.runs.Add(1)
	if e.run != nil {
		return e.run(ctx, plan, begin)
	}
	return writePictures(ctx, plan, begin)
}

// writePictures makes the largest first, as a real engine does.
func writePictures(_ context.Context, plan *media.Plan, begin transform.Begin) error {
	for i := len(plan.Outputs) - 1; i >= 0; i-- {
		out, made, err := beginOutput(plan, i, begin)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, pictureText(plan.Outputs[i].Encode.Format, made)); err != nil {
			return err
		}
	}
	return nil
}

func beginOutput(plan *media.Plan, i int, begin transform.Begin) (io.Writer, transform.Made, error) {
	width, height := plan.Outputs[i].Layout.Final()
	made := transform.Made{Width: width, Height: height, Frames: 1, Quality: plan.Outputs[i].Encode.Quality}
	out, err := begin(i, made)
	return out, made, err
}

func pictureText(format media.Format, made transform.Made) string {
	if format == media.Raw {
		return strings.Repeat("\x12\xab\xff\xff", made.Width*made.Height)
	}
	return fmt.Sprintf("%s picture of %dx%d", format, made.Width, made.Height)
}

func (e *textEngine) Describe(context.Context, []byte, media.Info) (transform.Summary, error) {
	return transform.Summary{
		Dominant: media.Colour{R: 0x12, G: 0xab, B: 0xff, A: 255},
		Thumb:    bytes.Repeat([]byte{0x12, 0xab, 0xff, 255}, 32*24), Width: 32, Height: 24,
	}, nil
}

// bench is a whole server over the fakes.
type bench struct {
	*httpapi.Server
	engine *textEngine
	source *memorySource
	images *transform.Service
	spools *spool.Pool
	logged *lockedBuffer
	public http.Handler
}

// settings are what a test may change before the server is built.
type settings struct {
	http      httpapi.Config
	transform transform.Config
}

func newBench(t testing.TB, change func(*settings)) *bench {
	t.Helper()
	set := settings{http: httpapi.DefaultConfig(), transform: transform.DefaultConfig(2, 1<<30)}
	set.transform.Version = "test"
	set.transform.Originals.Memory = 0 // so that what is left open at the end is a leak
	b := &bench{
		engine: &textEngine{info: media.Info{
			Format: media.JPEG, Width: 300, Height: 400, Orientation: 6, Frames: 1,
			Bands: 3, BitDepth: 8, Colourspace: "srgb", Profile: true,
		}},
		source: &memorySource{meta: source.Meta{
			Kind: "file", Size: -1, MaxAge: -1, ETag: `"v1"`,
			LastModified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		}},
		logged: &lockedBuffer{},
	}
	var err error
	if b.spools, err = spool.NewPool(spool.Config{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	set.http.Spools = b.spools
	if change != nil {
		change(&set)
	}
	log := slog.New(slog.NewJSONHandler(b.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if b.images, err = transform.New(set.transform, b.engine, b.source, b.spools, transform.Stores{}, log); err != nil {
		t.Fatal(err)
	}
	set.http.Pools = b.images.Pools
	if b.Server, err = httpapi.New(set.http, b.images, log); err != nil {
		t.Fatal(err)
	}
	b.public = b.Public()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.images.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(func() { b.mustBeEmpty(t) })
	return b
}

// mustBeEmpty stops the service and fails when an answer still holds bytes.
func (b *bench) mustBeEmpty(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.images.Shutdown(ctx); err != nil {
		t.Errorf("shut down: %v", err)
	}
	if s := b.spools.Stats(); s.Open != 0 {
		t.Errorf("%d spools are still open", s.Open)
	}
}

// get asks the public handler; headers are "Name: value".
func (b *bench) get(target string, headers ...string) *http.Response {
	return ask(b.public, http.MethodGet, target, headers...)
}

func ask(h http.Handler, method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read body: %v", err)
	}
	return string(data)
}

// problem is an error answer as a client reads it.
type problem struct {
	Type, Title, Detail, Code, Parameter string
	Status                               int
	RequestID                            string `json:"request_id"`
}

// wantProblem checks everything that all problem documents share.
func wantProblem(t testing.TB, res *http.Response, status int, code string) problem {
	t.Helper()
	text := body(t, res)
	var p problem
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("status %d with body %q is no problem document: %v", res.StatusCode, text, err)
	}
	if res.StatusCode != status || p.Status != status || p.Code != code {
		t.Fatalf("got status %d, document %+v; want %d %s", res.StatusCode, p, status, code)
	}
	if got := res.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type is %q", got)
	}
	if p.Title == "" || p.Detail == "" || !strings.HasSuffix(p.Type, "#"+code) {
		t.Errorf("type, title or detail is missing: %+v", p)
	}
	if p.RequestID == "" || p.RequestID != res.Header.Get("X-Request-Id") {
		t.Errorf("request id %q is not that of the header", p.RequestID)
	}
	return p
}

// lockedBuffer takes log lines from any goroutine.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// lines are the access lines so far.
func (b *lockedBuffer) lines(t testing.TB) []map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []map[string]any
	for _, text := range strings.Split(strings.TrimSpace(b.buf.String()), "\n") {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("log line %q: %v", text, err)
		}
		if line["msg"] == "request" {
			lines = append(lines, line)
		}
	}
	return lines
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
