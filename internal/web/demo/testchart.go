package demo

import (
	"fmt"
	"image"
	"math"
)

const chartWidth, chartHeight = 1600, 1000

// testChart has a known answer everywhere: what looks wrong on it is wrong.
func testChart() *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, chartWidth, chartHeight))
	fill(img, plain(hex(0x777777)), box(0, 0, chartWidth, chartHeight))
	frame(img)
	hues(img)
	ramps(img)
	zonePlate(img, 1200, 322, 222)
	linePairs(img)
	edges(img)
	return img
}

// frame marks the four corners and every hundredth pixel of the sides, so
// that a crop off by one shows.
func frame(img *image.RGBA) {
	white, black := plain(hex(0xffffff)), plain(hex(0x000000))
	for x := 0; x < chartWidth; x += 20 {
		tone := white
		if x/20%2 == 1 {
			tone = black
		}
		fill(img, tone, box(float32(x), 0, 20, 12))
		fill(img, tone, box(float32(x), chartHeight-12, 20, 12))
	}
	for y := 0; y < chartHeight; y += 20 {
		tone := white
		if y/20%2 == 1 {
			tone = black
		}
		fill(img, tone, box(0, float32(y), 12, 20))
		fill(img, tone, box(chartWidth-12, float32(y), 12, 20))
	}
	for i, c := range []uint32{0xff0000, 0x00ff00, 0x0000ff, 0xffff00} {
		x, y := float32(i%2)*(chartWidth-40), float32(i/2)*(chartHeight-40)
		fill(img, plain(hex(c)), box(x, y, 40, 40))
	}
	bold(34).write(img, "SPILLWAY TEST CHART", 64, 92, 0, hex(0xffffff))
	regular(22).write(img, "1600 × 1000 · sRGB · 8 bits · corners red, green, blue, yellow from the top left", 64, 128, 0, hex(0xf0f0f0))
}

// hues is twelve hues by five lightnesses at the chroma sRGB still holds.
func hues(img *image.RGBA) {
	const left, top, cell = 64, 164, 72
	for row := range 5 {
		for col := range 12 {
			c := oklch(.88-.155*float32(row), .115, float32(col)*30+20)
			fill(img, plain(c), box(float32(left+col*cell), float32(top+row*cell), cell-4, cell-4))
		}
	}
}

// oklch converts a colour of even lightness to sRGB (B. Ottosson, 2020).
func oklch(l, chroma, degrees float32) rgb {
	h := degrees * math.Pi / 180
	a, b := chroma*cos(h), chroma*sin(h)
	x := l + .3963377774*a + .2158037573*b
	y := l - .1055613458*a - .0638541728*b
	z := l - .0894841775*a - 1.2914855480*b
	x, y, z = x*x*x, y*y*y, z*z*z
	return rgb{
		encode(4.0767416621*x - 3.3077115913*y + .2309699292*z),
		encode(-1.2684380046*x + 2.6097574011*y - .3413193965*z),
		encode(-.0041960863*x - .7034186147*y + 1.7076147010*z),
	}
}

// encode is the sRGB transfer function (IEC 61966-2-1).
func encode(v float32) float32 {
	v = clamp(v)
	if v <= .0031308 {
		return 12.92 * v
	}
	return 1.055*pow(v, 1/2.4) - .055
}

func ramps(img *image.RGBA) {
	const left, top, width, height = 64, 560, 860, 44
	channels := []rgb{{1, 1, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	for i, c := range channels {
		y := top + i*(height+8)
		for x := range width {
			t := float32(x) / (width - 1)
			fill1(img, left+x, y, height, rgb{c.r * t, c.g * t, c.b * t})
		}
	}
	for i := range 16 {
		g := float32(i) / 15
		fill(img, plain(rgb{g, g, g}), box(left+float32(i)*width/16, top+4*(height+8), width/16+1, height))
		ink := hex(0xffffff)
		if g > .5 {
			ink = hex(0x000000)
		}
		regular(17).write(img, fmt.Sprint(i*17), left+(float32(i)+.5)*width/16, top+4*(height+8)+28, .5, ink)
	}
}

// fill1 sets one column; a ramp needs exact values, not smoothed edges.
func fill1(img *image.RGBA, x, y, h int, c rgb) {
	for j := range h {
		img.SetRGBA(x, y+j, c.rgba(255))
	}
}

// zonePlate rises from even grey to the finest rings a pixel grid can hold;
// wrong resampling folds them into new ones.
func zonePlate(img *image.RGBA, cx, cy, r float32) {
	for y := int(cy - r); y <= int(cy+r); y++ {
		for x := int(cx - r); x <= int(cx+r); x++ {
			dx, dy := float32(x)-cx, float32(y)-cy
			d := dx*dx + dy*dy
			if d > r*r {
				continue
			}
			v := encode(.5 + .5*cos(math.Pi*d/(2*r)))
			img.SetRGBA(x, y, rgb{v, v, v}.rgba(255))
		}
	}
}

func linePairs(img *image.RGBA) {
	x := 978
	for _, pitch := range []int{1, 2, 3, 4, 6, 8} {
		w := 84
		for i := range w {
			tone := hex(0xffffff)
			if i/pitch%2 == 1 {
				tone = hex(0x000000)
			}
			fill1(img, x+i, 570, 104, tone)
			for j := range w {
				if j/pitch%2 == 1 {
					img.SetRGBA(x+i, 686+j, hex(0x000000).rgba(255))
				} else {
					img.SetRGBA(x+i, 686+j, hex(0xffffff).rgba(255))
				}
			}
		}
		regular(17).write(img, fmt.Sprintf("%d px", pitch), float32(x+w/2), 794, .5, hex(0xffffff))
		x += w + 10
	}
}

func edges(img *image.RGBA) {
	fill(img, plain(hex(0xf4f4f4)), box(978, 816, 554, 124))
	fill(img, plain(hex(0x101010)), polygon(1000, 830, 1104, 839, 1096, 926, 992, 917))
	for i := range 12 {
		a := float32(i) * math.Pi / 12
		fill(img, plain(hex(0x101010)), line(1190-52*cos(a), 878-52*sin(a), 1190+52*cos(a), 878+52*sin(a), 1.2))
	}
	for i, size := range []float64{11, 14, 18, 23} {
		regular(size).write(img, "Clear water 0123456789", 1268, float32(846+i*25)+float32(i*i), 0, hex(0x101010))
	}
	const left, top = 64, 836
	for i := range 20 { // saturated neighbours: where chroma subsampling bleeds
		c := []rgb{hex(0xff0000), hex(0x0000ff), hex(0x00ff00), hex(0xff00ff)}[i%4]
		fill(img, plain(c), box(left+float32(i)*43, top, 43, 48))
		bold(22).write(img, "Aa", left+float32(i)*43+21, top+32, .5, hex(0xffffff))
	}
	for i := range 430 {
		fill1(img, left+i*2, top+56, 48, hex(0xff2020))
		fill1(img, left+i*2+1, top+56, 48, hex(0x2020ff))
	}
}
