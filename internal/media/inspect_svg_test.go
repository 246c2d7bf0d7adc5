package media_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

// drawing wraps content in a root element of 100x100.
func drawing(content ...string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="100" height="100">` +
		strings.Join(content, "") + `</svg>`
}

// chain makes n elements by format, each with its number and the one before.
func chain(n int, format string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format, i+1, i)
	}
	return out.String()
}

func data(kind string, content []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(content)
}

func TestInspectAcceptsSVG(t *testing.T) {
	png := encoded(t, media.PNG)
	tests := []struct{ name, src string }{
		{"an empty drawing", `<svg/>`},
		{"a byte order mark and a declaration", "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + drawing()},
		{"an old encoding", `<?xml version='1.0' encoding='ISO-8859-1'?>` + drawing()},
		{"a public document type", `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">` + drawing()},
		{"the entities that drawing programs write", `<!DOCTYPE svg [<!ENTITY ns_svg "http://www.w3.org/2000/svg"><!ATTLIST svg xmlns:x CDATA #FIXED "http://www.w3.org/1999/xlink">]><svg xmlns="&ns_svg;"/>`},
		{"outside pictures, which are never fetched", drawing(`<image xlink:href="http://127.0.0.1/x.png"/><image href="file:///etc/passwd"/>`)},
		{"outside styles and fonts", drawing(`<style>@import url("http://127.0.0.1/a.css"); @font-face{src:url("data:font/woff;base64,AA#x")} text{font-family:x}</style>`)},
		{"scripts, which never run", drawing(`<script><![CDATA[ if (a < b) alert(1) ]]></script>`)},
		{"a few uses of a symbol", drawing(`<symbol id="s"><rect/></symbol>`, strings.Repeat(`<use href="#s"/>`, 1000))},
		{"many elements with one gradient", drawing(`<linearGradient id="g">`, strings.Repeat(`<stop/>`, 20), `</linearGradient>`, strings.Repeat(`<rect fill="url(#g)"/>`, 20000))},
		{"a hundred clip paths by classes", drawing(`<style>@import "a.css"; `, chain(100, ".c%[1]d{clip-path:url(#p%[1]d)}/* %[2]d */"), `</style>`, chain(100, `<clipPath id="p%[1]d"><rect/></clipPath><g class="c%[1]d"><rect x="%[2]d"/></g>`))},
		{"a filter on some elements", drawing(`<filter id="f"><feGaussianBlur stdDeviation="2"/></filter>`, strings.Repeat(`<rect filter="url(#f)"/>`, 200))},
		{"an embedded picture", drawing(`<image xlink:href="`, data("image/png", png), `"/>`)},
		{"an embedded picture that is damaged", drawing(`<image xlink:href="`, data("image/png", png[:30]), `"/>`)},
		{"a drawing in a drawing", drawing(`<image href="`, data("image/svg+xml", []byte(drawing())), `"/>`)},
		{"a link to where it stands", drawing(`<g id="top"><a xlink:href="#top"><rect/></a></g>`)},
		{"names given twice", drawing(strings.Repeat(`<g id="layer"><rect/></g>`, 50))},
		{"two hundred levels", drawing(strings.Repeat("<g>", 200), strings.Repeat("</g>", 200))},
		{"a reference to nothing", drawing(`<use href="#nowhere"/><rect fill="url(#nothing)"/>`)},
		{"a root with a prefix", `<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:rect/></s:svg>`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := media.Inspect([]byte(test.src), media.SVG, media.DefaultLimits()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInspectRefusesSVG(t *testing.T) {
	bomb := []byte(pngHead + ihdr(30000, 30000, "\x01\x00\x00\x00\x00") + chunk("IDAT", "x") + chunk("IEND", ""))
	large := []byte(pngHead + ihdr(7000, 7000, "\x01\x00\x00\x00\x00") + chunk("IDAT", "x") + chunk("IEND", ""))
	tens := strings.Repeat(`<use xlink:href="#a%[2]d"/>`, 10)
	deep := chain(150, `<g id="a%d"><use xlink:href="#a%d"/></g>`)
	tests := []struct {
		name, src string
		code      media.Code
	}{
		{"what is no markup", "hello", media.CodeUnsupported},
		{"what is cut off", drawing()[:60], media.CodeDecodeFailed},
		{"an element that is never closed", `<svg><g></svg>`, media.CodeDecodeFailed},
		{"two roots", `<svg/><svg/>`, media.CodeDecodeFailed},
		{"an attribute that holds markup", `<svg><g a="<b"></g></svg>`[:12], media.CodeDecodeFailed},
		{"too many elements", drawing(strings.Repeat("<g/>", 50000)), media.CodeSVG},
		{"too many levels", drawing(strings.Repeat("<g>", 300), strings.Repeat("</g>", 300)), media.CodeSVG},
		{"uses that multiply", drawing(`<rect id="a0"/>`, chain(8, `<g id="a%[1]d">`+tens+`</g>`), `<use xlink:href="#a8"/>`), media.CodeSVG},
		{"uses that multiply, in plain hrefs", drawing(`<rect id="a0"/>`, strings.ReplaceAll(chain(8, `<g id="a%[1]d">`+tens+`</g>`), "xlink:", ""), `<use href="#a8"/>`), media.CodeSVG},
		{"patterns that multiply", drawing(chain(6, `<pattern id="a%[1]d">`+strings.Repeat(`<rect fill="url(#a%[2]d)"/>`, 10)+`</pattern>`), `<rect fill="url(#a6)"/>`), media.CodeSVG},
		{"a use of itself", drawing(`<g id="a"><use xlink:href="#b"/></g><g id="b"><use xlink:href="#a"/></g>`), media.CodeSVG},
		{"a mask of itself", drawing(`<mask id="m"><rect mask="url(#m)"/></mask>`), media.CodeSVG},
		{"a long chain of uses", drawing(`<rect id="a0"/>`, deep), media.CodeSVG},
		{"a long chain of masks", drawing(chain(150, `<mask id="a%d"><rect mask="url(#a%d)"/></mask>`)), media.CodeSVG},
		{"a long chain in style attributes", drawing(chain(150, `<mask id="a%d"><rect style="mask: URL( '#a%d' )"/></mask>`)), media.CodeSVG},
		{"a long chain through classes", drawing(`<style>`, chain(150, ".c%d{mask:url(#a%d)}"), `</style>`, chain(150, `<mask id="a%[1]d"><rect class="c%[1]d" x="%[2]d"/></mask>`)), media.CodeSVG},
		{"a long chain through names", drawing(`<style>`, chain(150, "g #r%d{mask:url(#a%d)}"), `</style>`, chain(150, `<mask id="a%[1]d"><rect id="r%[1]d" x="%[2]d"/></mask>`)), media.CodeSVG},
		{"a long chain through selectors that are not understood", drawing(`<style>`, chain(150, `.x:not(.c%d){mask:url(#a%d)}`), `</style>`, chain(150, `<mask id="a%[1]d"><rect x="%[2]d"/></mask>`)), media.CodeSVG},
		{"a long chain behind braces in comments", drawing(`<style>`, chain(150, `.c%d{/*}.q{*/mask:url(#a%d)}`), `</style>`, chain(150, `<mask id="a%[1]d"><rect class="c%[1]d" x="%[2]d"/></mask>`)), media.CodeSVG},
		{"a long chain behind braces in strings", drawing(`<style>`, chain(150, `.c%d{x:"}.q{";mask:url(#a%d)}`), `</style>`, chain(150, `<mask id="a%[1]d"><rect class="c%[1]d" x="%[2]d"/></mask>`)), media.CodeSVG},
		{"a long chain behind braces in links", drawing(`<style>`, chain(150, `.c%d{x:url(}.q{");mask:url(#a%d)}`), `</style>`, chain(150, `<mask id="a%[1]d"><rect class="c%[1]d" x="%[2]d"/></mask>`)), media.CodeSVG},
		{"a long chain in CDATA", drawing(`<style><![CDATA[`, chain(150, `.c%d{mask:url(#a%d)}`), `]]></style>`, chain(150, `<mask id="a%[1]d"><rect class="c%[1]d" x="%[2]d"/></mask>`)), media.CodeSVG},
		{"a chain hidden by character references", drawing(`<rect id="a0"/>`, strings.ReplaceAll(deep, "#", "&#x23;")), media.CodeSVG},
		{"a chain hidden by entities", `<!DOCTYPE svg [<!ENTITY h "#a">]>` + drawing(`<rect id="a0"/>`, strings.ReplaceAll(deep, `"#a`, `"&h;`)), media.CodeSVG},
		{"a chain hidden by CSS escapes", drawing(chain(150, `<mask id="a%d"><rect style="mask:u\72 l(\23 a%d)"/></mask>`)), media.CodeSVG},
		{"a chain in another encoding", `<?xml version="1.0" encoding="UTF-7"?>` + drawing(), media.CodeSVG},
		{"a chain in UTF-16", utf16Text(drawing(`<rect id="a0"/>`, deep), binary.LittleEndian), media.CodeSVG},
		{"a chain in an embedded drawing", drawing(`<image href="`, data("image/svg+xml", []byte(drawing(`<rect id="a0"/>`, deep))), `"/>`), media.CodeSVG},
		{"drawings within drawings", nested(5), media.CodeSVG},
		{"a reference into an embedded drawing", drawing(`<rect mask="url(data:image/svg+xml,x#m)"/>`), media.CodeSVG},
		{"an imported stylesheet in the link", drawing(`<style>@import url("data:text/css,*{}");</style>`), media.CodeSVG},
		{"a linked stylesheet in the link", `<?xml-stylesheet href="data:text/css,x"?>` + drawing(), media.CodeSVG},
		{"an included document", drawing(`<xi:include href="x"/>`), media.CodeSVG},
		{"an outside entity", `<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + drawing(`<text>&x;</text>`), media.CodeSVG},
		{"a public entity", `<!DOCTYPE svg [<!ENTITY x PUBLIC "a" "http://x/">]>` + drawing(), media.CodeSVG},
		{"an outside subset", `<!DOCTYPE svg [<!ENTITY % p SYSTEM "http://x/"> %p;]>` + drawing(), media.CodeSVG},
		{"entities of entities", `<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>` + drawing(), media.CodeSVG},
		{"entities with markup", `<!DOCTYPE svg [<!ENTITY a "<g/>">]>` + drawing(), media.CodeSVG},
		{"entities that expand to much", `<!DOCTYPE svg [<!ENTITY a "` + strings.Repeat("x", 10000) + `">]>` + drawing(`<text>`, strings.Repeat("&a;", 10000), `</text>`), media.CodeSVG},
		{"default attributes that refer", `<!DOCTYPE svg [<!ATTLIST use xlink:href CDATA "#a">]>` + drawing(), media.CodeSVG},
		{"a giant", `<svg width="1000000" height="1000000"/>`, media.CodePixels},
		{"a giant in inches", `<svg width="20000in" height="1"/>`, media.CodePixels},
		{"a giant by its view box", `<svg viewBox="0 0 1e6 10"/>`, media.CodePixels},
		{"filters on all of a large drawing", `<svg width="4000" height="4000"><filter id="f"><feTurbulence numOctaves="50"/></filter><rect filter="url(#f)"/></svg>`, media.CodeSVG},
		{"a filter of large radius", drawing(`<filter id="f"><feMorphology radius="400"/></filter><rect filter="url(#f)"/>`), media.CodeSVG},
		{"filters on many elements by a class", drawing(`<style>.a{filter:url(#f)}</style><filter id="f"><feDisplacementMap/></filter>`, strings.Repeat(`<rect class="a"/>`, 3000)), media.CodeSVG},
		{"embedded pictures that are too many together", drawing(strings.Repeat(`<image xlink:href="`+data("image/png", large)+`"/>`, 3)), media.CodePixels},
		{"embedded pictures in embedded drawings that are too many together", drawing(strings.Repeat(`<image href="`+data("image/svg+xml", []byte(drawing(`<image href="`, data("image/png", large), `"/>`)))+`"/>`, 3)), media.CodePixels},
		{"an embedded compressed drawing", drawing(`<image href="`, data("image/svg+xml", []byte(gzipped(t, drawing()))), `"/>`), media.CodeSVG},
		{"more references than elements could need", drawing(`<g style="`, strings.Repeat("a:url(#a);", 500000), `"/>`), media.CodeSVG},
		{"more classes than elements could need", drawing(`<g class="`, strings.Repeat("a ", 500000), `"/>`), media.CodeSVG},
		{"many names that are one", drawing(strings.Repeat(`<g id="a"/>`, 20000), `<g style="`, strings.Repeat("a:url(#a);", 5), `"/>`), media.CodeSVG},
		{"an embedded bomb", drawing(`<image xlink:href="`, data("image/png", bomb), `"/>`), media.CodePixels},
		{"an embedded bomb without base64", drawing(`<image href="data:image/png,`, percented(bomb), `"/>`), media.CodePixels},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantCode(t, media.Inspect([]byte(test.src), media.SVG, media.DefaultLimits()), test.code)
		})
	}
}

// percented writes every byte as an escape of URLs.
func percented(content []byte) string {
	var out strings.Builder
	for _, b := range content {
		fmt.Fprintf(&out, "%%%02x", b)
	}
	return out.String()
}

// nested is a drawing that embeds a drawing that embeds a drawing.
func nested(levels int) string {
	inner := drawing()
	for range levels {
		inner = drawing(`<image href="`, data("image/svg+xml", []byte(inner)), `"/>`)
	}
	return inner
}

func TestExamineFindsTheNaturalSizeOfSVG(t *testing.T) {
	tests := []struct {
		name, root    string
		width, height int
	}{
		{"pixels", `width="120" height="80px"`, 120, 80},
		{"inches", `width="10in" height="13in"`, 960, 1248},
		{"millimetres round up", `width="10mm" height="10mm"`, 38, 38},
		{"a view box alone", `viewBox="0 0 300 150"`, 300, 150},
		{"a view box with commas", `viewBox="0,0,300,150"`, 300, 150},
		{"a width and a view box", `width="600" viewBox="0 0 300 150"`, 600, 300},
		{"a height and a view box", `height="75" viewBox="0 0 300 150"`, 150, 75},
		{"percentages mean the view box", `width="100%" height="100%" viewBox="0 0 30 15"`, 30, 15},
		{"none", ``, 0, 0},
		{"what is no number", `width="wide" height="NaN"`, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, err := media.Examine([]byte("<svg "+test.root+"><rect width='7' height='7'/></svg>"), media.SVG, media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if found.Width != test.width || found.Height != test.height {
				t.Errorf("got %dx%d", found.Width, found.Height)
			}
		})
	}
}

func TestFilterWorkFollowsTheElements(t *testing.T) {
	filter := `<filter id="f"><feOffset/><feGaussianBlur/></filter>`
	region := `<filter id="f" filterUnits="userSpaceOnUse" x="0" y="0" width="10" height="10"><feOffset/><feGaussianBlur/></filter>`
	tests := []struct {
		name, src string
		want      float64
	}{
		{"a filter that nothing uses costs nothing", drawing(filter), 0},
		{"each element costs its primitives", drawing(filter, `<g filter="url(#f)"/><g style="filter:url(#f)"/>`), 34},
		{"uses multiply", drawing(filter, `<g id="a" filter="url(#f)"/><use href="#a"/>`), 34},
		{"a small region costs its share", `<svg viewBox="0 0 20 10">` + region + `<g filter="url(#f)"/></svg>`, 8.5},
		{"a scaled region may be anything", `<svg viewBox="0 0 20 10">` + region + `<g transform="scale(9)" filter="url(#f)"/></svg>`, 17},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, err := media.Examine([]byte(test.src), media.SVG, media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if found.FilterWork != test.want {
				t.Errorf("got %v, want %v", found.FilterWork, test.want)
			}
			info := found.Complete(media.Info{Format: media.SVG})
			if info.FilterWork != test.want {
				t.Errorf("info has %v", info.FilterWork)
			}
		})
	}
}

func TestInflateSVG(t *testing.T) {
	plain := drawing(`<rect/>`)
	tests := []struct {
		name, src string
		want      string
		code      media.Code
	}{
		{"plain SVG is left alone", plain, plain, ""},
		{"compressed SVG is inflated", gzipped(t, plain), plain, ""},
		{"compressed SVG that is cut off is refused", gzipped(t, plain)[:40], "", media.CodeDecodeFailed},
		{"a bomb is refused", gzipped(t, drawing(strings.Repeat(" ", 20<<20))), "", media.CodeSVG},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := media.InflateSVG([]byte(test.src), media.DefaultLimits())
			if test.code != "" {
				wantCode(t, err, test.code)
				return
			}
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
