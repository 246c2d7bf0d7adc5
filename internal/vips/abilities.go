package vips

// #include "bridge.h"
import "C"

import (
	"context"
	"embed"
	"io"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// formats are libvips' numbers for ours; BMP is decoded in Go and has none.
var formats = map[media.Format]C.int{
	media.JPEG: C.SPW_JPEG, media.PNG: C.SPW_PNG, media.WebP: C.SPW_WEBP,
	media.GIF: C.SPW_GIF, media.TIFF: C.SPW_TIFF, media.HEIC: C.SPW_HEIF,
	media.AVIF: C.SPW_AVIF, media.SVG: C.SPW_SVG, media.JXL: C.SPW_JXL,
	media.JP2: C.SPW_JP2, media.PDF: C.SPW_PDF,
}

// samples hold a grey square of every format, made by this engine or, where it
// only reads, by the tools of its codec.
//
//go:embed samples
var samples embed.FS

func sample(format media.Format) []byte {
	data, err := samples.ReadFile("samples/dot." + format.Extension())
	if err != nil {
		panic("vips: no sample of " + string(format)) // built without it
	}
	return data
}

// tryAll finds out what works by doing it: libheif, for one, is often built
// without an AV1 encoder or an HEVC decoder, and only says so when asked.
func (e *Engine) tryAll(cfg Config) media.Abilities {
	can := media.Abilities{Read: map[media.Format]bool{media.BMP: true}, Write: map[media.Format]bool{}}
	// While trying, everything counts as possible.
	all := media.Abilities{Read: map[media.Format]bool{}, Write: map[media.Format]bool{}}
	for format := range formats {
		all.Read[format], all.Write[format] = true, true
	}
	trial := &Engine{helpers: e.helpers, abilities: func() media.Abilities { return all }}
	for format, number := range formats {
		if format == media.PDF && !cfg.AllowPDF {
			continue
		}
		can.Read[format] = C.spw_has_loader(number) != 0 && trial.tryReading(format)
		can.Write[format] = format.IsOutput() && C.spw_has_saver(number) != 0 && trial.tryWriting(format)
	}
	return can
}

func (e *Engine) tryReading(format media.Format) bool {
	src := sample(format)
	info, err := e.Probe(context.Background(), src, media.DefaultLimits())
	if err != nil {
		return false
	}
	_, err = e.Describe(context.Background(), src, info)
	return err == nil
}

func (e *Engine) tryWriting(format media.Format) bool {
	src := sample(media.PNG)
	info, err := e.Probe(context.Background(), src, media.DefaultLimits())
	if err != nil {
		return false
	}
	plan, err := media.NewPlan(info, media.NewRequest(), format, e.abilities(), media.DefaultLimits())
	if err != nil {
		return false
	}
	drop := func(int, transform.Made) (io.Writer, error) { return io.Discard, nil }
	return e.Run(context.Background(), src, nil, plan, drop) == nil
}
