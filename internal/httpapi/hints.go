package httpapi

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// hintsAsked are the client hints a browser is asked to send.
const hintsAsked = "Sec-CH-Width, Sec-CH-DPR, Sec-CH-Viewport-Width"

// hintsRead are all headers that applyHints reads, for Vary.
const hintsRead = hintsAsked + ", Width, DPR, Viewport-Width"

// applyHints chooses the width of a picture whose URL does not. Width is the
// space in the page in physical pixels; where it is missing the viewport's
// width in CSS pixels times the device pixel ratio bounds it. A hint that
// makes no sense is ignored: no page should break by one.
func applyHints(values url.Values, header http.Header, largest int) {
	width := hint(header, "Width", 1, math.MaxInt32)
	if width == 0 {
		width = hint(header, "Viewport-Width", 1, math.MaxInt32) * hintedRatio(values, header)
	}
	if width == 0 {
		return
	}
	pixels := int(math.Min(math.Ceil(width), float64(largest)))
	values.Set("sizes", strconv.Itoa(pixels)+"x0")
	values.Set("dpr", "1") // pixels are physical already
}

// hintedRatio is the device pixel ratio of the URL, the hint, or 1.
func hintedRatio(values url.Values, header http.Header) float64 {
	if ratio, err := strconv.ParseFloat(values.Get("dpr"), 64); err == nil && ratio > 0 && ratio <= 8 {
		return ratio
	}
	if ratio := hint(header, "DPR", 0.1, 8); ratio > 0 {
		return ratio
	}
	return 1
}

// hint is a number from Sec-CH-name or its older spelling, 0 when there is
// none within the range.
func hint(header http.Header, name string, low, high float64) float64 {
	for _, key := range []string{"Sec-CH-" + name, name} {
		value, err := strconv.ParseFloat(strings.TrimSpace(header.Get(key)), 64)
		if err == nil && value >= low && value <= high {
			return value
		}
	}
	return 0
}
