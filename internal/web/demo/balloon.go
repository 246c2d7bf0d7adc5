package demo

import (
	"image"
	"image/color"
	"math"
)

const (
	balloonWidth, balloonHeight = 1000, 1300
	balloonX, balloonY          = 500, 455
	balloonR                    = 385
)

var gores = []rgb{hex(0xe8543a), hex(0xf6ead2), hex(0x17616a), hex(0xf2b54a)}

// balloon is a hot-air balloon on nothing: every edge and its shadow are
// partly transparent.
func balloon() *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, balloonWidth, balloonHeight))
	shadow := ramp(func(x, y int) color.RGBA {
		dx, dy := (float32(x)-balloonX)/270, (float32(y)-1236)/44
		return hex(0x10262c).rgba(uint8(120 * smooth(1, .05, sqrt(dx*dx+dy*dy))))
	})
	fill(img, shadow, box(0, 1180, balloonWidth, 118))
	fill(img, ramp(envelopeInside), ellipse(balloonX, 893, 82, 22))
	ropes(img)
	fill(img, envelope(reaches()), outline)
	basket(img)
	return img
}

// outline is the envelope: a sphere drawn down to a mouth.
func outline(p *pen) {
	const r, k = balloonR, balloonR * .5522848
	p.MoveTo(balloonX, balloonY-r)
	p.CubeTo(balloonX+k, balloonY-r, balloonX+r, balloonY-k, balloonX+r, balloonY)
	p.CubeTo(balloonX+r, balloonY+190, balloonX+136, balloonY+330, balloonX+82, balloonY+438)
	p.QuadTo(balloonX, balloonY+466, balloonX-82, balloonY+438)
	p.CubeTo(balloonX-136, balloonY+330, balloonX-r, balloonY+190, balloonX-r, balloonY)
	p.CubeTo(balloonX-r, balloonY-k, balloonX-k, balloonY-r, balloonX, balloonY-r)
	p.ClosePath()
}

// reaches is half the envelope's width for each row, from its outline.
func reaches() []float32 {
	const r, k = balloonR, balloonR * .5522848
	out := make([]float32, balloonHeight)
	curves := [][4][2]float32{
		{{0, -r}, {k, -r}, {r, -k}, {r, 0}},
		{{r, 0}, {r, 190}, {136, 330}, {82, 438}},
		{{82, 438}, {55, 452}, {27, 460}, {0, 466}},
	}
	for _, c := range curves {
		for i := range 2001 {
			t := float32(i) / 2000
			u := 1 - t
			at := func(j int) float32 { return u*u*u*c[0][j] + 3*u*u*t*c[1][j] + 3*u*t*t*c[2][j] + t*t*t*c[3][j] }
			if y := int(balloonY + at(1)); y >= 0 && y < balloonHeight {
				out[y] = max(out[y], at(0), 1)
			}
		}
	}
	for y := balloonY + 438; y < balloonHeight; y++ {
		out[y] = 82 // the mouth hangs below the last seam
	}
	return out
}

// envelope paints with two samples across each pixel, as the seams are
// nearly upright.
func envelope(reach []float32) ramp {
	return func(x, y int) color.RGBA {
		var sum rgb
		for i := range 2 {
			sum = sum.add(cloth(float32(x)+(float32(i)+.5)/2, float32(y)+.5, reach[y]))
		}
		return sum.times(.5).rgba(255)
	}
}

func cloth(fx, fy, reach float32) rgb {
	u := min(max((fx-balloonX)/reach, -1), 1)
	angle := float32(math.Asin(float64(u))) // longitude on the turned body
	v := (angle/math.Pi+.5)*10 + .28
	n := int(floor(v))
	c := gores[n%4]
	bulge := v - floor(v)
	t := (fy - (balloonY - balloonR)) / 830
	if band := smooth(.452, .456, t) * smooth(.582, .578, t); band > 0 { // a belt of diamonds
		belt := hex(0x123f49)
		row := (t - .452) / .13
		away := max(row-.5, .5-row) + max(bulge-.5, .5-bulge)*.9
		belt = mix(belt, hex(0xf6ead2), smooth(.40, .37, away))
		belt = mix(belt, hex(0xe8543a), smooth(.20, .17, away))
		c = mix(c, belt, band)
	}
	c = c.times(.90 + .16*sin(bulge*math.Pi))
	lx, ly := u+.42, (fy-balloonY)/balloonR+.46
	light := exp(-(lx*lx*1.1 + ly*ly*.8))
	c = mix(c.times(.62), c, clamp(.28+1.05*light))
	c = mix(c, hex(0x0d2f3d), .34*smooth(.35, 1, u))
	c = c.screen(hex(0xfff0d0).times(.42 * exp(-9*(lx*lx+ly*ly*.7))))
	return c.screen(hex(0xffb060).times(.22 * smooth(.72, 1, t) * (1 - u*u)))
}

func envelopeInside(_, y int) color.RGBA {
	return mix(hex(0x3b1512), hex(0xf2a23c), smooth(872, 915, float32(y))).rgba(255)
}

func ropes(img *image.RGBA) {
	for _, top := range []float32{-74, -30, 30, 74} {
		bottom := top * .78
		fill(img, plain(hex(0x4b3a2d)), line(balloonX+top, 898, balloonX+bottom, 1048, 4))
	}
	flame := ramp(func(x, y int) color.RGBA {
		t := smooth(990, 930, float32(y))
		return mix(hex(0xfff3c4), hex(0xff8a2a), t).rgba(uint8(240 * (1 - .7*t)))
	})
	fill(img, flame, func(p *pen) {
		p.MoveTo(balloonX-15, 992)
		p.QuadTo(balloonX-20, 950, balloonX, 916)
		p.QuadTo(balloonX+20, 950, balloonX+15, 992)
		p.ClosePath()
	})
	fill(img, plain(hex(0x2d3335)), box(balloonX-24, 990, 48, 10))
}

func basket(img *image.RGBA) {
	wicker := ramp(func(x, y int) color.RGBA {
		fx, fy := float32(x), float32(y)
		weave := sin(fx*.42)*sin(fy*.55+math.Pi*floor(fx*.42/math.Pi)) + .3
		c := mix(hex(0x7d4f2a), hex(0xc8945a), clamp(.5+.42*weave))
		return c.times(lerp(1.1, .62, smooth(balloonX-66, balloonX+80, fx))).rgba(255)
	})
	fill(img, wicker, func(p *pen) {
		p.MoveTo(balloonX-66, 1044)
		p.LineTo(balloonX+66, 1044)
		p.QuadTo(balloonX+62, 1120, balloonX+52, 1150)
		p.QuadTo(balloonX, 1160, balloonX-52, 1150)
		p.QuadTo(balloonX-62, 1120, balloonX-66, 1044)
		p.ClosePath()
	})
	fill(img, plain(hex(0x5a3519)), box(balloonX-72, 1036, 144, 15))
	fill(img, plain(hex(0x8d5a30)), box(balloonX-72, 1036, 144, 5))
}
