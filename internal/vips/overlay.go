package vips

// #include "bridge.h"
import "C"

import (
	"context"
	"errors"

	"github.com/spillway-media/spillway/internal/media"
)

// prepareOverlay fills the job's watermark from the plan and gives the bytes
// to load it from. An overlay is held to the same checks as a source.
func (r *run) prepareOverlay(ctx context.Context, src []byte) ([]byte, error) {
	mark := r.plan.Request.Watermark
	if mark == nil || src == nil {
		return nil, nil
	}
	info, err := probe(ctx, src, r.limits)
	if err != nil {
		return nil, aboutWatermark(err)
	}
	load := r.overlayLoad(info, mark)
	if err := checkOverlay(info, load, r.limits); err != nil {
		return nil, err
	}
	o := &r.job.overlay
	if o.load, src, err = loadOf(info, load, src, r.limits); err != nil {
		return nil, aboutWatermark(err)
	}
	t := upright(info.Orientation)
	o.turns, o.mirror = C.int(t.quarters), flagOf(t.mirror)
	o.opacity, o.scale = C.double(mark.Opacity), C.double(mark.Scale)
	o.x, o.y = C.int(mark.X), C.int(mark.Y)
	o.horizontal, o.vertical = sides(mark.Gravity.Kind)
	r.job.has_overlay = 1
	return src, nil
}

// overlayLoad decodes a JPEG no larger than twice its use, and renders a
// drawing at the size of its use.
func (r *run) overlayLoad(info media.Info, mark *media.Watermark) media.Load {
	load := media.Load{Frames: 1, Shrink: 1, Scale: 1}
	if mark.Scale <= 0 || r.plan.Request.Trim > 0 {
		return load
	}
	var widest int
	for _, output := range r.plan.Outputs {
		width, _ := output.Layout.Final()
		widest = max(widest, width)
	}
	width, _ := info.Upright()
	need := mark.Scale * float64(widest) / float64(width)
	switch {
	case info.Format == media.JPEG:
		for load.Shrink < 8 && need*2*float64(load.Shrink)*2 <= 1 {
			load.Shrink *= 2
		}
	case info.Format.IsVector():
		load.Scale = need
	}
	return load
}

func checkOverlay(info media.Info, load media.Load, limits media.Limits) error {
	area := float64(info.Width) * float64(info.Height) * load.Scale * load.Scale
	if area > float64(limits.Pixels) {
		return media.Errorf(media.CodePixels, "The watermark has %.0f pixels; %d are allowed.", area, limits.Pixels).
			About("watermark")
	}
	return nil
}

// aboutWatermark tells whose fault it is: the details speak of "the picture".
func aboutWatermark(err error) error {
	var told *media.Error
	if !errors.As(err, &told) {
		return err
	}
	return &media.Error{Code: told.Code, Param: "watermark", Detail: "The watermark: " + told.Detail, Cause: told.Cause}
}

// sides is -1, 0 or 1 from the middle, to the right and down.
func sides(kind media.GravityKind) (horizontal, vertical C.int) {
	switch kind {
	case media.GravityWest, media.GravityNorthWest, media.GravitySouthWest:
		horizontal = -1
	case media.GravityEast, media.GravityNorthEast, media.GravitySouthEast:
		horizontal = 1
	}
	switch kind {
	case media.GravityNorth, media.GravityNorthWest, media.GravityNorthEast:
		vertical = -1
	case media.GravitySouth, media.GravitySouthWest, media.GravitySouthEast:
		vertical = 1
	}
	return horizontal, vertical
}
