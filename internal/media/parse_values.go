package media

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func (r *reader) sizes(value string) error {
	parts := strings.Split(value, ",")
	if len(parts) > r.limits.Outputs {
		return r.invalid(value, fmt.Sprintf("a list of %d sizes; %d are allowed", len(parts), r.limits.Outputs))
	}
	r.request.Sizes = make([]Size, 0, len(parts))
	for _, part := range parts {
		size, ok := ParseSize(part, r.limits.OutputSide)
		if !ok {
			return r.invalid(part, fmt.Sprintf("not a size; sizes are WxH, such as 300x0, with 0 to %d on each side", r.limits.OutputSide))
		}
		r.request.Sizes = append(r.request.Sizes, size)
	}
	return nil
}

// ParseSize reads WxH, each of digits alone and at most limit.
func ParseSize(text string, limit int) (Size, bool) {
	w, h, ok := strings.Cut(text, "x")
	width, wok := parseSide(w, limit)
	height, hok := parseSide(h, limit)
	return Size{Width: width, Height: height}, ok && wok && hok
}

func parseSide(text string, limit int) (side int, ok bool) {
	side, ok = parseWhole(text)
	return side, ok && side >= 0 && side <= limit && text[0] != '-'
}

func (r *reader) fit(value string) error {
	return choice(r, value, &r.request.Fit, Inside, Cover, Contain, Fill, Outside)
}

func (r *reader) enlarge(value string) error { return r.toggle(value, &r.request.Enlarge) }

// compass lists the gravities that are places, in the order of errors.
var compass = []GravityKind{
	GravityCenter, GravityNorth, GravityNorthEast, GravityEast, GravitySouthEast,
	GravitySouth, GravitySouthWest, GravityWest, GravityNorthWest,
}

func (r *reader) gravity(value string) error {
	if x, y, ok := strings.Cut(value, ","); ok {
		fx, xok := parseDecimal(x)
		fy, yok := parseDecimal(y)
		if !xok || !yok || min(fx, fy) < 0 || max(fx, fy) > 1 {
			return r.invalid(value, "not a focal point, which is fx,fy with 0 to 1 each")
		}
		r.request.Gravity = Gravity{Kind: GravityFocal, X: fx, Y: fy}
		return nil
	}
	allowed := append(append([]GravityKind{}, compass...), GravityAttention, GravityEntropy)
	if !slices.Contains(allowed, GravityKind(value)) {
		return r.invalid(value, noneOf(allowed)+", nor a focal point fx,fy with 0 to 1 each")
	}
	r.request.Gravity.Kind = GravityKind(value)
	return nil
}

func (r *reader) crop(value string) error {
	var numbers [4]int
	parts := strings.Split(value, ",")
	ok := len(parts) == len(numbers)
	for i := range min(len(parts), len(numbers)) {
		n, sound := parseWhole(parts[i])
		ok = ok && sound && n >= 0 && n <= maxCoordinate
		numbers[i] = n
	}
	if !ok || numbers[2] == 0 || numbers[3] == 0 {
		return r.invalid(value, fmt.Sprintf("not an area, which is x,y,w,h in pixels from 0 to %d, w and h from 1", maxCoordinate))
	}
	r.request.Crop = &Rect{X: numbers[0], Y: numbers[1], Width: numbers[2], Height: numbers[3]}
	return nil
}

func (r *reader) rotate(value string) error {
	degrees, ok := parseWhole(value)
	if !ok || degrees%90 != 0 {
		return r.invalid(value, "not a multiple of 90, such as 0, 90, 180, 270 or -90")
	}
	r.request.Rotate = (degrees%360 + 360) % 360
	return nil
}

func (r *reader) flip(value string) error { return r.toggle(value, &r.request.Flip) }
func (r *reader) flop(value string) error { return r.toggle(value, &r.request.Flop) }

// trimThreshold is what trim=true stands for: enough for the noise that JPEG
// puts on a plain border.
const trimThreshold = 10

func (r *reader) trim(value string) error {
	switch value {
	case "", "true":
		r.request.Trim = trimThreshold
		return nil
	case "false", "0":
		r.request.Trim = 0
		return nil
	}
	n, ok := parseDecimal(value)
	if !ok || n < 1 || n > 255 {
		return r.invalid(value, "not true or false, nor a threshold from 1 to 255")
	}
	r.request.Trim = n
	return nil
}

func (r *reader) linear(value string) error { return r.toggle(value, &r.request.Linear) }

func (r *reader) shrink(value string) error {
	return choice(r, value, &r.request.Shrink, ShrinkFine, ShrinkFast, ShrinkNone)
}

func (r *reader) dpr(value string) error { return r.decimal(value, 0.1, 8, false, &r.request.DPR) }

func (r *reader) background(value string) error {
	if value == "transparent" {
		r.request.Background = nil
		return nil
	}
	colour, ok := parseColour(strings.TrimPrefix(value, "#"))
	if !ok {
		return r.invalid(value, "not a colour, which is rgb, rgba, rrggbb or rrggbbaa in hex digits, or transparent")
	}
	if colour.A > 0 {
		r.request.Background = &colour
	}
	return nil
}

