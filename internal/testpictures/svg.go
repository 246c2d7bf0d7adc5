package testpictures

import (
	"bytes"
	"fmt"
	"strings"
)

// SVG is a harmless drawing of w x h: the scene's block and ground in two
// colours.
func SVG(w, h int) []byte {
	return svg(w, h, fmt.Sprintf(
		`<rect width="%d" height="%d" fill="#3c6e96"/><rect width="%d" height="%d" fill="#d02028"/>`,
		w, h, w*3/10, h*35/100))
}

func svg(w, h int, body string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%d" height="%d">%s</svg>`, w, h, body)
}

// HostileSVGs are drawings that try to read, fetch, run or exhaust, by name.
// Links that a renderer must not follow go to canary (an http URL) and to
// secret (a path on the machine whose content must never be seen).
func HostileSVGs(canary, secret string) map[string][]byte {
	entity := func(system string) []byte {
		return fmt.Appendf(nil, `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM %q>]>`+
			`<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40"><text x="2" y="20">&x;</text></svg>`, system)
	}
	out := map[string][]byte{
		"entity-file":      entity("file://" + secret),
		"entity-http":      entity(canary),
		"entity-parameter": fmt.Appendf(nil, `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY %% p SYSTEM %q> %%p;]><svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>`, canary),
		"billion-laughs":   laughs(),
		"image-http":       svg(100, 100, fmt.Sprintf(`<image href="%s" xlink:href="%s" width="100" height="100"/>`, canary, canary)),
		"image-file":       svg(100, 100, fmt.Sprintf(`<image href="file://%s" width="100" height="100"/><image xlink:href="%s" width="100" height="100"/>`, secret, secret)),
		"use-http":         svg(100, 100, fmt.Sprintf(`<use href="%s#a"/>`, canary)),
		"filter-image":     svg(100, 100, fmt.Sprintf(`<filter id="f"><feImage href="%s"/></filter><rect width="100" height="100" filter="url(#f)"/>`, canary)),
		"css-import":       svg(100, 100, fmt.Sprintf(`<style>@import url(%q); @font-face{font-family:x;src:url(%q)} text{font-family:x}</style><text y="50">a</text>`, canary, canary)),
		"css-background":   svg(100, 100, fmt.Sprintf(`<rect width="100" height="100" style="fill:url(%s#p)"/>`, canary)),
		"stylesheet":       append(fmt.Appendf(nil, `<?xml version="1.0"?><?xml-stylesheet href=%q type="text/css"?>`, canary), SVG(50, 50)...),
		"xinclude":         svg(100, 100, fmt.Sprintf(`<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" parse="text" href="file://%s"/>`, secret)),
		"script":           svg(100, 100, fmt.Sprintf(`<script>fetch(%q)</script><rect width="9" height="9" onload="fetch('%s')"/>`, canary, canary)),
		"foreign-object":   svg(100, 100, fmt.Sprintf(`<foreignObject width="99" height="99"><iframe xmlns="http://www.w3.org/1999/xhtml" src="%s"/></foreignObject>`, canary)),
		"use-recursion":    svg(100, 100, `<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g><use href="#a"/>`),
		"use-exponential":  doublings(24),
		"deep":             svg(10, 10, strings.Repeat("<g>", 60000)+strings.Repeat("</g>", 60000)),
		"giant":            svg(1_000_000, 1_000_000, `<rect width="9" height="9"/>`),
		"filter-bomb":      filters(40),
		"many-nodes":       svg(100, 100, strings.Repeat(`<rect width="3" height="3"/>`, 120_000)),
	}
	return out
}

// laughs is the entity expansion that doubles to billions.
func laughs() []byte {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY l0 "ha">`)
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&b, `<!ENTITY l%d "%s">`, i, strings.Repeat(fmt.Sprintf("&l%d;", i-1), 10))
	}
	b.WriteString(`]><svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><text>&l9;</text></svg>`)
	return []byte(b.String())
}

// doublings is n groups that each use the one before twice: 2^n rectangles.
func doublings(n int) []byte {
	var b strings.Builder
	b.WriteString(`<defs><rect id="g0" width="9" height="9"/>`)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `<g id="g%d"><use href="#g%d"/><use href="#g%d" x="1"/></g>`, i, i-1, i-1)
	}
	fmt.Fprintf(&b, `</defs><use href="#g%d"/>`, n)
	return svg(100, 100, b.String())
}

// filters stacks n wide blurs on a large drawing.
func filters(n int) []byte {
	body := `<filter id="f">` + strings.Repeat(`<feGaussianBlur stdDeviation="200"/><feTurbulence numOctaves="9" baseFrequency="0.9"/>`, n) + `</filter>`
	return svg(4000, 4000, body+`<rect width="4000" height="4000" filter="url(#f)"/>`)
}

// PackedSVG is a drawing as SVGZ.
func PackedSVG(drawing []byte) []byte {
	var buf bytes.Buffer
	z := gzipWriter(&buf)
	_, err := z.Write(drawing)
	must(err)
	must(z.Close())
	return buf.Bytes()
}

// PackedBomb is gzip data that inflates to n zero bytes.
func PackedBomb(n int64) []byte { return zeros(n, gzipWriter) }
