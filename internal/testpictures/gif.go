package testpictures

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
)

// Animation is a GIF to write and, by Composed, the frames a viewer sees.
type Animation struct {
	Width, Height int
	Frames        []Frame
	// Plays is how often it plays in all; 0 is for ever.
	Plays int
}

// Frame is a coloured block with what happens to it afterwards.
type Frame struct {
	Area   image.Rectangle
	Colour color.NRGBA
	// Hole is left out of the block; empty for none.
	Hole image.Rectangle
	// Delay is in milliseconds, a multiple of ten.
	Delay    int
	Disposal byte // gif.DisposalNone and so on; 0 leaves it unsaid
}

// Bytes writes the GIF.
func (a Animation) Bytes() []byte {
	g := &gif.GIF{Config: image.Config{Width: a.Width, Height: a.Height}, LoopCount: a.loopCount()}
	for _, f := range a.Frames {
		p := image.NewPaletted(f.Area, color.Palette{color.NRGBA{}, f.Colour})
		for y := f.Area.Min.Y; y < f.Area.Max.Y; y++ {
			for x := f.Area.Min.X; x < f.Area.Max.X; x++ {
				if !(image.Point{X: x, Y: y}).In(f.Hole) {
					p.SetColorIndex(x, y, 1)
				}
			}
		}
		g.Image = append(g.Image, p)
		g.Delay = append(g.Delay, f.Delay/10)
		g.Disposal = append(g.Disposal, f.Disposal)
	}
	var buf bytes.Buffer
	must(gif.EncodeAll(&buf, g))
	return buf.Bytes()
}

// loopCount is Plays in the terms of image/gif: how often it starts again.
func (a Animation) loopCount() int {
	switch a.Plays {
	case 0:
		return 0
	case 1:
		return -1
	}
	return a.Plays - 1
}

// Composed is what a viewer sees, frame by frame, by the rules of GIF89a,
// section 23: clear to the background means clear to transparent, as every
// browser has it.
func (a Animation) Composed() []*image.NRGBA {
	canvas := image.NewNRGBA(image.Rect(0, 0, a.Width, a.Height))
	var out []*image.NRGBA
	for _, f := range a.Frames {
		before := cloneNRGBA(canvas)
		for y := f.Area.Min.Y; y < f.Area.Max.Y; y++ {
			for x := f.Area.Min.X; x < f.Area.Max.X; x++ {
				if !(image.Point{X: x, Y: y}).In(f.Hole) {
					canvas.SetNRGBA(x, y, f.Colour)
				}
			}
		}
		out = append(out, cloneNRGBA(canvas))
		switch f.Disposal {
		case gif.DisposalBackground:
			draw.Draw(canvas, f.Area, image.Transparent, image.Point{}, draw.Src)
		case gif.DisposalPrevious:
			canvas = before
		}
	}
	return out
}

func cloneNRGBA(img *image.NRGBA) *image.NRGBA {
	out := image.NewNRGBA(img.Rect)
	copy(out.Pix, img.Pix)
	return out
}

// Disposals has an animation for each disposal rule and one that mixes them,
// by name. Each starts from a full ground, over which blocks of other colours
// come and go, so that a wrong rule shows in a later frame.
func Disposals(w, h int) map[string]Animation {
	rules := map[string][4]byte{
		"none":       {gif.DisposalNone, gif.DisposalNone, gif.DisposalNone, gif.DisposalNone},
		"background": {gif.DisposalBackground, gif.DisposalBackground, gif.DisposalBackground, gif.DisposalBackground},
		"previous":   {gif.DisposalNone, gif.DisposalPrevious, gif.DisposalPrevious, gif.DisposalPrevious},
		"mixed":      {gif.DisposalNone, gif.DisposalBackground, gif.DisposalPrevious, gif.DisposalNone},
	}
	at := func(x0, y0, x1, y1 int) image.Rectangle {
		return image.Rect(x0*w/8, y0*h/8, x1*w/8, y1*h/8)
	}
	out := map[string]Animation{}
	for name, rule := range rules {
		out[name] = Animation{Width: w, Height: h, Plays: 3, Frames: []Frame{
			{Area: at(0, 0, 8, 8), Colour: color.NRGBA{200, 40, 40, 255}, Delay: 100, Disposal: rule[0]},
			{Area: at(1, 1, 5, 5), Colour: color.NRGBA{40, 160, 60, 255}, Hole: at(2, 2, 3, 3), Delay: 250, Disposal: rule[1]},
			{Area: at(4, 3, 7, 7), Colour: color.NRGBA{40, 60, 200, 255}, Delay: 80, Disposal: rule[2]},
			{Area: at(0, 6, 3, 8), Colour: color.NRGBA{230, 220, 60, 255}, Delay: 500, Disposal: rule[3]},
		}}
	}
	return out
}

// ManyFrames is an animation of n small blocks that walk over a plain ground.
func ManyFrames(w, h, n int) []byte {
	a := Animation{Width: w, Height: h}
	for i := range n {
		f := Frame{Area: image.Rect(0, 0, w, h), Colour: color.NRGBA{90, 90, 120, 255}, Delay: 20, Disposal: gif.DisposalNone}
		if i > 0 {
			x := i % max(1, w-1)
			f.Area = image.Rect(x, 0, x+1, h)
			f.Colour = color.NRGBA{uint8(i), 200, 60, 255}
		}
		a.Frames = append(a.Frames, f)
	}
	return a.Bytes()
}
