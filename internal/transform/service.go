package transform

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// Service makes pictures. Its methods are safe for concurrent use.
type Service struct {
	cfg     Config
	engine  Engine
	sources source.Opener
	spools  *spool.Pool
	log     *slog.Logger

	fetches chan struct{} // a place for each origin being read
	probes  chan struct{} // a place for each header being looked at
	line    *line         // who waits and who works
	pool    *elastic.DynamicScaler[*turn]
	gate    *elastic.Gate // CPU slots and decoded bytes of the pool
	cache   *cache
	counts  counts

	closing atomic.Bool // no new work
	expired atomic.Bool // nor any more time for what waits and works
}

// New builds a service; it starts nothing. Work waits for Run.
func New(cfg Config, engine Engine, sources source.Opener, spools *spool.Pool, log *slog.Logger) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure transform: %w", err)
	}
	if cfg.QueueWait == 0 {
		cfg.Queue = 0
	}
	s := &Service{
		cfg: cfg, engine: engine, sources: sources, spools: spools, log: log,
		fetches: make(chan struct{}, cfg.Fetches),
		probes:  make(chan struct{}, 2*cfg.Jobs),
		line:    newLine(cfg.Jobs, cfg.Queue),
		cache:   newCache(cfg.CacheMemory),
	}
	var err error
	if s.pool, s.gate, err = newPool(cfg, s.perform); err != nil {
		return nil, fmt.Errorf("make workers: %w", err)
	}
	return s, nil
}

// Do carries one job from its reference to outputs that have begun. The
// stages are apart on purpose: nothing is held while the origin is slow but
// its own buffer, and nothing while the client is slow but the result.
func (s *Service) Do(ctx context.Context, job Job) (*Result, error) {
	began := time.Now()
	src, overlay, err := s.openBoth(ctx, job)
	if err != nil {
		return nil, err
	}
	defer func() { src.close(); overlay.close() }()

	meta := freshness(src, overlay)
	res := &Result{Source: meta, LastModified: meta.LastModified, Negotiated: job.Request.Format == media.Auto}
	if res.Key, err = s.tag(job, src, overlay); err != nil {
		return nil, err
	}
	res.ETag = res.Key
	if job.Fresh != nil {
		if etag, fresh := job.Fresh(res.Key, res.LastModified); fresh {
			res.ETag, res.NotModified = etag, true
			return res, nil
		}
	}
	if s.fromCache(res) {
		return res, nil
	}
	if err := errors.Join(src.load(s), overlay.loadIfAny(s)); err != nil {
		return nil, asMediaError(err)
	}
	res.fetched, res.SourceBytes = time.Since(began), int64(len(src.bytes))

	plan, err := s.plan(ctx, job, src.bytes)
	if err != nil {
		return nil, err
	}
	res.Info, res.Format = plan.Info, plan.Outputs[0].Encode.Format
	if job.HeadersOnly {
		return res, nil
	}

	marked, err := s.overlayMemory(ctx, overlay, job.Request.Watermark)
	if err != nil {
		return nil, err
	}
	waited := time.Now()
	outputs := s.newOutputs(len(plan.Outputs))
	res.flight, err = s.depart(ctx, plan.Memory+marked, load{
		key: res.ETag, source: src, overlay: overlay, plan: plan, outputs: outputs,
	})
	if err != nil {
		discard(outputs)
		return nil, err
	}
	res.queued, res.Outputs = time.Since(waited), outputs
	src, overlay = nil, nil // the flight owns them now
	// Several pictures travel in one body in the order asked, so the first
	// one decides when an answer can begin.
	if _, err := res.Outputs[0].Ready(ctx); err != nil {
		res.Close()
		return nil, err
	}
	return res, nil
}

// DoAll carries several jobs of one source, so that one fetch and one decode
// serve all of them where their steps agree. It gives all results, to be
// closed by the caller, or an error and none.
func (s *Service) DoAll(ctx context.Context, jobs []Job) ([]*Result, error) {
	results := make([]*Result, 0, len(jobs))
	for _, job := range jobs {
		res, err := s.Do(ctx, job)
		if err != nil {
			for _, done := range results {
				done.Close()
			}
			return nil, err
		}
		results = append(results, res)
	}
	return results, nil
}

func (s *Service) openBoth(ctx context.Context, job Job) (src, overlay *original, err error) {
	if src, err = s.open(ctx, job.Ref); err != nil {
		return nil, nil, err
	}
	if w := job.Request.Watermark; w != nil {
		if overlay, err = s.open(ctx, w.URL); err != nil {
			src.close()
			return nil, nil, aboutWatermark(err)
		}
	}
	return src, overlay, nil
}

// tag is a strong validator of the answer: equal tags mean equal bytes,
// because engine, request, accepted formats and source version are all in it.
func (s *Service) tag(job Job, src, overlay *original) (string, error) {
	h := sha256.New()
	version, err := src.version(s)
	if err != nil {
		return "", err
	}
	put(h, s.cfg.Version, job.Ref, version, job.Request.Canonical(), string(job.Request.Encoder))
	if job.Request.Format == media.Auto {
		put(h, job.Accept.Key())
	}
	if overlay != nil {
		if version, err = overlay.version(s); err != nil {
			return "", err
		}
		put(h, version)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16]), nil
}

// put writes length-prefixed fields, so that no two lists of fields run
// together into the same input.
func put(w io.Writer, fields ...string) {
	for _, f := range fields {
		fmt.Fprintf(w, "%d:%s", len(f), f)
	}
}

func (s *Service) fromCache(res *Result) bool {
	if s.cfg.CacheMemory == 0 {
		return false
	}
	e := s.cache.get(res.ETag)
	if e == nil {
		return false
	}
	res.CacheHit, res.Format, res.Info, res.SourceBytes = true, e.format, e.info, e.source
	for _, o := range e.outputs {
		res.Outputs = append(res.Outputs, cachedOutput(o.made, o.data))
	}
	return true
}

// plan looks at the header and decides everything before a turn is asked
// for, so that what will be refused never waits in the queue.
func (s *Service) plan(ctx context.Context, job Job, src []byte) (*media.Plan, error) {
	info, err := s.probe(ctx, src)
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

func (s *Service) probe(ctx context.Context, src []byte) (media.Info, error) {
	select {
	case s.probes <- struct{}{}:
		defer func() { <-s.probes }()
	case <-ctx.Done():
		return media.Info{}, ended(ctx, "The request ended before its source was looked at.")
	}
	info, err := s.engine.Probe(ctx, src, s.cfg.Limits)
	if err != nil {
		err = asMediaError(err)
		s.counts.record(err)
		return media.Info{}, err
	}
	return info, nil
}

func (s *Service) newOutputs(n int) []*Output {
	outputs := make([]*Output, n)
	for i := range outputs {
		sp := s.spools.New(s.cfg.Limits.OutputBytes)
		sp.Retain() // one reference for the flight, one for the result
		outputs[i] = newOutput(sp, s.cfg.Hold)
	}
	return outputs
}

// discard gives back both references of outputs that will never be written.
func discard(outputs []*Output) {
	for _, o := range outputs {
		o.spool.Release()
		o.release()
	}
}
