package vips_test

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// sceneSource is the scene of 240x160 as a lossless file.
func sceneSource() []byte {
	return testpictures.PNGOf(testpictures.Scene(240, 160), 8, testpictures.PNGRGB, false)
}

func TestFits(t *testing.T) {
	src := sceneSource()
	tests := map[string]struct {
		req           media.Request
		width, height int
		want          image.Image // nil: the size is enough
	}{
		"inside shrinks to the tighter side": {ask(120, 120), 120, 80, testpictures.Scene(120, 80)},
		"outside shrinks to the looser side": {ask(60, 60, fit(media.Outside)), 90, 60, testpictures.Scene(90, 60)},
		"fill stretches":                     {ask(60, 120, fit(media.Fill)), 60, 120, testpictures.Scene(60, 120)},
		"cover crops the middle":             {ask(80, 80, fit(media.Cover)), 80, 80, testpictures.SceneView(1.0/6, 0, 5.0/6, 1, 80, 80)},
		"cover keeps a corner when asked":    {ask(80, 80, fit(media.Cover), gravity(media.GravityNorthEast)), 80, 80, testpictures.SceneView(1.0/3, 0, 1, 1, 80, 80)},
		"cover keeps a focal point":          {ask(80, 80, fit(media.Cover), func(r *media.Request) { r.Gravity = media.Gravity{Kind: media.GravityFocal, X: 0, Y: 0.5} }), 80, 80, testpictures.SceneView(0, 0, 2.0/3, 1, 80, 80)},
		"cover by attention is of that size": {ask(80, 80, fit(media.Cover), gravity(media.GravityAttention)), 80, 80, nil},
		"cover by entropy is of that size":   {ask(80, 80, fit(media.Cover), gravity(media.GravityEntropy)), 80, 80, nil},
		"nothing is enlarged by itself":      {ask(480, 0), 240, 160, testpictures.Scene(240, 160)},
		"enlarging is possible":              {ask(480, 0, func(r *media.Request) { r.Enlarge = true }), 480, 320, testpictures.Scene(480, 320)},
		"a side never falls below one":       {ask(1, 0), 1, 1, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := picture(t, src, test.req)
			sizeIs(t, got, test.width, test.height)
			if test.want != nil {
				looksLike(t, got, test.want, 3)
			}
		})
	}
}

func fit(kind media.Fit) func(*media.Request) { return func(r *media.Request) { r.Fit = kind } }

func gravity(kind media.GravityKind) func(*media.Request) {
	return func(r *media.Request) { r.Gravity = media.Gravity{Kind: kind} }
}

func TestContainPadsWithTheGroundOrNothing(t *testing.T) {
	opaque := sceneSource()
	green := media.Colour{R: 10, G: 200, B: 30, A: 255}
	tests := map[string]struct {
		src    []byte
		format media.Format
		ground *media.Colour
		want   color.NRGBA
	}{
		"clear where the output has alpha": {opaque, media.PNG, nil, color.NRGBA{}},
		"white where it has none":          {opaque, media.JPEG, nil, color.NRGBA{255, 255, 255, 255}},
		"in the colour asked for":          {opaque, media.PNG, &green, color.NRGBA{10, 200, 30, 255}},
		"in that colour in a JPEG too":     {opaque, media.JPEG, &green, color.NRGBA{10, 200, 30, 255}},
		"half clear when asked for":        {opaque, media.PNG, &media.Colour{R: 200, A: 128}, color.NRGBA{200, 0, 0, 128}},
		"in colour around a grey picture":  {testpictures.JPEG(testpictures.Grey(240, 160), 95), media.PNG, &green, color.NRGBA{10, 200, 30, 255}},
		"clear around a grey picture":      {testpictures.JPEG(testpictures.Grey(240, 160), 95), media.PNG, nil, color.NRGBA{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := render(t, test.src, ask(120, 120, fit(media.Contain), func(r *media.Request) { r.Background, r.Quality = test.ground, 95 }), test.format)
			img := decode(t, test.format, out.data)
			sizeIs(t, img, 120, 120)
			for _, y := range []int{1, 118} {
				colourIs(t, img, 60, y, test.want, 6)
			}
			if _, _, _, a := img.At(60, 60).RGBA(); a != 0xffff {
				t.Error("the picture itself became transparent")
			}
		})
	}
}

