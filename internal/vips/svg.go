package vips

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
)

// svgDensity is the scale at which libvips renders a drawing at its natural
// size in CSS pixels. libvips takes 72 pixels to the inch where CSS has 96, so
// a size in physical units comes out small; one in pixels, or by the viewBox,
// does not.
func svgDensity(src []byte) float64 {
	decoder := xml.NewDecoder(bytes.NewReader(src))
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return 1
		}
		root, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, attribute := range root.Attr {
			name := attribute.Name.Local
			if attribute.Name.Space == "" && (name == "width" || name == "height") && isPhysical(attribute.Value) {
				return 96.0 / 72
			}
		}
		return 1
	}
}

// isPhysical tells a length in inches or their kin from one in pixels.
func isPhysical(length string) bool {
	length = strings.ToLower(strings.TrimSpace(length))
	for _, unit := range []string{"in", "cm", "mm", "pt", "pc"} {
		if strings.HasSuffix(length, unit) {
			return true
		}
	}
	return false
}
