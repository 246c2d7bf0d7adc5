package transform_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/transform"
)

// fickle is an origin of everything that may go wrong. What it serves says
// what it is, and ends in its own checksum.
type fickle struct {
	version atomic.Int64
	open    atomic.Int64
}

// original is the body of a name in one of its versions.
func original(ref string, version int64) []byte {
	body := fmt.Appendf(nil, "%s/%d/", ref, version)
	for len(body) < 20_000 {
		body = append(body, body...)
	}
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}

// intact tells whether bytes are what they were when they were served.
func intact(src []byte) bool {
	if len(src) < sha256.Size {
		return false
	}
	body, sum := src[:len(src)-sha256.Size], src[len(src)-sha256.Size:]
	return sha256.Sum256(body) == [sha256.Size]byte(sum)
}

// nap lasts up to so long, or until ctx ends.
func nap(ctx context.Context, most time.Duration) {
	select {
	case <-time.After(rand.N(most)):
	case <-ctx.Done():
	}
}

func (o *fickle) Open(ctx context.Context, ref string) (*source.Object, error) {
	nap(ctx, 30*time.Millisecond)
	switch {
	case ctx.Err() != nil:
		return nil, media.Wrap(media.CodeCancelled, context.Cause(ctx), "cancelled")
	case rand.N(20) == 0:
		return nil, media.Errorf(media.CodeSourceFailed, "The origin has a bad day.")
	case rand.N(50) == 0:
		panic("the origin panics")
	}
	version := o.version.Load()
	if rand.N(200) == 0 {
		version = o.version.Add(1)
	}
	data := original(ref, version)
	meta := source.Meta{Kind: source.KindHTTP, Host: "origin", Name: ref, Size: int64(len(data)), MaxAge: -1}
	meta.Life.Fresh = -1
	switch {
	case strings.HasPrefix(ref, "file"):
		meta.Kind, meta.ETag = source.KindFile, fmt.Sprintf(`"%s-%d"`, ref, version)
	case strings.HasPrefix(ref, "ended"):
		meta.Size, meta.OpenEnded = -1, true
	case strings.HasPrefix(ref, "unstored"):
		meta.ETag, meta.Life.NoStore = fmt.Sprintf(`"%s-%d"`, ref, version), true
	case strings.HasPrefix(ref, "fresh"):
		meta.ETag, meta.Life.Fresh = fmt.Sprintf(`"%s-%d"`, ref, version), time.Second
	case strings.HasPrefix(ref, "tagged"):
		meta.ETag = fmt.Sprintf(`"%s-%d"`, ref, version)
	}
	o.open.Add(1)
	body := &slowBody{ctx: ctx, from: o, left: data}
	if rand.N(30) == 0 && meta.Size >= 0 {
		body.left = data[:rand.N(len(data))]
	}
	return &source.Object{Meta: meta, Body: body}, nil
}

type slowBody struct {
	ctx  context.Context //nolint:containedctx // an io.Reader has no parameter for it
	from *fickle
	left []byte
	once sync.Once
}

func (b *slowBody) Read(p []byte) (int, error) {
	nap(b.ctx, 5*time.Millisecond)
	switch {
	case b.ctx.Err() != nil:
		return 0, context.Cause(b.ctx)
	case len(b.left) == 0:
		return 0, io.EOF
	}
	n := copy(p, b.left[:min(len(b.left), 1+rand.N(8000))])
	b.left = b.left[n:]
	return n, nil
}

func (b *slowBody) Close() error {
	b.once.Do(func() { b.from.open.Add(-1) })
	return nil
}

// rough is an engine that does all that one may do, and a few things none may.
type rough struct {
	alive   atomic.Int64
	changed atomic.Int64 // sources and outputs that were not as they should be
}

func (e *rough) Abilities() media.Abilities {
	if rand.N(500) == 0 {
		panic("abilities")
	}
	return (&scriptEngine{}).Abilities()
}

func (e *rough) look(src []byte) {
	if src != nil && !intact(src) {
		e.changed.Add(1)
	}
}

func (e *rough) Probe(ctx context.Context, src []byte, _ media.Limits) (media.Info, error) {
	e.look(src)
	nap(ctx, 2*time.Millisecond)
	e.look(src)
	switch rand.N(60) {
	case 0:
		panic("probe")
	case 1:
		return media.Info{}, media.Errorf(media.CodeUnsupported, "This is no picture.")
	}
	info := photo()
	info.Width, info.Height = 4000, 3000
	return info, nil
}

func (e *rough) Describe(ctx context.Context, src []byte, _ media.Info) (transform.Summary, error) {
	e.alive.Add(1)
	defer e.alive.Add(-1)
	e.look(src)
	nap(ctx, 20*time.Millisecond)
	e.look(src)
	if rand.N(20) == 0 {
		panic("describe")
	}
	return transform.Summary{Width: 1, Height: 1, Thumb: make([]byte, 4)}, nil
}

