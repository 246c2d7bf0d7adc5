package media

// Plan is everything the pixel engine has to do for one source: decode once,
// then derive every output from it. It holds no pixels and no handles.
type Plan struct {
	Info Info
	Load Load
	// Request is what was asked; the engine reads the steps (crop, trim,
	// rotate, blur and so on) from it in the documented order.
	Request Request
	// Outputs has one entry a size, in the order asked. The engine derives
	// them largest first from the one decode.
	Outputs []Output
	// Memory is the estimated peak of decoded bytes while the plan runs:
	// what admission reserves.
	Memory int64
}

// Load says how the source is decoded.
type Load struct {
	// Page is the 0-based first page or frame, Frames how many.
	Page, Frames int
	// Shrink is the JPEG scale-down at load: 1, 2, 4 or 8.
	Shrink int
	// Scale is the load scale of formats that take a free one: WebP (at
	// most 1) and vectors (any). 1 elsewhere.
	Scale float64
	// Sequential is true when the steps read the picture top to bottom, so
	// it need not be held whole.
	Sequential bool
}

// Output is one picture to make.
type Output struct {
	// Layout is final unless Request.Trim is set; then the engine calls
	// LayOut again with the trimmed size.
	Layout Layout
	Encode Encode
}

// Layout is the geometry of one output in the order it is applied: resize the
// upright picture to Width x Height, cut Crop (or a smart crop of that size),
// then lay it on a Canvas.
type Layout struct {
	// Width and Height are the resize target, 1 or more.
	Width, Height int
	// Crop is cut after the resize; zero Width means none. For smart
	// gravities X and Y are not used.
	Crop Rect
	// Smart is the gravity when the engine has to find Crop's place itself.
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
	Format      Format
	Quality     int // 1 to 100, never 0 here
	MaxBytes    int // 0 is off
	Lossless    bool
	Effort      int // in the encoder's own scale, never -1 here
	Progressive bool
	Keep        Keep
	// Animated is true when all loaded frames are written.
	Animated bool
}

// Abilities is what the linked engine can really read and write.
type Abilities struct {
	Read, Write map[Format]bool
}
