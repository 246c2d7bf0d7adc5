package demo

import (
	"image"
	"image/color"
)

const dewWidth, dewHeight = 1800, 1200

// dew is a grass stem with drops before lights far out of focus.
func dew() *image.RGBA {
	light := make([]rgb, dewWidth*dewHeight)
	for i := range 150 {
		disc(light, i)
	}
	img := shade(dewWidth, dewHeight, func(x, y int) rgb {
		fx, fy := float32(x), float32(y)
		c := gradient([]stop{{0, hex(0x0d2a2c)}, {.45, hex(0x1f5a4c)}, {.75, hex(0x3d7a4a)}, {1, hex(0x16352c)}}, fy/dewHeight+.25*(noise(fx/700, fy/500, 3)-.5))
		glow := exp(-sqrt((fx-1280)*(fx-1280)+(fy-300)*(fy-300)) / 480)
		c = c.screen(hex(0xd8c24a).times(.74 * glow))
		return c.screen(light[y*dewWidth+x])
	})
	for _, s := range stems {
		drawStem(img, s)
	}
	return img
}

var lights = []rgb{hex(0xffb02e), hex(0xff7a33), hex(0xffd966), hex(0x6fd86a), hex(0x2fc7a0), hex(0xf2574a), hex(0xb7e04f), hex(0xffc23d)}

// disc adds one light: an even disc with a brighter rim, as a lens draws it.
func disc(light []rgb, i int) {
	h := func(k int32) float32 { return hash(int32(i), k, 12) }
	r := 18 + 96*h(0)*h(0)
	cx, cy := dewWidth*(h(1)*1.1-.05), dewHeight*(.02+.96*pow(h(2), 1.25))
	warm := exp(-sqrt((cx-1280)*(cx-1280)+(cy-300)*(cy-300)) / 700)
	c := lights[int(h(3)*float32(len(lights)))].times((.14 + .42*h(4)) * (.45 + 1.1*warm) * (1.15 - r/170))
	soft := 1.5 + 9*h(5)
	for y := max(int(cy-r-soft), 0); y < min(int(cy+r+soft), dewHeight); y++ {
		for x := max(int(cx-r-soft), 0); x < min(int(cx+r+soft), dewWidth); x++ {
			dx, dy := float32(x)-cx, float32(y)-cy
			d := sqrt(dx*dx + dy*dy)
			if k := smooth(r+soft, r-soft, d); k > 0 {
				q := clamp(d / r)
				k *= .62 + .38*q*q*q*q*q
				p := &light[y*dewWidth+x]
				*p = p.screen(c.times(k))
			}
		}
	}
}

// stem is a blade of grass: a quadratic curve with a width that tapers.
type stem struct {
	x0, y0, x1, y1, x2, y2, width float32
	drops                         []float32 // places along it, then sizes
}

var stems = []stem{
	{-40, 1130, 620, 900, 1270, 292, 21, []float32{.30, 15, .39, 29, .475, 19, .57, 40, .665, 22, .755, 31, .84, 17, .92, 25, .99, 34}},
	{150, 1260, 430, 760, 500, 330, 13, []float32{.42, 14, .55, 22, .68, 12, .80, 19, .985, 24}},
}

func (s stem) at(t float32) (x, y, dx, dy float32) {
	u := 1 - t
	x = u*u*s.x0 + 2*u*t*s.x1 + t*t*s.x2
	y = u*u*s.y0 + 2*u*t*s.y1 + t*t*s.y2
	dx = 2*u*(s.x1-s.x0) + 2*t*(s.x2-s.x1)
	dy = 2*u*(s.y1-s.y0) + 2*t*(s.y2-s.y1)
	k := 1 / sqrt(dx*dx+dy*dy)
	return x, y, dx * k, dy * k
}

func drawStem(img *image.RGBA, s stem) {
	blade(img, s, 0, 1, hex(0x123c26))
	blade(img, s, .12, .52, hex(0x2f7a3c))
	blade(img, s, .30, .16, hex(0xb7dd7d))
	for i := 0; i < len(s.drops); i += 2 {
		x, y, _, dy := s.at(s.drops[i])
		r := s.drops[i+1]
		side := r * .62
		drop(img, x-max(dy, -dy)*side*.2, y+side, r)
	}
}

// blade fills the band of a stem that lies shift off its middle.
func blade(img *image.RGBA, s stem, shift, share float32, c rgb) {
	const steps = 48
	fill(img, plain(c), func(p *pen) {
		edge := func(i int, sign float32) (float32, float32) {
			t := float32(i) / steps
			x, y, dx, dy := s.at(t)
			w := s.width * (1 - .8*t*t)
			off := w * (share*sign - shift)
			return x - dy*off, y + dx*off
		}
		p.MoveTo(edge(0, 1))
		for i := 1; i <= steps; i++ {
			p.LineTo(edge(i, 1))
		}
		for i := steps; i >= 0; i-- {
			p.LineTo(edge(i, -1))
		}
		p.ClosePath()
	})
}

// drop is a small lens: it shows the scene upside down, dark where the light
// comes from and bright at the far side, with one hard highlight.
func drop(img *image.RGBA, cx, cy, r float32) {
	fill(img, glass(hex(0x06140f), 90), ellipse(cx+r*.10, cy+r*.16, r*1.04, r*1.04))
	body := ramp(func(x, y int) color.RGBA {
		dx, dy := (float32(x)+.5-cx)/r, (float32(y)+.5-cy)/r
		d := sqrt(dx*dx + dy*dy)
		c := gradient([]stop{{0, hex(0x0a2420)}, {.42, hex(0x2c6b47)}, {.72, hex(0xc9d88a)}, {1, hex(0xffe9b8)}}, .5+.46*dy-.14*dx)
		c = mix(c, hex(0xffd28a), .7*smooth(.42, .0, sqrt((dx-.18)*(dx-.18)+(dy-.46)*(dy-.46))))
		c = mix(c, hex(0x07211b), .75*smooth(.70, 1, d)*smooth(.6, -.4, dy))
		c = mix(c, hex(0xf4ffe6), .55*smooth(.86, .97, d)*smooth(.1, .9, dy))
		h := sqrt((dx+.32)*(dx+.32)*1.0 + (dy+.40)*(dy+.40)*1.5)
		c = mix(c, hex(0xffffff), smooth(.24, .15, h))
		s := sqrt((dx-.42)*(dx-.42) + (dy-.30)*(dy-.30))
		return mix(c, hex(0xffffff), .8*smooth(.09, .03, s)).rgba(255)
	})
	fill(img, body, ellipse(cx, cy, r, r*.97))
}
