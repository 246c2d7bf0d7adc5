package vips

// #include "bridge.h"
import "C"

import (
	"context"
	"errors"
	"math"
	"unsafe"

	"github.com/spillway-media/spillway/internal/media"
)

// mostDelays bounds the frame delays taken from a header; Limits.Frames is
// far below it.
const mostDelays = 1 << 16

// Probe reads the header.
func (e *Engine) Probe(ctx context.Context, src []byte, limits media.Limits) (media.Info, error) {
	format := media.Sniff(src)
	if format == media.Unknown || !e.abilities().Read[format] {
		return media.Info{}, unreadable(format)
	}
	return probe(ctx, src, limits)
}

func unreadable(format media.Format) error {
	if format == media.Unknown {
		return media.Errorf(media.CodeUnsupported, "The source is not a picture of a format this server reads.")
	}
	return media.Errorf(media.CodeUnsupported, "This server does not read %s pictures.", format)
}

func probe(ctx context.Context, src []byte, limits media.Limits) (media.Info, error) {
	format := media.Sniff(src)
	if format == media.Unknown {
		return media.Info{}, unreadable(format)
	}
	findings, err := media.Examine(src, format, limits)
	if err != nil {
		return media.Info{}, err
	}
	info, err := readHeader(ctx, src, format, scaleOfHeader(format, findings), findings.Frames, limits)
	if err == nil && format.IsVector() {
		info, err = withExactSize(ctx, src, info, limits)
	}
	if format == media.WebP {
		info.Width, info.Height = findings.Width, findings.Height
	}
	if ctx.Err() == nil && format == media.SVG && sizeless(findings, info, err) {
		return media.Info{}, media.Wrap(media.CodeDecodeFailed, err,
			"The SVG has no size to draw it at: it needs a width and height, or a viewBox, of half a pixel or more.")
	}
	if err != nil {
		return media.Info{}, err
	}
	info.Bytes = int64(len(src))
	return findings.Complete(info), nil
}

// scaleOfHeader is 1 but for WebP, of which libvips clears a whole canvas, more
// than all else that a probe does, before it knows that nobody wants pixels. It
// is asked for one that is a pixel wide or high.
func scaleOfHeader(format media.Format, found media.Findings) float64 {
	if format != media.WebP {
		return 1
	}
	return 1 / float64(max(min(found.Width, found.Height), 1))
}

// sizeless tells of a drawing that libvips gives up on for its size, or takes
// for one pixel because neither its root nor its content says more.
func sizeless(found media.Findings, info media.Info, err error) bool {
	if err != nil {
		return min(found.Width, found.Height) <= 1
	}
	return max(found.Width, found.Height) == 0 && max(info.Width, info.Height) <= 1
}

// withExactSize reads the size of a vector again at a large scale, because
// libvips gives whole pixels alone and the ratio has to be right to the pixel
// in the largest result. Nothing is rendered, and side stays far below libvips'
// own largest, beyond which it gives nonsense.
func withExactSize(ctx context.Context, src []byte, info media.Info, limits media.Limits) (media.Info, error) {
	const side, most = 1e6, 1e5
	scale := math.Floor(min(side/float64(max(info.Width, info.Height)), most))
	if scale <= 1 {
		return info, nil
	}
	large, err := readHeader(ctx, src, info.Format, scale, 1, limits)
	info.NaturalWidth, info.NaturalHeight = float64(large.Width)/scale, float64(large.Height)/scale
	return info, err
}

// readHeader gives what the decoder knows of a source of so many frames, and
// the size that it has at a scale.
func readHeader(ctx context.Context, src []byte, format media.Format, scale float64, frames int, limits media.Limits) (media.Info, error) {
	if format == media.BMP {
		return probeBMP(src)
	}
	r := &run{}
	whole := media.Load{Frames: 1, Shrink: 1, Scale: scale}
	var err error
	if r.job.load, src, err = loadOf(media.Info{Format: format}, whole, src, limits); err != nil {
		return media.Info{}, err
	}
	var header C.SpwInfo
	delays := make([]C.int, min(frames, mostDelays))
	stage := r.call(ctx, func() C.int {
		return C.spw_probe(&r.job, bytesOf(src), C.size_t(len(src)), &header, unsafe.SliceData(delays), C.int(len(delays)))
	})
	if stage == C.SPW_CANCELLED {
		return media.Info{}, stopped(ctx)
	}
	if stage != C.SPW_OK {
		return media.Info{}, media.Wrap(media.CodeDecodeFailed, errors.New(C.GoString(&r.job.message[0])),
			"The picture's header cannot be read: it is broken or cut short.")
	}
	info := infoOf(format, header, delays[:header.delays])
	if format == media.PNG {
		info.BitDepth = pngDepth(src)
	}
	return info, nil
}

// pngDepth is the depth of a channel. libvips tells it after unpacking to whole
// bytes; a file that it has opened has its IHDR where it belongs.
func pngDepth(src []byte) int {
	const depth, colourType, palette = 24, 25, 3
	if src[colourType] == palette {
		return 8
	}
	return int(src[depth])
}

// infoOf turns what libvips tells into what it means.
func infoOf(format media.Format, h C.SpwInfo, delays []C.int) media.Info {
	info := media.Info{
		Format: format, Width: int(h.width), Height: int(h.height),
		Orientation: orientationOf(format, int(h.orientation)), Frames: 1,
		Alpha: h.alpha != 0, Bands: int(h.bands), BitDepth: int(h.bits), Colourspace: spaces[h.space],
		Profile: h.profile != 0, Progressive: h.interlaced != 0,
	}
	switch format {
	case media.GIF, media.WebP:
		info.Frames = max(int(h.pages), 1)
		info.Animated = info.Frames > 1
		info.BitDepth = 8 // of a GIF libvips tells that of the palette's index
	case media.TIFF, media.PDF, media.HEIC, media.AVIF:
		info.Frames = max(int(h.pages), 1)
	}
	if info.Animated {
		info.Plays = int(h.loop)
		info.Delays = make([]int, info.Frames)
		for i := range min(len(delays), len(info.Delays)) {
			info.Delays[i] = int(delays[i])
		}
	}
	return info
}

var spaces = map[C.int]string{
	C.SPW_SPACE_SRGB: "srgb", C.SPW_SPACE_GRAY: "gray", C.SPW_SPACE_CMYK: "cmyk",
	C.SPW_SPACE_LAB: "lab", C.SPW_SPACE_UNKNOWN: "unknown",
}

// orientationOf keeps what EXIF defines. The decoders of the other formats
// turn the picture themselves.
func orientationOf(format media.Format, value int) int {
	switch format {
	case media.JPEG, media.PNG, media.WebP, media.TIFF:
		if value >= 1 && value <= 8 {
			return value
		}
	}
	return 1
}
