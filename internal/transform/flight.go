package transform

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
)

// flight is the making of one result, shared by all who want it: everybody
// who asks for the same key while it is under way joins it. It belongs to none
// of them. It has a context of its own, which ends when nobody holds it any
// more, so that the first to ask may leave without taking the rest along.
type flight struct {
	key     string
	shared  string // see key
	name    string // among flights
	job     Job
	src     *originals.Original
	overlay *originals.Original // nil without a watermark
	// group is the source in caches, versions which of its states this is.
	group, versions string
	outdated        atomic.Bool // a purge has come meanwhile: nothing of it is kept
	arrive          func()      // gives the reservation in the line back

	ctx    context.Context //nolint:containedctx // a flight outlives every call that could hand it one
	cancel context.CancelCauseFunc

	// These are guarded by the mu of flights. Work that nobody wants is ended;
	// what a flight holds is given back when the work has ended and nobody can
	// touch it any more. Whoever leaves stops wanting at once, but may still be
	// about to write what it holds.
	wanted, holders int
	done            bool

	settled sync.Once
	ready   chan struct{} // closed when plan, outputs and turn are set, or err
	err     error
	plan    *media.Plan
	// marked is the memory that the watermark takes.
	marked int64

	outputs     []*Output
	sourceBytes int64
	// etag and merged are set before the first output begins. variant is what
	// the plan alone adds to the tag.
	etag    string
	variant string
	merged  bool
	turn    *turn

	began    time.Time
	fetched  time.Duration
	examined time.Duration
	boarded  time.Time
}

// flights are those under way, by key.
type flights struct {
	mu     sync.Mutex
	byKey  map[string]*flight   // that may be joined
	all    map[*flight]struct{} // until their work has ended
	joined uint64
}

// join gives the flight of that key and whether it is new; a new one is what
// start makes of it, and the caller's to carry. Flights in the background have
// names of their own: who is in a hurry must not come to sit in one.
func (fs *flights) join(key string, inBackground bool, start func() (*flight, error)) (f *flight, fresh bool, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	name := key
	if inBackground && fs.byKey[key] == nil {
		name = "background " + key
	}
	if f = fs.byKey[name]; f != nil {
		f.wanted++
		f.holders++
		fs.joined++
		return f, false, nil
	}
	if f, err = start(); err != nil {
		return nil, false, err
	}
	f.name, f.wanted, f.holders = name, 1, 1
	fs.all[f] = struct{}{}
	if !f.outdated.Load() {
		fs.byKey[name] = f
	}
	return f, true, nil
}

// unwant says that one of those who joined has left. The last to leave ends
// the work, and from then on nobody can join it.
func (fs *flights) unwant(f *flight) {
	fs.mu.Lock()
	f.wanted--
	end := f.wanted == 0 && !f.done
	if f.wanted == 0 {
		fs.forget(f)
	}
	fs.mu.Unlock()
	if end {
		f.cancel(errLeft)
	}
}

// unhold says that one of those who joined will not touch the outputs again.
func (fs *flights) unhold(f *flight) {
	fs.mu.Lock()
	f.holders--
	last := f.holders == 0 && f.done
	fs.mu.Unlock()
	if last {
		f.release()
	}
}

// ended marks that the work has ended, for good or ill.
func (fs *flights) ended(f *flight) {
	fs.mu.Lock()
	f.done = true
	unheld := f.holders == 0
	fs.forget(f)
	delete(fs.all, f)
	fs.mu.Unlock()
	f.cancel(nil)
	if unheld {
		f.release()
	}
}

// purge counts a purge, after which what is under way is outdated.
func (fs *flights) purge(group string, purges *atomic.Uint64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	purges.Add(1)
	for f := range fs.all {
		if group == "" || f.group == group {
			f.outdated.Store(true)
			fs.forget(f)
		}
	}
}

func (fs *flights) forget(f *flight) {
	if fs.byKey[f.name] == f {
		delete(fs.byKey, f.name)
	}
}

// has tells whether somebody makes this already.
func (fs *flights) has(key string) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.byKey[key] != nil
}

func (fs *flights) stats() (under int, joined uint64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.all), fs.joined
}

// release gives back the outputs; readers of them hold on to what they read.
func (f *flight) release() {
	for _, o := range f.outputs {
		o.spool.Release()
	}
}

// newFlight is a wish that is nobody's work yet. It keeps the originals open.
func (s *Service) newFlight(ctx context.Context, k key, job Job, src, overlay *originals.Original) *flight {
	f := &flight{
		key: k.tag, shared: k.shared, etag: k.tag, job: job, src: src.Retain(), group: cache.Group(job.Ref), versions: k.versions,
		ready: make(chan struct{}), began: time.Now(), arrive: func() {},
	}
	if overlay != nil {
		f.overlay = overlay.Retain()
	}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	f.outdated.Store(s.purges.Load() != job.asOf)
	return f
}

