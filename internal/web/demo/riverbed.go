package demo

import "image"

const riverWidth, riverHeight = 1600, 1066

var pebbles = []rgb{
	hex(0x8d8a80), hex(0xb9ae9a), hex(0x6b7478), hex(0xa9765a), hex(0xd8cfbd), hex(0x55605f), hex(0xc39a6b),
	hex(0x7f8f86), hex(0x9a5d4e), hex(0xa9b0ab), hex(0x474f53), hex(0xe4d9c2), hex(0x8b7f6c), hex(0xb8a48a),
}

// pebble is one stone: an ellipse on a lattice, turned, above or below its
// neighbours by rank.
type pebble struct {
	x, y, cos, sin, rx, ry float32
	rank                   float32
	c                      rgb
	vein, seed             float32
}

// bed is a lattice of pebbles that covers the picture.
type bed struct {
	size   float32
	across int
	stones []pebble
}

func layBed(size float32, seed uint32) bed {
	b := bed{size: size, across: int(riverWidth/size) + 5}
	for j := range int32(riverHeight/size) + 5 {
		for i := range int32(b.across) {
			h := func(k uint32) float32 { return hash(i, j, seed*100+k) }
			turn, long := h(1)*3.1416, size*(.50+.22*h(2))
			p := pebble{
				x: (float32(i) - 2 + .2 + .6*h(3)) * size, y: (float32(j) - 2 + .2 + .6*h(4)) * size,
				cos: cos(turn), sin: sin(turn), rx: long, ry: long * (.62 + .3*h(5)),
				rank: h(6), seed: h(7) * 900, vein: h(8),
			}
			p.c = pebbles[int(h(9)*float32(len(pebbles)))].times(.76 + .42*h(10))
			b.stones = append(b.stones, p)
		}
	}
	return b
}

// at is the uppermost stone at a place. cover is how much of the pixel it
// takes, shade how far higher neighbours keep the light from it.
func (b bed) at(x, y float32) (c rgb, cover, shade float32) {
	i, j := int(x/b.size)+2, int(y/b.size)+2
	var near [9]float32
	var top *pebble
	var u, v, depth float32
	for n := range near {
		p := &b.stones[(j+n/3-1)*b.across+i+n%3-1]
		dx, dy := x-p.x, y-p.y
		pu, pv := (dx*p.cos+dy*p.sin)/p.rx, (dy*p.cos-dx*p.sin)/p.ry
		near[n] = sqrt(pu*pu + pv*pv)
		if near[n] < 1 && (top == nil || p.rank > top.rank) {
			top, u, v, depth = p, pu, pv, near[n]
		}
	}
	shade = 1
	for n, d := range near {
		if p := &b.stones[(j+n/3-1)*b.across+i+n%3-1]; d >= 1 && d < 1.4 && (top == nil || p.rank > top.rank) {
			shade *= lerp(.42, 1, (d-1)/.4)
		}
	}
	if top == nil {
		return rgb{}, 0, shade
	}
	cover = clamp((1 - depth) * top.ry / 1.5)
	return top.shaded(u, v, depth, x, y), cover, shade
}

// shaded is the stone's own look: grain, a vein at times, and the light on
// its dome from the upper left.
func (p *pebble) shaded(u, v, depth, x, y float32) rgb {
	c := p.c.times(.80 + .4*fractal(x/8+p.seed, y/8, 2, 61))
	if p.vein > .74 {
		d := v + .5*u*(p.vein-.87)*8 + .16*(noise(x/26, y/26, 77)-.5)
		c = mix(c, hex(0xf0e9da), .62*smooth(.09, .03, max(d, -d)))
	}
	dome := sqrt(max(1-depth*depth, 0))
	nx, ny := u*p.cos-v*p.sin, u*p.sin+v*p.cos // back in the picture's axes
	light := clamp(.34 + .62*dome - .34*nx - .46*ny)
	c = c.times(lerp(.30, 1.22, light))
	hx, hy := nx+.34, ny+.42
	return c.screen(hex(0xfff3dc).times(.26 * exp(-(hx*hx+hy*hy)*11)))
}

// riverbed is pebbles under clear, moving water: three sizes, the smaller in
// the gaps of the larger, under a net of refracted light.
func riverbed() *image.RGBA {
	large, small, gravel, net := layBed(132, 1), layBed(58, 2), layBed(23, 3), layBed(120, 4)
	return shade(riverWidth, riverHeight, func(x, y int) rgb {
		fx, fy := float32(x), float32(y)
		bend := noise(fx/90, fy/60, 50) - .5
		px, py := clampTo(fx+bend*7, riverWidth), clampTo(fy+bend*5, riverHeight)
		c, cover, dim := large.at(px, py)
		if cover < 1 {
			low, lowCover, lowDim := small.at(px, py)
			if lowCover < 1 {
				sand, sandCover, sandDim := gravel.at(px, py)
				sand = mix(hex(0x3b3a35), sand, sandCover).times(.62 * sandDim)
				low = mix(sand, low, lowCover)
			}
			c = mix(low.times(.86*lowDim*lowDim), c, cover)
		}
		return underWater(c.times(dim), net, fx, fy)
	})
}

func clampTo(v float32, size int) float32 { return min(max(v, 0), float32(size-1)) }

// underWater tints with depth and adds caustics, the bright folds of light.
func underWater(c rgb, net bed, x, y float32) rgb {
	deep := smooth(.25, .8, noise(x/700, y/420, 90)+.35*(y/riverHeight-.5))
	c = mix(c, hex(0x1d6063), .14+.40*deep)
	warp := noise(x/64, y/44, 91) - .5
	turn := noise(x/80+40, y/58, 92) - .5
	edge := net.gap(clampTo(x+warp*70, riverWidth), clampTo(y+turn*60, riverHeight))
	bright := pow(clamp(1-edge*3.4), 3)
	return c.screen(hex(0xd6f3e2).times(bright * lerp(.50, .26, deep)))
}

// gap is 0 halfway between the two nearest stones' middles and grows inwards,
// in units of the lattice: the edges of a Voronoi diagram.
func (b bed) gap(x, y float32) float32 {
	i, j := int(x/b.size)+2, int(y/b.size)+2
	first, second := float32(9), float32(9)
	for n := range 9 {
		p := &b.stones[(j+n/3-1)*b.across+i+n%3-1]
		dx, dy := (x-p.x)/b.size, (y-p.y)/b.size
		if d := sqrt(dx*dx + dy*dy); d < first {
			first, second = d, first
		} else if d < second {
			second = d
		}
	}
	return second - first
}
