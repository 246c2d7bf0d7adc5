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
	// Background is for work that nobody waits for at a screen: others go
	// first, and it waits for minutes where they would be refused.
	Background bool

	asOf uint64 // how many purges there had been when its source was opened
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

	flight  *flight // nil for cached, unmodified and headers-only results
	leave   func()  // gives back what the outputs lie in; nil when nothing
	encoder media.Encoder
	first   time.Duration
	closing sync.Once
}

// take fills in what is known of a flight whose plan is made.
func (r *Result) take(f *flight) {
	r.flight = f
	r.Info, r.Format, r.SourceBytes = f.plan.Info, f.plan.Outputs[0].Encode.Format, f.sourceBytes
	r.Outputs, r.Thumb = apart(f.outputs, f.job.Thumb)
}

// keep fills in a result that was made before.
func (r *Result) keep(e *stored) {
	r.CacheHit, r.ETag, r.Merged = true, dressed(e.ETag, r.encoder), e.Merged
	r.Format, r.Info, r.SourceBytes = e.Format, e.Info, e.Source
	outputs := make([]*Output, len(e.Made))
	for i, made := range e.Made {
		outputs[i] = storedOutput(made, e.pictures[i])
	}
	r.Outputs, r.Thumb = apart(outputs, e.Thumb)
	r.leave = e.release
}

// apart takes the small picture, which is the last, from the others.
func apart(all []*Output, thumb bool) (outputs []*Output, small *Output) {
	if !thumb {
		return all, nil
	}
	last := len(all) - 1
	return all[:last], all[last]
}

// Timings may be asked at any time; Work grows until the work has ended.
func (r *Result) Timings() Timings {
	f := r.flight
	if f == nil {
		return Timings{}
	}
	t := Timings{Fetch: f.fetched, Inspect: f.examined, Work: f.turn.elapsed()}
	t.Wait = f.turn.began.Sub(f.boarded)
	t.First = r.first
	return t
}

// Close gives back what the outputs hold, and ends the work unless somebody
// else wants it. It may be called more than once.
func (r *Result) Close() {
	r.closing.Do(func() {
		if r.leave != nil {
			r.leave()
		}
	})
}

// Output is one picture, perhaps still being encoded.
type Output struct {
	begun chan struct{} // closed when made is set or the work has failed
	made  Made
	err   error // set before begun is closed, when the work failed first

	mu    sync.Mutex // guards ended, and begun against being closed twice
	ended bool

	spool *spool.Spool // nil for stored outputs
	data  []byte       // stored bytes
	hold  int64
}

func newOutput(s *spool.Spool, hold int64) *Output {
	return &Output{begun: make(chan struct{}), spool: s, hold: hold}
}

func storedOutput(made Made, data []byte) *Output {
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
		return io.NopCloser(copying(o.data))
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
		return copying(o.data), true
	}
	if _, complete := o.Size(); !complete {
		return nil, false
	}
	data, err := o.spool.Bytes()
	if err != nil {
		return nil, false
	}
	return copying(data), true
}

// copying hands out copies only, never the bytes themselves: an HTTP/2 stream
// that is reset may look at what it was given when the mapping is gone.
func copying(data []byte) io.ReadSeeker {
	return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
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
