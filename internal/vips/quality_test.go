package vips_test

import (
	"fmt"
	"image"
	"maps"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// leastSSIM is what the better of the servers compared reaches when it shrinks
// a photograph at load, against the same resize of a full decode.
const leastSSIM = 0.9965

func TestShortCutsDoNotCostQuality(t *testing.T) {
	engine := start(t)
	photo := testpictures.JPEG(testpictures.Photo(2400, 1800), 92)
	webp := render(t, photo, ask(1600, 0, func(r *media.Request) { r.Quality = 90 }), media.WebP).data
	tests := map[string]struct {
		src    []byte
		widths []int
	}{
		"a JPEG shrunk by 8 at load":               {photo, []int{140}},
		"a JPEG shrunk by 4 at load":               {photo, []int{290}},
		"a JPEG shrunk by 2 at load":               {photo, []int{500}},
		"a WebP scaled at load":                    {webp, []int{300}},
		"several sizes, each half of the next":     {photo, []int{1200, 600, 300}},
		"several sizes that are close":             {photo, []int{640, 600, 560}},
		"several sizes, the largest not the first": {photo, []int{100, 800, 400}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			req := ask(0, 0)
			req.Sizes = nil
			for _, width := range test.widths {
				req.Sizes = append(req.Sizes, media.Size{Width: width})
			}
			outputs := renderAll(t, test.src, nil, req, media.PNG)
			for i, width := range test.widths {
				plan := planFor(t, engine, test.src, ask(width, 0), media.PNG)
				plan.Load.Shrink, plan.Load.Scale = 1, 1
				full, err := collect(t.Context(), engine, test.src, nil, plan)
				if err != nil {
					t.Fatal(err)
				}
				got := ssim(decode(t, media.PNG, outputs[i].data), decode(t, media.PNG, full[0].data))
				if got < leastSSIM {
					t.Errorf("width %d: SSIM is %.4f, want %.4f", width, got, leastSSIM)
				}
			}
		})
	}
}

// photos are a generated photograph, and real ones where there are some.
func photos(t testing.TB) map[string][]byte {
	t.Helper()
	sources := map[string][]byte{"a generated photo": testpictures.JPEG(testpictures.Photo(2700, 1800), 92)}
	maps.Copy(sources, corpusPictures(t, "photo-12mp-canon.jpg", "photo-16mp-roses.jpg"))
	return sources
}

// docs/http.md states these floors, at 300 pixels.
func TestEachShrinkKeepsItsFloor(t *testing.T) {
	type floors struct{ usual, linear float64 }
	all := map[media.Shrink]floors{
		media.ShrinkFine: {leastSSIM, 0.993}, media.ShrinkFast: {0.98, 0.95}, media.ShrinkNone: {1, 1},
	}
	for name, src := range photos(t) {
		webp := render(t, src, ask(1600, 0, func(r *media.Request) { r.Quality = 90 }), media.WebP).data
		for shrink, least := range all {
			for format, file := range map[string][]byte{"JPEG": src, "WebP": webp} {
				for _, linear := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s as %s, shrink=%s, linear=%t", name, format, shrink, linear), func(t *testing.T) {
						req := ask(300, 0, func(r *media.Request) { r.Shrink, r.Linear = shrink, linear })
						full := ask(300, 0, func(r *media.Request) { r.Shrink, r.Linear = media.ShrinkNone, linear })
						got := ssim(picture(t, file, req), picture(t, file, full))
						floor := least.usual
						if linear {
							floor = least.linear
						}
						if got < floor {
							t.Errorf("SSIM is %.4f, want %.4f", got, floor)
						}
					})
				}
			}
		}
	}
}

func TestUsualQualitiesLookLikeThePicture(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(600, 400), 95)
	want := picture(t, src, ask(0, 0))
	// The grain of this picture is what encoders drop first.
	const least = 0.7
	for _, format := range []media.Format{media.JPEG, media.WebP, media.AVIF, media.JXL} {
		t.Run(fmt.Sprintf("%s at its usual quality", format), func(t *testing.T) {
			got := ssim(decode(t, format, render(t, src, ask(0, 0), format).data), want)
			if got < least {
				t.Errorf("SSIM is %.4f, want %.2f", got, least)
			}
		})
	}
}

// ssim is the mean structural similarity of two pictures' lightness over
// windows of 8x8, every 4 pixels (Wang et al. 2004, with K1 0.01 and K2 0.03).
func ssim(a, b image.Image) float64 {
	size := a.Bounds().Size()
	if size != b.Bounds().Size() {
		return 0
	}
	return ssimOf(lightness(a), lightness(b), size)
}

// ssimOf is that of two planes.
func ssimOf(x, y []float64, size image.Point) float64 {
	var sum, windows float64
	for top := 0; top+8 <= size.Y; top += 4 {
		for left := 0; left+8 <= size.X; left += 4 {
			sum += similarity(x, y, top*size.X+left, size.X)
			windows++
		}
	}
	return sum / windows
}

func lightness(img image.Image) []float64 {
	size := img.Bounds().Size()
	out := make([]float64, 0, size.X*size.Y)
	for y := range size.Y {
		for x := range size.X {
			c := onWhite(img, x, y)
			out = append(out, 0.299*c[0]+0.587*c[1]+0.114*c[2])
		}
	}
	return out
}

// similarity is that of the 8x8 window whose first pixel is at start.
func similarity(x, y []float64, start, stride int) float64 {
	const n, c1, c2 = 64, 0.01 * 255 * 0.01 * 255, 0.03 * 255 * 0.03 * 255
	var sx, sy, sxx, syy, sxy float64
	for row := range 8 {
		for i := start + row*stride; i < start+row*stride+8; i++ {
			sx, sy = sx+x[i], sy+y[i]
			sxx, syy, sxy = sxx+x[i]*x[i], syy+y[i]*y[i], sxy+x[i]*y[i]
		}
	}
	mx, my := sx/n, sy/n
	vx, vy, vxy := sxx/n-mx*mx, syy/n-my*my, sxy/n-mx*my
	return (2*mx*my + c1) * (2*vxy + c2) / ((mx*mx + my*my + c1) * (vx + vy + c2))
}
