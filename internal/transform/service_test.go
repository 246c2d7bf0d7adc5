package transform_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
	"github.com/spillway-media/spillway/internal/transform"
)

// memorySource serves bytes by name, with a validator unless told otherwise.
type memorySource struct {
	mu    sync.Mutex
	files map[string][]byte
	bare  bool // no validators
	ends  bool // bodies end with the connection, at an unknown length
	cut   bool // bodies end in an error
	opens int
	reads int
	open  int
}

func (m *memorySource) Open(_ context.Context, ref string) (*source.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[ref]
	if !ok {
		return nil, media.Errorf(media.CodeSourceNotFound, "There is no source named %q.", ref)
	}
	m.opens++
	m.open++
	meta := source.Meta{Kind: "file", Host: "file", Name: ref, Size: int64(len(data)), MaxAge: -1}
	if m.ends {
		meta.Size, meta.OpenEnded = -1, true
	}
	if !m.bare {
		meta.ETag = `"` + ref + `"`
	}
	return &source.Object{Meta: meta, Body: &memoryBody{m: m, r: bytes.NewReader(data), cut: m.cut}}, nil
}

type memoryBody struct {
	m    *memorySource
	r    *bytes.Reader
	cut  bool
	once sync.Once
}

func (b *memoryBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		b.m.mu.Lock()
		b.m.reads++
		b.m.mu.Unlock()
		if b.cut {
			return n, media.Errorf(media.CodeSourceFailed, "The source was cut off.")
		}
	}
	return n, err
}

func (b *memoryBody) Close() error {
	b.once.Do(func() {
		b.m.mu.Lock()
		b.m.open--
		b.m.mu.Unlock()
	})
	return nil
}

// scriptEngine plays what a test tells it to.
type scriptEngine struct {
	info  media.Info
	run   func(ctx context.Context, plan *media.Plan, begin transform.Begin) error
	runs  atomic.Int32
	alive atomic.Int32
}

func (e *scriptEngine) Abilities() media.Abilities {
	all := map[media.Format]bool{media.JPEG: true, media.PNG: true, media.WebP: true, media.GIF: true, media.AVIF: true}
	return media.Abilities{Read: all, Write: all}
}

func (e *scriptEngine) Probe(context.Context, []byte, media.Limits) (media.Info, error) {
	return e.info, nil
}

func (e *scriptEngine) Run(ctx context.Context, _, _ []byte, plan *media.Plan, begin transform.Begin) error {
	e.runs.Add(1)
	e.alive.Add(1)
	defer e.alive.Add(-1)
	return e.run(ctx, plan, begin)
}

func (e *scriptEngine) Describe(context.Context, []byte, media.Info) (transform.Summary, error) {
	return transform.Summary{Width: 1, Height: 1, Thumb: []byte{1, 2, 3, 255}, Dominant: media.Colour{R: 1, G: 2, B: 3, A: 255}}, nil
}

// writeAll is an engine that writes each output's index and size.
func writeAll(_ context.Context, plan *media.Plan, begin transform.Begin) error {
	for i, o := range plan.Outputs {
		w, h := o.Layout.Final()
		out, err := begin(i, transform.Made{Width: w, Height: h, Frames: 1, Quality: o.Encode.Quality})
		if err != nil {
			return err
		}
		if _, err := out.Write(bytes.Repeat([]byte{byte('a' + i)}, 100)); err != nil {
			return err
		}
	}
	return nil
}

func photo() media.Info {
	return media.Info{Format: media.JPEG, Width: 400, Height: 300, Orientation: 1, Frames: 1, Bands: 3, BitDepth: 8, Colourspace: "srgb"}
}

type bench struct {
	*transform.Service
	engine *scriptEngine
	source *memorySource
	spools *spool.Pool
	cfg    transform.Config
	rests  []func() // end the services, and wait for that
}

