package transform

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/internal/media"
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
	Fetch        time.Duration
	Queue        time.Duration
	Work         time.Duration
}

// Info describes a source. Only the small picture behind the dominant colour
// and the blurhash is decoded, at load scale, under the same admission as any
// other work.
func (s *Service) Info(ctx context.Context, ref string, fresh func(key string, modified time.Time) (string, bool)) (*Details, error) {
	began := time.Now()
	src, err := s.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer src.close()
	meta := freshness(src, nil)
	d := &Details{Source: meta, LastModified: meta.LastModified}
	req := infoRequest()
	if d.ETag, err = s.tag(Job{Ref: ref, Request: req}, src, nil); err != nil {
		return nil, err
	}
	if fresh != nil {
		if etag, known := fresh(d.ETag, d.LastModified); known {
			d.ETag, d.NotModified = etag, true
			return d, nil
		}
	}
	if err := src.load(s); err != nil {
		return nil, err
	}
	d.Fetch, d.Bytes = time.Since(began), int64(len(src.bytes))
	plan, err := s.plan(ctx, Job{Ref: ref, Request: req}, src.bytes)
	if err != nil {
		return nil, err
	}
	d.Info = plan.Info
	return d, s.describe(ctx, d, src, plan.Memory)
}

func (s *Service) describe(ctx context.Context, d *Details, src *original, memory int64) error {
	waited := time.Now()
	var fault error
	t, err := s.begin(ctx, memory, func(ctx context.Context, _ *turn) {
		fault = s.guard(func() error { return s.runDescribe(ctx, d, src) })
	})
	if err != nil {
		return err
	}
	d.Queue = t.began.Sub(waited)
	<-t.ended // the engine reads src until then
	d.Work = t.elapsed()
	s.counts.record(fault)
	return fault
}

func (s *Service) runDescribe(ctx context.Context, d *Details, src *original) (err error) {
	run, cancel := context.WithTimeoutCause(ctx, s.cfg.Limits.Time,
		media.Errorf(media.CodeTimeout, "Describing the picture took longer than %s.", s.cfg.Limits.Time))
	defer cancel()
	d.Summary, err = s.engine.Describe(run, src.bytes, d.Info)
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
