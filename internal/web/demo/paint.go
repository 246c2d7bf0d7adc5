package demo

import (
	"image"
	"image/color"
	"math"
)

// rgb is a colour in gamma-encoded sRGB, 0 to 1 a channel. Values may leave
// that range while light is added; they are clamped when stored.
type rgb struct{ r, g, b float32 }

func hex(v uint32) rgb {
	return rgb{float32(v>>16&255) / 255, float32(v>>8&255) / 255, float32(v&255) / 255}
}

func (c rgb) add(o rgb) rgb       { return rgb{c.r + o.r, c.g + o.g, c.b + o.b} }
func (c rgb) times(k float32) rgb { return rgb{c.r * k, c.g * k, c.b * k} }
func (c rgb) rgba(a uint8) color.RGBA {
	k := float32(a) / 255
	return color.RGBA{quantise(c.r*k, .5), quantise(c.g*k, .5), quantise(c.b*k, .5), a}
}

// screen lays light over a colour without clipping it.
func (c rgb) screen(o rgb) rgb {
	return rgb{1 - (1-c.r)*(1-o.r), 1 - (1-c.g)*(1-o.g), 1 - (1-c.b)*(1-o.b)}
}

func mix(a, b rgb, t float32) rgb {
	return rgb{a.r + (b.r-a.r)*t, a.g + (b.g-a.g)*t, a.b + (b.b-a.b)*t}
}

// stop is a colour at a place of a gradient, stops ascending.
type stop struct {
	at float32
	c  rgb
}

func gradient(stops []stop, t float32) rgb {
	for i := 1; i < len(stops); i++ {
		if t < stops[i].at {
			a, b := stops[i-1], stops[i]
			return mix(a.c, b.c, smooth(a.at, b.at, t))
		}
	}
	return stops[len(stops)-1].c
}

// smooth is the cubic step from 0 at a to 1 at b.
func smooth(a, b, x float32) float32 {
	t := clamp((x - a) / (b - a))
	return t * t * (3 - 2*t)
}

func clamp(x float32) float32 { return min(max(x, 0), 1) }

func lerp(a, b, t float32) float32 { return a + (b-a)*t }

func exp(x float32) float32    { return float32(math.Exp(float64(x))) }
func sin(x float32) float32    { return float32(math.Sin(float64(x))) }
func cos(x float32) float32    { return float32(math.Cos(float64(x))) }
func sqrt(x float32) float32   { return float32(math.Sqrt(float64(x))) }
func pow(x, y float32) float32 { return float32(math.Pow(float64(x), float64(y))) }

// floor is for values that an int32 holds; math.Floor is far slower.
func floor(x float32) float32 {
	i := float32(int32(x))
	if i > x {
		i--
	}
	return i
}

// quantise turns a channel to a byte; the threshold, 0 to 1, dithers.
func quantise(x, threshold float32) uint8 {
	return uint8(min(max(x*255+threshold, 0), 255))
}

// shade fills a picture from a function of the pixel, with the fine noise of a
// sensor over it: without that, skies look painted and band in eight bits.
func shade(w, h int, at func(x, y int) rgb) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		row := img.Pix[y*img.Stride:]
		for x := range w {
			store(row[x*4:x*4+4:x*4+4], at(x, y), x, y)
		}
	}
	return img
}

// store writes one pixel. One hash serves both for the grain, of about three
// steps, and for the dither of half a step.
func store(p []uint8, c rgb, x, y int) {
	h := scramble(uint32(x)*0x9e3779b1 ^ uint32(y)*0x85ebca6b)
	n := (float32(h&255) + float32(h>>8&255) - 255) * (.012 / 255)
	d := float32(h>>16) / 65536
	p[0], p[1], p[2], p[3] = quantise(c.r+n, d), quantise(c.g+n, d), quantise(c.b+n, d), 255
}
