package demo

import (
	"image"
	"image/color"
	"image/gif"
	"io"
	"math"
	"sort"
)

const (
	orbitSide, orbitFrames = 480, 40
	orbitBalls             = 18
	orbitShades            = 20 // steps of light on a ball
)

var orbitHues = []rgb{hex(0x0f5a63), hex(0x1f9a91), hex(0x8ed9c2), hex(0xf3e6c8), hex(0xf5b04c), hex(0xee5a3a)}

// ball is one of the turning set, nearer ones drawn later.
type ball struct {
	x, y, r, depth float32
	hue            int
}

// orbit is a ring of balls that rolls through itself and ends where it began.
// Each frame holds only what it needs and is cleared afterwards, so a reader
// that forgets disposal shows trails.
func orbit(w io.Writer) error {
	palette := orbitPalette()
	anim := &gif.GIF{Config: image.Config{ColorModel: palette, Width: orbitSide, Height: orbitSide}}
	for i := range orbitFrames {
		anim.Image = append(anim.Image, orbitFrame(palette, float32(i)/orbitFrames))
		anim.Delay = append(anim.Delay, 5)
		anim.Disposal = append(anim.Disposal, gif.DisposalBackground)
	}
	return gif.EncodeAll(w, anim)
}

// orbitPalette has nothing at index 0, an outline at 1, then the shades.
func orbitPalette() color.Palette {
	p := color.Palette{color.RGBA{}, hex(0x0c2a2e).rgba(255)}
	for _, c := range orbitHues {
		for s := range orbitShades {
			t := float32(s) / (orbitShades - 1)
			tone := mix(mix(c, hex(0x0c2a2e), .72), c, smooth(0, .62, t))
			p = append(p, mix(tone, hex(0xffffff), .82*smooth(.78, 1, t)).rgba(255))
		}
	}
	return p
}

func orbitFrame(palette color.Palette, t float32) *image.Paletted {
	balls := placeBalls(t)
	bounds := image.Rectangle{}
	for _, b := range balls {
		bounds = bounds.Union(b.bounds())
	}
	img := image.NewPaletted(bounds.Intersect(image.Rect(0, 0, orbitSide, orbitSide)), palette)
	for _, b := range balls {
		b.draw(img)
	}
	return img
}

func placeBalls(t float32) []ball {
	var out []ball
	spin := 2 * math.Pi * t / 3 // the colours come round three times
	for i := range orbitBalls {
		a := 2 * math.Pi * float32(i) / orbitBalls
		roll := 2*math.Pi*t + 2*a
		ring := 142 + 44*cos(roll)
		x, z, y := ring*cos(a+spin), ring*sin(a+spin), 78*sin(roll)
		y, z = y*.80-z*.60, z*.80+y*.60 // seen from above
		out = append(out, ball{orbitSide/2 + x*1.08, orbitSide/2 + y*1.12, 27 + z*.062, z, i % len(orbitHues)})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].depth < out[j].depth })
	return out
}

func (b ball) bounds() image.Rectangle {
	return image.Rect(int(b.x-b.r-3), int(b.y-b.r-3), int(b.x+b.r+4), int(b.y+b.r+4))
}

func (b ball) draw(img *image.Paletted) {
	area := b.bounds().Intersect(img.Rect)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			dx, dy := (float32(x)+.5-b.x)/b.r, (float32(y)+.5-b.y)/b.r
			d := dx*dx + dy*dy
			switch {
			case d <= .86:
				img.Pix[img.PixOffset(x, y)] = b.shade(dx, dy)
			case d <= 1:
				img.Pix[img.PixOffset(x, y)] = 1
			}
		}
	}
}

func (b ball) shade(dx, dy float32) uint8 {
	lx, ly := dx+.34, dy+.42
	light := clamp(1.02 - .62*sqrt(lx*lx+ly*ly))
	light = clamp(light + .25*smooth(.26, .06, sqrt(lx*lx+ly*ly)))
	step := int(light*(orbitShades-1) + .5)
	return uint8(2 + b.hue*orbitShades + min(step, orbitShades-1))
}
