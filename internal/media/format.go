package media

import (
	"path"
	"slices"
	"strings"
)

// Format names an image format as it stands in URLs, logs and metrics.
type Format string

// The formats Spillway knows. Auto is only ever a wish in a Request.
const (
	Unknown Format = ""
	Auto    Format = "auto"
	JPEG    Format = "jpeg"
	PNG     Format = "png"
	WebP    Format = "webp"
	AVIF    Format = "avif"
	GIF     Format = "gif"
	JXL     Format = "jxl"
	TIFF    Format = "tiff"
	HEIC    Format = "heic"
	SVG     Format = "svg"
	BMP     Format = "bmp"
	JP2     Format = "jp2"
	PDF     Format = "pdf"
	// Raw is rows of 8-bit RGBA in sRGB, not premultiplied, without a header;
	// of an animation its first frame. It is what placeholders are made from,
	// and never what a client asks for or gets.
	Raw Format = "raw"
)

// traits is what planning has to know of a format.
type traits struct {
	contentType string
	extension   string
	alpha       bool // can carry transparency
	animation   bool // can carry several frames, as we write it
	vector      bool // has no pixels of its own
	output      bool // may be asked for with format=
}

var formatTraits = map[Format]traits{
	JPEG: {"image/jpeg", "jpg", false, false, false, true},
	PNG:  {"image/png", "png", true, false, false, true},
	WebP: {"image/webp", "webp", true, true, false, true},
	AVIF: {"image/avif", "avif", true, false, false, true},
	GIF:  {"image/gif", "gif", true, true, false, true},
	JXL:  {"image/jxl", "jxl", true, false, false, true},
	TIFF: {"image/tiff", "tif", true, false, false, true},
	HEIC: {"image/heic", "heic", true, false, false, false},
	SVG:  {"image/svg+xml", "svg", true, false, true, false},
	BMP:  {"image/bmp", "bmp", true, false, false, false},
	JP2:  {"image/jp2", "jp2", true, false, false, false},
	PDF:  {"application/pdf", "pdf", true, false, true, false},
	Raw:  {"application/octet-stream", "rgba", true, false, false, false},
}

// ContentType is the registered media type, or application/octet-stream.
func (f Format) ContentType() string {
	if t, ok := formatTraits[f]; ok {
		return t.contentType
	}
	return "application/octet-stream"
}

// Extension is the usual file name ending without its dot.
func (f Format) Extension() string { return formatTraits[f].extension }

// CanAlpha tells whether the format carries transparency.
func (f Format) CanAlpha() bool { return formatTraits[f].alpha }

// CanAnimate tells whether Spillway writes animations in the format.
func (f Format) CanAnimate() bool { return formatTraits[f].animation }

// IsVector tells whether sources of the format scale without loss.
func (f Format) IsVector() bool { return formatTraits[f].vector }

// IsOutput tells whether the format may be asked for.
func (f Format) IsOutput() bool { return formatTraits[f].output }

// MaxSide is the longest side, in pixels, that a file of the format can have
// as our encoders write it.
func (f Format) MaxSide() int {
	switch f {
	case WebP:
		return 16383
	case AVIF, HEIC:
		return 16384
	case JPEG:
		return 65500 // libjpeg's own bound, a little below the format's
	case GIF:
		return 65535
	}
	return maxCoordinate
}

// OutputFormats lists, in a fixed order, what format= accepts besides auto.
func OutputFormats() []Format {
	return []Format{WebP, JPEG, PNG, AVIF, GIF, JXL, TIFF}
}

// pictureEndings are those of files that are taken for pictures where a whole
// folder is meant.
var pictureEndings = []string{
	".jpg", ".jpeg", ".png", ".webp", ".avif", ".gif", ".jxl", ".tif", ".tiff",
	".heic", ".heif", ".svg", ".svgz", ".bmp", ".jp2", ".pdf",
}

// IsPictureName tells by its ending whether a file is likely a picture.
func IsPictureName(name string) bool {
	return slices.Contains(pictureEndings, strings.ToLower(path.Ext(name)))
}
