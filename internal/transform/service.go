package transform

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// Service makes pictures. Its methods are safe for concurrent use.
type Service struct {
	cfg    Config
	engine Engine
	spools *spool.Pool
	log    *slog.Logger

	originals *originals.Store
	infos     *cache.Memory[media.Info] // of headers looked at lately
	probes    chan struct{}             // a place for each header being looked at
	line      *line                     // who waits and who works
	crews     crews
	shelf     *shelf
	flights   flights
	batches   batches
	counts    counts
	reduced   atomic.Uint64
	brake     *brake
	purges    atomic.Uint64 // how many there were; see Purge

	closing atomic.Bool // no new work
	expired atomic.Bool // nor any more time for what waits and works
}

// Stores are where finished bytes may lie. Both may be nil.
type Stores struct{ Results, Sources *cache.Disk }

// New builds a service; it starts nothing. Work waits for Run.
func New(cfg Config, engine Engine, sources source.Opener, spools *spool.Pool, stores Stores, log *slog.Logger) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure transform: %w", err)
	}
	if cfg.QueueWait == 0 {
		cfg.Queue = 0
	}
	s := &Service{
		cfg: cfg, engine: engine, spools: spools, log: log,
		infos:   cache.NewMemory[media.Info](infoMemory, infoMemory/64),
		probes:  make(chan struct{}, 2*cfg.Jobs),
		line:    newLine(cfg.Jobs, cfg.Queue, patience{cfg.QueueWait, cfg.OverloadWait, cfg.OverloadAfter}),
		shelf:   newShelf(cfg.CacheMemory, stores.Results, log),
		flights: flights{byKey: make(map[string]*flight), all: make(map[*flight]struct{})},
		batches: batches{open: make(map[string]*batch)},
		brake:   newBrake(cfg.Jobs, time.Now()),
	}
	var err error
	if s.crews, err = newCrews(cfg, s.perform); err != nil {
		return nil, fmt.Errorf("make workers: %w", err)
	}
	cfg.Originals.SourceBytes = cfg.Limits.SourceBytes
	if s.originals, err = originals.New(cfg.Originals, sources, spools, stores.Sources, log); err != nil {
		return nil, fmt.Errorf("make originals: %w", err)
	}
	return s, nil
}

// infoMemory is room for the headers of about ten thousand stills.
const infoMemory = 4 << 20

// tries is how often a job begins anew when its source changes under it.
const tries = 3

// Do carries one job from its reference to outputs that have begun. The
// stages are apart on purpose: nothing is held while the origin is slow but
// its own buffer, and nothing while the client is slow but the result.
func (s *Service) Do(ctx context.Context, job Job) (res *Result, err error) {
	for range tries {
		if res, err = s.do(ctx, job); !changed(err) {
			s.slow(ctx, err)
			return res, err
		}
	}
	return nil, errChanging
}

func (s *Service) do(ctx context.Context, job Job) (*Result, error) {
	job = s.settle(job)
	job.asOf = s.purges.Load()
	src, overlay, err := s.openBoth(ctx, job)
	if err != nil {
		return nil, err
	}
	defer closeBoth(src, overlay)
	res, k, err := s.known(ctx, job, src, overlay)
	if err != nil || res.NotModified || res.CacheHit {
		return res, err
	}
	if job.HeadersOnly {
		return res, s.headers(ctx, job, src, res)
	}
	if eased, ok := s.eased(job, k); ok {
		if res, k, err = s.known(ctx, eased, src, overlay); err != nil {
			return nil, err
		}
		// What was made before with less effort is no better now.
		if job, res.Reduced = eased, true; res.NotModified || res.CacheHit {
			return res, nil
		}
		s.reduced.Add(1)
	}
	f, fresh, err := s.flights.join(k.tag, job.Background, func() (*flight, error) { return s.depart(ctx, k, job, src, overlay) })
	if err != nil {
		s.counts.record(err)
		return nil, err
	}
	if fresh {
		go s.carry(f)
	}
	res.Joined = !fresh
	return res, s.land(ctx, f, res)
}

// depart is a new flight, if the line is not too long for one already.
func (s *Service) depart(ctx context.Context, k key, job Job, src, overlay *originals.Original) (*flight, error) {
	if s.closing.Load() {
		return nil, errStopping
	}
	if job.Background {
		return s.newFlight(ctx, k, job, src, overlay), nil
	}
	// Local files are read at once, so what is being read will be in the line
	// in a moment; an origin takes its time, and perhaps for ever.
	local := src.Meta().Kind == source.KindFile
	arrive, err := s.line.approach(guess(job), local, time.Now())
	if err != nil {
		return nil, err
	}
	f := s.newFlight(ctx, k, job, src, overlay)
	f.arrive = arrive
	return f, nil
}

