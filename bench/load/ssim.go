package main

import (
	"fmt"
	"image"
)

// ssim is the structural similarity of two opaque pictures of one size, over
// windows of 8 x 8 at every fourth pixel, on brightness (Wang et al., 2004).
func ssim(a, b image.Image) (float64, error) {
	if a.Bounds().Size() != b.Bounds().Size() {
		return 0, fmt.Errorf("compare pictures: sizes %v and %v differ", a.Bounds().Size(), b.Bounds().Size())
	}
	x, width, height := brightness(a)
	y, _, _ := brightness(b)
	if width < window || height < window {
		return 0, fmt.Errorf("compare pictures: %dx%d is smaller than a window", width, height)
	}
	sum, windows := 0.0, 0
	for top := 0; top+window <= height; top += window / 2 {
		for left := 0; left+window <= width; left += window / 2 {
			sum += likeness(x, y, width, left, top)
			windows++
		}
	}
	return sum / float64(windows), nil
}

const window = 8

func brightness(img image.Image) (values []float64, width, height int) {
	box := img.Bounds()
	for v := box.Min.Y; v < box.Max.Y; v++ {
		for u := box.Min.X; u < box.Max.X; u++ {
			r, g, b, _ := img.At(u, v).RGBA()
			values = append(values, (0.299*float64(r)+0.587*float64(g)+0.114*float64(b))/257)
		}
	}
	return values, box.Dx(), box.Dy()
}

// likeness is the index of one window.
func likeness(x, y []float64, width, left, top int) float64 {
	const n, c1, c2 = window * window, 0.01 * 255 * 0.01 * 255, 0.03 * 255 * 0.03 * 255
	var sx, sy, sxx, syy, sxy float64
	for v := top; v < top+window; v++ {
		for u := left; u < left+window; u++ {
			p, q := x[v*width+u], y[v*width+u]
			sx, sy = sx+p, sy+q
			sxx, syy, sxy = sxx+p*p, syy+q*q, sxy+p*q
		}
	}
	mx, my := sx/n, sy/n
	vx, vy, both := sxx/n-mx*mx, syy/n-my*my, sxy/n-mx*my
	return (2*mx*my + c1) * (2*both + c2) / ((mx*mx + my*my + c1) * (vx + vy + c2))
}
