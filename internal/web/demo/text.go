package demo

import (
	"fmt"
	"image"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// letters writes lines of text in one size and weight.
type letters struct{ face font.Face }

func regular(size float64) letters { return newLetters(goregular.TTF, size) }

func bold(size float64) letters { return newLetters(gobold.TTF, size) }

// newLetters panics on a bad font: the fonts are compiled in.
func newLetters(ttf []byte, size float64) letters {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(fmt.Sprintf("parse built-in font: %v", err))
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic(fmt.Sprintf("open built-in font: %v", err))
	}
	return letters{face}
}

// write puts text with its baseline at y; align 0 starts at x, 1 ends there.
func (l letters) write(dst draw.Image, text string, x, y, align float32, c rgb) {
	d := font.Drawer{Dst: dst, Src: image.NewUniform(c.rgba(255)), Face: l.face}
	x -= align * float32(d.MeasureString(text)) / 64
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}
	d.DrawString(text)
}
