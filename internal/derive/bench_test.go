package derive_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
	"github.com/spillway-media/spillway/jobs"
)

var engine = sync.OnceValues(func() (*vips.Engine, error) { return vips.New(vips.Config{ConcurrencyPerJob: 1}) })

// counting counts runs of the engine: each is one decode.
type counting struct {
	transform.Engine
	runs atomic.Int64
}

func (c *counting) Run(ctx context.Context, src, overlay []byte, plan *media.Plan, begin transform.Begin) error {
	c.runs.Add(1)
	return c.Engine.Run(ctx, src, overlay, plan, begin)
}

// fetching counts how often an original was opened.
type fetching struct {
	source.Conditional
	opens atomic.Int64
}

func (f *fetching) OpenIf(ctx context.Context, ref string, have source.Meta) (*source.Object, error) {
	object, err := f.Conditional.OpenIf(ctx, ref, have)
	if err == nil && !object.Unchanged {
		f.opens.Add(1)
	}
	return object, err
}

func (f *fetching) Open(ctx context.Context, ref string) (*source.Object, error) {
	return f.OpenIf(ctx, ref, source.Meta{})
}

// bench is the picture jobs with a real engine over a folder.
type bench struct {
	root    string
	engine  *counting
	sources *fetching
	uploads *derive.Uploads
	images  *transform.Service
	cfg     derive.Config
}

func newBench(t *testing.T, pictures map[string][]byte, change ...func(*transform.Config)) *bench {
	t.Helper()
	b := &bench{root: t.TempDir()}
	for name, data := range pictures {
		b.write(t, name, data)
	}
	b.open(t, t.TempDir(), change...)
	return b
}

// open makes the jobs over what lies in root and blobs.
func (b *bench) open(t *testing.T, blobs string, change ...func(*transform.Config)) {
	t.Helper()
	vips, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	b.engine = &counting{Engine: vips}
	log := slog.New(slog.DiscardHandler)
	router, err := source.New(t.Context(), source.Config{Root: b.root}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { router.Close() })
	store, err := blob.Open(t.Context(), blob.Config{Location: blobs}, log)
	if err != nil {
		t.Fatal(err)
	}
	b.uploads = derive.NewUploads(store, t.TempDir())
	b.sources = &fetching{Conditional: b.uploads.Opener(router, 1<<20)}
	b.images = service(t, b.engine, b.sources, change...)
	b.cfg = derive.Config{
		Limits: media.DefaultLimits(), Images: b.images, Blobs: store, Lister: router, TempDir: t.TempDir(),
		Warmer: derive.NewLocalWarmer(b.images), Log: log,
	}
}

func service(t *testing.T, engine transform.Engine, sources source.Opener, change ...func(*transform.Config)) *transform.Service {
	t.Helper()
	cfg := transform.DefaultConfig(2, 2<<30)
	cfg.Version = "test"
	for _, f := range change {
		f(&cfg)
	}
	spools, err := spool.NewPool(spool.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := transform.New(cfg, engine, sources, spools, transform.Stores{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() { gone <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-gone; err != nil {
			t.Errorf("run: %v", err)
		}
		if open := spools.Stats().Open; open != 0 {
			t.Errorf("%d results were not given back", open)
		}
	})
	return s
}

func (b *bench) write(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// host is a worker's side of one job, which outlives workers.
type host struct {
	mu       sync.Mutex
	parts    map[string]json.RawMessage
	batches  []int // rows of each save
	progress []jobs.Progress
	lost     bool
	// onSave is called, unlocked, after each save; it may lose the lease.
	onSave func(rows int)
}

func newHost() *host { return &host{parts: map[string]json.RawMessage{}} }

func (h *host) Report(p jobs.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progress = append(h.progress, p)
}

func (h *host) SaveCheckpoints(_ context.Context, parts []jobs.Checkpoint) error {
	h.mu.Lock()
	if h.lost {
		h.mu.Unlock()
		return jobs.ErrLeaseLost
	}
	for _, part := range parts {
		if _, there := h.parts[part.Key]; !there {
			h.parts[part.Key] = part.Value
		}
	}
	h.batches = append(h.batches, len(parts))
	rows := len(h.parts)
	h.mu.Unlock()
	if h.onSave != nil {
		h.onSave(rows)
	}
	return nil
}

func (h *host) Checkpoints(_ context.Context, after string, limit int) ([]jobs.Checkpoint, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var page []jobs.Checkpoint
	for _, key := range slices.Sorted(maps.Keys(h.parts)) {
		if key > after && len(page) < limit {
			page = append(page, jobs.Checkpoint{Key: key, Value: h.parts[key]})
		}
	}
	return page, nil
}

func (h *host) Fence() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost {
		return jobs.ErrLeaseLost
	}
	return nil
}

// lose takes the lease away, or gives it back to another worker.
func (h *host) lose(lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = lost
}

// enqueue checks a spec as a client does, which has to pass.
func enqueue(t *testing.T, kind, input, params string) jobs.Job {
	t.Helper()
	spec := jobs.Spec{Type: kind, Input: input, Params: json.RawMessage(params)}
	if err := derive.Kinds(media.DefaultLimits())[kind].Check(&spec); err != nil {
		t.Fatalf("check: %v", err)
	}
	return jobs.Job{ID: 7, Spec: spec, State: jobs.Running}
}

// do runs a job and gives its result.
func (b *bench) do(ctx context.Context, job jobs.Job, h *host) (json.RawMessage, error) {
	return derive.Handlers(b.cfg)[job.Type].Do(ctx, jobs.NewTask(job, h))
}

// mustDo decodes the result of a job that has to succeed.
func mustDo[T any](t *testing.T, b *bench, job jobs.Job, h *host) T {
	t.Helper()
	raw, err := b.do(t.Context(), job, h)
	if err != nil {
		t.Fatalf("%s: %v", job.Type, err)
	}
	var told T
	if err := json.Unmarshal(raw, &told); err != nil {
		t.Fatal(err)
	}
	return told
}

// stored reads an output.
func (b *bench) stored(t *testing.T, key string) []byte {
	t.Helper()
	body, _, err := b.cfg.Blobs.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (b *bench) keys(t *testing.T, prefix string) (keys []string) {
	t.Helper()
	all, err := b.cfg.Blobs.List(t.Context(), prefix, "", blob.MaxList)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range all {
		keys = append(keys, info.Key)
	}
	return keys
}

func wantFailure(t *testing.T, err error, code media.Code) *jobs.Failure {
	t.Helper()
	var f *jobs.Failure
	if !errors.As(err, &f) || f.Code != string(code) {
		t.Fatalf("got %v, want a failure with the code %s", err, code)
	}
	return f
}
