package transform

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
)

// Details is what /info answers.
type Details struct {
	ETag         string
	LastModified time.Time
	NotModified  bool
	Source       source.Meta
	Bytes        int64
	Info         media.Info
	Summary      Summary
	Stale        bool // the origin could not be asked
	Fetch        time.Duration
	Wait         time.Duration
	Work         time.Duration
}

// Info describes a source. Only the small picture behind the dominant colour
// and the blurhash is decoded, at load scale, under the same admission as any
// other work.
func (s *Service) Info(ctx context.Context, ref string, fresh func(key string, modified time.Time) (string, bool)) (d *Details, err error) {
	for range tries {
		if d, err = s.info(ctx, ref, fresh); !changed(err) {
			s.slow(ctx, err)
			return d, err
		}
	}
	return nil, errChanging
}

func (s *Service) info(ctx context.Context, ref string, fresh func(key string, modified time.Time) (string, bool)) (*Details, error) {
	began, asOf := time.Now(), s.purges.Load()
	src, err := s.originals.Open(ctx, ref)
	if err != nil {
		return nil, asMediaError(err)
	}
	defer src.Close()
	meta := freshness(src, nil)
	d := &Details{Source: meta, LastModified: meta.LastModified, Stale: src.Stale()}
	job := Job{Ref: ref, Request: infoRequest(), asOf: asOf}
	k, err := s.keyOf(ctx, job, src, nil)
	if err != nil {
		return nil, err
	}
	if d.ETag = k.tag; fresh != nil {
		if etag, known := fresh(k.tag, d.LastModified); known {
			d.ETag, d.NotModified = etag, true
			return d, nil
		}
	}
	if err := src.Load(ctx); err != nil {
		return nil, asMediaError(err)
	}
	d.Fetch, d.Bytes = time.Since(began), int64(len(src.Bytes()))
	plan, err := s.plan(ctx, job, src)
	if err != nil {
		s.counts.record(err)
		return nil, err
	}
	d.Info = plan.Info
	return d, s.describe(ctx, d, src, plan)
}

func (s *Service) describe(ctx context.Context, d *Details, src *originals.Original, plan *media.Plan) error {
	waited := time.Now()
	err := s.tooHeavy(plan.Memory)
	if err == nil {
		var fault error
		t := newTurn(laneOf(plan, false), plan.Cost, plan.Memory, func(ctx context.Context, _ *turn) {
			fault = s.guard(func() error { return s.runDescribe(ctx, d, src) })
		})
		if err = s.begin(ctx, t); err == nil {
			d.Wait = t.began.Sub(waited)
			<-t.ended // the engine reads src until then
			d.Work, err = t.elapsed(), fault
		}
	}
	s.counts.record(err)
	return err
}

func (s *Service) runDescribe(ctx context.Context, d *Details, src *originals.Original) (err error) {
	run, cancel := context.WithTimeoutCause(ctx, s.cfg.Limits.Time,
		media.Errorf(media.CodeTimeout, "Describing the picture took longer than %s.", s.cfg.Limits.Time))
	defer cancel()
	d.Summary, err = s.engine.Describe(run, src.Bytes(), d.Info)
	switch {
	case err == nil:
		return nil
	case run.Err() != nil:
		return stopped(run)
	}
	return asMediaError(err)
}

// infoRequest asks for what Describe decodes: one frame, a few pixels.
func infoRequest() media.Request {
	req := media.NewRequest()
	req.Sizes = []media.Size{{Width: 32, Height: 32}}
	req.Format, req.Frames = media.PNG, 1
	return req
}
