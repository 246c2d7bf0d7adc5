package demo

import "image"

const (
	lakeWidth, lakeHeight = 2400, 1600
	lakeWater             = 1090 // the row where land meets water
	sunX, sunY            = 1560, 446
)

// mountains is one line of mountains.
type mountains struct {
	crest []float32 // row of the outline for each column, trees included
	rock  []float32 // the same without trees
	body  rgb
	foot  rgb // what its body fades to where mist lies
	deep  float32
}

// mountainLake is dawn over six ranges and their reflection.
func mountainLake() *image.RGBA {
	ranges := layRanges()
	return shade(lakeWidth, lakeHeight, func(x, y int) rgb {
		fx, fy := float32(x), float32(y)
		if y < lakeWater {
			return land(ranges, fx, fy)
		}
		return water(ranges, fx, fy)
	})
}

func layRanges() []mountains {
	var out []mountains
	for i := range 6 {
		t := float32(i) / 5
		m := mountains{
			crest: make([]float32, lakeWidth),
			rock:  make([]float32, lakeWidth),
			body:  mix(hex(0x9a8799), hex(0x14252e), pow(t, .8)),
			foot:  mix(hex(0xf3cfae), hex(0x7f97a3), t),
			deep:  lerp(250, 300, t),
		}
		for x := range m.crest {
			m.rock[x] = crest(float32(x), i)
			m.crest[x] = m.rock[x]
			if i == 5 {
				m.crest[x] -= pines(float32(x)) * smooth(-30, 70, lakeWater-m.rock[x])
			}
		}
		out = append(out, m)
	}
	return out
}

// crest places a range: far ones tall in the middle, near ones rising to the
// sides, so that the eye is led to the sun.
func crest(x float32, i int) float32 {
	t := float32(i) / 5
	side := (x - sunX + 160) / lakeWidth
	side = side * side * 4
	frequency := lerp(2.1, 4.2, t) / lakeWidth
	height := ridged(x*frequency+float32(i)*7.3, float32(i)*3.1, 7, uint32(40+i))
	lift := lerp(560, 20, pow(t, .7)) - 90*t + side*lerp(-40, 330, t)
	y := lakeWater - lift - (height-.62)*lerp(520, 230, t)
	return min(y, lakeWater-4)
}

// pines is the height of the tree line above the nearest range.
func pines(x float32) float32 {
	const apart = 17
	cell := int32(x / apart)
	var top float32
	for c := cell - 2; c <= cell+2; c++ {
		r := hash(c, 0, 5)
		tall := 26 + 74*r*r
		middle := (float32(c) + .5 + .7*(hash(c, 1, 5)-.5)) * apart
		d := max(x-middle, middle-x) / (6 + 13*r)
		if d < 1 {
			jag := .12 * noise(x*.6, float32(c), 8)
			top = max(top, tall*(1-pow(d, .8)-jag*d))
		}
	}
	return top
}

func sky(x, y float32) rgb {
	c := gradient([]stop{
		{0, hex(0x2d4e78)}, {.22, hex(0x6f93b4)}, {.42, hex(0xc9c3bd)}, {.58, hex(0xf7cf9f)}, {1, hex(0xf9d9ae)},
	}, y/lakeWater)
	if high := smooth(470, 120, y) * smooth(-60, 160, y); high > 0 {
		cloud := fractal(x/620, y/92, 5, 3)
		c = mix(c, hex(0xf6d7c3), .6*smooth(.5, .8, cloud)*high)
	}
	dx, dy := x-sunX, y-sunY
	d := sqrt(dx*dx + dy*dy)
	c = c.screen(hex(0xffb35c).times(.75 * exp(-d/330)))
	c = c.screen(hex(0xffe2b0).times(.6 * exp(-d/90)))
	return mix(c, hex(0xfffaec), smooth(61, 57, d))
}

// land is what is seen above the shore: the nearest range that covers the
// place, its edge blended over what lies behind.
func land(ranges []mountains, x, y float32) rgb {
	column := int(min(max(x, 0), lakeWidth-1))
	for i := len(ranges) - 1; i >= 0; i-- {
		cover := y - ranges[i].crest[column] + .5
		if cover <= 0 {
			continue
		}
		c := slope(ranges[i], i, x, y, column)
		if cover >= 1 {
			return c
		}
		return mix(land(ranges[:i], x, y), c, cover)
	}
	return sky(x, y)
}

func slope(m mountains, i int, x, y float32, column int) rgb {
	t := float32(i) / 5
	below := y - m.rock[column]
	u, v := x/lerp(110, 64, t)+below/120, below/lerp(52, 30, t)
	rock := fractal(u, v, 2, uint32(60+i))
	lit := rock - noise(u-.22, v-.1, uint32(60+i)) // flanks that face the sun
	c := m.body.times(.9 + .2*rock + lerp(.34, .16, t)*lit)
	mist := smooth(0, m.deep, below) * (.35 + .75*fractal(x/520, y/70, 2, uint32(80+i)))
	if i == 5 {
		mist *= .3
	}
	c = mix(c, m.foot, clamp(mist))
	dx, dy := x-sunX, y-sunY
	glow := exp(-sqrt(dx*dx+dy*dy) / lerp(420, 300, t))
	return c.screen(hex(0xffa64d).times(glow * lerp(.6, .14, t)))
}

// water mirrors the land, broken by ripples that lengthen towards the viewer.
func water(ranges []mountains, x, y float32) rgb {
	depth := (y - lakeWater) / (lakeHeight - lakeWater)
	ripple := fractal(x/lerp(90, 260, depth), (y-lakeWater)/lerp(3, 15, depth), 3, 21) - .5
	mirrored := land(ranges, x+ripple*lerp(4, 46, depth), lakeWater-(y-lakeWater)*1.25-1+ripple*lerp(6, 60, depth))
	c := mix(mirrored, hex(0x1d3a4c), .2+.42*depth)
	across := (x - sunX) / lerp(46, 210, depth)
	spark := smooth(.05, .26, ripple) * exp(-across*across)
	c = c.screen(hex(0xffc987).times(.62 * spark * (1 - .55*depth)))
	shore := smooth(26, 0, y-lakeWater)
	return mix(c, hex(0xd9c6b6), .30*shore)
}
