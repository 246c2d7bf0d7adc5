package vips_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"maps"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/progressive"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func progressively(r *media.Request) { r.Progressive = true }

// TestProgressiveJPEGsPreviewEarly holds the order of scans: what is seen of
// the whole picture first, colours early, refinement last. An encoder that
// looks for scans of its own would have the preview at a quarter of the bytes,
// and be good only at the end.
func TestProgressiveJPEGsPreviewEarly(t *testing.T) {
	sources := map[string][]byte{"a generated scene": testpictures.JPEG(testpictures.Scene(900, 600), 95)}
	maps.Copy(sources, corpusPictures(t, "photo-12mp-canon.jpg", "photo-16mp-roses.jpg", "exif-landscape-1.jpg", "jpeg-progressive-photo.jpg", "jpeg-grey.jpg"))
	for name, src := range sources {
		for _, width := range []int{300, 600, 1200} {
			out := render(t, src, ask(width, 0, progressively), media.JPEG).data
			sizes, total := progressive.Measure("jpeg", out), int64(len(out))
			header, preview, good := sizes.Of(priority.Header), sizes.Of(priority.Preview), sizes.Of(priority.Good)
			t.Logf("%s, %d px, %d bytes: header %d, preview until %.1f %%, good until %.1f %%", name, width, total,
				header, percent(header+preview, total), percent(header+preview+good, total))
			if header < 80 || header > 200 {
				t.Errorf("%s, %d px: the header has %d bytes", name, width, header)
			}
			if share := percent(preview, total); share < 2 || share > 21 {
				t.Errorf("%s, %d px: the preview is %.1f %% of the file", name, width, share)
			}
			if share := percent(header+preview+good, total); share < 40 || share > 75 {
				t.Errorf("%s, %d px: it is good at %.1f %%", name, width, share)
			}
		}
	}
}

func percent(n, of int64) float64 { return 100 * float64(n) / float64(of) }

func TestProgressiveJPEGKeepsItsProfileBehindTheFrame(t *testing.T) {
	src := tagged()
	keep := func(r *media.Request) { r.Keep = media.Keep{EXIF: true, XMP: true, ICC: true, Copyright: true} }
	plain := render(t, src, ask(60, 0, keep), media.JPEG).data
	moved := render(t, src, ask(60, 0, keep, progressively), media.JPEG).data

	frame := bytes.Index(moved, []byte{0xff, 0xc2})
	for text, behind := range map[string]bool{artist: false, rights: false, xmpText: true, "wide gamut": true} {
		at := bytes.Index(moved, []byte(text))
		if bytes.Contains(plain, []byte(text)) && (at < 0 || behind != (at > frame)) {
			t.Errorf("%q stands at %d, the frame header at %d", text, at, frame)
		}
	}
	exif := bytes.Index(moved, []byte("Exif\x00\x00"))
	if exif != 6 {
		t.Errorf("EXIF begins at %d, not behind the start of the file", exif)
	}
	if n := progressive.Measure("jpeg", moved).Of(priority.Header); n > 1000 {
		t.Errorf("the header has %d bytes", n)
	}
	info, err := start(t).Probe(t.Context(), moved, media.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if !info.Profile || !info.Progressive || info.Orientation != 1 {
		t.Errorf("libvips sees profile %t, progressive %t, orientation %d", info.Profile, info.Progressive, info.Orientation)
	}
	// The profile counts: in sRGB the colours are those of the file that has
	// it at its usual place, not those that are stored.
	viewed := picture(t, moved, ask(60, 0))
	stored, err := jpeg.Decode(bytes.NewReader(moved))
	if err != nil {
		t.Fatalf("Go's decoder: %v", err)
	}
	if d := difference(viewed, picture(t, plain, ask(60, 0))); d > 0.1 {
		t.Errorf("behind the frame header the profile gives colours that are %.1f off", d)
	}
	if d := difference(viewed, stored); d < 4 {
		t.Errorf("the colours in the file are only %.1f off: the profile proves nothing", d)
	}
}

// difference is the mean one of samples of two pictures of one size, in 256ths.
func difference(a, b image.Image) float64 {
	var sum, n float64
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			for _, pair := range [][2]uint32{{r1, r2}, {g1, g2}, {b1, b2}} {
				sum += float64(max(pair[0], pair[1])-min(pair[0], pair[1])) / 257
				n++
			}
		}
	}
	return sum / n
}

func TestMovedMetadataGiveEqualBytesEveryTime(t *testing.T) {
	src := tagged()
	request := ask(60, 0, progressively, func(r *media.Request) { r.Keep = media.Keep{ICC: true} })
	if first, second := render(t, src, request, media.JPEG).data, render(t, src, request, media.JPEG).data; !bytes.Equal(first, second) {
		t.Error("two runs give other bytes")
	}
}
