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
func (s *Service) Info(ctx context.Context, ref string, fresh func(etag string, modified time.Time) bool) (*Details, error) {
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
	if fresh != nil && fresh(d.ETag, d.LastModified) {
		d.NotModified = true
		return d, nil
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
	began := time.Now()
	release, err := s.admit(ctx, memory)
	if err != nil {
		return err
	}
	defer release()
	d.Queue = time.Since(began)
	run, done := s.untilStopped(ctx)
	defer done()
	run, cancel := context.WithTimeoutCause(run, s.cfg.Limits.Time,
		media.Errorf(media.CodeTimeout, "Describing the picture took longer than %s.", s.cfg.Limits.Time))
	defer cancel()
	began = time.Now()
	d.Summary, err = s.engine.Describe(run, src.bytes, d.Info)
	d.Work = time.Since(began)
	if err != nil {
		if run.Err() != nil {
			err = context.Cause(run)
		}
		err = asMediaError(err)
		s.counts.record(err)
		return err
	}
	return nil
}

// infoRequest asks for what Describe decodes: one frame, a few pixels.
func infoRequest() media.Request {
	req := media.NewRequest()
	req.Sizes = []media.Size{{Width: 32, Height: 32}}
	req.Format, req.Frames = media.PNG, 1
	return req
}
