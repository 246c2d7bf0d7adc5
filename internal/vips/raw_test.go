package vips_test

import (
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
