package media

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// svgStyle is one url(#target) of a stylesheet and its rule's selectors.
type svgStyle struct {
	target    string
	selectors string
}

// maxStyleBytes leaves room for fonts that are written into a stylesheet.
const maxStyleBytes = 8 << 20

// maxSelector is the longest selector that is looked into.
const maxSelector = 1000

// anySelector stands for selectors that are not understood.
const anySelector = "*"

// stylesheet notes the references of a style element's rules. Where escapes
// could hide what is a selector and what is not, rules apply to everything.
func (d *svgDocument) stylesheet(raw []byte) error {
	if d.styleBytes += len(raw); d.styleBytes > maxStyleBytes {
		return svgRefusal("has more than %d bytes of styles", maxStyleBytes)
	}
	raw = d.unescape(raw)
	if importsData(cssUnescape(raw)) {
		return svgRefusal("imports a stylesheet that is written into the link")
	}
	doubtful := bytes.IndexByte(raw, '\\') >= 0
	selectors, font := anySelector, false
	for len(raw) > 0 {
		text, mark, rest := cssBlock(raw)
		raw = rest
		if mark == '{' {
			selectors = string(text[bytes.LastIndexByte(text, ';')+1:]) // behind @import and @charset
			font = strings.Contains(selectors, "@font-face")
			continue
		}
		if doubtful {
			selectors = anySelector
		}
		if font {
			continue // fonts are never loaded from a document
		}
		targets, err := cssURLs(text)
		if err != nil {
			return err
		}
		for _, target := range targets {
			d.styles = append(d.styles, svgStyle{target: target, selectors: selectors})
		}
		if len(d.styles) > d.limits.SVGNodes {
			return svgRefusal("has more than %d references in its styles", d.limits.SVGNodes)
		}
	}
	return nil
}

// importsData tells whether an @import names a data: URI. A statement ends at
// its semicolon, and one in a data: URI stands behind its scheme.
func importsData(css []byte) bool {
	css = bytes.ToLower(css)
	for {
		_, after, found := bytes.Cut(css, []byte("@import"))
		if !found {
			return false
		}
		statement, rest, _ := bytes.Cut(after, []byte(";"))
		if bytes.Contains(statement, []byte("data:")) {
			return true
		}
		css = rest
	}
}

// cssBlock takes the text up to the next brace that is one: not in a comment,
// a string or a bare url(). Comments are left out of the text.
func cssBlock(css []byte) (text []byte, mark byte, rest []byte) {
	for i := 0; i < len(css); {
		length := 1
		switch {
		case bytes.HasPrefix(css[i:], []byte("/*")):
			i += 2 + skipPast(css[i+2:], []byte("*/"))
			continue
		case css[i] == '"' || css[i] == '\'':
			length = 1 + skipPast(css[i+1:], css[i:i+1])
		case len(css)-i >= 4 && bytes.EqualFold(css[i:i+4], []byte("url(")):
			length = cssURLLength(css[i:])
		case css[i] == '{' || css[i] == '}':
			return text, css[i], css[i+1:]
		}
		text = append(text, css[i:i+length]...)
		i += length
	}
	return text, '}', nil
}

// cssURLLength is the length of url( alone when a string follows, else of all
// up to its closing bracket.
func cssURLLength(css []byte) int {
	inner := bytes.TrimLeft(css[4:], " \t\r\n\f")
	if len(inner) > 0 && (inner[0] == '"' || inner[0] == '\'') {
		return 4
	}
	return 4 + skipPast(css[4:], []byte(")"))
}

// applyStyles gives every element the references of the rules that may match
// it, so that the walk sees what a renderer would.
func (d *svgDocument) applyStyles() error {
	if len(d.styles) == 0 {
		return nil
	}
	tags := map[string][]int32{}
	for index, node := range d.nodes {
		tags[node.name] = append(tags[node.name], int32(index))
	}
	for _, style := range d.styles {
		targets, drawn := d.drawn(style.target)
		if err := d.spend(targets); err != nil {
			return err
		}
		if !drawn {
			continue // a gradient is looked up
		}
		for selector := range strings.SplitSeq(style.selectors, ",") {
			matches := d.matching(selector, tags)
			if err := d.spend(1 + len(matches) + len(selector)/16); err != nil {
				return err
			}
			for _, index := range matches {
				d.nodes[index].refs = append(d.nodes[index].refs, style.target)
			}
		}
	}
	return nil
}

