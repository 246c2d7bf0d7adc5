package transform

import (
	"time"

	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
)

// freshness is what caches may know of a result: what was told of the source,
// held to what was told of the overlay, as a change of either changes it.
func freshness(src, overlay *originals.Original) source.Meta {
	meta := src.Meta()
	if overlay != nil {
		other := overlay.Meta()
		meta.LastModified = later(meta.LastModified, other.LastModified)
		if other.MaxAge >= 0 && (meta.MaxAge < 0 || other.MaxAge < meta.MaxAge) {
			meta.MaxAge = other.MaxAge
		}
		meta.OpenEnded = meta.OpenEnded || other.OpenEnded
	}
	if meta.OpenEnded {
		// The time is of bytes that may have come in part.
		meta.LastModified = time.Time{}
	}
	return meta
}

// later is the later of two times, and unknown when one of them is.
func later(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	if a.After(b) {
		return a
	}
	return b
}
