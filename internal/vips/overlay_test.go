package vips_test

import (
	"errors"
	"image"
	"image/color"
	"image/draw"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// plainPNG is one colour.
func plainPNG(width, height int, c color.NRGBA) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.Draw(img, img.Rect, image.NewUniform(c), image.Point{}, draw.Src)
	return testpictures.PNGOf(img, 8, testpictures.PNGRGBA, false)
}

func marked(mark media.Watermark) func(*media.Request) {
	return func(r *media.Request) { r.Watermark = &mark }
}

func TestWatermarkLiesWhereItShould(t *testing.T) {
	white := color.NRGBA{255, 255, 255, 255}
	blue := color.NRGBA{0, 0, 255, 255}
	src, mark := plainPNG(200, 100, white), plainPNG(40, 20, blue)
	tests := map[string]struct {
		mark media.Watermark
		area image.Rectangle
		want color.NRGBA
	}{
		"in the middle":                 {media.Watermark{Gravity: media.Gravity{Kind: media.GravityCenter}, Opacity: 1}, image.Rect(80, 40, 120, 60), blue},
		"in a corner":                   {media.Watermark{Gravity: media.Gravity{Kind: media.GravitySouthEast}, Opacity: 1}, image.Rect(160, 80, 200, 100), blue},
		"moved towards the middle":      {media.Watermark{Gravity: media.Gravity{Kind: media.GravitySouthEast}, Opacity: 1, X: 10, Y: 5}, image.Rect(150, 75, 190, 95), blue},
		"moved from the other corner":   {media.Watermark{Gravity: media.Gravity{Kind: media.GravityNorthWest}, Opacity: 1, X: 10, Y: 5}, image.Rect(10, 5, 50, 25), blue},
		"as a share of the width":       {media.Watermark{Gravity: media.Gravity{Kind: media.GravityNorthWest}, Opacity: 1, Scale: 0.5}, image.Rect(0, 0, 100, 50), blue},
		"shrunk where it would not fit": {media.Watermark{Gravity: media.Gravity{Kind: media.GravityWest}, Opacity: 1, Scale: 1}, image.Rect(0, 0, 200, 100), blue},
		"half shining through":          {media.Watermark{Gravity: media.Gravity{Kind: media.GravityCenter}, Opacity: 0.5}, image.Rect(80, 40, 120, 60), color.NRGBA{127, 127, 255, 255}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			img := decode(t, media.PNG, renderAll(t, src, mark, ask(0, 0, marked(test.mark)), media.PNG)[0].data)
			sizeIs(t, img, 200, 100)
			for y := range 100 {
				for x := range 200 {
					want := white
					if image.Pt(x, y).In(test.area) {
						want = test.want
					}
					colourIs(t, img, x, y, want, 2)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

func TestWatermarkOfAnyKindOnAnyPicture(t *testing.T) {
	red := color.NRGBA{255, 0, 0, 255}
	marks := map[string][]byte{
		"a PNG":         plainPNG(40, 40, red),
		"an SVG":        []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="#f00"/></svg>`),
		"a turned TIFF": testpictures.TIFF(60, 40, 6, 1),
	}
	large := image.NewNRGBA(image.Rect(0, 0, 800, 800))
	draw.Draw(large, large.Rect, image.NewUniform(red), image.Point{}, draw.Src)
	marks["a large JPEG"] = testpictures.JPEG(large, 100)
	sources := map[string][]byte{
		"grey":       testpictures.JPEG(testpictures.Grey(200, 100), 95),
		"with alpha": testpictures.PNGOf(testpictures.SceneAlpha(200, 100), 8, testpictures.PNGRGBA, false),
		"animated":   testpictures.Disposals(200, 100)["mixed"].Bytes(),
	}
	at := media.Watermark{Gravity: media.Gravity{Kind: media.GravityCenter}, Opacity: 1, Scale: 0.2}
	for markName, mark := range marks {
		for name, src := range sources {
			t.Run(markName+" on one "+name, func(t *testing.T) {
				out := renderAll(t, src, mark, ask(0, 0, marked(at), func(r *media.Request) { r.Lossless = true }), media.WebP)[0]
				for i := range out.Frames {
					img := frame(t, out.data, i)
					sizeIs(t, img, 200, 100)
					if markName != "a turned TIFF" {
						colourIs(t, img, 100, 50, red, 3)
					}
				}
			})
		}
	}
}

func TestBrokenWatermarksAreNamed(t *testing.T) {
	src := sceneSource()
	for name, mark := range map[string][]byte{
		"not a picture": []byte("hello, this is text"),
		"cut off":       testpictures.Truncate(testpictures.JPEG(testpictures.Photo(300, 300), 90), 0.5),
		"too large":     testpictures.GiantPNG(60000, 60000),
	} {
		t.Run(name, func(t *testing.T) {
			engine := start(t)
			plan := planFor(t, engine, src, ask(0, 0, marked(media.Watermark{Opacity: 1})), media.PNG)
			_, err := collect(t.Context(), engine, src, mark, plan)
			var told *media.Error
			if !errors.As(err, &told) || told.Param != "watermark" {
				t.Errorf("got %v", err)
			}
		})
	}
}
