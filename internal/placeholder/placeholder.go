package placeholder

import (
	"errors"
	"fmt"

	"github.com/spillway-media/spillway/internal/media"
)

// LargestSide is the longest side of a Picture. ThumbHash is not defined
// beyond it, and the others gain nothing by more pixels.
const LargestSide = 100

// ErrSize is given for pixels that are not those of a small picture.
var ErrSize = errors.New("placeholder: the pixels are not rows of RGBA of a small picture")

// Picture is rows of 8-bit RGBA in sRGB, not premultiplied.
type Picture struct {
	width, height int
	pixels        []byte
}

// New takes rows of RGBA, which must not change afterwards.
func New(width, height int, rgba []byte) (Picture, error) {
	if width < 1 || height < 1 || width > LargestSide || height > LargestSide || len(rgba) != 4*width*height {
		return Picture{}, fmt.Errorf("take %d bytes for %dx%d pixels: %w", len(rgba), width, height, ErrSize)
	}
	return Picture{width: width, height: height, pixels: rgba}, nil
}

// Dominant is the most frequent colour: the mean of the fullest cell when each
// channel is cut in eight. Transparent pixels do not count; a picture without
// others gives the zero colour.
func (p Picture) Dominant() media.Colour {
	type cell struct{ r, g, b, n int }
	var cells [8 * 8 * 8]cell
	best := &cells[0]
	for i := 0; i < len(p.pixels); i += 4 {
		r, g, b, a := int(p.pixels[i]), int(p.pixels[i+1]), int(p.pixels[i+2]), p.pixels[i+3]
		if a < 128 {
			continue
		}
		c := &cells[r>>5<<6|g>>5<<3|b>>5]
		c.r, c.g, c.b, c.n = c.r+r, c.g+g, c.b+b, c.n+1
		if c.n > best.n {
			best = c
		}
	}
	if best.n == 0 {
		return media.Colour{}
	}
	half := best.n / 2
	return media.Colour{
		R: uint8((best.r + half) / best.n), G: uint8((best.g + half) / best.n),
		B: uint8((best.b + half) / best.n), A: 255,
	}
}