func (e *rough) Run(ctx context.Context, src, overlay []byte, plan *media.Plan, begin transform.Begin) error {
	e.alive.Add(1)
	defer e.alive.Add(-1)
	e.look(src)
	e.look(overlay)
	defer e.look(src)
	defer e.look(overlay)
	nap(ctx, 30*time.Millisecond)
	switch rand.N(30) {
	case 0:
		panic("run")
	case 1:
		return media.Errorf(media.CodeDecodeFailed, "The picture is broken.")
	case 2:
		return nil // without any output
	case 3:
		<-ctx.Done()
		return context.Cause(ctx)
	case 4:
		nap(context.Background(), 3*time.Second) // it cannot be stopped
	case 5:
		_, err := begin(len(plan.Outputs), transform.Made{})
		return err
	}
	for i, o := range plan.Outputs {
		w, h := o.Layout.Final()
		out, err := begin(i, transform.Made{Width: w, Height: h, Frames: 1})
		if err != nil {
			return err
		}
		if rand.N(200) == 0 {
			_, _ = begin(i, transform.Made{}) // twice
		}
		for _, part := range [][]byte{pictureOf(src, plan, o), src} {
			if _, err := out.Write(part); err != nil {
				return err
			}
			nap(ctx, 3*time.Millisecond)
			if ctx.Err() != nil && rand.N(2) == 0 {
				return context.Cause(ctx)
			}
			if rand.N(100) == 0 {
				panic("half way")
			}
		}
	}
	return nil
}

// pictureOf depends on all that a picture may depend on.
func pictureOf(src []byte, plan *media.Plan, o media.Output) []byte {
	h := fnv.New64()
	_, _ = h.Write(src)
	fmt.Fprint(h, plan.Load)
	for _, other := range plan.Outputs {
		fmt.Fprint(h, other.Layout)
	}
	w, high := o.Layout.Final()
	name, _, _ := strings.Cut(string(src[:min(len(src), 40)]), "/")
	return fmt.Appendf(nil, "%s %dx%d %s %d %d %x|", name, w, high, o.Encode.Format, o.Encode.Quality, o.Encode.Effort, h.Sum64())
}

// storm is many clients of one service.
type storm struct {
	*bench
	t       *testing.T
	service *transform.Service
	purge   func(group string)

	mu     sync.Mutex
	bodies map[string][sha256.Size]byte // by tag
	told   map[media.Code]int
}

var refs = []string{"file1", "file2", "ended", "unstored", "fresh1", "fresh2", "tagged1", "tagged2", "bare1", "bare2"}

func randomJob() transform.Job {
	sizes := []media.Size{{Width: 200 + 200*rand.N(3)}}
	if rand.N(6) == 0 {
		sizes = append(sizes, media.Size{Width: 50})
	}
	j := job(sizes...)
	j.Ref = refs[rand.N(len(refs))]
	j.Request.Format = []media.Format{media.WebP, media.JPEG, media.AVIF, media.Auto}[rand.N(4)]
	if j.Request.Format == media.Auto {
		j.Accept = media.ParseAccept([]string{"image/webp", "image/avif", "image/jpeg", "*/*"}[rand.N(4)])
	}
	j.Thumb, j.HeadersOnly = rand.N(5) == 0, rand.N(20) == 0
	j.Request.Encoder = []media.Encoder{media.EncodeStream, media.EncodeJSON, media.EncodeProgress}[rand.N(3)]
	if rand.N(5) == 0 {
		j.Request.Watermark = &media.Watermark{URL: refs[rand.N(len(refs))], Opacity: 1, Gravity: media.Gravity{Kind: media.GravityCenter}}
	}
	if rand.N(20) == 0 {
		j.Request.Crop = &media.Rect{X: 5000, Y: 5000, Width: 1, Height: 1} // lies outside
	}
	return j
}

func (s *storm) client() {
	for range 15 {
		nap(context.Background(), 400*time.Millisecond)
		ctx, leave := context.WithCancel(context.Background())
		if rand.N(3) == 0 {
			time.AfterFunc(rand.N(200*time.Millisecond), leave)
		}
		switch rand.N(6) {
		case 0:
			_, err := s.service.Info(ctx, refs[rand.N(len(refs))], nil)
			s.note(err)
		case 1:
			s.several(ctx)
		default:
			s.one(ctx)
		}
		leave()
		if rand.N(100) == 0 {
			s.purge([]string{"", cache.Group(refs[rand.N(len(refs))])}[rand.N(2)])
		}
	}
}

func (s *storm) one(ctx context.Context) {
	defer func() { _ = recover() }() // a panic of the engine in the caller's own call
	j := randomJob()
	res, err := s.service.Do(ctx, j)
	s.note(err)
	if err == nil {
		s.use(ctx, j, res)
	}
}

func (s *storm) several(ctx context.Context) {
	first := randomJob()
	jobs := []transform.Job{first}
	for range rand.N(4) {
		j := randomJob()
		j.Ref, j.Request.Watermark = first.Ref, first.Request.Watermark
		jobs = append(jobs, j)
	}
	results, err := s.service.DoAll(ctx, jobs)
	s.note(err)
	for i, res := range results {
		s.use(ctx, jobs[i], res)
	}
}

