package media

import "math"

// LayOut is the pure geometry of one output: how the upright picture (width x
// height, after crop, rotation and trim) meets the box of size.
//
// The box is size times DPR, rounded, never below 1. A side that is 0 follows
// the picture's ratio, whatever the fit; with both 0 the picture keeps its
// size and DPR has nothing to multiply.
//
// Without Enlarge no pixel is ever stretched: inside and outside stop at the
// picture's own size; contain pads what is there to the full box; cover and
// fill shrink the box, keeping its shape, until the picture fills it. So a
// 100x50 picture in cover 300x300 gives 50x50.
//
// The error is CodeDecodeFailed for a picture without pixels and
// CodeOutputSide for a size beyond all numbers; Limits are NewPlan's task.
func LayOut(size Size, width, height int, req Request) (Layout, error) {
	if width < 1 || height < 1 {
		return Layout{}, Errorf(CodeDecodeFailed, "The picture has no pixels: it is %dx%d.", width, height)
	}
	return layOut(size, float64(width), float64(height), req)
}

// layOut is LayOut for vectors too, whose sides have parts of pixels.
func layOut(size Size, width, height float64, req Request) (Layout, error) {
	box := size.times(req.DPR)
	layout := Layout{Width: rounded(width), Height: rounded(height)}
	switch {
	case box.Width == 0 && box.Height == 0:
	case box.Width == 0 || box.Height == 0:
		layout.Width, layout.Height = within(box, width, height, req.Enlarge)
	case req.Fit == Cover:
		layout = cover(box, width, height, req)
	case req.Fit == Contain:
		layout = contain(box, width, height, req)
	case req.Fit == Fill:
		layout.Width, layout.Height = fill(box, width, height, req.Enlarge)
	case req.Fit == Outside:
		layout.Width, layout.Height = around(box, width, height, req.Enlarge)
	default:
		layout.Width, layout.Height = within(box, width, height, req.Enlarge)
	}
	if max(layout.Width, layout.Height) > maxCoordinate {
		return Layout{}, Errorf(CodeOutputSide, "A picture of %dx%d would have to be made on the way to %dx%d.",
			layout.Width, layout.Height, size.Width, size.Height)
	}
	return layout, nil
}

// maxCoordinate is the largest side that libvips handles.
const maxCoordinate = 10_000_000

// times multiplies a wished size by the pixel ratio; 0 stays 0.
func (s Size) times(dpr float64) Size {
	return Size{Width: timesSide(s.Width, dpr), Height: timesSide(s.Height, dpr)}
}

func timesSide(side int, dpr float64) int {
	if side <= 0 {
		return 0
	}
	return rounded(float64(side) * dpr)
}

// rounded is the nearest whole number of pixels, never 0. It saturates above
// maxCoordinate, so that no later product overflows.
func rounded(v float64) int {
	if !(v < maxCoordinate) { // also catches NaN
		return maxCoordinate + 1
	}
	return max(int(math.Round(v)), 1)
}

// scales gives the factor that meets each side of the box; a side of 0 gives
// the other side's.
func scales(box Size, width, height float64) (horizontal, vertical float64) {
	horizontal = float64(box.Width) / width
	vertical = float64(box.Height) / height
	if box.Width == 0 {
		horizontal = vertical
	}
	if box.Height == 0 {
		vertical = horizontal
	}
	return horizontal, vertical
}

// within is the whole picture inside the box.
func within(box Size, width, height float64, enlarge bool) (w, h int) {
	horizontal, vertical := scales(box, width, height)
	scale := min(horizontal, vertical)
	if scale >= 1 && !enlarge {
		return rounded(width), rounded(height)
	}
	w, h = rounded(width*scale), rounded(height*scale)
	if box.Width > 0 {
		w = min(w, box.Width)
	}
	if box.Height > 0 {
		h = min(h, box.Height)
	}
	return w, h
}

// around is the smallest picture that covers the box.
func around(box Size, width, height float64, enlarge bool) (w, h int) {
	horizontal, vertical := scales(box, width, height)
	scale := max(horizontal, vertical)
	if scale >= 1 && !enlarge {
		return rounded(width), rounded(height)
	}
	w = max(rounded(width*scale), box.Width)
	h = max(rounded(height*scale), box.Height)
	return w, h
}

// fill stretches to the box; without enlarge to the largest box of the same
// shape that needs no stretching on either side.
func fill(box Size, width, height float64, enlarge bool) (w, h int) {
	horizontal, vertical := scales(box, width, height)
	box = shrinkBox(box, max(horizontal, vertical), width, height, enlarge)
	return box.Width, box.Height
}

// shrinkBox divides the box by scale when filling it would enlarge.
func shrinkBox(box Size, scale, width, height float64, enlarge bool) Size {
	if scale <= 1 || enlarge {
		return box
	}
	return Size{
		Width:  min(rounded(float64(box.Width)/scale), rounded(width)),
		Height: min(rounded(float64(box.Height)/scale), rounded(height)),
	}
}

// cover fills the box and crops what hangs over.
func cover(box Size, width, height float64, req Request) Layout {
	horizontal, vertical := scales(box, width, height)
	box = shrinkBox(box, max(horizontal, vertical), width, height, req.Enlarge)
	layout := Layout{}
	layout.Width, layout.Height = around(box, width, height, req.Enlarge)
	if layout.Width == box.Width && layout.Height == box.Height {
		return layout
	}
	layout.Crop = Rect{Width: box.Width, Height: box.Height}
	if req.Gravity.Smart() {
		layout.Smart = req.Gravity.Kind
		return layout
	}
	layout.Crop.X, layout.Crop.Y = req.Gravity.place(layout.Width-box.Width, layout.Height-box.Height, layout)
	return layout
}

// contain pads the whole picture to the box. Only compass gravities move it;
// a focal point or a smart gravity leaves it in the middle.
func contain(box Size, width, height float64, req Request) Layout {
	layout := Layout{}
	layout.Width, layout.Height = within(box, width, height, req.Enlarge)
	if layout.Width == box.Width && layout.Height == box.Height {
		return layout
	}
	layout.Canvas = Rect{Width: box.Width, Height: box.Height}
	gravity := req.Gravity
	if gravity.Smart() || gravity.Kind == GravityFocal {
		gravity.Kind = GravityCenter
	}
	layout.Canvas.X, layout.Canvas.Y = gravity.place(box.Width-layout.Width, box.Height-layout.Height, layout)
	return layout
}

// place gives the offset within the room that is left on each axis. A focal
// point goes to the middle of the crop, as far as the edges allow.
func (g Gravity) place(roomX, roomY int, layout Layout) (x, y int) {
	if g.Kind == GravityFocal {
		return focus(g.X, layout.Width, layout.Crop.Width), focus(g.Y, layout.Height, layout.Crop.Height)
	}
	x, y = roomX/2, roomY/2
	switch g.Kind {
	case GravityWest, GravityNorthWest, GravitySouthWest:
		x = 0
	case GravityEast, GravityNorthEast, GravitySouthEast:
		x = roomX
	}
	switch g.Kind {
	case GravityNorth, GravityNorthWest, GravityNorthEast:
		y = 0
	case GravitySouth, GravitySouthWest, GravitySouthEast:
		y = roomY
	}
	return x, y
}

// focus centres a window of that length on a point given as a share of size.
func focus(share float64, size, window int) int {
	start := int(math.Round(share*float64(size) - float64(window)/2))
	return min(max(start, 0), size-window)
}
