package media

import (
	"math"
	"time"
)

// Plan is everything the pixel engine has to do for one source: decode once,
// then derive every output from it. It holds no pixels and no handles.
//
// The steps and their order, for each output:
//
//  1. load, as Load says (page, frames, shrink or scale)
//  2. orient: apply Info.Orientation, so that all below is what a viewer sees
//  3. crop: cut Plan.Crop, when set, from the upright picture
//  4. rotate by Request.Rotate, clockwise
//  5. flip (top to bottom), then flop (left to right)
//  6. trim, when Request.Trim is above 0; then ask Plan.LayOut for each new layout
//  7. premultiply, resize to Layout.Width x Layout.Height, unpremultiply; in
//     linear light, after everything was brought to sRGB, with Request.Linear
//  8. cut Layout.Crop, or find its place by Layout.Smart
//  9. blur, to sRGB (unless the profile is kept), grayscale, sharpen, in this
//     order; sigmas are in result pixels
//  10. lay on Layout.Canvas, filled with Request.Background (nil: transparent
//     where the output has alpha, else white)
//  11. watermark, placed within and scaled by the result, canvas included
//  12. lay on Request.Background, when given, in every output format; then,
//     when the output has no alpha, flatten what is still transparent on white
//  13. encode, as Encode says
//
// Steps 1 to 6 are common to all outputs. An animation goes through the steps
// frame by frame; trim and smart crop take the box of its first frame for all.
type Plan struct {
	Info Info
	Load Load
	// Crop is Request.Crop cut to the picture; nil when there is none. It is
	// in shares of the upright picture because the loaded one may be smaller
	// than Info says (Load.Shrink, Load.Scale): Crop.In gives the pixels.
	Crop *Area
	// Request is what was asked; the engine reads the steps from it, except
	// Crop above and the sizes, which Outputs holds. Enlarge is true for
	// vectors whatever was asked.
	Request Request
	// Outputs has one entry a size, in the order asked. The engine derives
	// them largest first from the one decode.
	Outputs []Output
	// Memory is the estimated peak of decoded bytes while the plan runs:
	// what admission reserves.
	Memory int64
	// Cost is the CPU time that the plan is expected to take, on one core of
	// the machine its constants were measured on: what admission orders by.
	Cost time.Duration

	// limits hold for the outputs too: LayOut checks them.
	limits Limits
}

// Load says how the source is decoded.
type Load struct {
	// Page is the 0-based first page or frame, Frames how many. Frames is
	// above 1 only for animations that are written as animations.
	Page, Frames int
	// Shrink is the JPEG scale-down at load: 1, 2, 4 or 8.
	Shrink int
	// Scale is the load scale of formats that take a free one: WebP (at
	// most 1) and vectors (any; the picture is rendered at the size the
	// largest output needs). 1 elsewhere.
	Scale float64
	// Sequential is true when the steps read the picture once, top to
	// bottom, so it need not be held whole.
	Sequential bool
}

// Area is a part of a picture in shares of its width and height, 0 to 1.
type Area struct{ X, Y, Width, Height float64 }

// In gives the area in pixels of a picture of that size: never empty, never
// beyond its edges.
func (a Area) In(width, height int) Rect {
	x, w := span(a.X, a.Width, width)
	y, h := span(a.Y, a.Height, height)
	return Rect{X: x, Y: y, Width: w, Height: h}
}

// span turns a start and a length in shares of size into whole pixels.
func span(start, length float64, size int) (from, count int) {
	from = min(max(int(math.Round(start*float64(size))), 0), size-1)
	to := int(math.Round((start + length) * float64(size)))
	return from, max(min(to, size)-from, 1)
}

// Output is one picture to make.
type Output struct {
	// Size is the wish it answers, from Request.Sizes.
	Size Size
	// Layout is final unless Request.Trim is set; then the engine
	// asks Plan.LayOut with the trimmed size.
	Layout Layout
	Encode Encode
	// Back is for a small picture (Raw) that is made of a finished one instead
	// of the decode: how many outputs before it in the plan that one stands.
	// Its size is within ThumbSide, whatever Layout says. 0 elsewhere.
	Back int
}

// Layout is the geometry of one output in the order it is applied: resize the
// upright picture to Width x Height, cut Crop (or a smart crop of that size),
// then lay it on a Canvas.
type Layout struct {
	// Width and Height are the resize target, 1 or more. They may be the
	// picture's own size: then there is nothing to resize.
	Width, Height int
	// Crop is cut after the resize; zero Width means none. For smart
	// gravities X and Y are not used.
	Crop Rect
	// Smart is the gravity when the engine has to find Crop's place itself:
	// GravityAttention or GravityEntropy, else empty.
	Smart GravityKind
	// Canvas is the padded size; zero Width means none. X, Y are where the
	// picture lies on it.
	Canvas Rect
}

// Final is the size of the finished picture.
func (l Layout) Final() (width, height int) {
	switch {
	case l.Canvas.Width > 0:
		return l.Canvas.Width, l.Canvas.Height
	case l.Crop.Width > 0:
		return l.Crop.Width, l.Crop.Height
	}
	return l.Width, l.Height
}

// Encode is how an output is written.
type Encode struct {
	Format  Format
	Quality int // 1 to 100, never 0 here; without meaning where Lossless
	// MaxBytes is 0 or the largest size allowed. The engine lowers Quality
	// within a bounded number of encodes of the one finished picture and
	// answers CodeOutputBytes when no quality is small enough.
	MaxBytes int
	// SSIM is 0 or how like the finished picture the result is to be once it
	// is decoded. The engine finds the Quality for it, and takes the best or
	// the least there is where none comes near.
	SSIM float64
	// Lossless is true for formats that know no other way (PNG, GIF, TIFF).
	Lossless bool
	// Effort is in the encoder's own scale, never -1 here: WebP 0 to 6, AVIF
	// 0 to 9 (libvips' effort; speed is 9 minus it), JXL 1 to 9, PNG
	// compression 1 to 9, GIF 1 to 10, JPEG 0 (fixed Huffman tables, which
	// can stream) or 1 (optimised tables). TIFF has none: 0.
	Effort      int
	Progressive bool
	Keep        Keep
	// Animated is true when all loaded frames are written.
	Animated bool
}

// Abilities is what the linked engine can really read and write.
type Abilities struct {
	Read, Write map[Format]bool
}
