package transform

import (
	"context"
	"errors"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
)

// aboutWatermark names the parameter of a fault: sources are opened the same
// way whatever they are for, and take themselves for the picture.
func aboutWatermark(err error) error {
	var coded *media.Error
	if !errors.As(err, &coded) {
		return err
	}
	own := *coded
	return own.About("watermark")
}

// overlayMemory is what a watermark takes beside its picture: what its decoder
// holds, and itself whole, because any line of it may be wanted at any time.
// It is a little high where the engine can decode it smaller.
func (s *Service) overlayMemory(ctx context.Context, overlay *originals.Original, job Job) (int64, error) {
	mark := job.Request.Watermark
	if overlay == nil {
		return 0, nil
	}
	plan, err := s.plan(ctx, Job{Ref: mark.URL, Request: infoRequest(), asOf: job.asOf}, overlay)
	if err != nil {
		return 0, aboutWatermark(err)
	}
	if plan.Info.Format.IsVector() && mark.Scale > 0 {
		return plan.Memory, nil // drawn at the size of its use
	}
	pixel := int64(4)
	if plan.Info.BitDepth > 8 {
		pixel = 8
	}
	return plan.Memory + pixel*int64(plan.Info.Width)*int64(plan.Info.Height), nil
}
