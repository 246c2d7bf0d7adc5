package media

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Canonical is one spelling, as a query, of all that changes the bytes of the
// results: two requests with the same one give the same bytes from the same
// source, format and engine. Defaults are left out; dpr is multiplied into the
// sizes, which is exactly what LayOut does with it; how results travel and what
// travels with them (Encoder, Placeholders) is no part of it. It goes into result keys and ETags.
func (r Request) Canonical() string {
	var c canonical
	c.sizes(r.Sizes, r.DPR)
	c.add(r.Fit != Inside, "fit", string(r.Fit))
	c.flag("enlarge", r.Enlarge)
	c.gravity("gravity", r.Gravity, GravityCenter)
	if r.Crop != nil {
		c.add(true, "crop", fmt.Sprintf("%d,%d,%d,%d", r.Crop.X, r.Crop.Y, r.Crop.Width, r.Crop.Height))
	}
	c.number("rotate", r.Rotate, 0)
	c.flag("flip", r.Flip)
	c.flag("flop", r.Flop)
	c.decimal("trim", r.Trim, 0)
	if r.Background != nil {
		b := *r.Background
		c.add(true, "background", fmt.Sprintf("%02x%02x%02x%02x", b.R, b.G, b.B, b.A))
	}
	c.decimal("blur", r.Blur, 0)
	c.decimal("sharpen", r.Sharpen, 0)
	c.flag("grayscale", r.Grayscale)
	c.flag("linear", r.Linear)
	c.add(r.Shrink != ShrinkFine, "shrink", string(r.Shrink))
	if r.Watermark != nil {
		c.watermark(*r.Watermark)
	}
	c.add(r.Format != Auto, "format", string(r.Format))
	if !r.Lossless {
		c.number("quality", r.Quality, 0)
	}
	c.number("max_bytes", r.MaxBytes, 0)
	c.decimal("ssim", r.SSIM, 0)
	c.flag("lossless", r.Lossless)
	c.number("effort", r.Effort, EffortUsual)
	c.flag("progressive", r.Progressive)
	c.add(r.progressiveJPEG(), "progressive", progressiveJPEG)
	c.number("page", r.Page, 1)
	c.number("frames", r.Frames, 0)
	c.keep(r.Keep)
	return c.String()
}

// progressiveJPEG tells whether ProgressiveJPEG may change the bytes.
func (r Request) progressiveJPEG() bool {
	return r.ProgressiveJPEG && !r.Progressive && (r.Format == Auto || r.Format == JPEG)
}

// canonical collects name=value pairs in the order they are added.
type canonical struct{ strings.Builder }

func (c *canonical) add(given bool, name, value string) {
	if !given {
		return
	}
	if c.Len() > 0 {
		c.WriteByte('&')
	}
	c.WriteString(name)
	c.WriteByte('=')
	c.WriteString(url.QueryEscape(value))
}

func (c *canonical) flag(name string, on bool) { c.add(on, name, "true") }

func (c *canonical) number(name string, n, usual int) {
	c.add(n != usual, name, strconv.Itoa(n))
}

func (c *canonical) decimal(name string, n, usual float64) {
	c.add(n != usual, name, formatDecimal(n))
}

func (c *canonical) sizes(sizes []Size, dpr float64) {
	list := make([]string, len(sizes))
	for i, size := range sizes {
		box := size.times(dpr)
		list[i] = strconv.Itoa(box.Width) + "x" + strconv.Itoa(box.Height)
	}
	joined := strings.Join(list, ",")
	c.add(joined != "0x0", "sizes", joined)
}

func (c *canonical) gravity(name string, g Gravity, usual GravityKind) {
	if g.Kind == GravityFocal {
		c.add(true, name, formatDecimal(g.X)+","+formatDecimal(g.Y))
		return
	}
	c.add(g.Kind != usual, name, string(g.Kind))
}

func (c *canonical) watermark(w Watermark) {
	c.add(true, "watermark", w.URL)
	c.gravity("watermark_gravity", w.Gravity, GravitySouthEast)
	c.decimal("watermark_opacity", w.Opacity, 1)
	c.decimal("watermark_scale", w.Scale, 0)
	c.number("watermark_x", w.X, 0)
	c.number("watermark_y", w.Y, 0)
}

func (c *canonical) keep(k Keep) {
	var words []string
	for _, kind := range []struct {
		kept bool
		word string
	}{{k.EXIF, "exif"}, {k.ICC, "icc"}, {k.XMP, "xmp"}, {k.IPTC, "iptc"}, {k.Copyright, "copyright"}} {
		if kind.kept {
			words = append(words, kind.word)
		}
	}
	c.add(len(words) > 0, "keep", strings.Join(words, ","))
}