// keptAs is the key of the finished result in caches.
func (f *flight) keptAs() string {
	if f.shared != "" && f.plan.Outputs[0].Encode.Format != media.JPEG {
		return f.shared
	}
	return f.key
}

// carry brings new flights of one source to their turns. It returns when the
// last of them waits in line or has failed; the batches go on by themselves.
func (s *Service) carry(flights ...*flight) {
	var ready []*batch
	for _, f := range flights {
		err := s.guard(func() error {
			if err := s.prepare(f); err != nil {
				return err
			}
			if b, fresh := s.batches.add(s, f); fresh {
				ready = append(ready, b)
			}
			return nil
		})
		f.arrive()
		if err != nil {
			s.fail(f, err)
		}
		f.settle(nil)
	}
	for _, b := range ready {
		go s.travel(b)
	}
}

// prepare does all that needs no turn: the bytes, the header, the plan.
func (s *Service) prepare(f *flight) error {
	if err := f.src.Load(f.ctx); err != nil {
		return asMediaError(err)
	}
	if f.overlay != nil {
		if err := f.overlay.Load(f.ctx); err != nil {
			return aboutWatermark(asMediaError(err))
		}
	}
	f.fetched = time.Since(f.began)
	plan, err := s.arrange(f)
	if err != nil {
		return err
	}
	f.sourceBytes = int64(len(f.src.Bytes()))
	f.plan, f.outputs = plan, s.newOutputs(len(plan.Outputs))
	f.examined, f.boarded = time.Since(f.began)-f.fetched, time.Now()
	return nil
}

// arrange is the plan of a flight, within the memory there is. A JPEG that is
// progressive only because it travels better so is made line by line rather
// than refused; its tag says so, as another server may have more memory.
func (s *Service) arrange(f *flight) (*media.Plan, error) {
	plan, err := s.planAll(f.ctx, f.job, f.src)
	if err != nil {
		return nil, err
	}
	if f.marked, err = s.overlayMemory(f.ctx, f.overlay, f.job); err != nil {
		return nil, err
	}
	err = s.tooHeavy(plan.Memory + f.marked)
	if err == nil || !f.job.Request.ProgressiveJPEG || !plan.Outputs[0].Encode.Progressive {
		return plan, err
	}
	plain := f.job
	plain.Request.ProgressiveJPEG = false
	if plan, err = s.planAll(f.ctx, plain, f.src); err != nil {
		return nil, err
	}
	f.variant = "line"
	f.etag = f.key + "." + f.variant
	return plan, s.tooHeavy(plan.Memory + f.marked)
}

// planAll is the plan with what the job's thumbnail adds.
func (s *Service) planAll(ctx context.Context, job Job, src *originals.Original) (*media.Plan, error) {
	plan, err := s.plan(ctx, job, src)
	if err != nil || !job.Thumb {
		return plan, err
	}
	if err := plan.AddThumb(); err != nil {
		return nil, asMediaError(err)
	}
	return plan, nil
}

// fail ends a flight that has not begun, or never will.
func (s *Service) fail(f *flight, err error) {
	s.counts.record(err)
	f.settle(err)
	for _, o := range f.outputs {
		o.finish(err)
	}
	s.ended(f)
}

// ended gives back what only the work needed.
func (s *Service) ended(f *flight) {
	f.src.Close()
	if f.overlay != nil {
		f.overlay.Close()
	}
	s.flights.ended(f)
}

// land gives the holder of a flight its result once the first picture has
// begun. When it fails the flight is left.
func (s *Service) land(ctx context.Context, f *flight, res *Result) error {
	err := f.arrival(ctx)
	if err == nil {
		res.take(f)
		// Several pictures travel in one body in the order asked, so the
		// first one decides when an answer can begin.
		_, err = f.outputs[0].Ready(ctx)
	}
	if err == nil {
		res.ETag, res.Merged, res.first = dressed(f.etag, res.encoder), f.merged, time.Since(f.turn.began)
		unwant := sync.OnceFunc(func() { s.flights.unwant(f) })
		unwatch := context.AfterFunc(ctx, unwant)
		res.leave = func() {
			unwatch()
			unwant()
			s.flights.unhold(f)
		}
		return nil
	}
	s.flights.unwant(f)
	s.flights.unhold(f)
	res.leave = nil
	return err
}

// settle tells those who wait that the flight is in line, or why it never will
// be. The first word counts: a batch that was joined may have been refused
// before the carrier comes to say that all is well.
func (f *flight) settle(err error) {
	f.settled.Do(func() {
		f.err = err
		close(f.ready)
	})
}

func (f *flight) arrival(ctx context.Context) error {
	select {
	case <-f.ready:
		return f.err
	case <-ctx.Done():
		return ended(ctx, "The request ended before its source was read.")
	}
}