// known is what can be told of a job without doing it: its key, and the answer
// if the client or a cache has it.
func (s *Service) known(ctx context.Context, job Job, src, overlay *originals.Original) (*Result, key, error) {
	meta := freshness(src, overlay)
	res := &Result{
		Source: meta, LastModified: meta.LastModified, Negotiated: job.Request.Format == media.Auto,
		Stale: src.Stale() || overlay != nil && overlay.Stale(),
	}
	k, err := s.keyOf(ctx, job, src, overlay)
	if err != nil {
		return nil, k, err
	}
	res.Key = dressed(k.tag, job.Request.Encoder)
	res.ETag, res.encoder = res.Key, job.Request.Encoder
	if job.Fresh != nil {
		if etag, fresh := job.Fresh(res.Key, res.LastModified); fresh {
			res.ETag, res.NotModified = etag, true
			return res, k, nil
		}
	}
	if e := s.kept(k, cache.Group(job.Ref)); e != nil {
		res.keep(e)
	}
	return res, k, nil
}

// kept is the result that a cache has, or nil.
func (s *Service) kept(k key, group string) *stored {
	if !s.shelf.on() {
		return nil
	}
	if e := s.shelf.get(k.tag, group); e != nil || k.shared == "" {
		return e
	}
	e := s.shelf.get(k.shared, group)
	if e == nil {
		return nil
	}
	if e.Format == media.JPEG { // one that was made for others
		e.release()
		return nil
	}
	// The memory's entries are everybody's.
	own := *e
	own.ETag = retagged(e.ETag, k.tag)
	return &own
}

// eased is the job with less effort, when the line is long and nobody makes or
// has made the full one.
func (s *Service) eased(job Job, k key) (Job, bool) {
	if s.cfg.ReduceAfter == 0 || job.Background || s.line.drain() < s.cfg.ReduceAfter || s.flights.has(k.tag) {
		return job, false
	}
	request, ok := job.Request.Eased()
	job.Request = request
	return job, ok
}

// headers finds out what an answer would be, for those that want no body.
func (s *Service) headers(ctx context.Context, job Job, src *originals.Original, res *Result) error {
	if err := src.Load(ctx); err != nil {
		return asMediaError(err)
	}
	plan, err := s.plan(ctx, job, src)
	if err != nil {
		return err
	}
	res.Info, res.Format, res.SourceBytes = plan.Info, plan.Outputs[0].Encode.Format, int64(len(src.Bytes()))
	return nil
}

// DoAll carries several jobs of one source and watermark, those of the first,
// so that one fetch and one decode serve all of them where their steps agree. It gives all results, to be
// closed by the caller, or an error and none.
func (s *Service) DoAll(ctx context.Context, jobs []Job) (results []*Result, err error) {
	for range tries {
		if results, err = s.doAll(ctx, jobs); !changed(err) {
			s.slow(ctx, err)
			return results, err
		}
	}
	return nil, errChanging
}

func (s *Service) doAll(ctx context.Context, jobs []Job) (results []*Result, err error) {
	var fresh []*flight
	waiting := make(map[*Result]*flight)
	defer func() {
		if err == nil {
			return
		}
		for _, res := range results {
			res.Close()
		}
		results = nil
	}()
	if len(jobs) == 0 {
		return nil, nil
	}
	asOf := s.purges.Load()
	src, overlay, err := s.openBoth(ctx, jobs[0])
	if err != nil {
		return nil, err
	}
	defer closeBoth(src, overlay)
	for _, job := range jobs {
		job = s.settle(job)
		job.Ref, job.Request.Watermark, job.asOf = jobs[0].Ref, jobs[0].Request.Watermark, asOf
		res, f, isNew, fault := s.board(ctx, job, src, overlay)
		if fault != nil {
			err = fault
			break
		}
		results = append(results, res)
		if f != nil {
			waiting[res] = f
			res.leave = func() {
				s.flights.unwant(f)
				s.flights.unhold(f)
			}
		}
		if isNew {
			fresh = append(fresh, f)
		}
	}
	if len(fresh) > 0 {
		go s.carry(fresh...)
	}
	for _, res := range results {
		if f := waiting[res]; f != nil && err == nil {
			err = s.land(ctx, f, res)
		}
	}
	return results, err
}

