package media

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads a query: every parameter that Parameters lists and no other.
// image_url, preset, expires and signature are the edge's and have to be gone.
// The error is CodeInvalidParameter and names the parameter, its value and
// what is allowed.
func Parse(query url.Values, limits Limits) (Request, error) {
	request, faults := readAll(query, limits)
	if len(faults) > 0 {
		return Request{}, faults[0]
	}
	return request, nil
}

// Faults is everything that Parse finds wrong with a query, for whoever can
// mend it all at once.
func Faults(query url.Values, limits Limits) []error {
	_, faults := readAll(query, limits)
	return faults
}

// readAll goes on past faults. What depends on several parameters is only
// settled when each is sound.
func readAll(query url.Values, limits Limits) (Request, []error) {
	r := reader{request: NewRequest(), limits: limits}
	faults := checkNames(query)
	for _, p := range parameters() {
		values, given := query[p.Name]
		if !given || len(values) == 0 {
			continue
		}
		r.name = p.Name
		var err error
		if len(values) > 1 {
			err = r.invalid(values[1], "given more than once; it may be given once")
		} else {
			err = p.read(&r, values[0])
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		if err := r.combine(); err != nil {
			faults = append(faults, err)
		}
	}
	return r.request, faults
}

// checkNames refuses names that are not in the table.
func checkNames(query url.Values) (faults []error) {
	table := parameters()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.ContainsFunc(table, func(p parameter) bool { return p.Name == name }) {
			hint := "."
			if near := nearest(name); near != "" {
				hint = "; the nearest one is " + near + "."
			}
			faults = append(faults, Errorf(CodeInvalidParameter, "%s is not a known parameter%s", quote(name), hint).About(truncate(name, 100)))
		}
	}
	return faults
}

// reader reads values into a request. name is the parameter being read.
type reader struct {
	request Request
	limits  Limits
	name    string
	mark    Watermark
	marked  bool // some watermark_… was given
	keepAll bool
}

// invalid is the fault of the current parameter: "is" completes "its value is".
func (r *reader) invalid(value, is string) error {
	return Errorf(CodeInvalidParameter, "%s: %s is %s.", r.name, quote(value), is).About(r.name)
}

// combine settles what depends on more than one parameter.
func (r *reader) combine() error {
	req := &r.request
	if r.marked && req.Watermark == nil {
		return Errorf(CodeInvalidParameter, "watermark: missing, while parameters that place it are given.").About("watermark")
	}
	if req.Watermark != nil {
		*req.Watermark = r.mark
	}
	if r.keepAll {
		req.Keep = Keep{EXIF: true, XMP: true, IPTC: true, ICC: true, Copyright: true}
	}
	if err := req.checkQuality(); err != nil {
		return err
	}
	return req.checkLikeness()
}

// checkQuality settles whether there is a quality to lower.
func (r Request) checkQuality() error {
	explicit := r.Format != Auto
	switch {
	case r.Placeholders.Any() && r.Encoder != EncodeJSON:
		return Errorf(CodeInvalidParameter, "placeholders: they travel in one document with the picture; encoder=json is missing.").About("placeholders")
	case r.Lossless && r.Format == JPEG:
		return Errorf(CodeInvalidParameter, "lossless: true is not possible with format=jpeg; avif, webp, jxl, png and tiff can.").About("lossless")
	case r.MaxBytes > 0 && r.Lossless:
		return Errorf(CodeInvalidParameter, "max_bytes: %d cannot be held with lossless, which leaves no quality to lower.", r.MaxBytes).About("max_bytes")
	case r.MaxBytes > 0 && explicit && !r.Format.CanLossy():
		return Errorf(CodeInvalidParameter, "max_bytes: %d cannot be held with format=%s, which has no quality to lower; webp, jpeg, avif and jxl have.",
			r.MaxBytes, r.Format).About("max_bytes")
	}
	return nil
}

// checkLikeness settles whether there is a quality to find.
func (r Request) checkLikeness() error {
	ssim := formatDecimal(r.SSIM)
	switch {
	case r.SSIM == 0:
		return nil
	case r.Quality > 0:
		return Errorf(CodeInvalidParameter, "ssim: %s finds the quality, so it cannot be held with quality=%d; give one of the two.",
			ssim, r.Quality).About("ssim")
	case r.MaxBytes > 0:
		return Errorf(CodeInvalidParameter, "ssim: %s cannot be held with max_bytes=%d, which lowers the quality; give one of the two.",
			ssim, r.MaxBytes).About("ssim")
	case r.Lossless:
		return Errorf(CodeInvalidParameter, "ssim: %s cannot be held with lossless, which leaves no quality to find.", ssim).About("ssim")
	case r.Format != Auto && !r.Format.CanLossy():
		return Errorf(CodeInvalidParameter, "ssim: %s cannot be held with format=%s, which has no quality to find; webp, jpeg, avif and jxl have.",
			ssim, r.Format).About("ssim")
	}
	return nil
}

// quote shows a value of a client, 100 characters of it at most.
func quote(value string) string {
	if short := truncate(value, 100); short != value {
		return strconv.Quote(short) + "…"
	}
	return strconv.Quote(value)
}

// truncate cuts to a number of characters.
func truncate(value string, limit int) string {
	if utf8.RuneCountInString(value) <= limit {
		return value
	}
	return string([]rune(value)[:limit])
}

// toggle reads a switch; without value it is on.
func (r *reader) toggle(value string, on *bool) error {
	switch value {
	case "", "true", "1":
		*on = true
	case "false", "0":
		*on = false
	default:
		return r.invalid(value, "not true, false, 1 or 0")
	}
	return nil
}

// whole reads a whole number within bounds.
func (r *reader) whole(value string, low, high int, into *int) error {
	n, ok := parseWhole(value)
	if !ok || n < low || n > high {
		return r.invalid(value, "not a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
	}
	*into = n
	return nil
}

// parseWhole reads digits with at most a minus before them.
func parseWhole(value string) (n int, ok bool) {
	if strings.HasPrefix(value, "+") || len(value) > 12 {
		return 0, false
	}
	n, err := strconv.Atoi(value)
	return n, err == nil
}

// decimal reads a number within bounds; where off is set, 0 is allowed too.
func (r *reader) decimal(value string, low, high float64, off bool, into *float64) error {
	n, ok := parseDecimal(value)
	if !ok || (n < low || n > high) && !(off && n == 0) {
		allowed := "not a number from " + formatDecimal(low) + " to " + formatDecimal(high)
		if off {
			allowed += ", nor 0"
		}
		return r.invalid(value, allowed)
	}
	*into = n
	return nil
}

// parseDecimal reads digits and a point: no exponent, hex or infinity.
func parseDecimal(value string) (n float64, ok bool) {
	if value == "" || len(value) > 20 || strings.Trim(value, "0123456789.-") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(value, 64)
	return n + 0, err == nil // -0 becomes 0
}

func formatDecimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// choice reads one of a few words.
func choice[T ~string](r *reader, value string, into *T, allowed ...T) error {
	for _, word := range allowed {
		if value == string(word) {
			*into = word
			return nil
		}
	}
	return r.invalid(value, noneOf(allowed))
}

func noneOf[T ~string](allowed []T) string {
	words := make([]string, len(allowed))
	for i, word := range allowed {
		words[i] = string(word)
	}
	return "none of " + strings.Join(words, ", ")
}
