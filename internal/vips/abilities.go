package vips

// #include "bridge.h"
import "C"

import (
	"maps"

	"github.com/spillway-media/spillway/internal/media"
)

// formats are libvips' numbers for ours; BMP is decoded in Go and has none.
var formats = map[media.Format]C.int{
	media.JPEG: C.SPW_JPEG, media.PNG: C.SPW_PNG, media.WebP: C.SPW_WEBP,
	media.GIF: C.SPW_GIF, media.TIFF: C.SPW_TIFF, media.HEIC: C.SPW_HEIF,
	media.AVIF: C.SPW_AVIF, media.SVG: C.SPW_SVG, media.JXL: C.SPW_JXL,
	media.JP2: C.SPW_JP2, media.PDF: C.SPW_PDF,
}

// everything is what the linked libvips has operations for.
func everything() media.Abilities {
	can := media.Abilities{Read: map[media.Format]bool{media.BMP: true}, Write: map[media.Format]bool{}}
	for format, number := range formats {
		can.Read[format] = C.spw_has_loader(number) != 0
		can.Write[format] = format.IsOutput() && C.spw_has_saver(number) != 0
	}
	return can
}

// tryAll narrows what operations exist to what works: libheif, for one, is
// often built without an AV1 encoder and only says so when asked to encode.
func (e *Engine) tryAll(cfg Config) media.Abilities {
	can := media.Abilities{Read: maps.Clone(e.abilities.Read), Write: maps.Clone(e.abilities.Write)}
	if !cfg.AllowPDF {
		can.Read[media.PDF] = false
	}
	return can
}
