package vips_test

import (
	"fmt"
	"image"
	"image/color"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestEveryOrientationGivesTheSamePictureInEveryFit(t *testing.T) {
	fits := []media.Fit{media.Inside, media.Cover, media.Contain, media.Fill, media.Outside}
	for _, fit := range fits {
		req := ask(90, 90, func(r *media.Request) { r.Fit = fit; r.Crop = &media.Rect{X: 20, Y: 10, Width: 250, Height: 170} })
		want := picture(t, testpictures.Oriented(300, 200, 1, false), req)
		for orientation := 2; orientation <= 8; orientation++ {
			t.Run(fmt.Sprintf("orientation %d with fit %s", orientation, fit), func(t *testing.T) {
				got := picture(t, testpictures.Oriented(300, 200, orientation, orientation%2 == 0), req)
				looksLike(t, got, want, 1)
			})
		}
	}
}

func TestOrientationHoldsInEveryFormatThatStoresIt(t *testing.T) {
	want := testpictures.Scene(60, 40)
	block := testpictures.EXIF{Orientation: 6}.Bytes()
	sources := map[string][]byte{
		"PNG":  testpictures.PNGOf(testpictures.Stored(want, 6), 8, testpictures.PNGRGB, false, testpictures.Chunk{Name: "eXIf", Data: block}),
		"TIFF": testpictures.TIFF(60, 40, 6, 1),
	}
	for name, src := range sources {
		t.Run(name+" is turned although nothing is resized", func(t *testing.T) {
			looksLike(t, picture(t, src, ask(0, 0)), want, 0)
		})
	}
}

func TestRotateFlipAndFlopFollowOrientationInThisOrder(t *testing.T) {
	tests := map[string]struct {
		change func(*media.Request)
		at     func(x, y, w, h int) (int, int) // where a pixel of the result comes from
	}{
		"rotate 90":                          {func(r *media.Request) { r.Rotate = 90 }, func(x, y, w, h int) (int, int) { return y, h - 1 - x }},
		"rotate 180":                         {func(r *media.Request) { r.Rotate = 180 }, func(x, y, w, h int) (int, int) { return w - 1 - x, h - 1 - y }},
		"rotate 270":                         {func(r *media.Request) { r.Rotate = 270 }, func(x, y, w, h int) (int, int) { return w - 1 - y, x }},
		"flip":                               {func(r *media.Request) { r.Flip = true }, func(x, y, w, h int) (int, int) { return x, h - 1 - y }},
		"flop":                               {func(r *media.Request) { r.Flop = true }, func(x, y, w, h int) (int, int) { return w - 1 - x, y }},
		"rotate 90, then flop":               {func(r *media.Request) { r.Rotate, r.Flop = 90, true }, func(x, y, w, h int) (int, int) { return y, x }},
		"rotate 90, then flip":               {func(r *media.Request) { r.Rotate, r.Flip = 90, true }, func(x, y, w, h int) (int, int) { return w - 1 - y, h - 1 - x }},
		"flip and flop, that is a half turn": {func(r *media.Request) { r.Flip, r.Flop = true, true }, func(x, y, w, h int) (int, int) { return w - 1 - x, h - 1 - y }},
	}
	scene := testpictures.Scene(60, 40)
	for name, test := range tests {
		for _, orientation := range []int{1, 5, 6, 7} {
			t.Run(fmt.Sprintf("%s after orientation %d", name, orientation), func(t *testing.T) {
				src := testpictures.TIFF(60, 40, orientation, 1)
				got := picture(t, src, ask(0, 0, test.change))
				want := image.NewNRGBA(got.Bounds())
				for y := range want.Rect.Dy() {
					for x := range want.Rect.Dx() {
						fromX, fromY := test.at(x, y, 60, 40)
						want.SetNRGBA(x, y, scene.NRGBAAt(fromX, fromY))
					}
				}
				looksLike(t, got, want, 0)
			})
		}
	}
}

func TestCropIsInPixelsOfTheFullUprightSource(t *testing.T) {
	crop := media.Rect{X: 300, Y: 100, Width: 600, Height: 400}
	want := testpictures.SceneView(300.0/1200, 100.0/800, 900.0/1200, 500.0/800, 60, 40)
	for _, orientation := range []int{1, 3, 6, 8} {
		t.Run(fmt.Sprintf("orientation %d, loaded at a fraction", orientation), func(t *testing.T) {
			src := testpictures.Oriented(1200, 800, orientation, false)
			req := ask(60, 40, func(r *media.Request) { r.Crop = &crop })
			if plan := planFor(t, start(t), src, req, media.PNG); plan.Load.Shrink < 2 {
				t.Fatalf("the plan does not shrink at load: %+v", plan.Load)
			}
			looksLike(t, picture(t, src, req), want, 3)
		})
	}
}

func TestTrimFollowsTheTurn(t *testing.T) {
	// A frame of white with a scene in it, off the middle.
	upright := image.NewNRGBA(image.Rect(0, 0, 100, 80))
	for i := range upright.Pix {
		upright.Pix[i] = 255
	}
	scene := testpictures.Scene(50, 30)
	for y := range 30 {
		for x := range 50 {
			upright.SetNRGBA(20+x, 10+y, scene.NRGBAAt(x, y))
		}
	}
	for orientation := 1; orientation <= 8; orientation++ {
		t.Run(fmt.Sprintf("orientation %d", orientation), func(t *testing.T) {
			src := testpictures.PNGOf(testpictures.Stored(upright, orientation), 8, testpictures.PNGRGB, false,
				testpictures.Chunk{Name: "eXIf", Data: testpictures.EXIF{Orientation: orientation}.Bytes()})
			got := picture(t, src, ask(0, 0, func(r *media.Request) { r.Trim = 20 }))
			looksLike(t, got, scene, 0)
			sizeIs(t, picture(t, src, ask(25, 0, func(r *media.Request) { r.Trim = 20 })), 25, 15)
		})
	}
	t.Run("a picture of one colour keeps its size", func(t *testing.T) {
		plain := image.NewNRGBA(image.Rect(0, 0, 9, 7))
		for i := range plain.Pix {
			plain.Pix[i] = 200
		}
		got := picture(t, testpictures.PNGOf(plain, 8, testpictures.PNGRGB, false), ask(0, 0, func(r *media.Request) { r.Trim = 10 }))
		sizeIs(t, got, 9, 7)
		colourIs(t, got, 4, 4, color.NRGBA{200, 200, 200, 255}, 0)
	})
}