// with is another service of the same settings, which runs until the test ends.
func (b *bench) with(t *testing.T, engine transform.Engine, sources source.Opener) *transform.Service {
	t.Helper()
	service, err := transform.New(b.cfg, engine, sources, b.spools, transform.Stores{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.rests = append(b.rests, keepRunning(t, service))
	return service
}

// keepRunning runs the service until the test has ended, or what it returns
// is called.
func keepRunning(t *testing.T, service *transform.Service) func() {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	rest := sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(rest)
	return rest
}

func newBench(t *testing.T, change func(*transform.Config)) *bench {
	t.Helper()
	cfg := transform.DefaultConfig(2, 1<<30)
	cfg.Version = "test"
	if change != nil {
		change(&cfg)
	}
	spools, err := spool.NewPool(spool.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		engine: &scriptEngine{info: photo(), run: writeAll},
		source: &memorySource{files: map[string][]byte{"a.jpg": []byte("source bytes"), "empty.jpg": nil}},
		spools: spools,
	}
	b.cfg = cfg
	b.Service = b.with(t, b.engine, b.source)
	t.Cleanup(func() { b.mustBeEmpty(t) })
	return b
}

// mustBeEmpty stops the service and fails when anything is still held.
func (b *bench) mustBeEmpty(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.Shutdown(ctx); err != nil {
		t.Errorf("shut down: %v", err)
	}
	for _, rest := range b.rests {
		rest()
	}
	// Those who carried a flight to a refusal may be giving its source back
	// still: they are no workers, so nobody waits for them.
	for n := 0; n < 500 && b.spools.Stats().Open != 0; n++ {
		<-time.After(10 * time.Millisecond)
	}
	if s := b.spools.Stats(); s.Open != 0 {
		t.Errorf("%d spools are still open", s.Open)
	}
	if b.source.open != 0 {
		t.Errorf("%d source bodies are still open", b.source.open)
	}
	if s := b.Stats(); s.Running != 0 || s.Waiting != 0 || s.ReservedBytes != 0 || s.Originals.Fetches != 0 {
		t.Errorf("still held: %+v", s)
	}
}

func job(sizes ...media.Size) transform.Job {
	req := media.NewRequest()
	req.Format = media.WebP
	if len(sizes) > 0 {
		req.Sizes = sizes
	}
	return transform.Job{Ref: "a.jpg", Request: req}
}

func mustRead(t *testing.T, o *transform.Output) string {
	t.Helper()
	r := o.Reader(t.Context())
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read output: %v", err)
	}
	return string(data)
}

// drain reads an output to its end and gives what ended it.
func drain(t *testing.T, o *transform.Output) error {
	t.Helper()
	r := o.Reader(t.Context())
	defer r.Close()
	_, err := io.Copy(io.Discard, r)
	return err
}

func wantCode(t *testing.T, err error, code media.Code) {
	t.Helper()
	var coded *media.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
}

func TestDo(t *testing.T) {
	t.Run("several sizes come from one fetch and one run", func(t *testing.T) {
		b := newBench(t, nil)
		res, err := b.Do(t.Context(), job(media.Size{Width: 100}, media.Size{Width: 50}))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Close()
		first, second := mustRead(t, res.Outputs[0]), mustRead(t, res.Outputs[1])
		if len(first) != 100 || first[0] != 'a' || second[0] != 'b' {
			t.Fatalf("outputs %q and %q are not in the order asked", first[:1], second[:1])
		}
		if b.engine.runs.Load() != 1 || b.source.opens != 1 {
			t.Fatalf("%d runs of %d fetches; want one each", b.engine.runs.Load(), b.source.opens)
		}
	})
	t.Run("the second ask is answered from memory without reading the source", inBubble(func(t *testing.T) {
		b := newBench(t, nil)
		for i, hit := range []bool{false, true} {
			res, err := b.Do(t.Context(), job())
			if err != nil {
				t.Fatal(err)
			}
			mustRead(t, res.Outputs[0])
			for _, o := range res.Outputs {
				if _, complete := o.Size(); complete != true {
					t.Fatal("a fully read output is not complete")
				}
			}
			if res.CacheHit != hit {
				t.Fatalf("ask %d: cache hit %v, want %v", i+1, res.CacheHit, hit)
			}
			res.Close()
			waitIdle(t, b)
		}
		if b.source.reads != 1 {
			t.Fatalf("the source was read %d times", b.source.reads)
		}
	}))
	t.Run("a source whose end may be a cut is served but not kept", inBubble(func(t *testing.T) {
		b := newBench(t, nil)
		b.source.ends = true
		res, err := b.Do(t.Context(), job())
		if err != nil {
			t.Fatal(err)
		}
		defer res.Close()
		mustRead(t, res.Outputs[0])
		waitIdle(t, b)
		if s := b.Stats(); s.Cache.Entries != 0 {
			t.Fatalf("cache has %d entries", s.Cache.Entries)
		}
	}))
	t.Run("a known tag ends the job before the body is read", func(t *testing.T) {
		b := newBench(t, nil)
		j := job()
		var tag string
		j.Fresh = func(key string, _ time.Time) (string, bool) { tag = key; return key, true }
		res, err := b.Do(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if !res.NotModified || tag == "" || b.source.reads != 0 || b.engine.runs.Load() != 0 {
			t.Fatalf("not modified %v, tag %q, %d reads, %d runs", res.NotModified, tag, b.source.reads, b.engine.runs.Load())
		}
	})
	t.Run("a source without validators is told apart by its bytes", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.bare = true
		one, err := b.Do(t.Context(), job())
		if err != nil {
			t.Fatal(err)
		}
		one.Close()
		b.source.mu.Lock()
		b.source.files["a.jpg"] = []byte("other bytes")
		b.source.mu.Unlock()
		two, err := b.Do(t.Context(), job())
		if err != nil {
			t.Fatal(err)
		}
		two.Close()
		if one.ETag == two.ETag {
			t.Fatal("two different sources share a tag")
		}
	})
	t.Run("headers only plans and runs nothing", func(t *testing.T) {
		b := newBench(t, nil)
		j := job()
		j.HeadersOnly = true
		res, err := b.Do(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if res.Format != media.WebP || len(res.Outputs) != 0 || b.engine.runs.Load() != 0 {
			t.Fatalf("format %s, %d outputs, %d runs", res.Format, len(res.Outputs), b.engine.runs.Load())
		}
	})
}

// inBubble runs a test where every goroutine is seen and the clock is a
// model, so that waiting for a state takes neither sleep nor luck.
func inBubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// waitIdle returns when no flight is running any more. It needs a bubble.
func waitIdle(t *testing.T, b *bench) {
	t.Helper()
	synctest.Wait()
	if n := b.Stats().Running; n != 0 {
		t.Fatalf("%d flights go on by themselves", n)
	}
}

func TestDoRefuses(t *testing.T) {
	t.Run("a source that is missing", func(t *testing.T) {
		b := newBench(t, nil)
		j := job()
		j.Ref = "nothing.jpg"
		_, err := b.Do(t.Context(), j)
		wantCode(t, err, media.CodeSourceNotFound)
	})
	t.Run("a watermark by its own parameter", func(t *testing.T) {
		b := newBench(t, nil)
		j := job()
		j.Request.Watermark = &media.Watermark{URL: "nothing.png", Opacity: 1}
		_, err := b.Do(t.Context(), j)
		wantCode(t, err, media.CodeSourceNotFound)
		var coded *media.Error
		if errors.As(err, &coded); coded.Param != "watermark" {
			t.Errorf("the fault is of %q", coded.Param)
		}
	})
	t.Run("a source that is empty", func(t *testing.T) {
		b := newBench(t, nil)
		j := job()
		j.Ref = "empty.jpg"
		_, err := b.Do(t.Context(), j)
		wantCode(t, err, media.CodeUnsupported)
	})
	t.Run("a source over the limit, before its body is read", func(t *testing.T) {
		b := newBench(t, func(c *transform.Config) { c.Limits.SourceBytes = 5 })
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeSourceTooLarge)
		if b.source.reads != 0 {
			t.Fatal("the body was read all the same")
		}
	})
	t.Run("a source that was cut off, and caches nothing of it", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.cut = true
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeSourceFailed)
		if s := b.Stats(); s.Cache.Entries != 0 {
			t.Fatalf("cache has %d entries", s.Cache.Entries)
		}
	})
	t.Run("new work while it stops", func(t *testing.T) {
		b := newBench(t, nil)
		if err := b.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeOverloaded)
		if b.Ready(time.Now()) == nil {
			t.Fatal("a stopping service calls itself ready")
		}
	})
}

