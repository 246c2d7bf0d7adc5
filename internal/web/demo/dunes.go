package demo

import "image"

const (
	dunesWidth, dunesHeight = 1200, 1600
	dunesHorizon            = 560
	dunesFar                = 900 // how far the eye goes, in units of the ground
	eyeHeight               = 74
	focal                   = 1150 // pixels to a unit of slope
)

var duneSun = normal(-.78, .34, .46)

// dunes walks the ground column by column from the viewer outwards and paints
// what rises above all nearer ground (the "voxel space" way), which gives true
// perspective for a small price.
func dunes() *image.RGBA {
	img := shade(dunesWidth, dunesHeight, desertSky)
	for x := range dunesWidth {
		column(img, x)
	}
	return img
}

func desertSky(x, y int) rgb {
	fx, fy := float32(x), float32(y)
	c := gradient([]stop{{0, hex(0x2f6299)}, {.5, hex(0x84aac6)}, {.85, hex(0xe6d3b8)}, {1, hex(0xf2d9b3)}}, fy/(dunesHorizon+40))
	wisp := fractal(fx/500+fy/700, fy/46-fx/900, 5, 5)
	c = mix(c, hex(0xf8efe4), .5*smooth(.5, .85, wisp)*smooth(520, 160, fy))
	dx, dy := fx-880, fy-230
	moon := smooth(47, 44.5, sqrt(dx*dx+dy*dy))
	shadow := smooth(49, 43, sqrt((dx+22)*(dx+22)+(dy+14)*(dy+14)))
	c = mix(c, hex(0xfbf7ee), moon*(1-shadow)*.92)
	return c
}

func column(img *image.RGBA, x int) {
	slant := (float32(x) - dunesWidth/2) / focal
	seen, before, hidden := float32(dunesHeight), float32(0), false
	for z := float32(18); z < dunesFar; z *= 1.003 {
		row := dunesHorizon + (eyeHeight-duneHeight(slant*z, z))*focal/z
		if row < seen {
			if hidden { // the nearer crest takes a part of its topmost pixel
				blend(img, x, int(seen), sand(slant*z, z), seen-floor(seen))
			}
			paintSpan(img, x, slant, row, seen, before, z)
			seen = row
		}
		before, hidden = z, row > seen
	}
	blend(img, x, int(seen), desertSky(x, int(seen)), seen-floor(seen))
}

// blend lays a share of a colour over the pixel that is there.
func blend(img *image.RGBA, x, y int, c rgb, share float32) {
	if y < 0 || y >= dunesHeight {
		return
	}
	p := img.Pix[img.PixOffset(x, y):]
	store(p, mix(rgb{float32(p[0]) / 255, float32(p[1]) / 255, float32(p[2]) / 255}, c, share), x, y)
}

// paintSpan fills the rows from the last seen one up to the new one, walking
// the distance along, so that near ground has detail finer than a step. It
// stops short of the far end, which may lie behind the crest already.
func paintSpan(img *image.RGBA, x int, slant, row, seen, near, far float32) {
	for y := int(seen) - 1; y >= int(row) && y >= 0; y-- {
		z := lerp(near, far, clamp((seen-float32(y))/max(seen-row, 1))*.7)
		store(img.Pix[img.PixOffset(x, y):], sand(slant*z, z), x, y)
	}
}

// The viewer stands where an S of crests leads into the picture.
const standX, standZ = 2100, 50

// duneHeight rises gently against the wind and falls steeply behind a crest.
func duneHeight(x, z float32) float32 {
	flat := smooth(0, 160, z+20) // no dune right under the eye
	x, z = x+standX, z+standZ
	warp := noise(x/210, z/260, 1)*2.1 + noise(x/70, z/80, 2)*.28
	u := x/210 + z/330 + warp
	f := u - floor(u)
	var ridge float32
	if f < .72 {
		t := f / .72
		ridge = t * t * (1.9 - .9*t)
	} else {
		t := (1 - f) / .28
		ridge = t * (1.5 - .5*t)
	}
	return ridge*lerp(18, 62, noise(x/300, z/340, 3))*flat + 10*noise(x/120, z/140, 4)
}

func sand(x, z float32) rgb {
	e := max(.35, z*.003)
	here := duneHeight(x, z)
	sx := (duneHeight(x+e, z) - here) / e
	sz := (duneHeight(x, z+e) - here) / e
	fine := smooth(330, 40, z)
	across := x*.55 + z*1.5 + 3.2*noise(x/9, z/9, 6)
	sz += .30 * fine * sin(across*1.35)
	sx += .10 * fine * sin(across*1.35+.6)
	n := normal(-sx, 1, -sz)
	light := max(n[0]*duneSun[0]+n[1]*duneSun[1]+n[2]*duneSun[2], 0)
	dark := mix(hex(0x5d3f45), hex(0x86605c), clamp(.5*n[1]+.45*n[0]+.9*fine*sz*.3+.1)) // lit by the sky alone
	c := mix(dark, hex(0xe9a45c), smooth(.03, .62, light))
	c = mix(c, hex(0xffdfa6), .85*smooth(.55, 1, light))
	c = c.times(.95 + .1*noise(x*2.3, z*2.3, 9)*fine + .05*noise(x/14, z/14, 10))
	return mix(c, hex(0xecccab), .8*smooth(180, dunesFar, z))
}

func normal(x, y, z float32) [3]float32 {
	k := 1 / sqrt(x*x+y*y+z*z)
	return [3]float32{x * k, y * k, z * k}
}
