package vips_test

import (
	"fmt"
	"image"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// litness is lightness in linear light, 0 to 255 too.
func litness(img image.Image) []float64 {
	size := img.Bounds().Size()
	out := make([]float64, 0, size.X*size.Y)
	for y := range size.Y {
		for x := range size.X {
			c := onWhite(img, x, y)
			out = append(out, 255*(0.2126*decoded(c[0]/255)+0.7152*decoded(c[1]/255)+0.0722*decoded(c[2]/255)))
		}
	}
	return out
}

// BenchmarkResizeModes prints the CPU time of each way to resize over that of
// the default, decode and a quick encode included, and how like its result is
// to a full decode that is resized in linear light: as SSIM of levels, and of
// light.
func BenchmarkResizeModes(b *testing.B) {
	sources := photos(b)
	sources["a transparent PNG"] = testpictures.PNGOf(testpictures.SceneAlpha(2000, 1400), 8, testpictures.PNGRGBA, false)
	modes := []struct {
		name   string
		change func(*media.Request)
	}{
		{"default", func(*media.Request) {}},
		{"shrink=fast", func(r *media.Request) { r.Shrink = media.ShrinkFast }},
		{"linear=true", linear},
		{"linear=true&shrink=fast", func(r *media.Request) { r.Linear, r.Shrink = true, media.ShrinkFast }},
		{"linear=true&shrink=none", func(r *media.Request) { r.Linear, r.Shrink = true, media.ShrinkNone }},
	}
	fmt.Println("| source | mode, at 300 pixels | CPU over default | SSIM of levels | SSIM of light |\n|---|---|---|---|---|")
	for name, src := range sources {
		full := picture(b, src, ask(300, 0, modes[len(modes)-1].change))
		for _, mode := range modes {
			b.Run(fmt.Sprintf("source=%s/mode=%s", name, mode.name), func(b *testing.B) {
				var ratio float64
				for b.Loop() {
					usual, _ := cheapest(b, src, ask(300, 0), media.JPEG)
					this, _ := cheapest(b, src, ask(300, 0, mode.change), media.JPEG)
					ratio = float64(this) / float64(usual)
				}
				got := picture(b, src, ask(300, 0, mode.change))
				levels, light := ssim(got, full), ssimOf(litness(got), litness(full), full.Bounds().Size())
				b.ReportMetric(ratio, "cpu/default")
				b.ReportMetric(levels, "ssim")
				fmt.Printf("| %s | `%s` | %.2f | %.4f | %.4f |\n", name, mode.name, ratio, levels, light)
			})
		}
	}
}