func TestBackgroundFillsTransparency(t *testing.T) {
	src := testpictures.PNGOf(testpictures.SceneAlpha(120, 80), 8, testpictures.PNGRGBA, false)
	tests := map[string]struct {
		ground media.Colour
		want   color.NRGBA
	}{
		"an opaque one fills":       {media.Colour{R: 9, G: 99, B: 199, A: 255}, color.NRGBA{9, 99, 199, 255}},
		"a clear one fills nothing": {media.Colour{}, color.NRGBA{}},
		"half a ground fills half":  {media.Colour{R: 200, A: 128}, color.NRGBA{200, 0, 0, 128}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			img := picture(t, src, ask(0, 0, func(r *media.Request) { r.Background = &test.ground }))
			colourIs(t, img, 115, 10, test.want, 2)
		})
	}
}

func TestEffects(t *testing.T) {
	src := sceneSource()
	plain := picture(t, src, ask(0, 0))
	t.Run("blur keeps flat ground and softens edges", func(t *testing.T) {
		img := picture(t, src, ask(0, 0, func(r *media.Request) { r.Blur = 4 }))
		colourIs(t, img, 20, 20, color.NRGBA{208, 32, 40, 255}, 2)
		if edge := onWhite(img, 71, 20); edge[0] > 180 || edge[0] < 90 {
			t.Errorf("the edge of the red block is %v", edge)
		}
	})
	t.Run("a wide blur is one", func(t *testing.T) {
		img := picture(t, src, ask(0, 0, func(r *media.Request) { r.Blur = 60 }))
		for x := range 239 {
			if step := onWhite(img, x+1, 80)[0] - onWhite(img, x, 80)[0]; step > 3 || step < -3 {
				t.Fatalf("an edge is left at %d: red changes by %v", x, step)
			}
		}
	})
	t.Run("narrow and wide ways of blurring agree", func(t *testing.T) {
		narrow := picture(t, src, ask(0, 0, func(r *media.Request) { r.Blur = 7.9 }))
		wide := picture(t, src, ask(0, 0, func(r *media.Request) { r.Blur = 8.1 }))
		looksLike(t, wide, narrow, 1)
	})
	t.Run("blur does not pull colour out of clear pixels", func(t *testing.T) {
		clear := testpictures.PNGOf(testpictures.SceneAlpha(240, 160), 8, testpictures.PNGRGBA, false)
		img := color.NRGBAModel.Convert(picture(t, clear, ask(0, 0, func(r *media.Request) { r.Blur = 3 })).At(203, 10)).(color.NRGBA)
		if img.R > 110 {
			t.Errorf("magenta bleeds: %v", img)
		}
	})
	t.Run("sharpen keeps flat ground and alpha", func(t *testing.T) {
		clear := testpictures.PNGOf(testpictures.SceneAlpha(240, 160), 8, testpictures.PNGRGBA, false)
		img := picture(t, clear, ask(0, 0, func(r *media.Request) { r.Sharpen = 2 }))
		colourIs(t, img, 20, 20, color.NRGBA{208, 32, 40, 255}, 3)
		colourIs(t, img, 230, 20, color.NRGBA{}, 0)
		if _, _, _, a := img.At(100, 150).RGBA(); a>>8 != 128 {
			t.Errorf("half clear became %d", a>>8)
		}
	})
	t.Run("sharpen changes edges", func(t *testing.T) {
		soft := picture(t, src, ask(120, 0))
		sharp := picture(t, src, ask(120, 0, func(r *media.Request) { r.Sharpen = 1.5 }))
		if d := distance(soft, sharp); d < 0.05 || d > 10 {
			t.Errorf("differs by %.2f", d)
		}
	})
	t.Run("grayscale has no colour and keeps lightness", func(t *testing.T) {
		img := picture(t, src, ask(0, 0, func(r *media.Request) { r.Grayscale = true }))
		for _, at := range []image.Point{{20, 20}, {168, 64}, {10, 155}} {
			c := onWhite(img, at.X, at.Y)
			if c[0] != c[1] || c[1] != c[2] {
				t.Errorf("colour at %v: %v", at, c)
			}
		}
		if light, dark := onWhite(img, 168, 64)[0], onWhite(img, 180, 136)[0]; light < 230 || dark > 50 {
			t.Errorf("disc %v, bar %v", light, dark)
		}
	})
	t.Run("steps that look around do so in a picture read once", func(t *testing.T) {
		tall := testpictures.JPEG(testpictures.Photo(300, 2500), 95)
		for _, change := range []func(*media.Request){
			func(r *media.Request) { r.Blur = 7.9 },
			func(r *media.Request) { r.Sharpen = 10 },
			func(r *media.Request) { r.Blur, r.Sharpen = 3, 3 },
		} {
			once := ask(0, 0, change)
			if plan := planFor(t, start(t), tall, once, media.PNG); !plan.Load.Sequential {
				t.Fatal("the plan is not sequential")
			}
			twice := ask(0, 0, change, func(r *media.Request) { r.Sizes = append(r.Sizes, media.Size{Width: 100}) })
			held := decode(t, media.PNG, renderAll(t, tall, nil, twice, media.PNG)[0].data)
			looksLike(t, picture(t, tall, once), held, 0)
		}
	})
	t.Run("without steps nothing changes", func(t *testing.T) { looksLike(t, plain, testpictures.Scene(240, 160), 0) })
}

