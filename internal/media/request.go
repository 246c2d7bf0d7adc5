package media

// Request is one parsed, validated wish for a picture. Its zero value is not
// useful: NewRequest sets the defaults, Parse reads a query.
type Request struct {
	// Sizes has at least one entry; {0,0} keeps the original size.
	// They and Gravity refer to the picture as a viewer sees it, after
	// orientation, Crop, Rotate, Flip, Flop and Trim.
	Sizes   []Size
	Fit     Fit
	Enlarge bool
	Gravity Gravity
	// Crop, when set, is cut from the upright source before everything else,
	// in pixels of the source's full size.
	Crop *Rect
	// Rotate is 0, 90, 180 or 270 degrees clockwise, after orientation.
	Rotate     int
	Flip, Flop bool // Flip: top to bottom. Flop: left to right.
	// Trim, when above 0, cuts borders that differ from the corner pixel by
	// less than this threshold (1 to 255).
	Trim float64
	// DPR multiplies every asked size; 1 by default, at most 8.
	DPR float64
	// Background, when given, fills transparency and the bars of
	// fit=contain, in every output format alike, so that a negotiated format
	// never changes the picture. Nil: transparent where possible, else white.
	Background *Colour
	// Blur is a Gaussian sigma in result pixels, 0.3 to 250; 0 is off.
	Blur float64
	// Sharpen is the sigma of the sharpening mask, 0.3 to 10; 0 is off.
	Sharpen   float64
	Grayscale bool
	Watermark *Watermark
	// Linear resizes in linear light: what stands for the average of some
	// pixels then is as bright as they are together.
	Linear bool
	// Shrink says how far a decoder may scale down what it reads.
	Shrink Shrink

	Format Format
	// Quality is 1 to 100; 0 takes the format's default.
	Quality int
	// MaxBytes bounds the encoded size by lowering quality; 0 is off.
	MaxBytes int
	// SSIM is how like the finished picture the decoded result is to be, 0.9
	// to 0.999; the quality is found. 0 is off.
	SSIM     float64
	Lossless bool
	// Effort is 0 (fastest) to 9 (smallest); EffortUsual takes the format's
	// default, EffortEased a lower one.
	Effort int
	// Progressive asks for interlaced output.
	Progressive bool
	// ProgressiveJPEG asks for it where JPEG comes out and its coefficients can
	// well be held. Other formats stay as they are, and so do their keys once
	// it is settled.
	ProgressiveJPEG bool
	// Page is the 1-based document page or animation frame to start from.
	Page int
	// Frames bounds how many animation frames are kept; 0 keeps all.
	Frames int
	Keep   Keep
	// Encoder is how several results travel: stream, json or progress.
	Encoder Encoder
	// Placeholders stand beside the pictures in one JSON document.
	Placeholders Placeholders
}

// What Effort is when no effort was asked for. They do not depend on the
// format, which may not be negotiated yet.
const (
	EffortUsual = -1
	EffortEased = -2 // only a busy server asks for it
)

// Eased is the request with less work for the encoder, for a busy server: it
// gives larger files sooner, under a key of their own. It is false when the
// client chose the effort, and for formats where less effort saves nothing.
func (r Request) Eased() (Request, bool) {
	if r.Effort != EffortUsual || r.Format != Auto && encodings[r.Format].eased == encodings[r.Format].usual {
		return r, false
	}
	r.Effort = EffortEased
	return r, true
}

// NewRequest is a request for the original size with every default set.
func NewRequest() Request {
	return Request{
		Sizes: []Size{{}}, Fit: Inside, Gravity: Gravity{Kind: GravityCenter},
		DPR: 1, Shrink: ShrinkFine, Format: Auto, Effort: EffortUsual, Page: 1, Encoder: EncodeStream,
	}
}

// Size is a wished box in pixels; 0 keeps the ratio on that side.
type Size struct{ Width, Height int }

// Rect is an area in pixels of the upright source.
type Rect struct{ X, Y, Width, Height int }

// Colour is an sRGB colour with alpha, 0 to 255 each.
type Colour struct{ R, G, B, A uint8 }

// Fit says how a picture meets its box.
type Fit string

// The fits; without a full box (one side 0) all behave like Inside.
const (
	Inside  Fit = "inside"  // whole picture within the box
	Cover   Fit = "cover"   // box filled, overflow cropped by gravity
	Contain Fit = "contain" // whole picture, box padded by background
	Fill    Fit = "fill"    // stretched to the box
	Outside Fit = "outside" // smallest picture that covers the box, uncropped
)

// Shrink says how much of a resize a decoder may do while it reads, which is
// cheap and coarse. Only JPEG and WebP have such a scale.
type Shrink string

// The ways to shrink.
const (
	ShrinkFine Shrink = "fine" // to no less than twice the result
	ShrinkFast Shrink = "fast" // to the size of the result, where it can
	ShrinkNone Shrink = "none" // not at all: the source is decoded in full
)

// GravityKind says which part of a picture survives a crop.
type GravityKind string

// Compass kinds are the eight points plus center.
const (
	GravityCenter    GravityKind = "center"
	GravityNorth     GravityKind = "north"
	GravityNorthEast GravityKind = "northeast"
	GravityEast      GravityKind = "east"
	GravitySouthEast GravityKind = "southeast"
	GravitySouth     GravityKind = "south"
	GravitySouthWest GravityKind = "southwest"
	GravityWest      GravityKind = "west"
	GravityNorthWest GravityKind = "northwest"
	GravityFocal     GravityKind = "focal"     // X, Y hold the point, 0 to 1
	GravityAttention GravityKind = "attention" // most salient area
	GravityEntropy   GravityKind = "entropy"   // most detailed area
)

// Gravity is a kind and, for GravityFocal, the point to keep.
type Gravity struct {
	Kind GravityKind
	X, Y float64
}

// Smart tells whether the crop depends on the pixels.
func (g Gravity) Smart() bool {
	return g.Kind == GravityAttention || g.Kind == GravityEntropy
}

// Watermark is a picture laid over the result.
type Watermark struct {
	// URL names the overlay like image_url does.
	URL     string
	Gravity Gravity // compass kinds only
	// Opacity is 0 to 1.
	Opacity float64
	// Scale is the overlay's width as a share of the result's, 0 to 1; 0
	// keeps the overlay's own size (shrunk only when it would not fit).
	Scale float64
	// X and Y move it from its gravity point towards the middle, in pixels.
	X, Y int
}

// Keep says which metadata survive; the zero value strips all, after the
// colour profile was applied to the pixels.
type Keep struct {
	EXIF, XMP, IPTC, ICC, Copyright bool
}

// Encoder says how results travel.
type Encoder string

// The encoders of DESIGN section 3.
const (
	EncodeStream   Encoder = "stream"
	EncodeJSON     Encoder = "json"
	EncodeProgress Encoder = "progress"
)

// Placeholders are the kinds of what a page shows until a picture is there.
type Placeholders struct {
	BlurHash, ThumbHash, LQIP, Color bool
}

// Any tells whether a placeholder is wanted at all.
func (p Placeholders) Any() bool { return p != Placeholders{} }