// parseColour reads 3, 4, 6 or 8 hex digits.
func parseColour(hex string) (Colour, bool) {
	if len(hex) == 3 || len(hex) == 4 {
		var doubled strings.Builder
		for i := range len(hex) {
			doubled.WriteByte(hex[i])
			doubled.WriteByte(hex[i])
		}
		hex = doubled.String()
	}
	if len(hex) == 6 {
		hex += "ff"
	}
	if len(hex) != 8 || strings.HasPrefix(hex, "+") {
		return Colour{}, false
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	return Colour{R: uint8(n >> 24), G: uint8(n >> 16), B: uint8(n >> 8), A: uint8(n)}, err == nil
}

func (r *reader) blur(value string) error {
	return r.decimal(value, 0.3, 250, true, &r.request.Blur)
}

func (r *reader) sharpen(value string) error {
	return r.decimal(value, 0.3, 10, true, &r.request.Sharpen)
}

func (r *reader) grayscale(value string) error { return r.toggle(value, &r.request.Grayscale) }

// watermarkURL is the longest name of an overlay.
const watermarkURL = 4096

func (r *reader) watermark(value string) error {
	if value == "" || len(value) > watermarkURL || strings.ContainsFunc(value, unicode.IsControl) {
		return r.invalid(value, fmt.Sprintf("not the name of a picture, which has 1 to %d bytes and no control characters", watermarkURL))
	}
	r.request.Watermark = &Watermark{}
	r.mark.URL = value
	// The parameters that place it follow in the table; their defaults:
	r.mark.Gravity.Kind, r.mark.Opacity = GravitySouthEast, 1
	return nil
}

func (r *reader) watermarkGravity(value string) error {
	r.marked = true
	return choice(r, value, &r.mark.Gravity.Kind, compass...)
}

func (r *reader) watermarkOpacity(value string) error {
	r.marked = true
	return r.decimal(value, 0, 1, false, &r.mark.Opacity)
}

func (r *reader) watermarkScale(value string) error {
	r.marked = true
	return r.decimal(value, 0, 1, false, &r.mark.Scale)
}

func (r *reader) watermarkX(value string) error {
	r.marked = true
	return r.whole(value, -r.limits.OutputSide, r.limits.OutputSide, &r.mark.X)
}

func (r *reader) watermarkY(value string) error {
	r.marked = true
	return r.whole(value, -r.limits.OutputSide, r.limits.OutputSide, &r.mark.Y)
}

func (r *reader) format(value string) error {
	switch value {
	case "jpg":
		value = string(JPEG)
	case "tif":
		value = string(TIFF)
	}
	return choice(r, value, &r.request.Format, append([]Format{Auto}, OutputFormats()...)...)
}

func (r *reader) quality(value string) error { return r.whole(value, 1, 100, &r.request.Quality) }

func (r *reader) maxBytes(value string) error {
	return r.whole(value, 1, int(r.limits.OutputBytes), &r.request.MaxBytes)
}

func (r *reader) ssim(value string) error {
	return r.decimal(value, 0.9, 0.999, true, &r.request.SSIM)
}

func (r *reader) lossless(value string) error { return r.toggle(value, &r.request.Lossless) }
func (r *reader) effort(value string) error   { return r.whole(value, 0, 9, &r.request.Effort) }

// progressiveJPEG is the value of progressive that is about JPEG only.
const progressiveJPEG = "jpeg"

func (r *reader) progressive(value string) error {
	if value == progressiveJPEG {
		r.request.ProgressiveJPEG = true
		return nil
	}
	if r.toggle(value, &r.request.Progressive) != nil {
		return r.invalid(value, "not true, false, 1, 0 or jpeg")
	}
	return nil
}

func (r *reader) page(value string) error { return r.whole(value, 1, r.limits.Page, &r.request.Page) }

func (r *reader) frames(value string) error {
	return r.whole(value, 0, r.limits.Frames, &r.request.Frames)
}

func (r *reader) strip(value string) error {
	strip := true
	err := r.toggle(value, &strip)
	r.keepAll = !strip
	return err
}

func (r *reader) keep(value string) error {
	for word := range strings.SplitSeq(value, ",") {
		switch word {
		case "exif":
			r.request.Keep.EXIF = true
		case "icc":
			r.request.Keep.ICC = true
		case "xmp":
			r.request.Keep.XMP = true
		case "iptc":
			r.request.Keep.IPTC = true
		case "copyright":
			r.request.Keep.Copyright = true
		default:
			return r.invalid(word, "none of exif, icc, xmp, iptc, copyright")
		}
	}
	return nil
}

func (r *reader) encoder(value string) error {
	return choice(r, value, &r.request.Encoder, EncodeStream, EncodeJSON, EncodeProgress)
}

func (r *reader) placeholders(value string) error {
	wanted := &r.request.Placeholders
	for word := range strings.SplitSeq(value, ",") {
		switch word {
		case "blurhash":
			wanted.BlurHash = true
		case "thumbhash":
			wanted.ThumbHash = true
		case "lqip":
			wanted.LQIP = true
		case "color":
			wanted.Color = true
		default:
			return r.invalid(word, "none of blurhash, thumbhash, lqip, color")
		}
	}
	return nil
}
