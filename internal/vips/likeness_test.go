package vips_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

var lossy = []media.Format{media.JPEG, media.WebP, media.AVIF, media.JXL}

func alike(target float64) func(*media.Request) {
	return func(r *media.Request) { r.SSIM = target }
}

// finished are pictures as they are before they are encoded, by name.
func finished(t testing.TB, width int) map[string][]byte {
	t.Helper()
	sources := map[string][]byte{
		"a generated photo": testpictures.PNGOf(testpictures.Photo(width, width*2/3), 8, testpictures.PNGRGB, false),
		"a soft one":        render(t, testpictures.JPEG(testpictures.Photo(4*width, width*8/3), 92), ask(width, 0), media.PNG).data,
		"a grey one":        render(t, testpictures.JPEG(testpictures.Photo(2*width, width*4/3), 92), ask(width, 0, func(r *media.Request) { r.Grayscale = true }), media.PNG).data,
	}
	for name, data := range corpusPictures(t, "photo-12mp-canon.jpg", "photo-16mp-roses.jpg", "jpeg-progressive-photo.jpg", "exif-landscape-1.jpg") {
		sources[name] = render(t, data, ask(width, 0), media.PNG).data
	}
	return sources
}

// tally counts how far likenesses are from what was asked for. A quality at an
// end is all that the format has.
type tally struct{ near, all int }

func (n *tally) check(t *testing.T, out made, got, target float64) {
	t.Helper()
	off := got - target
	// Above, it may jump: what was a JPEG of that very quality hardly changes.
	if off < -0.005 && out.Quality < 100 || off > 0.02 && out.Quality > 1 {
		t.Errorf("SSIM is %.4f at quality %d, want %.3f", got, out.Quality, target)
	}
	if out.Quality == 100 || out.Quality == 1 {
		return
	}
	n.all++
	if off > -0.002 && off < 0.002 {
		n.near++
	}
}

// The likeness that was asked for is measured here by other code than the
// engine's, on what a decoder makes of the result.
func TestQualityIsFoundByLikeness(t *testing.T) {
	var count tally
	for name, src := range finished(t, 300) {
		want := picture(t, src, ask(0, 0))
		for _, format := range lossy {
			for _, target := range []float64{0.92, 0.95, 0.98, 0.99} {
				t.Run(fmt.Sprintf("%s as %s at %g", name, format, target), func(t *testing.T) {
					out := render(t, src, ask(0, 0, alike(target)), format)
					count.check(t, out, ssim(picture(t, out.data, ask(0, 0)), want), target)
				})
			}
		}
	}
	t.Logf("%d of %d are within 0.002", count.near, count.all)
	if count.near*10 < count.all*6 {
		t.Errorf("%d of %d are within 0.002", count.near, count.all)
	}
}

// A large JPEG is searched for on a part of it.
func TestQualityOfALargeJPEGIsFoundOnTiles(t *testing.T) {
	var count tally
	for name, src := range finished(t, 1000) {
		want := picture(t, src, ask(0, 0))
		for _, target := range []float64{0.92, 0.95, 0.98} {
			t.Run(fmt.Sprintf("%s at %g", name, target), func(t *testing.T) {
				out := render(t, src, ask(0, 0, alike(target)), media.JPEG)
				count.check(t, out, ssim(picture(t, out.data, ask(0, 0)), want), target)
			})
		}
	}
	if count.near*10 < count.all*6 {
		t.Errorf("%d of %d are within 0.002", count.near, count.all)
	}
}

func TestLikenessIsOfTheFinishedPicture(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(800, 600), 92)
	clear := testpictures.PNGOf(testpictures.SceneAlpha(240, 160), 8, testpictures.PNGRGBA, false)
	tests := map[string]struct {
		src []byte
		req media.Request
	}{
		"resized":         {src, ask(300, 0, alike(0.95))},
		"turned":          {src, ask(300, 0, alike(0.95), func(r *media.Request) { r.Rotate = 90 })},
		"with metadata":   {src, ask(300, 0, alike(0.95), func(r *media.Request) { r.Keep.EXIF, r.Keep.ICC = true, true })},
		"progressive":     {src, ask(300, 0, alike(0.95), func(r *media.Request) { r.Progressive = true })},
		"in linear light": {src, ask(300, 0, alike(0.95), linear)},
		"transparent":     {clear, ask(0, 0, alike(0.98))},
		"tiny":            {src, ask(5, 0, alike(0.95))},
		"a pixel":         {src, ask(1, 1, alike(0.95))},
	}
	for name, test := range tests {
		for _, format := range lossy {
			t.Run(fmt.Sprintf("%s as %s", name, format), func(t *testing.T) {
				out := render(t, test.src, test.req, format)
				again := test.req
				again.SSIM, again.Quality = 0, out.Quality
				if same := render(t, test.src, again, format); !bytes.Equal(same.data, out.data) {
					t.Errorf("quality %d gives %d bytes, not the %d of the search", out.Quality, len(same.data), len(out.data))
				}
				plain := test.req
				plain.SSIM = 0
				want := picture(t, test.src, plain)
				if min(want.Bounds().Dx(), want.Bounds().Dy()) < 8 {
					return
				}
				if got := ssim(picture(t, out.data, ask(0, 0)), want); got < test.req.SSIM-0.005 {
					t.Errorf("SSIM is %.4f at quality %d", got, out.Quality)
				}
			})
		}
	}
}

func TestLikenessLeavesWhatHasNoQualityAlone(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(200, 150), 92)
	for _, format := range []media.Format{media.PNG, media.GIF, media.TIFF} {
		t.Run(string(format), func(t *testing.T) {
			with, without := render(t, src, ask(0, 0, alike(0.95)), format), render(t, src, ask(0, 0), format)
			if !bytes.Equal(with.data, without.data) {
				t.Errorf("%d bytes, not %d", len(with.data), len(without.data))
			}
		})
	}
}

// White on nothing is not seen on white, where every quality would be alike.
func TestLikenessLooksAtClearPicturesOnBothGrounds(t *testing.T) {
	img := testpictures.Photo(120, 80)
	for i := 0; i < len(img.Pix); i += 4 {
		img.Pix[i+3] = img.Pix[i]
		img.Pix[i], img.Pix[i+1], img.Pix[i+2] = 255, 255, 255
	}
	src := testpictures.PNGOf(img, 8, testpictures.PNGRGBA, false)
	out := render(t, src, ask(0, 0, alike(0.98)), media.AVIF)
	black := func(r *media.Request) { r.Background = &media.Colour{A: 255} }
	got := ssim(picture(t, out.data, ask(0, 0, black)), picture(t, src, ask(0, 0, black)))
	if got < 0.975 {
		t.Errorf("SSIM on black is %.4f at quality %d", got, out.Quality)
	}
}

func TestAnimationsTakeTheQualityOfTheirFirstFrame(t *testing.T) {
	src := testpictures.ManyFrames(120, 80, 4)
	out := render(t, src, ask(0, 0, alike(0.97)), media.WebP)
	first := render(t, src, ask(0, 0, alike(0.97), func(r *media.Request) { r.Frames = 1 }), media.WebP)
	if out.Frames != 4 || out.Quality != first.Quality {
		t.Errorf("%d frames at quality %d, the first alone at %d", out.Frames, out.Quality, first.Quality)
	}
}
