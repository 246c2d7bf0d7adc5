package media

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math"
	"net/url"
	"strings"
)

const (
	// maxSVGDepth bounds nesting after references are followed. librsvg draws
	// recursively and overflows its stack near 1,000 levels (measured with
	// 2.54, chains of patterns); libxml2 itself stops at 256 in the file.
	maxSVGDepth = 256
	// maxSVGSide is the largest natural side of a drawing in pixels. Nothing
	// real is larger, and some renderers allocate by it.
	maxSVGSide = 100_000
	// maxUTF16 bounds what is converted, which takes several copies.
	maxUTF16 = 8 << 20
	// maxFilterWork bounds filter operations times pixels: about ten seconds
	// of librsvg, which cannot be stopped while it renders.
	maxFilterWork = 1.5e9
)

// svgRefusal makes an error that says what of the SVG exceeds which bound.
func svgRefusal(format string, args ...any) *Error {
	return Errorf(CodeSVG, "The SVG "+format+".", args...)
}

// examineSVG reads the document once into a tree of bounded size, then counts
// what a renderer would draw: references followed, cycles refused. Nothing
// outside the document is ever fetched when it is rendered from memory, so
// outside references are no reason to refuse it.
func examineSVG(src []byte, limits Limits) (Findings, error) {
	_, found, err := measureSVG(src, limits, 0)
	return found, err
}

// measureSVG also gives what drawing the whole document costs. level counts
// documents within documents.
func measureSVG(src []byte, limits Limits, level int) (svgCost, Findings, error) {
	plain, err := InflateSVG(src, limits)
	if err != nil {
		return svgCost{}, Findings{}, err
	}
	if len(plain) > maxUTF16 && isUTF16(plain) {
		return svgCost{}, Findings{}, svgRefusal("is written in UTF-16 and longer than %d bytes", maxUTF16)
	}
	text, ok := utf8Text(plain)
	if !ok {
		return svgCost{}, Findings{}, Errorf(CodeUnsupported, "The source is not an SVG.")
	}
	doc := svgDocument{limits: limits, level: level, ids: map[string]int32{}, classes: map[string][]int32{}, names: map[string]string{}}
	doc.embedded, doc.budget = float64(limits.Pixels), 8*limits.SVGNodes
	if err := doc.read(text); err != nil {
		return svgCost{}, Findings{}, err
	}
	width, height := doc.naturalSize()
	found := Findings{Width: width, Height: height, Frames: 1}
	if max(width, height) > maxSVGSide {
		return svgCost{}, found, Errorf(CodePixels, "The SVG is %dx%d pixels large; a side may have %d.", width, height, maxSVGSide)
	}
	cost, err := doc.cost()
	if err != nil {
		return svgCost{}, found, err
	}
	found.FilterWork, found.Metadata = cost.work, limits.Metadata-doc.limits.Metadata
	cost.pixels = float64(limits.Pixels) - doc.embedded
	return cost, found, checkFilterWork(cost.work, float64(width)*float64(height))
}

// checkFilterWork bounds what filters cost on a rendering of that area.
func checkFilterWork(work, area float64) error {
	if work*area > maxFilterWork {
		return svgRefusal("has filters that cost too much for its size: %.0f operations on each of %.0f pixels", work, area)
	}
	return nil
}

// embed checks a data: URI that an element draws. The pictures of a document
// share the limits of pixels and metadata; a damaged one is the renderer's to leave out.
func (d *svgDocument) embed(uri []byte) (svgCost, error) {
	data, ok := dataURI(uri)
	if !ok {
		return svgCost{}, nil
	}
	format := Sniff(data)
	if format == SVG {
		return d.embedDrawing(data)
	}
	limits := d.limits
	limits.Pixels = max(int64(d.embedded), 0)
	found, err := Examine(data, format, limits)
	var fault *Error
	if errors.As(err, &fault) && fault.Code != CodeDecodeFailed && fault.Code != CodeUnsupported {
		return svgCost{}, Wrap(fault.Code, fault, "The SVG embeds a picture that exceeds a limit: %s", fault.Detail)
	}
	d.embedded -= found.pixels()
	d.limits.Metadata -= found.Metadata
	return svgCost{}, nil
}

// embedDrawing measures a drawing within this one. It takes its share of the
// same limits.
func (d *svgDocument) embedDrawing(src []byte) (svgCost, error) {
	if isGzip(src) {
		return svgCost{}, svgRefusal("embeds a compressed drawing")
	}
	if d.level >= 2 {
		return svgCost{}, svgRefusal("holds drawings within drawings within drawings")
	}
	limits := d.limits
	limits.Pixels = max(int64(d.embedded), 0)
	cost, found, err := measureSVG(src, limits, d.level+1)
	d.embedded -= cost.pixels
	d.limits.Metadata -= found.Metadata
	return cost, err
}

// dataURI decodes data:[type][;base64],payload.
func dataURI(uri []byte) ([]byte, bool) {
	head, payload, ok := bytes.Cut(uri, []byte(","))
	if !ok || !hasDataScheme(head) {
		return nil, false
	}
	if bytes.IndexByte(payload, '%') >= 0 {
		if plain, err := url.PathUnescape(string(payload)); err == nil {
			payload = []byte(plain)
		}
	}
	if !bytes.HasSuffix(bytes.ToLower(bytes.TrimSpace(head)), []byte("base64")) {
		return payload, true
	}
	coded := make([]byte, 0, len(payload))
	for _, c := range payload {
		switch {
		case c == '#' || c == '=':
			data, _ := base64.RawStdEncoding.AppendDecode(nil, coded)
			return data, true
		case c > ' ':
			coded = append(coded, c)
		}
	}
	data, _ := base64.RawStdEncoding.AppendDecode(nil, coded) // keeps what comes before a fault
	return data, true
}

func hasDataScheme(uri []byte) bool {
	uri = bytes.TrimSpace(uri)
	return len(uri) >= 5 && bytes.EqualFold(uri[:5], []byte("data:"))
}

// naturalSize is the size in CSS pixels that the root element asks for, with
// the rules of librsvg: a missing or relative side comes from the viewBox.
func (d *svgDocument) naturalSize() (width, height int) {
	w, wok := svgLength(d.width)
	h, hok := svgLength(d.height)
	box := d.viewBox
	switch {
	case !wok && !hok:
		w, h = box[2], box[3]
	case !wok && box[3] > 0:
		w = h * box[2] / box[3]
	case !hok && box[2] > 0:
		h = w * box[3] / box[2]
	}
	return svgPixels(w), svgPixels(h)
}

func svgPixels(v float64) int {
	if !(v > 0) {
		return 0
	}
	return int(math.Ceil(min(v, 1e9)))
}

// svgUnits are CSS pixels per unit, as librsvg takes them: at 96 dpi, with type
// of 12 pixels where browsers have 16, and without the quarter-millimetre.
var svgUnits = map[string]float64{
	"": 1, "px": 1, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "pt": 96.0 / 72, "pc": 16, "em": 12, "ex": 6,
}

// svgLength reads an absolute length; ok is false for none and for percent.
func svgLength(text string) (pixels float64, ok bool) {
	text = strings.TrimSpace(text)
	end := len(text)
	for end > 0 && (text[end-1] >= 'a' && text[end-1] <= 'z' || text[end-1] >= 'A' && text[end-1] <= 'Z' || text[end-1] == '%') {
		end--
	}
	unit, known := svgUnits[strings.ToLower(text[end:])]
	value, err := parseFinite(strings.TrimSpace(text[:end]))
	return value * unit, known && err == nil
}