// board is a job up to where it would have to wait: a result that is there
// already, or a flight that the caller holds.
func (s *Service) board(ctx context.Context, job Job, src, overlay *originals.Original) (*Result, *flight, bool, error) {
	res, k, err := s.known(ctx, job, src, overlay)
	if err != nil || res.NotModified || res.CacheHit {
		return res, nil, false, err
	}
	f, fresh, err := s.flights.join(k.tag, job.Background, func() (*flight, error) { return s.depart(ctx, k, job, src, overlay) })
	if err != nil {
		s.counts.record(err)
		return nil, nil, false, err
	}
	res.Joined = !fresh
	return res, f, fresh, nil
}

func (s *Service) openBoth(ctx context.Context, job Job) (src, overlay *originals.Original, err error) {
	if src, err = s.originals.Open(ctx, job.Ref); err != nil {
		return nil, nil, asMediaError(err)
	}
	if w := job.Request.Watermark; w != nil {
		if overlay, err = s.originals.Open(ctx, w.URL); err != nil {
			src.Close()
			return nil, nil, aboutWatermark(asMediaError(err))
		}
	}
	return src, overlay, nil
}

func closeBoth(src, overlay *originals.Original) {
	src.Close()
	if overlay != nil {
		overlay.Close()
	}
}

// plan looks at the header and decides everything before a turn is asked
// for, so that what will be refused never waits in the queue.
func (s *Service) plan(ctx context.Context, job Job, src *originals.Original) (plan *media.Plan, err error) {
	// Headers are read by the engine, too, and here on its caller's goroutine.
	err = s.guard(func() (err error) {
		plan, err = s.decide(ctx, job, src)
		return err
	})
	return plan, err
}

func (s *Service) decide(ctx context.Context, job Job, src *originals.Original) (*media.Plan, error) {
	info, err := s.look(ctx, job, src)
	if err != nil {
		return nil, err
	}
	can := s.engine.Abilities()
	format := job.Request.Format
	if format == media.Auto {
		format = media.Negotiate(job.Accept, info, job.Request, can)
	}
	plan, err := media.NewPlan(info, job.Request, format, can, s.cfg.Limits)
	if err != nil {
		return nil, asMediaError(err)
	}
	return plan, nil
}

// look is what the header says, which is remembered: other sizes of the same
// picture are asked for next.
func (s *Service) look(ctx context.Context, job Job, src *originals.Original) (media.Info, error) {
	version, err := src.Version(ctx)
	if err != nil {
		return media.Info{}, asMediaError(err)
	}
	id := job.Ref + " " + version
	if info, ok := s.infos.Get(id); ok {
		return info, nil
	}
	info, err := s.probe(ctx, src.Bytes())
	src.Idle() // looking at a header may go through all of a file
	if err == nil {
		s.infos.Put(id, cache.Group(job.Ref), info, int64(len(id)+8*len(info.Delays)+infoBytes))
	}
	if s.purges.Load() != job.asOf {
		s.infos.Delete(id)
	}
	return info, err
}

// infoBytes is about what a header takes in memory besides its delays.
const infoBytes = 300

func (s *Service) probe(ctx context.Context, src []byte) (media.Info, error) {
	select {
	case s.probes <- struct{}{}:
		defer func() { <-s.probes }()
	case <-ctx.Done():
		return media.Info{}, ended(ctx, "The request ended before its source was looked at.")
	}
	info, err := s.engine.Probe(ctx, src, s.cfg.Limits)
	if err != nil {
		return media.Info{}, asMediaError(err)
	}
	return info, nil
}

func (s *Service) newOutputs(n int) []*Output {
	outputs := make([]*Output, n)
	for i := range outputs {
		outputs[i] = newOutput(s.spools.New(s.cfg.Limits.OutputBytes), s.cfg.Hold)
	}
	return outputs
}

// remember puts a finished result into the caches when it may enter. Bytes
// whose end cannot be told from a cut are served but never kept.
func (s *Service) remember(f *flight) {
	if !s.shelf.on() || f.outdated.Load() || unkeepable(f.src) || f.overlay != nil && unkeepable(f.overlay) {
		return
	}
	st := stub{
		ETag: retagged(f.etag, f.keptAs()), Format: f.plan.Outputs[0].Encode.Format, Info: f.plan.Info,
		Source: f.sourceBytes, Thumb: f.job.Thumb, Merged: f.merged,
	}
	for _, o := range f.outputs {
		st.Made = append(st.Made, o.made)
	}
	if err := s.shelf.put(f, f.keptAs(), st); err != nil {
		s.log.Warn("result not kept", slog.Any("error", err))
	}
}

func unkeepable(src *originals.Original) bool {
	meta := src.Meta()
	return meta.OpenEnded || meta.Life.NoStore
}
