package vips

// #include "bridge.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/placeholder"
	"github.com/spillway-media/spillway/internal/transform"
)

// thumbSide is the longest side of a summary's thumbnail.
const thumbSide = 32

// Describe decodes the source as small as its decoder can.
func (e *Engine) Describe(ctx context.Context, src []byte, info media.Info) (transform.Summary, error) {
	r := &run{
		plan:   &media.Plan{Info: info, Load: smallLoad(info)},
		limits: media.DefaultLimits(), // Probe held the source against the configured ones
	}
	src, err := r.prepare(src)
	if err != nil {
		return transform.Summary{}, err
	}
	var pixels unsafe.Pointer
	var width, height C.int
	stage := r.call(ctx, func() C.int {
		return C.spw_describe(&r.job, bytesOf(src), C.size_t(len(src)), thumbSide, &pixels, &width, &height)
	})
	if stage != C.SPW_OK {
		return transform.Summary{}, r.outcome(ctx, stage)
	}
	defer C.spw_free(pixels)
	thumb := C.GoBytes(pixels, width*height*4)
	small, err := placeholder.New(int(width), int(height), thumb)
	if err != nil {
		return transform.Summary{}, fmt.Errorf("describe: %w", err)
	}
	return transform.Summary{Dominant: small.Dominant(), Thumb: thumb, Width: int(width), Height: int(height)}, nil
}

// smallLoad scales at load down to twice the thumbnail, as NewPlan would.
func smallLoad(info media.Info) media.Load {
	load := media.Load{Frames: 1, Shrink: 1, Scale: 1}
	spare := float64(max(info.Width, info.Height)) / (2 * thumbSide)
	switch {
	case info.Format == media.JPEG:
		for load.Shrink < 8 && float64(load.Shrink)*2 <= spare {
			load.Shrink *= 2
		}
	case info.Format.IsVector():
		load.Scale = min(1/spare, 4)
	case info.Format == media.WebP && !info.Animated && spare > 1:
		load.Scale = 1 / spare
	}
	return load
}
