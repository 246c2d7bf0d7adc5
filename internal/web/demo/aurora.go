package demo

import "image"

const auroraWidth, auroraHeight = 1200, 750

// aurora keeps sixteen bits a channel: its gradients are slower than eight
// bits can follow, and nothing dithers them.
func aurora() *image.NRGBA64 {
	img := image.NewNRGBA64(image.Rect(0, 0, auroraWidth, auroraHeight))
	hills := make([]float32, auroraWidth)
	for x := range hills {
		hills[x] = 640 - 90*fractal(float32(x)/330, 2, 5, 4) + 50*smooth(200, 700, float32(x))*smooth(1200, 800, float32(x))
	}
	for y := range auroraHeight {
		for x := range auroraWidth {
			c := northern(float32(x), float32(y))
			c = mix(c, hex(0x03080c), clamp(float32(y)-hills[x]+.5))
			put16(img, x, y, c)
		}
	}
	stars(img, hills)
	return img
}

func put16(img *image.NRGBA64, x, y int, c rgb) {
	p := img.Pix[img.PixOffset(x, y):]
	for i, v := range [...]float32{c.r, c.g, c.b, 1} {
		n := uint16(clamp(v)*65535 + .5)
		p[i*2], p[i*2+1] = uint8(n>>8), uint8(n)
	}
}

func northern(x, y float32) rgb {
	c := gradient([]stop{{0, hex(0x050b1f)}, {.6, hex(0x0d2740)}, {1, hex(0x1d4a54)}}, y/auroraHeight)
	for i := range 3 {
		k := float32(i)
		foot := 430 - 105*k + 70*sin(x/210+k*2.1) + 46*sin(x/97+k*4.4) + .12*(x-600)*(1-k)
		above := foot - y
		if above < -60 {
			continue
		}
		tall := 200 + 60*sin(x/160+k)
		rays := .62 + .38*sin(x/19+3*sin(x/83+k)+k*9)*sin(x/41+k*3)
		body := exp(-max(above, 0)/tall) * smooth(-34, 22, above) * rays * (.9 - .22*k)
		hue := gradient([]stop{{0, hex(0x5dffb0)}, {.35, hex(0x27d8a2)}, {.75, hex(0x5a63d8)}, {1, hex(0xa04bc8)}}, clamp(above/330))
		c = c.screen(hue.times(.82 * body))
	}
	return c
}

func stars(img *image.NRGBA64, hills []float32) {
	for i := range int32(260) {
		x, y := int(hash(i, 1, 3)*auroraWidth), int(hash(i, 2, 3)*560)
		if float32(y) > hills[x]-6 {
			continue
		}
		b := hash(i, 3, 3)
		put16(img, x, y, northern(float32(x), float32(y)).screen(hex(0xe8f1ff).times(.25+.75*b*b)))
		if b > .9 && x+1 < auroraWidth {
			put16(img, x+1, y, northern(float32(x+1), float32(y)).screen(hex(0xe8f1ff).times(.45)))
		}
	}
}
