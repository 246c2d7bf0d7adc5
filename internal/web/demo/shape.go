package demo

import (
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/vector"
)

// pen records a path in pixels of the picture.
type pen struct {
	ops                    []op
	left, top, right, foot float32
}

// op is one segment: the last of its points is where it ends; none closes.
type op struct {
	points [3][2]float32
	n      int
	move   bool
}

func (p *pen) push(o op) {
	for _, q := range o.points[:o.n] {
		if len(p.ops) == 0 {
			p.left, p.right, p.top, p.foot = q[0], q[0], q[1], q[1]
		}
		p.left, p.right = min(p.left, q[0]), max(p.right, q[0])
		p.top, p.foot = min(p.top, q[1]), max(p.foot, q[1])
	}
	p.ops = append(p.ops, o)
}

func (p *pen) MoveTo(x, y float32) { p.push(op{[3][2]float32{{x, y}}, 1, true}) }
func (p *pen) LineTo(x, y float32) { p.push(op{[3][2]float32{{x, y}}, 1, false}) }
func (p *pen) ClosePath()          { p.push(op{}) }

func (p *pen) QuadTo(bx, by, x, y float32) { p.push(op{[3][2]float32{{bx, by}, {x, y}}, 2, false}) }

func (p *pen) CubeTo(bx, by, cx, cy, x, y float32) {
	p.push(op{[3][2]float32{{bx, by}, {cx, cy}, {x, y}}, 3, false})
}

// fill paints the inside of a path with a source picture, edges smoothed. The
// rasterizer walks all of its area, so it is given no more than the path's.
func fill(dst draw.Image, src image.Image, path func(*pen)) {
	var p pen
	path(&p)
	area := image.Rect(int(floor(p.left)), int(floor(p.top)), int(floor(p.right))+1, int(floor(p.foot))+1).Intersect(dst.Bounds())
	x, y := float32(area.Min.X), float32(area.Min.Y)
	r := vector.NewRasterizer(area.Dx(), area.Dy())
	for _, o := range p.ops {
		q := o.points
		for i := range q {
			q[i][0] -= x
			q[i][1] -= y
		}
		switch {
		case o.move:
			r.MoveTo(q[0][0], q[0][1])
		case o.n == 1:
			r.LineTo(q[0][0], q[0][1])
		case o.n == 2:
			r.QuadTo(q[0][0], q[0][1], q[1][0], q[1][1])
		case o.n == 3:
			r.CubeTo(q[0][0], q[0][1], q[1][0], q[1][1], q[2][0], q[2][1])
		default:
			r.ClosePath()
		}
	}
	r.Draw(dst, area, src, area.Min)
}

func plain(c rgb) image.Image { return image.NewUniform(c.rgba(255)) }

func glass(c rgb, alpha uint8) image.Image { return image.NewUniform(c.rgba(alpha)) }

// ramp is an endless picture whose colour is a function of the place.
type ramp func(x, y int) color.RGBA

func (ramp) ColorModel() color.Model   { return color.RGBAModel }
func (ramp) Bounds() image.Rectangle   { return image.Rect(-1e6, -1e6, 1e6, 1e6) }
func (f ramp) At(x, y int) color.Color { return f(x, y) }
func (f ramp) RGBA64At(x, y int) color.RGBA64 {
	c := f(x, y)
	return color.RGBA64{uint16(c.R) * 257, uint16(c.G) * 257, uint16(c.B) * 257, uint16(c.A) * 257}
}

// polygon is a closed path through x, y pairs.
func polygon(points ...float32) func(*pen) {
	return func(p *pen) {
		p.MoveTo(points[0], points[1])
		for i := 2; i < len(points); i += 2 {
			p.LineTo(points[i], points[i+1])
		}
		p.ClosePath()
	}
}

func box(x, y, w, h float32) func(*pen) { return polygon(x, y, x+w, y, x+w, y+h, x, y+h) }

// ellipse uses the usual four cubic arcs, off by less than 0.03 %.
func ellipse(cx, cy, rx, ry float32) func(*pen) {
	const k = .5522848
	return func(p *pen) {
		p.MoveTo(cx+rx, cy)
		p.CubeTo(cx+rx, cy+ry*k, cx+rx*k, cy+ry, cx, cy+ry)
		p.CubeTo(cx-rx*k, cy+ry, cx-rx, cy+ry*k, cx-rx, cy)
		p.CubeTo(cx-rx, cy-ry*k, cx-rx*k, cy-ry, cx, cy-ry)
		p.CubeTo(cx+rx*k, cy-ry, cx+rx, cy-ry*k, cx+rx, cy)
		p.ClosePath()
	}
}

// line is a straight stroke with square ends.
func line(x1, y1, x2, y2, width float32) func(*pen) {
	dx, dy := x2-x1, y2-y1
	k := width / 2 / sqrt(dx*dx+dy*dy)
	nx, ny := -dy*k, dx*k
	return polygon(x1+nx, y1+ny, x2+nx, y2+ny, x2-nx, y2-ny, x1-nx, y1-ny)
}

// over composites a premultiplied pixel onto an opaque colour.
func over(below rgb, c color.RGBA) rgb {
	k := 1 - float32(c.A)/255
	return rgb{float32(c.R)/255 + below.r*k, float32(c.G)/255 + below.g*k, float32(c.B)/255 + below.b*k}
}
