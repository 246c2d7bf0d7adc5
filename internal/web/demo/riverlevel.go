package demo

import (
	"fmt"
	"image"
	"image/color"
)

const (
	levelWidth, levelHeight = 1400, 900
	plotLeft, plotRight     = 110, 1330
	plotTop, plotBottom     = 210, 760
)

var (
	inkColour   = hex(0x16302f)
	quietColour = hex(0x6b7f7c)
	paperColour = hex(0xfbf8f1)
	waterColour = hex(0x17756f)
	floodColour = hex(0xd9482b)
)

// riverLevel is a chart as a newspaper prints it, on a palette of 64 colours:
// much even paper, fine lines, small text.
func riverLevel() *image.Paletted {
	img := image.NewRGBA(image.Rect(0, 0, levelWidth, levelHeight))
	fill(img, plain(paperColour), box(0, 0, levelWidth, levelHeight))
	bold(44).write(img, "A wet fortnight at the weir", plotLeft-46, 92, 0, inkColour)
	regular(24).write(img, "River level above datum in metres, every hour for fourteen days", plotLeft-46, 134, 0, quietColour)
	axes(img)
	hydrograph(img)
	notes(img)
	return onPalette(img)
}

func axes(img *image.RGBA) {
	label := regular(20)
	for m := 0; m <= 5; m++ {
		y := levelRow(float32(m))
		fill(img, plain(mix(paperColour, quietColour, .28)), box(plotLeft, y-.5, plotRight-plotLeft, 1))
		label.write(img, fmt.Sprintf("%d.0", m), plotLeft-14, y+7, 1, quietColour)
	}
	for day := range 15 {
		x := dayColumn(float32(day))
		fill(img, plain(quietColour), box(x-.5, plotBottom, 1, 8))
		if day < 14 {
			label.write(img, fmt.Sprint(day+1), dayColumn(float32(day)+.5), plotBottom+34, .5, quietColour)
		}
	}
	y := levelRow(4.2)
	for x := float32(plotLeft); x < plotRight; x += 16 {
		fill(img, plain(floodColour), box(x, y-1, 9, 2))
	}
	regular(20).write(img, "spillway crest 4.2 m", plotRight, y-12, 1, floodColour)
}

func levelRow(metres float32) float32 { return plotBottom - metres*(plotBottom-plotTop)/5.2 }

func dayColumn(day float32) float32 { return plotLeft + day*(plotRight-plotLeft)/14 }

// level is the river in metres: rain pulses that rise fast and drain slowly.
func level(day float32) float32 {
	v := 1.1 + .12*noise(day*2.2, 0, 3)
	for _, rain := range [][3]float32{{1.6, .9, 1.3}, {4.1, 1.5, 1.5}, {6.0, 2.3, 1.9}, {9.3, .8, 1.1}, {11.2, 1.0, 1.2}} {
		if t := day - rain[0]; t > 0 {
			v += rain[1] * smooth(0, .8, t) * exp(-max(t-.6, 0)/rain[2])
		}
	}
	return v
}

func hydrograph(img *image.RGBA) {
	const perDay = 24
	fade := ramp(func(_, y int) color.RGBA {
		t := float32(y-plotTop) / (plotBottom - plotTop)
		return waterColour.rgba(uint8(lerp(96, 22, floor(t*12)/12)))
	})
	fill(img, fade, func(p *pen) {
		p.MoveTo(plotLeft, plotBottom)
		for i := range 14*perDay + 1 {
			d := float32(i) / perDay
			p.LineTo(dayColumn(d), levelRow(level(d)))
		}
		p.LineTo(plotRight, plotBottom)
		p.ClosePath()
	})
	for i := range 14 * perDay {
		a, b := float32(i)/perDay, float32(i+1)/perDay
		fill(img, plain(waterColour), line(dayColumn(a), levelRow(level(a)), dayColumn(b)+.6, levelRow(level(b)), 3.4))
	}
	fill(img, plain(inkColour), box(plotLeft, plotBottom-1, plotRight-plotLeft, 2))
}

func notes(img *image.RGBA) {
	var top float32 // hours to the highest level
	for h := float32(0); h < 14*24; h++ {
		if level(h/24) > level(top/24) {
			top = h
		}
	}
	peak := level(top / 24)
	x, y := dayColumn(top/24), levelRow(peak)
	fill(img, plain(paperColour), ellipse(x, y, 9, 9))
	fill(img, plain(floodColour), ellipse(x, y, 6.5, 6.5))
	bold(22).write(img, fmt.Sprintf("%.2f m", peak), x+20, y-26, 0, floodColour)
	regular(20).write(img, fmt.Sprintf("day %d, %02d:00: gates opened", int(top)/24+1, int(top)%24), x+20, y-2, 0, inkColour)
	regular(17).write(img, "Made data, drawn for testing. Smallest type 11 px:", plotLeft-46, 846, 0, quietColour)
	regular(11).write(img, "the quick water runs over the lazy weir, 0123456789, l1I O0 rn m, éàüß", plotLeft+350, 846, 0, inkColour)
	regular(20).write(img, "day", plotRight, plotBottom+66, 1, quietColour)
}

// onPalette keeps the 64 colours that carry the picture: blends from paper to
// each of its inks, so that smoothed edges stay smooth.
func onPalette(src *image.RGBA) *image.Paletted {
	palette := color.Palette{}
	for _, ink := range []rgb{inkColour, quietColour, waterColour, floodColour} {
		for i := range 16 {
			palette = append(palette, mix(paperColour, ink, float32(i)/15).rgba(255))
		}
	}
	dst := image.NewPaletted(src.Rect, palette)
	known := map[color.RGBA]uint8{}
	for y := range src.Rect.Dy() {
		for x := range src.Rect.Dx() {
			c := src.RGBAAt(x, y)
			index, ok := known[c]
			if !ok {
				index = uint8(palette.Index(c))
				known[c] = index
			}
			dst.Pix[dst.PixOffset(x, y)] = index
		}
	}
	return dst
}
