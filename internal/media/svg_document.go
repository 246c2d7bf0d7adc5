package media

import (
	"bytes"
	"errors"
	"html"
	"math"
	"strconv"
	"strings"
)

// svgDocument is what of an SVG bears on the cost of drawing it.
type svgDocument struct {
	limits Limits
	level  int // documents around this one

	nodes   []svgNode
	ids     map[string]int32   // the first node of a name; others hang on its same
	classes map[string][]int32 // elements that have the class
	styles  []svgStyle
	// styleBytes counts the text of stylesheets.
	styleBytes int
	names      map[string]string // of elements and classes, each held once
	entities   map[string]string
	budget     int     // references and classes that may still be noted
	embedded   float64 // pixels that embedded pictures may still have

	width, height string // of the root
	viewBox       [4]float64
	scaled        bool // user units need not be those of the root
}

// svgNode is one element. Indices are into svgDocument.nodes, 0 is none: the
// root is nobody's child and nobody's next.
type svgNode struct {
	name        string
	child, next int32
	same        int32 // the next node with the same id
	refs        []string
	own         svgCost // of embedded documents
	primitive   float64 // work of a filter primitive, per pixel
	share       float64 // of the picture that a filter covers, 0 to 1

	state svgState
	total svgCost
}

// svgFrame is an open element while reading: its node and its last child.
type svgFrame struct{ node, last int32 }

// read fills the document from its text.
func (d *svgDocument) read(text []byte) error {
	d.scaled = bytes.Contains(text, []byte("transform")) || bytes.Count(text, []byte("viewBox")) > 1
	scanner := svgScanner{src: text}
	var open []svgFrame
	for {
		token, err := scanner.next()
		if errors.Is(err, errSVGEnd) && len(d.nodes) > 0 && len(open) == 0 {
			return nil
		}
		if err != nil {
			return broken(SVG, "its markup is not well-formed or cut off")
		}
		switch token.kind {
		case svgDoctype:
			err = d.doctype(token.raw, bytes.Count(text, []byte("&")))
		case svgInstruction:
			err = checkInstruction(token.raw)
		case svgText, svgCDATA:
			if len(open) > 0 && d.nodes[open[len(open)-1].node].name == "style" {
				err = d.stylesheet(token.raw)
			}
		case svgClose:
			if len(open) == 0 {
				return broken(SVG, "it closes an element that is not open")
			}
			open = open[:len(open)-1]
		case svgOpen:
			open, err = d.element(token, open)
		}
		if err != nil {
			return err
		}
	}
}

// element adds a node below the innermost open one.
func (d *svgDocument) element(token svgToken, open []svgFrame) ([]svgFrame, error) {
	if len(d.nodes) >= d.limits.SVGNodes {
		return nil, svgRefusal("has more than %d elements", d.limits.SVGNodes)
	}
	if len(open) >= maxSVGDepth {
		return nil, svgRefusal("is nested more than %d levels deep", maxSVGDepth)
	}
	if len(open) == 0 && len(d.nodes) > 0 {
		return nil, broken(SVG, "it has two root elements")
	}
	index := int32(len(d.nodes))
	d.nodes = append(d.nodes, svgNode{name: d.held(localName(token.name)), share: 1})
	if err := d.attributes(index, token.attributes); err != nil {
		return nil, err
	}
	if len(open) > 0 {
		parent := &open[len(open)-1]
		if parent.last == 0 {
			d.nodes[parent.node].child = index
		} else {
			d.nodes[parent.last].next = index
		}
		parent.last = index
	}
	if !token.selfClosed {
		open = append(open, svgFrame{node: index})
	}
	return open, nil
}

// attributes reads what of an element's attributes bears on cost.
func (d *svgDocument) attributes(index int32, text []byte) error {
	node := &d.nodes[index]
	if node.name == "include" {
		return svgRefusal("includes another document")
	}
	filter := filterAttributes{}
	for {
		name, value, rest, ok := attribute(text)
		if !ok {
			break
		}
		text = rest
		key := localName(name)
		if bytes.IndexByte(value, '&') >= 0 {
			value = d.unescape(value)
		}
		if err := d.attribute(index, key, value); err != nil {
			return err
		}
		filter.read(key, value)
	}
	node.primitive = filter.work(node.name)
	node.share = d.filterShare(node.name, filter)
	return nil
}

// attribute reads one: names, links, the root's size, and any url(#name) of a
// presentation attribute or style.
func (d *svgDocument) attribute(index int32, key, value []byte) error {
	node := &d.nodes[index]
	noted := len(node.refs)
	var err error
	switch string(key) {
	case "id":
		d.name(index, string(value))
	case "class":
		err = d.classify(index, value)
	case "href":
		err = d.href(node, value)
	case "width", "height", "viewBox":
		d.size(index, string(key), value)
	}
	if err != nil {
		return err
	}
	targets, err := cssURLs(value)
	if err != nil {
		return err
	}
	node.refs = append(node.refs, targets...)
	return d.spend(len(node.refs) - noted)
}

// classify files a node under its classes.
func (d *svgDocument) classify(index int32, value []byte) error {
	for class := range bytes.FieldsSeq(value) {
		name := d.held(class)
		d.classes[name] = append(d.classes[name], index)
		if err := d.spend(1); err != nil {
			return err
		}
	}
	return nil
}

// name files a node under its id.
func (d *svgDocument) name(index int32, id string) {
	if first, taken := d.ids[id]; taken {
		if first != index {
			d.nodes[index].same, d.nodes[first].same = d.nodes[first].same, index
		}
		return
	}
	d.ids[id] = index
}

// spend takes n off the budget, which bounds what is not bounded by the number
// of elements.
func (d *svgDocument) spend(n int) error {
	if d.budget -= n; d.budget < 0 {
		return svgRefusal("has too many references and classes")
	}
	return nil
}

// held gives name as a string that is allocated once a document.
func (d *svgDocument) held(name []byte) string {
	if text, ok := d.names[string(name)]; ok {
		return text
	}
	text := string(name)
	d.names[text] = text
	return text
}

// size notes the attributes that make the natural size.
func (d *svgDocument) size(index int32, key string, value []byte) {
	if index != 0 {
		return
	}
	switch key {
	case "width":
		d.width = string(value)
	case "height":
		d.height = string(value)
	case "viewBox":
		fields := strings.FieldsFunc(string(value), func(r rune) bool { return r == ',' || r <= ' ' })
		for i := range min(len(fields), 4) {
			d.viewBox[i], _ = parseFinite(fields[i])
		}
	}
}

// href follows the links of elements that draw their target. Others, like a
// and textPath, do not multiply anything.
func (d *svgDocument) href(node *svgNode, value []byte) error {
	switch node.name {
	case "use", "feImage", "image", "pattern", "linearGradient", "radialGradient", "filter", "tref":
	default:
		return nil
	}
	value = bytes.TrimSpace(value)
	if hasDataScheme(value) {
		cost, err := d.embed(value)
		node.own = node.own.plus(cost)
		return err
	}
	if len(value) > 1 && value[0] == '#' {
		node.refs = append(node.refs, string(value[1:]))
	}
	return nil
}

// unescape replaces character references, and entities declared in the file.
func (d *svgDocument) unescape(raw []byte) []byte {
	text := string(raw)
	for name, value := range d.entities {
		text = strings.ReplaceAll(text, "&"+name+";", value)
	}
	return []byte(html.UnescapeString(text))
}

// parseFinite reads a number, and neither NaN nor an infinity.
func parseFinite(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = strconv.ErrRange
	}
	if err != nil {
		return 0, err
	}
	return v, nil
}
