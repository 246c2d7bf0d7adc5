package conformance_test

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/bits"
	"testing"
)

// onWhite is the levels of a pixel laid over white.
func onWhite(c color.NRGBA) [3]float64 {
	a := float64(c.A) / 255
	return [3]float64{float64(c.R)*a + 255*(1-a), float64(c.G)*a + 255*(1-a), float64(c.B)*a + 255*(1-a)}
}

// meanOnWhite is the average colour, transparency laid over white.
func meanOnWhite(img *image.NRGBA) (mean [3]float64) {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	for y := range h {
		for x := range w {
			for i, v := range onWhite(img.NRGBAAt(x, y)) {
				mean[i] += v / float64(w*h)
			}
		}
	}
	return mean
}

// difference is how far two pictures of one size are apart: the mean over all
// pixels and channels, in levels, both over white.
func difference(a, b *image.NRGBA) (float64, error) {
	if a.Rect != b.Rect {
		return 0, fmt.Errorf("sizes %v and %v differ", a.Rect.Size(), b.Rect.Size())
	}
	sum := 0.0
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			p, q := onWhite(a.NRGBAAt(x, y)), onWhite(b.NRGBAAt(x, y))
			for i := range 3 {
				sum += math.Abs(p[i]-q[i]) / 3
			}
		}
	}
	return sum / float64(a.Rect.Dx()*a.Rect.Dy()), nil
}

// alike fails the test when two pictures differ by more than levels.
func alike(t testing.TB, what string, got, want *image.NRGBA, levels float64) {
	t.Helper()
	d, err := difference(got, want)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if d > levels {
		t.Errorf("%s: the pictures differ by %.2f levels on average, more than %.2f", what, d, levels)
	}
}

// luma is the brightness of every pixel over white, row by row.
func luma(img *image.NRGBA) (values []float64, w, h int) {
	w, h = img.Rect.Dx(), img.Rect.Dy()
	values = make([]float64, w*h)
	for y := range h {
		for x := range w {
			c := onWhite(img.NRGBAAt(x, y))
			values[y*w+x] = 0.299*c[0] + 0.587*c[1] + 0.114*c[2]
		}
	}
	return values, w, h
}

// scaled averages brightness down (or repeats it up) to w x h.
func scaled(img *image.NRGBA, w, h int) []float64 {
	values, sw, sh := luma(img)
	out := make([]float64, w*h)
	for y := range h {
		y0 := y * sh / h
		y1 := max(y0+1, (y+1)*sh/h)
		for x := range w {
			x0 := x * sw / w
			x1 := max(x0+1, (x+1)*sw/w)
			for v := y0; v < y1; v++ {
				for u := x0; u < x1; u++ {
					out[y*w+x] += values[v*sw+u] / float64((x1-x0)*(y1-y0))
				}
			}
		}
	}
	return out
}

// fingerprint is a difference hash of 64 bits: whether brightness rises from
// each of 8 x 8 areas to its right neighbour. It survives other codecs and
// qualities, and changes when the picture does.
func fingerprint(img *image.NRGBA) uint64 {
	small := scaled(img, 9, 8)
	var hash uint64
	for y := range 8 {
		for x := range 8 {
			hash <<= 1
			// A step below one level is flat, whichever way it leans.
			if small[y*9+x+1] > small[y*9+x]+1 {
				hash |= 1
			}
		}
	}
	return hash
}

// distance is how many bits of two fingerprints differ.
func distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// ssim is the structural similarity of two pictures of one size, over windows
// of 8 x 8 at every fourth pixel, on brightness (Wang et al., 2004).
func ssim(a, b *image.NRGBA) (float64, error) {
	if a.Rect != b.Rect {
		return 0, fmt.Errorf("sizes %v and %v differ", a.Rect.Size(), b.Rect.Size())
	}
	x, w, h := luma(a)
	y, _, _ := luma(b)
	if w < 8 || h < 8 {
		return 0, fmt.Errorf("%dx%d is too small for windows of 8x8", w, h)
	}
	sum, windows := 0.0, 0
	for top := 0; top+8 <= h; top += 4 {
		for left := 0; left+8 <= w; left += 4 {
			sum += windowSSIM(x, y, w, left, top)
			windows++
		}
	}
	return sum / float64(windows), nil
}

func windowSSIM(x, y []float64, w, left, top int) float64 {
	const n, c1, c2 = 64.0, 0.01 * 255 * 0.01 * 255, 0.03 * 255 * 0.03 * 255
	var sx, sy, sxx, syy, sxy float64
	for v := top; v < top+8; v++ {
		for u := left; u < left+8; u++ {
			p, q := x[v*w+u], y[v*w+u]
			sx, sy = sx+p, sy+q
			sxx, syy, sxy = sxx+p*p, syy+q*q, sxy+p*q
		}
	}
	mx, my := sx/n, sy/n
	vx, vy, cov := sxx/n-mx*mx, syy/n-my*my, sxy/n-mx*my
	return (2*mx*my + c1) * (2*cov + c2) / ((mx*mx + my*my + c1) * (vx + vy + c2))
}

// near fails the test when a colour is off by more than levels in any channel.
func near(t testing.TB, what string, got, want [3]float64, levels float64) {
	t.Helper()
	for i := range 3 {
		if math.Abs(got[i]-want[i]) > levels {
			t.Errorf("%s: colour %.0f, want %.0f within %.0f", what, got, want, levels)
			return
		}
	}
}

func TestMeasuresTellPicturesApart(t *testing.T) {
	flat := image.NewNRGBA(image.Rect(0, 0, 64, 48))
	ramp := image.NewNRGBA(flat.Rect)
	for y := range 48 {
		for x := range 64 {
			flat.SetNRGBA(x, y, color.NRGBA{100, 100, 100, 255})
			ramp.SetNRGBA(x, y, color.NRGBA{uint8(4 * x), uint8(4 * x), uint8(4 * x), 255})
		}
	}
	if s, _ := ssim(ramp, ramp); s < 0.9999 {
		t.Errorf("a picture is like itself by %.4f only", s)
	}
	if s, _ := ssim(ramp, flat); s > 0.7 {
		t.Errorf("a ramp and a flat ground are alike by %.4f", s)
	}
	if d := distance(fingerprint(ramp), fingerprint(flat)); d != 64 {
		t.Errorf("a ramp and a flat ground differ in %d bits, want 64", d)
	}
	if d, _ := difference(flat, ramp); d < 50 {
		t.Errorf("a ramp and a flat ground differ by %.1f levels only", d)
	}
}