func TestEngineFaults(t *testing.T) {
	t.Run("a failure before the first byte is an error of Do", func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.run = func(context.Context, *media.Plan, transform.Begin) error {
			return media.Errorf(media.CodeDecodeFailed, "The picture is broken.")
		}
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeDecodeFailed)
	})
	t.Run("a failure within the held bytes is an error of Do as well", func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.run = func(_ context.Context, _ *media.Plan, begin transform.Begin) error {
			w, _ := begin(0, transform.Made{})
			_, _ = w.Write(make([]byte, 1000))
			return media.Errorf(media.CodeDecodeFailed, "The picture is broken further down.")
		}
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeDecodeFailed)
	})
	t.Run("a failure after bytes have left reaches the reader and is not cached", inBubble(func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.run = func(_ context.Context, _ *media.Plan, begin transform.Begin) error {
			w, _ := begin(0, transform.Made{})
			_, _ = w.Write(make([]byte, 100<<10))
			return media.Errorf(media.CodeDecodeFailed, "The picture is broken further down.")
		}
		res, err := b.Do(t.Context(), job())
		if err == nil {
			defer res.Close()
			err = drain(t, res.Outputs[0])
		}
		wantCode(t, err, media.CodeDecodeFailed)
		waitIdle(t, b)
		if s := b.Stats(); s.Cache.Entries != 0 || s.Failed[media.CodeDecodeFailed] != 1 {
			t.Fatalf("stats %+v", s)
		}
	}))
	t.Run("a panic costs one request", func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.run = func(context.Context, *media.Plan, transform.Begin) error { panic("decoder") }
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeEncodeFailed)
		b.engine.run = writeAll
		res, err := b.Do(t.Context(), job())
		if err != nil {
			t.Fatal(err)
		}
		res.Close()
	})
	t.Run("an engine that forgets an output fails", func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.run = func(context.Context, *media.Plan, transform.Begin) error { return nil }
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeEncodeFailed)
	})
	t.Run("the time limit cancels the run and names itself", func(t *testing.T) {
		b := newBench(t, func(c *transform.Config) { c.Limits.Time = 20 * time.Millisecond })
		b.engine.run = func(ctx context.Context, _ *media.Plan, _ transform.Begin) error {
			<-ctx.Done()
			return errors.New("stopped")
		}
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeTimeout)
	})
	t.Run("an engine that cannot be stopped keeps its permit but not the client", inBubble(func(t *testing.T) {
		b := newBench(t, func(c *transform.Config) { c.Limits.Time = 20 * time.Millisecond })
		goOn := make(chan struct{})
		late := make(chan error, 1)
		b.engine.run = func(ctx context.Context, plan *media.Plan, begin transform.Begin) error {
			<-goOn
			err := writeAll(ctx, plan, begin)
			late <- err
			return err
		}
		_, err := b.Do(t.Context(), job())
		wantCode(t, err, media.CodeTimeout)
		if s := b.Stats(); s.Running != 1 {
			t.Errorf("%d permits are held while the engine works, want 1", s.Running)
		}
		close(goOn)
		if err := <-late; err == nil {
			t.Error("the engine could begin an output whose client had been told")
		}
		waitIdle(t, b)
		if s := b.Stats(); s.Failed[media.CodeTimeout] != 1 || s.Cache.Entries != 0 {
			t.Errorf("stats %+v", s)
		}
	}))
}