// matching gives the elements that a selector may match, and perhaps more.
func (d *svgDocument) matching(selector string, tags map[string][]int32) []int32 {
	kind, name := lastSelector(selector)
	switch kind {
	case '.':
		return d.classes[name]
	case '#':
		return d.named(name)
	case '*':
		return d.all()
	}
	return tags[name]
}

// drawn counts the elements of a name and tells whether one of them is drawn
// where it is referred to.
func (d *svgDocument) drawn(id string) (count int, drawn bool) {
	for _, index := range d.named(id) {
		name := d.nodes[index].name
		drawn = drawn || name != "linearGradient" && name != "radialGradient"
		count++
	}
	return count, drawn
}

// lastSelector gives one simple selector that everything matched by a complex
// one matches too: kind is '.', '#', ' ' for an element, or '*' for any.
func lastSelector(selector string) (kind byte, name string) {
	if len(selector) > maxSelector {
		return '*', ""
	}
	for i := range len(selector) {
		if !isSelectorByte(selector[i]) {
			return '*', "" // strings, comments and functions may hide anything
		}
	}
	parts := strings.FieldsFunc(selector, func(r rune) bool { return r <= ' ' || r == '>' || r == '+' || r == '~' })
	if len(parts) == 0 {
		return '*', ""
	}
	compound := parts[len(parts)-1]
	kind = ' '
	if compound[0] == '.' || compound[0] == '#' {
		kind, compound = compound[0], compound[1:]
	}
	if end := strings.IndexAny(compound, ".#:["); end >= 0 {
		compound = compound[:end]
	}
	if compound == "" || compound == "*" {
		return '*', ""
	}
	return kind, compound
}

func isSelectorByte(c byte) bool {
	return c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		strings.IndexByte("-_.#:>+~* \t\r\n", c) >= 0
}

// named gives the elements that have an id.
func (d *svgDocument) named(id string) []int32 {
	var found []int32
	index, ok := d.ids[id]
	for ok {
		found = append(found, index)
		index = d.nodes[index].same
		ok = index != 0
	}
	return found
}

func (d *svgDocument) all() []int32 {
	every := make([]int32, len(d.nodes))
	for i := range every {
		every[i] = int32(i)
	}
	return every
}

// cssURLs finds the names that url(#name) refers to. One that refers into a
// document written into the link is refused.
func cssURLs(value []byte) ([]string, error) {
	if bytes.IndexByte(value, '(') < 0 {
		return nil, nil
	}
	value = cssUnescape(value)
	var targets []string
	for at := 0; at+4 <= len(value); at++ {
		if value[at+3] != '(' || !bytes.EqualFold(value[at:at+3], []byte("url")) {
			continue
		}
		link, _, _ := bytes.Cut(value[at+4:], []byte(")"))
		at += len(link) + 3
		link = bytes.Trim(link, " \t\r\n\f\"'")
		switch {
		case len(link) > 1 && link[0] == '#':
			targets = append(targets, string(link[1:]))
		case hasDataScheme(link) && bytes.IndexByte(link, '#') >= 0:
			return nil, svgRefusal("refers into a document that is written into the link")
		}
	}
	return targets, nil
}

// cssUnescape resolves the escapes of CSS, so that none hides a reference.
func cssUnescape(css []byte) []byte {
	if bytes.IndexByte(css, '\\') < 0 {
		return css
	}
	plain := make([]byte, 0, len(css))
	for i := 0; i < len(css); i++ {
		if css[i] != '\\' || i+1 == len(css) {
			plain = append(plain, css[i])
			continue
		}
		digits := i + 1
		for digits < len(css) && digits < i+7 && isHex(css[digits]) {
			digits++
		}
		if digits == i+1 {
			i++
			plain = append(plain, css[i])
			continue
		}
		code, _ := strconv.ParseUint(string(css[i+1:digits]), 16, 32)
		plain = utf8.AppendRune(plain, rune(code))
		if digits < len(css) && bytes.IndexByte([]byte(" \t\r\n\f"), css[digits]) >= 0 {
			digits++
		}
		i = digits - 1
	}
	return plain
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
