package media

// Info is what a header probe learns about a source. Nothing was decoded to
// fill it, so it is cheap for every format.
type Info struct {
	Format Format
	// Bytes is the size of the file, which tells how much its pixels hold; 0
	// where it is not known.
	Bytes int64
	// Width and Height are of one frame or page, as stored: before
	// Orientation is applied. For vectors: natural size in CSS pixels.
	Width, Height int
	// NaturalWidth and NaturalHeight are what Width and Height of a vector
	// were rounded from; 0 where nothing more exact is known than they are.
	NaturalWidth, NaturalHeight float64
	// Orientation is the EXIF value 1 to 8 that is still to be applied.
	// It is 1 where the decoder itself turns the picture (HEIC, AVIF).
	Orientation int
	// Frames counts animation frames or document pages, 1 or more.
	Frames int
	// Animated is true when Frames are shown one after the other; a
	// multi-page TIFF or PDF is not.
	Animated bool
	// Delays has one entry a frame, in milliseconds; empty when not animated.
	Delays []int
	// Plays is how often an animation plays in all; 0 is for ever.
	Plays int
	Alpha bool
	// Bands counts stored channels, alpha included.
	Bands int
	// BitDepth is the stored depth of a channel: 1, 2, 4, 8, 10, 12, 16, 32;
	// of a palette that of its colours, 8, and not that of the index.
	BitDepth int
	// Colourspace is one of srgb, gray, cmyk, lab, unknown.
	Colourspace string
	// Subsampled is true when a JPEG's chroma is stored at half the size in
	// both directions. False is the safe value: it costs a higher estimate.
	Subsampled bool
	// FilterWork is the cost of an SVG's filters for each rendered pixel, in
	// simple operations; Examine finds it.
	FilterWork float64
	// Lossless is true for a still WebP without loss. False where it is not
	// known.
	Lossless bool
	// Profile is true when an ICC profile is embedded.
	Profile bool
	// Progressive is true for progressive JPEG and interlaced PNG or GIF,
	// which the decoder must hold whole.
	Progressive bool
}

// Upright is the size a viewer sees: Width and Height with Orientation applied.
func (i Info) Upright() (width, height int) {
	if i.Orientation >= 5 && i.Orientation <= 8 {
		return i.Height, i.Width
	}
	return i.Width, i.Height
}

// exact is Upright before rounding; only vectors have parts of pixels.
func (i Info) exact() (width, height float64) {
	if i.NaturalWidth > 0 && i.NaturalHeight > 0 && i.Format.IsVector() {
		return i.NaturalWidth, i.NaturalHeight
	}
	w, h := i.Upright()
	return float64(w), float64(h)
}