func TestSmartCropsFindTheSubject(t *testing.T) {
	// A grey field with one loud, detailed patch near its right edge.
	field := image.NewNRGBA(image.Rect(0, 0, 400, 100))
	draw.Draw(field, field.Rect, image.NewUniform(color.NRGBA{128, 128, 128, 255}), image.Point{}, draw.Src)
	draw.Draw(field, image.Rect(300, 10, 380, 90), testpictures.Photo(80, 80), image.Point{}, draw.Src)
	src := testpictures.PNGOf(field, 8, testpictures.PNGRGB, false)
	for _, kind := range []media.GravityKind{media.GravityAttention, media.GravityEntropy} {
		t.Run(string(kind), func(t *testing.T) {
			img := picture(t, src, ask(100, 100, fit(media.Cover), gravity(kind)))
			sizeIs(t, img, 100, 100)
			if c := onWhite(img, 50, 50); c == [3]float64{128, 128, 128} {
				t.Error("the middle of the crop is empty")
			}
		})
	}
}

func TestSeveralSizesComeFromOneDecode(t *testing.T) {
	src := testpictures.JPEG(testpictures.Scene(1200, 800), 95)
	req := ask(0, 0, func(r *media.Request) {
		r.Sizes = []media.Size{{Width: 60}, {Width: 300}, {Width: 280}, {Width: 150, Height: 150}}
	})
	outputs := renderAll(t, src, nil, req, media.PNG)
	for i, want := range []image.Point{{60, 40}, {300, 200}, {280, 187}, {150, 100}} {
		img := decode(t, media.PNG, outputs[i].data)
		sizeIs(t, img, want.X, want.Y)
		looksLike(t, img, testpictures.Scene(want.X, want.Y), 3)
	}
	t.Run("the largest is begun first", func(t *testing.T) {
		engine := start(t)
		var order []int
		err := engine.Run(t.Context(), src, nil, planFor(t, engine, src, req, media.PNG), begun(&order))
		if err != nil {
			t.Fatal(err)
		}
		if order[0] != 1 || order[3] != 0 {
			t.Errorf("began in the order %v", order)
		}
	})
}

func TestLaterPages(t *testing.T) {
	src := testpictures.TIFF(60, 40, 1, 3)
	first, second := picture(t, src, ask(0, 0)), picture(t, src, ask(30, 0, func(r *media.Request) { r.Page = 2 }))
	looksLike(t, first, testpictures.Scene(60, 40), 0)
	sizeIs(t, second, 30, 20)
	if d := distance(picture(t, src, ask(30, 0)), second); d < 20 {
		t.Errorf("the second page differs from the first by %.1f only", d)
	}
}

