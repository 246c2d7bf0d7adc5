package vips_test

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"slices"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestMaxBytesTakesAHighQualityThatFits(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(600, 400), 95)
	var used, cases float64
	for _, format := range []media.Format{media.JPEG, media.WebP, media.AVIF, media.JXL} {
		full := len(render(t, src, ask(0, 0, func(r *media.Request) { r.Quality = 90 }), format).data)
		for _, share := range []float64{0.8, 0.4, 0.2} {
			budget := int(float64(full) * share)
			t.Run(fmt.Sprintf("%s in %.0f %% of its bytes", format, share*100), func(t *testing.T) {
				out := render(t, src, ask(0, 0, func(r *media.Request) { r.Quality, r.MaxBytes = 90, budget }), format)
				if len(out.data) > budget || len(out.data)*2 < budget {
					t.Errorf("%d bytes for a budget of %d (quality %d)", len(out.data), budget, out.Quality)
				}
				used, cases = used+float64(len(out.data))/float64(budget), cases+1
				again := render(t, src, ask(0, 0, func(r *media.Request) { r.Quality = out.Quality }), format)
				if len(again.data) != len(out.data) {
					t.Errorf("quality %d gives %d bytes, not %d", out.Quality, len(again.data), len(out.data))
				}
			})
		}
	}
	if used < 0.9*cases {
		t.Errorf("%.0f %% of the budgets were used on average, want 90", 100*used/cases)
	}
	t.Run("enough room changes nothing", func(t *testing.T) {
		out := render(t, src, ask(0, 0, func(r *media.Request) { r.Quality, r.MaxBytes = 80, 1<<24 }), media.WebP)
		if out.Quality != 80 {
			t.Errorf("quality became %d", out.Quality)
		}
	})
}

// What was reachable is known from every quality there is. Five encodes do not
// find the best everywhere: sizes jump, and fall where they should rise.
func TestMaxBytesUsesItsBudgetOnPicturesOfAnyKind(t *testing.T) {
	const width, height = 180, 120
	var used []float64
	sources := finished(t, width)
	for name, img := range map[string]*image.NRGBA{
		"a photo": testpictures.Photo(width, height), "a scene": testpictures.Scene(width, height),
		"a logo": logo(width, height), "a gradient": gradient(width, height), "lines": lines(width, height),
	} {
		sources[name] = testpictures.PNGOf(img, 8, testpictures.PNGRGB, false)
	}
	for name, src := range sources {
		for _, format := range []media.Format{media.JPEG, media.WebP, media.AVIF} {
			t.Run(fmt.Sprintf("%s as %s", name, format), func(t *testing.T) {
				sizes := make([]int, 91)
				for quality := 1; quality <= 90; quality++ {
					sizes[quality] = len(render(t, src, ask(0, 0, func(r *media.Request) { r.Quality, r.Effort = quality, 0 }), format).data)
				}
				for _, share := range []float64{0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1} {
					used = append(used, shareUsed(t, src, format, sizes, int(share*float64(sizes[90])))...)
				}
			})
		}
	}
	slices.Sort(used)
	low, _ := slices.BinarySearch(used, 0.9)
	t.Logf("%d of %d budgets are filled to 90 %%", len(used)-low, len(used))
	if low*10 > len(used) {
		t.Errorf("%d of %d budgets were filled to less than 90 %%: %.2f", low, len(used), used[:low])
	}
}

// shareUsed is how much of a budget is filled; nothing where no quality fills
// 90 % of it.
func shareUsed(t *testing.T, src []byte, format media.Format, sizes []int, budget int) []float64 {
	t.Helper()
	var best int
	for _, size := range sizes {
		if size <= budget {
			best = max(best, size)
		}
	}
	if best == 0 {
		return nil
	}
	out := render(t, src, ask(0, 0, func(r *media.Request) { r.Quality, r.Effort, r.MaxBytes = 90, 0, budget }), format)
	share := float64(len(out.data)) / float64(best)
	if len(out.data) > budget || share < 0.6 {
		t.Errorf("%d bytes (quality %d) for a budget of %d, of which %d can be used", len(out.data), out.Quality, budget, best)
	}
	if float64(best) < 0.9*float64(budget) {
		return nil
	}
	return []float64{float64(len(out.data)) / float64(budget)}
}

// logo is two flat shapes on white.
func logo(width, height int) *image.NRGBA {
	return painted(width, height, func(x, y int) color.NRGBA {
		switch dx, dy := x-2*width/3, y-height/2; {
		case dx*dx+dy*dy < height*height/16:
			return color.NRGBA{20, 60, 160, 255}
		case x > width/8 && x < width/2 && y > height/5 && y < 4*height/5:
			return color.NRGBA{200, 30, 40, 255}
		}
		return color.NRGBA{255, 255, 255, 255}
	})
}

func gradient(width, height int) *image.NRGBA {
	return painted(width, height, func(x, y int) color.NRGBA {
		return color.NRGBA{uint8(x * 255 / width), uint8(y * 255 / height), 128, 255}
	})
}

// lines are as hard to compress as small print.
func lines(width, height int) *image.NRGBA {
	return painted(width, height, func(x, y int) color.NRGBA {
		if y%12 < 8 && (x*7919+y/12*104729)%11 < 4 {
			return color.NRGBA{0, 0, 0, 255}
		}
		return color.NRGBA{255, 255, 255, 255}
	})
}

func painted(width, height int, at func(x, y int) color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetNRGBA(x, y, at(x, y))
		}
	}
	return img
}

func TestJPEGXLGrowsWithQualityFromTheLowestOn(t *testing.T) {
	src := testpictures.PNGOf(testpictures.Photo(120, 80), 8, testpictures.PNGRGB, false)
	size := func(quality int) int {
		return len(render(t, src, ask(0, 0, func(r *media.Request) { r.Quality = quality }), media.JXL).data)
	}
	if low, high := size(1), size(60); low > high {
		t.Errorf("quality 1 takes %d bytes, quality 60 %d", low, high)
	}
}

func TestMaxBytesBelowEveryQualityIsAnError(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(600, 400), 95)
	for _, format := range []media.Format{media.JPEG, media.WebP, media.PNG, media.GIF} {
		t.Run(string(format), func(t *testing.T) {
			engine := start(t)
			plan := planFor(t, engine, src, ask(0, 0, func(r *media.Request) { r.MaxBytes = 300 }), format)
			outputs, err := collect(t.Context(), engine, src, nil, plan)
			var told *media.Error
			if !errors.As(err, &told) || told.Code != media.CodeOutputBytes || told.Param != "max_bytes" {
				t.Errorf("got %v", err)
			}
			if len(outputs[0].data) > 0 {
				t.Errorf("%d bytes were written all the same", len(outputs[0].data))
			}
		})
	}
}
