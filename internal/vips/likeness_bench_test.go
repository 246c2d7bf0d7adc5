package vips_test

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"math"
	"testing"
	"time"

	"golang.org/x/image/tiff"

	"github.com/spillway-media/spillway/internal/media"
)

// flatTIFF is img as a file that costs next to nothing to decode.
func flatTIFF(t testing.TB, img image.Image) []byte {
	t.Helper()
	plain := image.NewNRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(plain, plain.Rect, img, img.Bounds().Min, draw.Src)
	var b bytes.Buffer
	if err := tiff.Encode(&b, plain, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cheapest is the least CPU time of a few runs, and what the last one made.
func cheapest(t testing.TB, src []byte, req media.Request, format media.Format) (time.Duration, made) {
	t.Helper()
	engine := start(t)
	plan := planFor(t, engine, src, req, format)
	least := time.Duration(math.MaxInt64)
	var last made
	for range 5 {
		before := cpu()
		out, err := collect(t.Context(), engine, src, nil, plan)
		least = min(least, cpu()-before)
		if err != nil {
			t.Fatal(err)
		}
		last = out[0]
	}
	return least, last
}

// searchCost is the CPU time that finding a quality takes, over that of one
// encode at the quality that is found, and how far off the likeness is. What
// making the picture takes is in neither.
func searchCost(t testing.TB, src []byte, format media.Format, target float64) (ratio, off float64) {
	t.Helper()
	rows, _ := cheapest(t, src, ask(0, 0), media.Raw)
	all, found := cheapest(t, src, ask(0, 0, alike(target)), format)
	one, _ := cheapest(t, src, ask(0, 0, func(r *media.Request) { r.Quality = found.Quality }), format)
	got := ssim(picture(t, found.data, ask(0, 0)), picture(t, src, ask(0, 0)))
	return float64(all-rows) / float64(one-rows), got - target
}

// BenchmarkFindLikeness prints what ssim= costs, in encodes of the picture, and
// how near it comes.
func BenchmarkFindLikeness(b *testing.B) {
	fmt.Println("| format | width | cost in encodes, mean | highest | SSIM off by, mean | lowest |\n|---|---|---|---|---|---|")
	for _, format := range lossy {
		for _, width := range []int{300, 800, 1600} {
			b.Run(fmt.Sprintf("format=%s/width=%d", format, width), func(b *testing.B) {
				sources := finished(b, width)
				var sum, high, off, low, n float64
				for b.Loop() {
					for _, src := range sources {
						flat := flatTIFF(b, picture(b, src, ask(0, 0)))
						for _, target := range []float64{0.93, 0.96, 0.985} {
							ratio, miss := searchCost(b, flat, format, target)
							sum, high, n = sum+ratio, max(high, ratio), n+1
							off, low = off+math.Abs(miss), min(low, miss)
						}
					}
				}
				b.ReportMetric(sum/n, "encodes")
				b.ReportMetric(off/n, "off")
				fmt.Printf("| %s | %d | %.2f | %.2f | %.4f | %.4f |\n", format, width, sum/n, high, off/n, low)
			})
		}
	}
}
