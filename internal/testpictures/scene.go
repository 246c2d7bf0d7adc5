package testpictures

import (
	"image"
	"image/color"
	"math"
)

// Scene paints the base picture, w x h and opaque. All its parts lie at shares
// of the sides, so that the scene at another size is what a good resize of it
// must look like. No turn, mirror or transposition maps it onto itself: a red
// block lies top left, a yellow wedge bottom left, a white disc right of the
// middle, and the ground grows greener downwards and bluer to the right.
func Scene(w, h int) *image.NRGBA { return SceneView(0, 0, 1, 1, w, h) }

// SceneView is the part of the scene from the shares u0, v0 to u1, v1 of its
// sides at the size w x h: what cropping and resizing it has to give.
func SceneView(u0, v0, u1, v1 float64, w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		v := v0 + (v1-v0)*(float64(y)+0.5)/float64(h)
		for x := range w {
			u := u0 + (u1-u0)*(float64(x)+0.5)/float64(w)
			img.SetNRGBA(x, y, sceneAt(u, v))
		}
	}
	return img
}

// sceneAt is the colour at the share u of the width and v of the height.
func sceneAt(u, v float64) color.NRGBA {
	switch {
	case u < 0.30 && v < 0.35: // red block, top left
		return color.NRGBA{208, 32, 40, 255}
	case u < 0.45 && v > 0.60 && u/0.45 < (v-0.60)/0.40: // wedge, bottom left
		return color.NRGBA{236, 204, 48, 255}
	case (u-0.70)*(u-0.70)/0.02+(v-0.40)*(v-0.40)/0.045 < 1: // disc
		return color.NRGBA{245, 245, 240, 255}
	case u > 0.55 && u < 0.95 && v > 0.80 && v < 0.90: // dark bar, bottom right
		return color.NRGBA{24, 24, 32, 255}
	}
	return color.NRGBA{60, uint8(50 + 120*v), uint8(70 + 140*u), 255}
}

// SceneAlpha is the scene with transparency: clear right of 85 % of the width,
// half clear in the lower fifth, opaque elsewhere. Clear pixels hold a loud
// magenta, which shows wherever a resize forgets to premultiply.
func SceneAlpha(w, h int) *image.NRGBA {
	img := Scene(w, h)
	for y := range h {
		for x := range w {
			switch {
			case (float64(x)+0.5)/float64(w) > 0.85:
				img.SetNRGBA(x, y, color.NRGBA{255, 0, 255, 0})
			case (float64(y)+0.5)/float64(h) > 0.80:
				c := img.NRGBAAt(x, y)
				c.A = 128
				img.SetNRGBA(x, y, c)
			}
		}
	}
	return img
}

// Photo paints a picture with the statistics of a photograph: smooth ground,
// edges and fine grain at several scales. It costs a decoder and an encoder
// about what a real one does, which a flat scene would not.
func Photo(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	noise := newLattice()
	scale := 1 / math.Max(float64(w), float64(h))
	for y := range h {
		row := img.Pix[y*img.Stride:]
		v := float64(y) * scale
		for x := range w {
			u := float64(x) * scale
			soft := noise.at(u*6, v*6)
			mid := noise.at(u*40+7, v*40+3)
			fine := noise.at(u*700, v*700)
			edge := 0.0
			if noise.at(u*9+2, v*9+5) > 0.55 {
				edge = 0.22
			}
			grain := float64(noise[(y*251+x)&0xffff])
			light := 0.13 + 0.5*soft + 0.15*mid + 0.08*fine + 0.06*grain + edge
			row[4*x+0] = level(light * 1.02)
			row[4*x+1] = level(light*0.9 + 0.1*mid)
			row[4*x+2] = level(light*0.75 + 0.2*soft)
			row[4*x+3] = 255
		}
	}
	return img
}

func level(v float64) uint8 {
	return uint8(math.Round(255 * math.Max(0, math.Min(1, v))))
}

// lattice is value noise on a 256 x 256 grid that repeats.
type lattice [256 * 256]float32

func newLattice() *lattice {
	var l lattice
	state := uint32(2463534242)
	for i := range l {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		l[i] = float32(state>>8) / (1 << 24)
	}
	return &l
}

// at interpolates between the four lattice points around (x, y), both at
// least 0.
func (l *lattice) at(x, y float64) float64 {
	xi, yi := int(x), int(y)
	fx, fy := x-float64(xi), y-float64(yi)
	fx, fy = fx*fx*(3-2*fx), fy*fy*(3-2*fy)
	x0, x1 := xi&255, (xi+1)&255
	y0, y1 := (yi&255)<<8, ((yi+1)&255)<<8
	top := float64(l[y0+x0])*(1-fx) + float64(l[y0+x1])*fx
	low := float64(l[y1+x0])*(1-fx) + float64(l[y1+x1])*fx
	return top*(1-fy) + low*fy
}
