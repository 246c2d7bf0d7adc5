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

// stylesheet notes the references of a style element's rules.
func (d *svgDocument) stylesheet(raw []byte) error {
	css := cssUnescape(raw)
	lower := bytes.ToLower(css)
	if bytes.Contains(lower, []byte("@import")) && bytes.Contains(lower, []byte("data:")) {
		return svgRefusal("imports a stylesheet that is written into the link")
	}
	selectors := ""
	for len(css) > 0 {
		end := bytes.IndexAny(css, "{}")
		if end < 0 {
			end = len(css) - 1
		}
		part, mark := css[:end+1], css[end]
		css = css[end+1:]
		if mark == '{' {
			selectors = string(part[:end])
			continue
		}
		if strings.Contains(selectors, "@font-face") {
			continue // fonts are never loaded from a document
		}
		targets, err := cssURLs(part)
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
	budget := 8 * d.limits.SVGNodes
	for _, style := range d.styles {
		for selector := range strings.SplitSeq(style.selectors, ",") {
			kind, name := lastSelector(selector)
			matches := tags[name]
			switch kind {
			case '.':
				matches = d.classes[name]
			case '#':
				matches = d.named(name)
			case '*':
				matches = d.all()
			}
			if budget -= len(matches); budget < 0 {
				return svgRefusal("has styles with too many references")
			}
			for _, index := range matches {
				d.nodes[index].refs = append(d.nodes[index].refs, style.target)
			}
		}
	}
	return nil
}

// lastSelector gives one simple selector that everything matched by a complex
// one matches too: kind is '.', '#', ' ' for an element, or '*' for any.
func lastSelector(selector string) (kind byte, name string) {
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
		link := value[at+4:]
		if end := bytes.IndexByte(link, ')'); end >= 0 {
			link = link[:end]
		}
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