// use reads a result as clients do, or not, and gives it back.
func (s *storm) use(ctx context.Context, j transform.Job, res *transform.Result) {
	defer res.Close()
	res.Timings()
	for i, o := range res.Outputs {
		switch rand.N(5) {
		case 0:
			continue
		case 1:
			_ = o.Whole(ctx)
			if all, ok := o.Stored(); ok {
				text, err := io.ReadAll(all)
				s.check(j, res, i, text, err)
			}
			continue
		}
		r := o.Reader(ctx)
		if rand.N(6) == 0 {
			_, _ = io.CopyN(io.Discard, r, 100)
		} else {
			text, err := io.ReadAll(r)
			s.check(j, res, i, text, err)
		}
		_ = r.Close()
	}
	if rand.N(10) == 0 {
		res.Close()
	}
}

// check holds a picture to what was asked, and equal tags to equal bytes.
func (s *storm) check(j transform.Job, res *transform.Result, i int, text []byte, err error) {
	if err != nil {
		s.note(err)
		return
	}
	head, rest, found := strings.Cut(string(text), "|")
	var ref, size, format string
	_, _ = fmt.Sscan(head, &ref, &size, &format)
	width := j.Request.Sizes[i].Width
	if !found || ref != j.Ref || size != fmt.Sprintf("%dx%d", width, width*3/4+width*3%4/2) && !strings.HasPrefix(size, fmt.Sprint(width, "x")) || format != string(res.Format) || !intact([]byte(rest)) {
		s.t.Errorf("asked %s, %d wide; got %q as %s, whole %v", j.Ref, width, head, res.Format, found)
	}
	if f := j.Request.Format; f != media.Auto && f != res.Format {
		s.t.Errorf("asked for %s, got %s", f, res.Format)
	}
	tag := fmt.Sprint(res.ETag, " ", i)
	sum := sha256.Sum256(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.bodies[tag]; ok && before != sum {
		s.t.Errorf("two bodies have the tag %s; this is %q", tag, head)
	}
	s.bodies[tag] = sum
}

// note holds errors to what a client may be told.
func (s *storm) note(err error) {
	if err == nil {
		return
	}
	var coded *media.Error
	if !errors.As(err, &coded) && !errors.Is(err, context.Canceled) {
		s.t.Errorf("an error without a code: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if coded != nil {
		s.told[coded.Code]++
	}
}

func TestStorm(t *testing.T) {
	settings := map[string]func(*transform.Config){
		"that is mostly served": func(c *transform.Config) { c.Jobs, c.Queue = 8, 1000 },
		"for a line that is short and soon impatient": func(c *transform.Config) {
			c.Jobs, c.Queue, c.QueueWait = 2, 6, time.Second
			c.OverloadWait, c.OverloadAfter = 50*time.Millisecond, 100*time.Millisecond
			c.ReduceAfter = 20 * time.Millisecond
		},
		"without patience, memory or time": func(c *transform.Config) {
			c.Jobs, c.QueueWait, c.MemoryBudget, c.CacheMemory = 1, 0, 64<<20, 1<<20
			c.Limits.Time, c.Originals.Memory = 500*time.Millisecond, 0
		},
	}
	for name, change := range settings {
		t.Run(name, inBubble(func(t *testing.T) {
			b := newBench(t, change)
			disk, err := cache.OpenDisk(cache.DiskConfig{Dir: t.TempDir(), Limit: 8 << 20}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			engine, origin := &rough{}, &fickle{}
			service, err := transform.New(b.cfg, engine, origin, b.spools, transform.Stores{Results: disk, Sources: disk}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			rest := keepRunning(t, service)
			s := &storm{bench: b, t: t, service: service, bodies: map[string][sha256.Size]byte{}, told: map[media.Code]int{}}
			s.purge = func(group string) {
				_, _ = disk.Purge(group)
				service.Purge(group)
			}
			var clients sync.WaitGroup
			for range 150 {
				clients.Go(s.client)
			}
			clients.Wait()
			<-time.After(time.Minute) // what cannot be stopped ends, too
			mustOweNothing(t, service)
			if engine.alive.Load() != 0 || engine.changed.Load() != 0 || origin.open.Load() != 0 {
				t.Errorf("%d runs go on, %d sources changed under them, %d bodies are open", engine.alive.Load(), engine.changed.Load(), origin.open.Load())
			}
			if err := service.Ready(time.Now()); err != nil {
				t.Errorf("not ready when all is over: %v", err)
			}
			if len(s.bodies) == 0 {
				t.Errorf("only %d pictures came through: %v", len(s.bodies), s.told)
			}
			t.Logf("%d pictures, %v, %+v", len(s.bodies), s.told, service.Stats())
			if err := service.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			rest()
			if err := disk.Close(); err != nil {
				t.Error(err)
			}
		}))
	}
}
