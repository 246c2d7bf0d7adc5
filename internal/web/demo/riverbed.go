package demo

import "image"

const riverWidth, riverHeight = 1600, 1066

var pebbles = []rgb{
	hex(0x8d8a80), hex(0xb9ae9a), hex(0x6b7478), hex(0xa36f55), hex(0xd8cfbd), hex(0x55605f),
	hex(0xc39a6b), hex(0x7f8f86), hex(0x94574a), hex(0xa9b0ab), hex(0x424b50), hex(0xe4d9c2),
}

// riverbed is pebbles under clear, moving water: two sizes of stones, the
// smaller in the gaps of the larger, under a net of refracted light.
func riverbed() *image.RGBA {
	return shade(riverWidth, riverHeight, func(x, y int) rgb {
		fx, fy := float32(x), float32(y)
		bend := fractal(fx/210, fy/150, 2, 50) - .5
		px, py := fx+bend*30, fy+bend*22
		c, cover := stone(px, py, 128, 1)
		if cover < 1 {
			small, smallCover := stone(px+40, py+90, 47, 2)
			gravel, _ := stone(px, py, 17, 3)
			small = mix(gravel.times(.55), small, smallCover)
			c = mix(small.times(.80), c, cover)
		}
		return grain(underWater(c, fx, fy), x, y)
	})
}

// stone is the nearest pebble of a jittered lattice and how much of the pixel
// it covers: a cell of a Voronoi diagram, shrunk and rounded into a dome.
func stone(x, y, size float32, seed uint32) (rgb, float32) {
	gx, gy := floor(x/size), floor(y/size)
	first, second := float32(9), float32(9)
	var cx, cy int32
	var dx, dy float32
	for j := int32(-1); j <= 1; j++ {
		for i := int32(-1); i <= 1; i++ {
			lx, ly := int32(gx)+i, int32(gy)+j
			ox := float32(lx) + .1 + .8*hash(lx, ly, seed*7) - x/size
			oy := float32(ly) + .1 + .8*hash(lx, ly, seed*7+1) - y/size
			d := sqrt(ox*ox*.8 + oy*oy*1.25)
			if d < first {
				first, second, cx, cy, dx, dy = d, first, lx, ly, ox, oy
			} else if d < second {
				second = d
			}
		}
	}
	edge := second - first
	cover := smooth(.06, .06+3/size, edge)
	return pebble(cx, cy, -dx, -dy, edge, x, y, size, seed), cover
}

func pebble(cx, cy int32, dx, dy, edge, x, y, size float32, seed uint32) rgb {
	pick := hash(cx, cy, seed*7+2)
	c := pebbles[int(pick*float32(len(pebbles)))]
	c = c.times(.78 + .4*hash(cx, cy, seed*7+3))
	c = c.times(.8 + .4*fractal(x/9, y/9, 2, uint32(cx*13+cy)))
	if hash(cx, cy, seed*7+4) > .72 { // a vein
		a := hash(cx, cy, seed*7+5) * 3.1
		v := dx*cos(a) + dy*sin(a) + .12*(noise(x/30, y/30, 77)-.5)
		c = mix(c, hex(0xeee6d6), .6*smooth(.05, .015, max(v, -v)))
	}
	round := smooth(.0, .42, edge)
	light := clamp(.55 - dx*.55 - dy*.85)
	c = c.times(lerp(.32, 1, round) * lerp(.62, 1.28, light))
	shine := smooth(.26, .0, sqrt((dx+.16)*(dx+.16)+(dy+.22)*(dy+.22)))
	return c.add(hex(0xfff4e0).times(.16 * shine * round))
}

// underWater tints with depth and adds caustics, the bright folds of light.
func underWater(c rgb, x, y float32) rgb {
	deep := smooth(.25, .8, fractal(x/700, y/420, 3, 90)+.25*(y/riverHeight-.5))
	c = mix(c, hex(0x1f5a5c), .18+.38*deep)
	u := fractal(x/150, y/105, 2, 91)*2.4 + x/420
	v := fractal(x/135+9, y/95, 2, 92)*2.4 + y/300
	a, b := sin(u*4.1), sin(v*4.7+u)
	a, b = max(a, -a), max(b, -b)
	net := pow(1-a, 7) + pow(1-b, 7)
	return c.screen(hex(0xcdeedd).times(clamp(net) * lerp(.42, .22, deep)))
}