func TestCancellation(t *testing.T) {
	blocked := func(started chan<- struct{}) func(context.Context, *media.Plan, transform.Begin) error {
		return func(ctx context.Context, _ *media.Plan, begin transform.Begin) error {
			w, _ := begin(0, transform.Made{})
			_, _ = w.Write(make([]byte, 100<<10))
			close(started)
			<-ctx.Done()
			return errors.New("stopped")
		}
	}
	t.Run("a client that leaves cancels its work", func(t *testing.T) {
		b := newBench(t, nil)
		started := make(chan struct{})
		b.engine.run = blocked(started)
		ctx, cancel := context.WithCancel(t.Context())
		res, err := b.Do(ctx, job())
		if err != nil {
			t.Fatal(err)
		}
		defer res.Close()
		<-started
		cancel()
		wantCode(t, drain(t, res.Outputs[0]), media.CodeCancelled)
	})
	t.Run("closing a result early cancels its work", inBubble(func(t *testing.T) {
		b := newBench(t, nil)
		started := make(chan struct{})
		b.engine.run = blocked(started)
		res, err := b.Do(t.Context(), job())
		if err != nil {
			t.Fatal(err)
		}
		<-started
		res.Close()
		res.Close() // twice is allowed
		waitIdle(t, b)
	}))
	t.Run("shutdown waits until its deadline, then cancels", func(t *testing.T) {
		b := newBench(t, nil)
		started := make(chan struct{})
		b.engine.run = blocked(started)
		res, err := b.Do(t.Context(), job())
		if err != nil {
			t.Fatal(err)
		}
		<-started
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := b.Shutdown(ctx); err == nil {
			t.Fatal("shutdown said nothing of the work it had to cancel")
		}
		if b.engine.alive.Load() != 0 {
			t.Fatal("the engine still runs after shutdown")
		}
		res.Close()
	})
	t.Run("the permit stays with the work until the engine returns", inBubble(func(t *testing.T) {
		b := newBench(t, func(c *transform.Config) { c.Jobs = 1 })
		started, let := make(chan struct{}), make(chan struct{})
		b.engine.run = func(_ context.Context, _ *media.Plan, _ transform.Begin) error {
			close(started)
			<-let // an encoder that cannot be interrupted
			return errors.New("stopped")
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { _, err := b.Do(ctx, job()); gone <- err }()
		<-started
		cancel()
		wantCode(t, <-gone, media.CodeCancelled)
		if s := b.Stats(); s.Running != 1 {
			t.Fatalf("%d run; the permit was given back while the engine works", s.Running)
		}
		close(let)
		waitIdle(t, b)
	}))
}

func TestReadiness(t *testing.T) { synctest.Test(t, testReadiness) }

func testReadiness(t *testing.T) {
	b := newBench(t, func(c *transform.Config) { c.Jobs, c.Stall = 1, time.Second })
	started, let := make(chan struct{}), make(chan struct{})
	b.engine.run = func(ctx context.Context, p *media.Plan, begin transform.Begin) error {
		started <- struct{}{}
		<-let
		return writeAll(ctx, p, begin)
	}
	finish := make(chan struct{})
	ask := func(width int) {
		defer func() { finish <- struct{}{} }()
		res, err := b.Do(context.Background(), job(media.Size{Width: width}))
		if err == nil {
			res.Close()
		}
	}
	go ask(1)
	<-started
	go ask(2)
	synctest.Wait()
	if n := b.Stats().Waiting; n != 1 {
		t.Fatalf("%d wait, want 1", n)
	}
	if err := b.Ready(time.Now()); err != nil {
		t.Errorf("a short wait is no stall: %v", err)
	}
	if err := b.Ready(time.Now().Add(time.Minute)); err == nil {
		t.Error("a minute without movement while one waits is a stall")
	}
	close(let)
	<-started
	<-finish
	<-finish
}

func TestInfo(t *testing.T) {
	b := newBench(t, nil)
	d, err := b.Info(t.Context(), "a.jpg", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Info.Width != 400 || d.Bytes != 12 || d.Summary.Dominant.G != 2 || d.ETag == "" {
		t.Fatalf("details %+v", d)
	}
	again, err := b.Info(t.Context(), "a.jpg", func(tag string, _ time.Time) (string, bool) { return tag, tag == d.ETag })
	if err != nil || !again.NotModified {
		t.Fatalf("known tag: %+v, %v", again, err)
	}
}