// What is clear has no colour that an edge could be sharpened against.
func TestSharpeningDrawsNoRimAroundAlpha(t *testing.T) {
	disc := image.NewNRGBA(image.Rect(0, 0, 120, 120))
	for y := range 120 {
		for x := range 120 {
			inside := 40 - math.Hypot(float64(x-60), float64(y-60))
			disc.SetNRGBA(x, y, color.NRGBA{200, 60, 60, uint8(255 * min(max(inside/3+0.5, 0), 1))})
		}
	}
	src := testpictures.PNGOf(disc, 8, testpictures.PNGRGBA, false)
	for _, sigma := range []float64{0.5, 2, 10} {
		t.Run(fmt.Sprintf("sigma %v", sigma), func(t *testing.T) {
			sharp := picture(t, src, ask(0, 0, func(r *media.Request) { r.Sharpen = sigma })).(*image.NRGBA)
			for i, alpha := range disc.Pix {
				if i%4 != 3 || alpha == 0 {
					continue
				}
				if red := sharp.Pix[i-3]; sharp.Pix[i] != alpha || math.Abs(float64(red)-200) > 6 {
					t.Fatalf("red of %d and alpha of %d where they were 200 and %d", red, sharp.Pix[i], alpha)
				}
			}
		})
	}
}

func TestTrim(t *testing.T) {
	clear, white, black := color.NRGBA{}, color.NRGBA{255, 255, 255, 255}, color.NRGBA{0, 0, 0, 255}
	tests := map[string]struct {
		ground, content color.NRGBA
		within          image.Rectangle // of 40x30
		width, height   int
	}{
		"white on nothing":                {clear, white, image.Rect(10, 5, 30, 25), 20, 20},
		"black on nothing":                {clear, black, image.Rect(10, 5, 30, 25), 20, 20},
		"black on nothing that is white":  {color.NRGBA{255, 255, 255, 0}, black, image.Rect(10, 5, 30, 25), 20, 20},
		"nothing that hides a colour":     {clear, color.NRGBA{255, 0, 0, 0}, image.Rect(10, 5, 30, 25), 40, 30},
		"a hole":                          {black, clear, image.Rect(10, 5, 30, 25), 20, 20},
		"a line of one pixel":             {white, black, image.Rect(3, 11, 37, 12), 34, 1},
		"one pixel in the last corner":    {white, black, image.Rect(39, 29, 40, 30), 1, 1},
		"a difference below the limit":    {white, color.NRGBA{246, 246, 246, 255}, image.Rect(10, 5, 30, 25), 40, 30},
		"a difference of the limit":       {white, color.NRGBA{255, 245, 255, 255}, image.Rect(10, 5, 30, 25), 20, 20},
		"a corner that belongs to a part": {black, white, image.Rect(0, 0, 10, 10), 40, 30},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			img := image.NewNRGBA(image.Rect(0, 0, 40, 30))
			draw.Draw(img, img.Rect, image.NewUniform(tt.ground), image.Point{}, draw.Src)
			draw.Draw(img, tt.within, image.NewUniform(tt.content), image.Point{}, draw.Src)
			src := testpictures.PNGOf(img, 8, testpictures.PNGRGBA, false)
			sizeIs(t, picture(t, src, ask(0, 0, func(r *media.Request) { r.Trim = 10 })), tt.width, tt.height)
		})
	}
	for _, size := range []image.Point{{1, 1}, {2, 1}, {1, 5}, {2, 2}} {
		t.Run(fmt.Sprintf("a picture of %v keeps its size", size), func(t *testing.T) {
			src := testpictures.PNGOf(testpictures.Scene(size.X, size.Y), 8, testpictures.PNGRGB, false)
			sizeIs(t, picture(t, src, ask(0, 0, func(r *media.Request) { r.Trim = 255 })), size.X, size.Y)
		})
	}
}
