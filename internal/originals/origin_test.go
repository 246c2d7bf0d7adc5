package originals_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// page is what the origin has at one reference.
type page struct {
	kind      string
	etag      string // empty: no validator
	data      string
	life      source.Life
	maxAge    time.Duration
	openEnded bool
	fault     error         // instead of an answer
	cut       int           // that many bytes, and then a fault; 0 for all
	headers   time.Duration // how long an answer takes
	bytes     time.Duration // how long the body takes
}

// says is the life of an origin that says nothing.
func says() source.Life { return source.Life{Fresh: -1, WhileRevalidate: -1, IfError: -1} }

// asked counts what reached the origin.
type asked struct {
	Plain, Conditional, Unchanged int
	Bodies                        int // read to their end
}

// origin is a working source in memory, whose pages can be changed and broken.
type origin struct {
	mu    sync.Mutex
	pages map[string]page
	asked asked
	open  int // bodies and requests that have not ended
}

func newOrigin(pages map[string]page) *origin { return &origin{pages: pages} }

func (o *origin) set(ref string, p page) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pages[ref] = p
}

func (o *origin) change(ref string, how func(*page)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.pages[ref]
	how(&p)
	o.pages[ref] = p
}

// count gives what was asked since the last count.
func (o *origin) count() asked {
	o.mu.Lock()
	defer o.mu.Unlock()
	got := o.asked
	o.asked = asked{}
	return got
}

func (o *origin) left() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

func (o *origin) Open(ctx context.Context, ref string) (*source.Object, error) {
	return o.answer(ctx, ref, func(a *asked, _ page) bool { a.Plain++; return false })
}

func (o *origin) OpenIf(ctx context.Context, ref string, have source.Meta) (*source.Object, error) {
	return o.answer(ctx, ref, func(a *asked, p page) bool {
		a.Conditional++
		if have.ETag == p.etag && p.fault == nil {
			a.Unchanged++
			return true
		}
		return false
	})
}

func (o *origin) answer(ctx context.Context, ref string, unchanged func(*asked, page) bool) (*source.Object, error) {
	o.mu.Lock()
	o.open++
	p := o.pages[ref]
	o.mu.Unlock()
	stays := false
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if !stays {
			o.open--
		}
	}()
	err := pause(ctx, p.headers)
	o.mu.Lock()
	p, ok := o.pages[ref]
	same := unchanged(&o.asked, p)
	o.mu.Unlock()
	switch {
	case err != nil:
		return nil, media.Wrap(media.CodeCancelled, err, "The request was cancelled while its source was fetched.")
	case p.fault != nil:
		return nil, p.fault
	case !ok:
		return nil, media.Errorf(media.CodeSourceNotFound, "There is no such source.")
	}
	object := &source.Object{Meta: p.meta(), Unchanged: same}
	if !same {
		stays = true
		object.Body = &pageBody{ctx: ctx, origin: o, page: p, rest: bytes.NewReader([]byte(p.data))}
	}
	return object, nil
}

func (p page) meta() source.Meta {
	kind := p.kind
	if kind == "" {
		kind = source.KindHTTP
	}
	size := int64(len(p.data))
	switch {
	case p.openEnded:
		size = -1
	case p.kind == "short": // it has declared more than it sends
		size++
	}
	return source.Meta{Kind: kind, Size: size, ETag: p.etag, MaxAge: p.maxAge, Life: p.life, OpenEnded: p.openEnded}
}

type pageBody struct {
	ctx    context.Context //nolint:containedctx // io.Reader has no parameter for it; a body lives as long as its fetch
	origin *origin
	page   page
	rest   *bytes.Reader
	begun  bool
	once   sync.Once
}

func (b *pageBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		if err := pause(b.ctx, b.page.bytes); err != nil {
			return 0, err
		}
	}
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if cut := b.page.cut; cut > 0 && len(b.page.data)-b.rest.Len() >= cut {
		return 0, media.Wrap(media.CodeSourceFailed, io.ErrUnexpectedEOF, "The source ended early.")
	}
	if cut := b.page.cut; cut > 0 && len(p) > cut {
		p = p[:cut]
	}
	n, err := b.rest.Read(p)
	if errors.Is(err, io.EOF) {
		b.origin.mu.Lock()
		b.origin.asked.Bodies++
		b.origin.mu.Unlock()
	}
	return n, err
}

func (b *pageBody) Close() error {
	b.once.Do(func() {
		b.origin.mu.Lock()
		defer b.origin.mu.Unlock()
		b.origin.open--
	})
	return nil
}

// pause waits d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// unavailable is what source.Unavailable is true for.
func unavailable() error {
	return media.Errorf(media.CodeSourceUnavailable, "The origin is not asked for now.")
}

func notThere() error { return media.Errorf(media.CodeSourceNotFound, "There is no such source.") }

// bench is a store before an origin, inside a synctest bubble.
type bench struct {
	t      *testing.T
	origin *origin
	pool   *spool.Pool
	store  *originals.Store
	end    func() // ends Run and finds what is left
}

type setup struct {
	cfg    originals.Config
	disk   *cache.Disk
	noRun  bool
	opener source.Opener // in front of the origin; nil for itself
}

func newBench(t *testing.T, o *origin, s setup) *bench {
	t.Helper()
	pool, err := spool.NewPool(spool.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var opener source.Opener = o
	if s.opener != nil {
		opener = s.opener
	}
	store, err := originals.New(s.cfg, opener, pool, s.disk, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, origin: o, pool: pool, store: store}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	if s.noRun {
		ended <- nil
	} else {
		go func() { ended <- store.Run(ctx) }()
		synctest.Wait()
	}
	b.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		b.checkEmpty(s.noRun)
	})
	t.Cleanup(b.end)
	return b
}

// checkEmpty finds what was not given back.
func (b *bench) checkEmpty(mayKeep bool) {
	b.t.Helper()
	synctest.Wait()
	if n := b.origin.left(); n != 0 {
		b.t.Errorf("%d requests or bodies are still open", n)
	}
	st := b.store.Stats()
	if st.Fetches != 0 {
		b.t.Errorf("%d fetches are left", st.Fetches)
	}
	if st.KeptBodies != 0 && !mayKeep {
		b.t.Errorf("%d bodies are kept", st.KeptBodies)
	}
	if n := b.pool.Stats().Open; n != st.KeptBodies {
		b.t.Errorf("%d spools are open, with %d bodies kept", n, st.KeptBodies)
	}
}

func (b *bench) open(ref string) *originals.Original {
	b.t.Helper()
	o, err := b.store.Open(b.t.Context(), ref)
	if err != nil {
		b.t.Fatalf("open %s: %v", ref, err)
	}
	return o
}

// get opens, loads and closes.
func (b *bench) get(ref string) string {
	b.t.Helper()
	o := b.open(ref)
	defer o.Close()
	return b.load(o)
}

func (b *bench) load(o *originals.Original) string {
	b.t.Helper()
	if err := o.Load(b.t.Context()); err != nil {
		b.t.Fatalf("load: %v", err)
	}
	return string(o.Bytes())
}

func (b *bench) wantAsked(want asked) {
	b.t.Helper()
	synctest.Wait()
	if got := b.origin.count(); got != want {
		b.t.Errorf("the origin was asked %+v, want %+v", got, want)
	}
}

func (b *bench) wantBytes(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("got the bytes %q, want %q", got, want)
	}
}

func (b *bench) wait(d time.Duration) {
	b.t.Helper()
	if err := pause(b.t.Context(), d); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
}

func codeOf(err error) media.Code {
	var coded *media.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}
