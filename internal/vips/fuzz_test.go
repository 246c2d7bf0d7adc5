package vips_test

import (
	"errors"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// FuzzRun feeds the whole way from bytes to a picture: whatever comes, it ends
// in a picture of the size that was announced or in an error of ours.
func FuzzRun(f *testing.F) {
	scene := testpictures.SceneAlpha(24, 16)
	seeds := [][]byte{
		testpictures.Oriented(24, 16, 6, true),
		testpictures.CMYKJPEG(testpictures.CMYK(24, 16), testpictures.AdobeYCCK),
		testpictures.PNGOf(scene, 8, testpictures.PNGRGBA, true),
		testpictures.PNGOf(scene, 16, testpictures.PNGGreyAlpha, false, testpictures.ICCChunk(testpictures.WideGamutProfile())),
		testpictures.PalettePNG(24, 16),
		testpictures.Disposals(24, 16)["mixed"].Bytes(),
		testpictures.WebPFrames(24, 16, 12, 8, 2),
		testpictures.TIFF(24, 16, 5, 2),
		testpictures.SVG(24, 16),
		bmpOf(scene, 32, 3),
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	engine := start(f)
	limits := media.DefaultLimits()
	limits.Pixels, limits.Metadata = 1<<20, 1<<20
	f.Fuzz(func(t *testing.T, src []byte) {
		info, err := engine.Probe(t.Context(), src, limits)
		if err != nil {
			isOurs(t, err)
			return
		}
		plan, err := media.NewPlan(info, ask(10, 10, fit(media.Contain)), media.PNG, engine.Abilities(), limits)
		if err != nil {
			isOurs(t, err)
			return
		}
		outputs, err := collect(t.Context(), engine, src, nil, plan)
		if err != nil {
			isOurs(t, err)
			return
		}
		sizeIs(t, decode(t, media.PNG, outputs[0].data), outputs[0].Width, outputs[0].Height)
	})
}

// isOurs fails on an error that no client may see, or that blames ourselves.
func isOurs(t testing.TB, err error) {
	t.Helper()
	var told *media.Error
	if !errors.As(err, &told) || told.Code == media.CodeEncodeFailed || told.Detail == "" {
		t.Errorf("got %v", err)
	}
}
