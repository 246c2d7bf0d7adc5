package vips_test

import (
	"bytes"
	"image"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// rows takes raw output for the picture that it is.
func rows(t testing.TB, m made) *image.NRGBA {
	t.Helper()
	if m.Frames != 1 || len(m.data) != 4*m.Width*m.Height {
		t.Fatalf("%d bytes for %d frame(s) of %dx%d pixels of RGBA", len(m.data), m.Frames, m.Width, m.Height)
	}
	return &image.NRGBA{Pix: m.data, Stride: 4 * m.Width, Rect: image.Rect(0, 0, m.Width, m.Height)}
}

func TestRawRowsAreThePixelsOfALosslessPicture(t *testing.T) {
	scene := testpictures.Scene(80, 60)
	wide := testpictures.ICCChunk(testpictures.WideGamutProfile())
	sources := map[string][]byte{
		"colour":                  testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false),
		"colour of 16 bits":       testpictures.PNGOf(scene, 16, testpictures.PNGRGBA, false),
		"grey":                    testpictures.PNGOf(scene, 8, testpictures.PNGGrey, false),
		"grey with alpha":         testpictures.PNGOf(scene, 8, testpictures.PNGGreyAlpha, false),
		"a wide gamut":            testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, wide),
		"inks":                    testpictures.CMYKJPEG(testpictures.CMYK(80, 60), testpictures.AdobeCMYK),
		"a photo stored sideways": testpictures.Oriented(80, 60, 6, false),
	}
	for name, src := range sources {
		t.Run(name, func(t *testing.T) {
			req := ask(31, 0)
			got, want := rows(t, render(t, src, req, media.Raw)), picture(t, src, req)
			looksLike(t, got, want, 0)
		})
	}
	t.Run("a profile that the others keep is applied", func(t *testing.T) {
		req := ask(31, 0, func(r *media.Request) { r.Keep.ICC = true })
		looksLike(t, rows(t, render(t, sources["a wide gamut"], req, media.Raw)), picture(t, sources["a wide gamut"], ask(31, 0)), 0)
	})
}

func TestRawRowsComeBesideWhatIsEncoded(t *testing.T) {
	animation := testpictures.Disposals(96, 80)["mixed"]
	src := animation.Bytes()
	engine := start(t)
	plan := planFor(t, engine, src, ask(96, 0, func(r *media.Request) { r.Lossless, r.MaxBytes = true, 1<<20 }), media.WebP)
	plan.Outputs = append(plan.Outputs, media.Output{
		Layout: media.Layout{Width: 24, Height: 20}, Encode: media.Encode{Format: media.Raw},
	})
	outputs, err := collect(t.Context(), engine, src, nil, plan)
	if err != nil {
		t.Fatal(err)
	}
	if outputs[0].Frames != len(animation.Frames) {
		t.Errorf("the animation has %d frames, want %d", outputs[0].Frames, len(animation.Frames))
	}
	looksLike(t, rows(t, outputs[1]), picture(t, src, ask(24, 0)), 4)
}

// A small picture is that of the finished one, whatever was done to it.
func TestThumbsShowTheFinishedPicture(t *testing.T) {
	scene := testpictures.Scene(240, 180)
	clear := testpictures.PNGOf(scene, 8, testpictures.PNGRGBA, false)
	photo := testpictures.JPEG(scene, 95)
	for name, c := range map[string]struct {
		src    []byte
		req    media.Request
		format media.Format
		size   image.Point
	}{
		"as it is":                {photo, ask(200, 0), media.JPEG, image.Pt(32, 24)},
		"smaller than a thumb":    {photo, ask(20, 0), media.PNG, image.Pt(20, 15)},
		"cropped":                 {photo, ask(100, 200, func(r *media.Request) { r.Fit = media.Cover }), media.PNG, image.Pt(16, 32)},
		"padded":                  {photo, ask(200, 200, func(r *media.Request) { r.Fit = media.Contain }), media.PNG, image.Pt(32, 32)},
		"turned":                  {testpictures.Oriented(200, 100, 6, false), ask(0, 0), media.WebP, image.Pt(32, 16)},
		"grey":                    {photo, ask(200, 0, func(r *media.Request) { r.Grayscale = true }), media.PNG, image.Pt(32, 24)},
		"transparent":             {clear, ask(200, 0), media.WebP, image.Pt(32, 24)},
		"with a kept profile":     {testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, testpictures.ICCChunk(testpictures.WideGamutProfile())), ask(200, 0, func(r *media.Request) { r.Keep.ICC = true }), media.PNG, image.Pt(32, 24)},
		"trimmed":                 {photo, ask(200, 0, func(r *media.Request) { r.Trim = 10 }), media.PNG, image.Pt(32, 24)},
		"searched for a size":     {photo, ask(200, 0, func(r *media.Request) { r.MaxBytes = 9000 }), media.JPEG, image.Pt(32, 24)},
		"narrow":                  {testpictures.PNGOf(testpictures.Scene(900, 5), 8, testpictures.PNGRGB, false), ask(0, 0), media.PNG, image.Pt(32, 1)},
		"one of several sizes":    {photo, ask(200, 0, func(r *media.Request) { r.Sizes = append(r.Sizes, media.Size{Width: 100}, media.Size{Width: 220}) }), media.PNG, image.Pt(32, 24)},
		"an animation's first":    {testpictures.Disposals(96, 80)["mixed"].Bytes(), ask(48, 0, func(r *media.Request) { r.Lossless = true }), media.WebP, image.Pt(32, 27)},
		"with a pixel ratio of 2": {photo, ask(100, 0, func(r *media.Request) { r.DPR = 2 }), media.JPEG, image.Pt(32, 24)},
	} {
		t.Run(name, func(t *testing.T) {
			engine := start(t)
			plan := planFor(t, engine, c.src, c.req, c.format)
			if err := plan.AddThumb(); err != nil {
				t.Fatal(err)
			}
			outputs, err := collect(t.Context(), engine, c.src, nil, plan)
			if err != nil {
				t.Fatal(err)
			}
			got := rows(t, outputs[len(outputs)-1])
			sizeIs(t, got, c.size.X, c.size.Y)
			finished := ask(c.size.X, c.size.Y, func(r *media.Request) { r.Fit, r.Frames = media.Fill, 1 })
			looksLike(t, got, picture(t, outputs[0].data, finished), 5)
		})
	}
}

// A picture has the same bytes whether a small one is made beside it or not.
func TestAThumbChangesNoByteOfItsPicture(t *testing.T) {
	src := testpictures.JPEG(testpictures.Scene(1200, 900), 95)
	engine := start(t)
	for _, format := range []media.Format{media.JPEG, media.WebP, media.PNG} {
		plan := planFor(t, engine, src, ask(300, 0), format)
		if err := plan.AddThumb(); err != nil {
			t.Fatal(err)
		}
		outputs, err := collect(t.Context(), engine, src, nil, plan)
		if err != nil {
			t.Fatal(err)
		}
		if alone := render(t, src, ask(300, 0), format); !bytes.Equal(alone.data, outputs[0].data) {
			t.Errorf("%s: %d bytes beside a thumb, %d alone", format, len(outputs[0].data), len(alone.data))
		}
	}
}
