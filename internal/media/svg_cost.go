package media

import (
	"math"
	"strings"
)

// svgCost is what drawing a part of a document takes.
type svgCost struct {
	nodes float64 // elements, references followed
	depth int     // levels, references followed
	work  float64 // filter operations per pixel
	// pixels of embedded pictures, of a whole document only.
	pixels float64
}

func (c svgCost) plus(other svgCost) svgCost {
	return svgCost{nodes: c.nodes + other.nodes, depth: max(c.depth, other.depth), work: c.work + other.work}
}

// svgState is where the walk stands with a node.
type svgState uint8

const (
	svgUnseen svgState = iota
	svgWalking
	svgDone
)

// cost walks the tree from the root, each node once.
func (d *svgDocument) cost() (svgCost, error) {
	if err := d.applyStyles(); err != nil {
		return svgCost{}, err
	}
	return d.walk(0, 1)
}

func (d *svgDocument) checkNodes(cost svgCost) error {
	if cost.nodes > float64(d.limits.SVGNodes) {
		return svgRefusal("draws more than %d elements once its references are followed", d.limits.SVGNodes)
	}
	return nil
}

// walk sums a node, its children and what it refers to. Its own depth is
// bounded, so that the walk cannot overflow the stack it is meant to protect.
func (d *svgDocument) walk(index int32, level int) (svgCost, error) {
	node := &d.nodes[index]
	switch {
	case node.state == svgDone:
		return node.total, nil
	case node.state == svgWalking:
		return svgCost{}, svgRefusal("refers to itself in a circle")
	case level > maxSVGDepth:
		return svgCost{}, svgRefusal("nests its references more than %d levels deep", maxSVGDepth)
	}
	node.state = svgWalking
	total := node.own
	for child := node.child; child != 0; child = d.nodes[child].next {
		cost, err := d.walk(child, level+1)
		if err != nil {
			return svgCost{}, err
		}
		total = total.plus(cost)
	}
	for _, ref := range node.refs {
		cost, err := d.target(ref, level+1)
		if err != nil {
			return svgCost{}, err
		}
		total = total.plus(cost)
		if err := d.checkNodes(total); err != nil {
			return svgCost{}, err
		}
	}
	total.nodes++
	total.depth++
	if total.depth > maxSVGDepth {
		return svgCost{}, svgRefusal("nests its references more than %d levels deep", maxSVGDepth)
	}
	if err := d.checkNodes(total); err != nil {
		return svgCost{}, err
	}
	node.state, node.total = svgDone, total
	return total, nil
}

// target is the cost of drawing what an id names. Gradients are only looked
// up; a filter adds its operations. A name given to several elements stands
// for all of them.
func (d *svgDocument) target(id string, level int) (svgCost, error) {
	var total svgCost
	for _, index := range d.named(id) {
		cost, err := d.walk(index, level)
		if err != nil {
			return svgCost{}, err
		}
		switch node := d.nodes[index]; node.name {
		case "linearGradient", "radialGradient":
			cost = svgCost{nodes: 1, depth: 1}
		case "filter":
			cost.work += d.filterWork(node)
		}
		total = total.plus(cost)
	}
	return total, nil
}

// filterWork sums the primitives of a filter, for each pixel of the picture.
func (d *svgDocument) filterWork(filter svgNode) float64 {
	work := 0.0
	for child := filter.child; child != 0; child = d.nodes[child].next {
		work += d.nodes[child].primitive
	}
	return work * filter.share
}

// filterAttributes are those that a filter's cost depends on.
type filterAttributes struct {
	radiusX, radiusY, order, octaves float64
	units                            string
	width, height                    []byte
}

func (f *filterAttributes) read(key, value []byte) {
	switch string(key) {
	case "radius":
		f.radiusX, f.radiusY = numberPair(value)
	case "order":
		x, y := numberPair(value)
		f.order = x * y
	case "numOctaves":
		f.octaves, _ = numberPair(value)
	case "filterUnits":
		f.units = string(value)
	case "width":
		f.width = value
	case "height":
		f.height = value
	}
}

// numberPair reads "a b" or "a", which stands for both. What is no number
// counts as 0, and the cost of a primitive never falls below one.
func numberPair(value []byte) (a, b float64) {
	fields := strings.FieldsFunc(string(value), func(r rune) bool { return r == ',' || r <= ' ' })
	if len(fields) == 0 {
		return 0, 0
	}
	a, _ = parseFinite(fields[0])
	b, _ = parseFinite(fields[len(fields)-1])
	return math.Abs(a), math.Abs(b)
}

// work is the operations of one filter primitive on one pixel, in units of 7
// nanoseconds: measured with librsvg 2.54 on one megapixel.
func (f filterAttributes) work(element string) float64 {
	switch element {
	case "feGaussianBlur", "feDropShadow":
		return 15
	case "feDisplacementMap":
		return 70
	case "feMorphology":
		return 1 + (2*f.radiusX+1)*(2*f.radiusY+1)
	case "feConvolveMatrix":
		return max(f.order, 9)
	case "feTurbulence":
		return 10 * max(f.octaves, 1)
	case "feDiffuseLighting", "feSpecularLighting":
		return 5
	}
	if strings.HasPrefix(element, "fe") {
		return 2
	}
	return 0
}

// filterShare is the part of the picture that a filter covers: what it says in
// user units, where these are certainly the root's, else all of it. Small ones
// are rounded up, since a renderer sets up whole surfaces.
func (d *svgDocument) filterShare(element string, f filterAttributes) float64 {
	box := d.viewBox
	if element != "filter" || f.units != "userSpaceOnUse" || d.scaled || box[2] <= 0 || box[3] <= 0 {
		return 1
	}
	width, wok := svgLength(string(f.width))
	height, hok := svgLength(string(f.height))
	if !wok || !hok {
		return 1
	}
	return min(max(width*height/(box[2]*box[3]), 0.05), 1)
}
