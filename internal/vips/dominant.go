package vips

import "github.com/spillway-media/spillway/internal/media"

// dominant is the most frequent colour of RGBA pixels: the mean of the fullest
// cell when each channel is cut in eight. Transparent pixels do not count; a
// picture without others gives the zero colour.
func dominant(rgba []byte) media.Colour {
	type cell struct{ r, g, b, n int }
	var cells [8 * 8 * 8]cell
	best := &cells[0]
	for i := 0; i+3 < len(rgba); i += 4 {
		r, g, b, a := int(rgba[i]), int(rgba[i+1]), int(rgba[i+2]), rgba[i+3]
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
