package demo

import (
	"image"
	"image/color"
)

const (
	sailWidth, sailHeight = 1400, 2000
	sailHorizon           = 1130
	// The boat stands low and right, so that a crop to the middle loses it.
	boatX, boatWater = 1020, 1396
)

// redSail is a portrait of a calm sea with one small, loud boat.
func redSail() *image.RGBA {
	boat, coast := paintBoat(), coastLines()
	return shade(sailWidth, sailHeight, func(x, y int) rgb {
		fx, fy := float32(x), float32(y)
		var c rgb
		if y < sailHorizon {
			c = evening(fx, fy, coast)
		} else {
			c = mirrorBoat(sea(fx, fy), boat, fx, fy)
		}
		if p := image.Pt(x-boatX+boatMiddle, y-boatWater+boatBase); p.In(boat.Rect) && p.Y < boatBase+3 {
			c = over(c, boat.RGBAAt(p.X, p.Y))
		}
		return c
	})
}

var eveningStops = []stop{
	{0, hex(0x46618f)}, {.3, hex(0x8398b8)}, {.55, hex(0xc9b4bb)}, {.78, hex(0xf0bfa3)}, {.95, hex(0xfbd8ac)}, {1, hex(0xf6cfa6)},
}

func evening(x, y float32, coast [2][]float32) rgb {
	c := gradient(eveningStops, y/sailHorizon)
	if low := smooth(80, 420, y) * smooth(1050, 700, y); low > 0 {
		c = mix(c, hex(0xf6c9b2), .55*smooth(.48, .78, fractal(x/760+3, y/130, 5, 11))*low)
	}
	if high := smooth(620, 260, y); high > 0 {
		c = mix(c, hex(0xdfe3ea), .38*smooth(.52, .82, fractal(x/1100+y/900, y/60+x/700, 4, 12))*high)
	}
	dx, dy := x-330, (y-1010)*1.15
	c = c.screen(hex(0xff9c56).times(.5 * exp(-sqrt(dx*dx+dy*dy)/300)))
	c = mix(c, hex(0xfff1d6), smooth(50, 46.5, sqrt(dx*dx+(y-1010)*(y-1010))))
	for i, far := range []rgb{hex(0xb7a0a8), hex(0x8c8396)} {
		top := coast[i][int(x)]
		fade := mix(far, hex(0xf3c9a8), .5*smooth(0, 90, y-top))
		c = mix(c, fade, clamp(y-top+.5))
	}
	return c
}

// coastLines are the rows of both coasts for each column.
func coastLines() (out [2][]float32) {
	for i := range out {
		out[i] = make([]float32, sailWidth)
		for x := range out[i] {
			out[i][x] = headland(float32(x), i)
		}
	}
	return out
}

// headland is the row of a far coast's top; it sinks into the sea mid-way.
func headland(x float32, i int) float32 {
	rough := fractal(x/160, float32(i)*4, 5, uint32(70+i))
	if i == 0 {
		return sailHorizon - (rough*130-14)*smooth(1500, 640, x)*smooth(330, 760, x)
	}
	return sailHorizon - (rough*120+34)*smooth(860, 1480, x)
}

func sea(x, y float32) rgb {
	depth := (y - sailHorizon) / (sailHeight - sailHorizon)
	wave := swell(x, y, depth)
	c := gradient(eveningStops, .985-.62*depth-wave*lerp(.05, .42, depth))
	c = mix(c, hex(0x27506a), clamp(lerp(.12, .62, depth)+wave*lerp(.2, .5, depth)))
	across := (x - 330) / lerp(34, 190, pow(depth, .7))
	glint := exp(-across*across) * smooth(-.02, .16, wave) * clamp(1-1.15*depth)
	c = c.screen(hex(0xffb778).times(1.1 * glint))
	return mix(c, hex(0xf3d3b4), .5*smooth(14, 0, y-sailHorizon))
}

// swell is the waves' tilt, -0.5 to 0.5, drawn out along the horizon.
func swell(x, y, depth float32) float32 {
	d := y - sailHorizon
	u, v := x/lerp(70, 260, depth)+d*.004, d/lerp(3.2, 17, depth)
	return .55*fractal(u, v, 3, 31) + .45*ridged(u*1.3+9, v*1.2, 3, 33) - .62
}

const (
	boatMiddle, boatBase   = 210, 400
	boatLayerW, boatLayerH = 430, 420
)

func paintBoat() *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, boatLayerW, boatLayerH))
	cloth := func(light, dark rgb, seams float32) image.Image {
		return ramp(func(x, y int) color.RGBA {
			fx, fy := float32(x), float32(y)
			c := mix(light, dark, smooth(90, 330, fx+fy*.25))
			if s := (fy + fx*.12) / seams; s-floor(s) < .05 {
				c = c.times(.88)
			}
			return c.rgba(255)
		})
	}
	fill(img, cloth(hex(0xf2563b), hex(0xa81f22), 46), func(p *pen) { // mainsail
		p.MoveTo(196, 22)
		p.QuadTo(128, 190, 60, 338)
		p.QuadTo(130, 350, 192, 344)
		p.ClosePath()
	})
	fill(img, cloth(hex(0xfff0dc), hex(0xd9a98c), 52), func(p *pen) { // jib
		p.MoveTo(206, 52)
		p.QuadTo(262, 210, 352, 346)
		p.QuadTo(270, 352, 210, 338)
		p.ClosePath()
	})
	fill(img, plain(hex(0x3a2620)), line(200, 12, 203, 372, 6))
	fill(img, plain(hex(0x4a3026)), line(48, 352, 206, 350, 5))
	hull := ramp(func(_, y int) color.RGBA {
		return gradient([]stop{{0, hex(0xf6e6cf)}, {.22, hex(0x24404e)}, {1, hex(0x0c1a22)}}, float32(y-360)/42).rgba(255)
	})
	fill(img, hull, func(p *pen) {
		p.MoveTo(34, 362)
		p.QuadTo(200, 380, 384, 354)
		p.QuadTo(352, 398, 318, boatBase+4)
		p.LineTo(92, boatBase+4)
		p.QuadTo(52, 396, 34, 362)
		p.ClosePath()
	})
	fill(img, plain(hex(0x2b1b1a)), ellipse(120, 340, 9, 11)) // someone at the helm
	fill(img, plain(hex(0x2b4a63)), ellipse(119, 362, 14, 17))
	fill(img, hull, polygon(90, 366, 160, 371, 160, 386, 90, 386))
	fill(img, plain(hex(0xf2563b)), polygon(199, 12, 199, 24, 172, 20))
	return img
}

// mirrorBoat lays the boat's broken reflection on the water.
func mirrorBoat(c rgb, boat *image.RGBA, x, y float32) rgb {
	d := y - boatWater
	if d < 0 || d > 430 || x < boatX-boatMiddle-90 || x > boatX+boatLayerW-boatMiddle+90 {
		return c
	}
	depth := (y - sailHorizon) / (sailHeight - sailHorizon)
	wave := swell(x, y, depth)
	px := int(x + wave*lerp(14, 150, d/430) - boatX + boatMiddle)
	py := int(boatBase - d*1.02 - wave*40)
	if p := image.Pt(px, py); p.In(boat.Rect) {
		seen := boat.RGBAAt(p.X, p.Y)
		return mix(c, over(c, seen), .72*smooth(430, 60, d))
	}
	return c
}
