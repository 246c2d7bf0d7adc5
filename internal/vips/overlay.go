package vips

// #include "bridge.h"
import "C"

import (
	"context"

	"github.com/spillway-media/spillway/internal/media"
)

// prepareOverlay fills the job's watermark from the plan and gives the bytes
// to load it from. An overlay is held to the same checks as a source.
func (r *run) prepareOverlay(src []byte) ([]byte, error) {
	mark := r.plan.Request.Watermark
	if mark == nil || src == nil {
		return nil, nil
	}
	info, err := probe(context.Background(), src, media.DefaultLimits())
	if err != nil {
		return nil, err
	}
	o := &r.job.overlay
	o.load, src, err = loadOf(info, media.Load{Frames: 1, Shrink: 1, Scale: 1}, src)
	if err != nil {
		return nil, err
	}
	t := upright(info.Orientation)
	o.turns, o.mirror = C.int(t.quarters), flagOf(t.mirror)
	o.opacity, o.scale = C.double(mark.Opacity), C.double(mark.Scale)
	o.x, o.y = C.int(mark.X), C.int(mark.Y)
	o.horizontal, o.vertical = sides(mark.Gravity.Kind)
	r.job.has_overlay = 1
	return src, nil
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
