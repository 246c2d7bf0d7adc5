package transform

import (
	"bytes"
	"context"
	"io"
	"math"
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// Job is one wish for pictures of one source.
type Job struct {
	// Ref names the source as a client wrote it.
	Ref     string
	Request media.Request
	// Accept is used when Request.Format is media.Auto.
	Accept media.Accept
	// Fresh, when set, is asked with Result.Key as soon as it is known, before
	// any costly step. True ends the job with Result.NotModified and the tag
	// that the client was found to have: the key, or the key, a dot and a
	// variant.
	Fresh func(key string, modified time.Time) (etag string, fresh bool)
	// Thumb also derives a small picture from the same decode, for
	// placeholders: Result.Thumb.
	Thumb bool
	// HeadersOnly stops after planning: type and tag, and no outputs but
	// those that the cache has.
	HeadersOnly bool
}

// Timings are the wall times of the stages so far: the source until all of it
// was there, its header until the plan was made, the wait for a turn, the work
// until the first picture began, and all of the work.
type Timings struct{ Fetch, Inspect, Wait, First, Work time.Duration }

// Result is what Do found out and the outputs that are on their way. The
// caller closes it; closing early cancels work that nobody else wants.
type Result struct {
	// Key stands for source version, request, accepted formats and engine.
	Key string
	// ETag is a strong entity tag without quotes: Key, with a dot and a
	// variant behind it where the picture was decoded together with others,
	// which may change its bytes though not what is seen.
	ETag         string
	LastModified time.Time
	NotModified  bool
	// Negotiated is true when the answer depends on Job.Accept.
	Negotiated bool
	Format     media.Format
	Info       media.Info
	Source     source.Meta
	// SourceBytes is the length of what was decoded. Unlike Source.Size it
	// does not depend on how the bytes came.
	SourceBytes int64
	CacheHit    bool
	// Joined is true when the work was somebody else's already, Merged when
	// it was done together with other sizes, Reduced when load has lowered
	// the encoder's effort, Stale when the origin could not be asked.
	Joined, Merged, Reduced, Stale bool
	Outputs                        []*Output
	// Thumb is RGBA rows of at most 32 pixels a side, when Job.Thumb asked.
	Thumb *Output

	flight  *turn // nil for cached, unmodified and headers-only results
	fetched time.Duration
	queued  time.Duration
}

// Timings may be asked at any time; Work grows until the work has ended.
func (r *Result) Timings() Timings {
	t := Timings{Fetch: r.fetched, Wait: r.queued}
	if r.flight != nil {
		t.Work = r.flight.elapsed()
	}
	return t
}

// Close cancels the work unless it is done and gives back what the outputs
// hold. It may be called more than once.
func (r *Result) Close() {
	if r.flight != nil {
		r.flight.cancel(errLeft)
	}
	for _, o := range r.Outputs {
		o.release()
	}
}

// Output is one picture, perhaps still being encoded.
type Output struct {
	begun chan struct{} // closed when made is set or the work has failed
	made  Made
	err   error // set before begun is closed, when the work failed first

	mu    sync.Mutex // guards ended, and begun against being closed twice
	ended bool

	spool *spool.Spool // nil for cached outputs
	data  []byte       // cached bytes
	once  sync.Once
	hold  int64
}

func newOutput(s *spool.Spool, hold int64) *Output {
	return &Output{begun: make(chan struct{}), spool: s, hold: hold}
}

func cachedOutput(made Made, data []byte) *Output {
	o := &Output{begun: make(chan struct{}), made: made, data: data}
	close(o.begun)
	return o
}

// Ready waits until enough bytes are there to begin an answer, or all of
// them, and tells what the picture is.
func (o *Output) Ready(ctx context.Context) (Made, error) {
	select {
	case <-o.begun:
	case <-ctx.Done():
		return Made{}, media.Wrap(media.CodeCancelled, context.Cause(ctx), "The request ended before its picture was ready.")
	}
	if o.err != nil {
		return Made{}, o.err
	}
	if o.spool == nil {
		return o.made, nil
	}
	if err := o.spool.Wait(ctx, o.hold); err != nil {
		return Made{}, asMediaError(err)
	}
	return o.made, nil
}

// Whole waits until the picture is complete or has failed, for clients that
// could not tell a cut from its end.
func (o *Output) Whole(ctx context.Context) error {
	if _, err := o.Ready(ctx); err != nil || o.spool == nil {
		return err
	}
	if err := o.spool.Wait(ctx, math.MaxInt64); err != nil {
		return asMediaError(err)
	}
	return nil
}

// Reader follows the encoder; it ends with io.EOF only when the picture is
// whole. The caller closes it.
func (o *Output) Reader(ctx context.Context) io.ReadCloser {
	if o.spool == nil {
		return io.NopCloser(bytes.NewReader(o.data))
	}
	return o.spool.Reader(ctx)
}

// Size is how many bytes there are and whether that is all of them.
func (o *Output) Size() (n int64, complete bool) {
	if o.spool == nil {
		return int64(len(o.data)), true
	}
	n, complete, err := o.spool.State()
	return n, complete && err == nil
}

// Stored gives the bytes when all of them are there, for ranges.
func (o *Output) Stored() (io.ReadSeeker, bool) {
	if o.spool == nil {
		return bytes.NewReader(o.data), true
	}
	if _, complete := o.Size(); !complete {
		return nil, false
	}
	data, err := o.spool.Bytes()
	if err != nil {
		return nil, false
	}
	return bytes.NewReader(data), true
}

// start marks the output as begun. It is false when the output has ended
// before: its time was up, and whoever waited has been told.
func (o *Output) start(made Made) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	o.made = made
	close(o.begun)
	return true
}

// finish ends the output, well or not. The first end counts: the flight and
// the end of its time may come together.
func (o *Output) finish(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.ended = true
	select {
	case <-o.begun:
	default:
		o.err = err
		close(o.begun)
	}
	// What Finish returns is what readers get; there is nobody else to tell.
	_ = o.spool.Finish(err)
}

func (o *Output) release() {
	if o.spool != nil {
		o.once.Do(o.spool.Release)
	}
}
