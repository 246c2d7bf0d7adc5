package vips_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestEveryOutputFormatHoldsThePicture(t *testing.T) {
	scene := testpictures.Scene(240, 160)
	src := testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false)
	want := testpictures.Scene(120, 80)
	for _, format := range media.OutputFormats() {
		t.Run(fmt.Sprintf("%s is of the size asked for and looks right", format), func(t *testing.T) {
			out := render(t, src, ask(120, 0), format)
			if got := media.Sniff(out.data); got != format {
				t.Fatalf("the bytes are of %q", got)
			}
			if out.Width != 120 || out.Height != 80 || out.Frames != 1 {
				t.Errorf("announced as %+v", out.Made)
			}
			looksLike(t, decode(t, format, out.data), want, 4)
		})
	}
}

func TestFormatsWithAlphaKeepIt(t *testing.T) {
	src := testpictures.PNGOf(testpictures.SceneAlpha(240, 160), 8, testpictures.PNGRGBA, false)
	for _, format := range media.OutputFormats() {
		if !format.CanAlpha() {
			continue
		}
		t.Run(fmt.Sprintf("%s is clear where the source is", format), func(t *testing.T) {
			img := decode(t, format, render(t, src, ask(120, 0), format).data)
			colourIs(t, img, 115, 20, color.NRGBA{}, 2)
			if _, _, _, a := img.At(50, 20).RGBA(); a != 0xffff {
				t.Errorf("alpha is %d where the source is opaque", a>>8)
			}
		})
	}
}

func TestLosslessOutputsLoseNothing(t *testing.T) {
	scene := testpictures.Photo(97, 61)
	src := testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false)
	for _, format := range []media.Format{media.PNG, media.TIFF, media.WebP, media.JXL} {
		t.Run(fmt.Sprintf("%s comes back equal", format), func(t *testing.T) {
			out := render(t, src, ask(0, 0, func(r *media.Request) { r.Lossless = true }), format)
			looksLike(t, decode(t, format, out.data), scene, 0)
		})
	}
}

// libvips 8.14 writes AVIF as luma and chroma, whose rounding may be off by one.
func TestLosslessAVIFKeepsAllButTheRounding(t *testing.T) {
	noise := testpictures.Photo(97, 61)
	for i := range noise.Pix {
		if i%4 != 3 {
			noise.Pix[i] = uint8(i * i * 31 >> 3)
		}
	}
	src := testpictures.PNGOf(noise, 8, testpictures.PNGRGB, false)
	out := render(t, src, ask(0, 0, func(r *media.Request) { r.Lossless = true }), media.AVIF)
	looksLike(t, decode(t, media.AVIF, out.data), noise, 0.7)
}

// Premultiplied, a faint pixel has few values of its colour left: it must not
// be where nothing mixes it with its neighbours.
func TestLosslessOutputsKeepFaintPixels(t *testing.T) {
	faint := testpictures.Photo(97, 61)
	for i := 3; i < len(faint.Pix); i += 4 {
		faint.Pix[i] = uint8(1 + i%255)
	}
	src := testpictures.PNGOf(faint, 8, testpictures.PNGRGBA, false)
	for _, format := range []media.Format{media.PNG, media.WebP} {
		t.Run(string(format), func(t *testing.T) {
			out := render(t, src, ask(0, 0, func(r *media.Request) { r.Lossless = true }), format)
			samePixels(t, decode(t, media.PNG, asPNG(t, out.data)), faint)
		})
	}
	t.Run("beside a smaller size", func(t *testing.T) {
		req := ask(0, 0, func(r *media.Request) { r.Sizes = append(r.Sizes, media.Size{Width: 30}) })
		samePixels(t, decode(t, media.PNG, renderAll(t, src, nil, req, media.PNG)[0].data), faint)
	})
	t.Run("cut by a smart crop", func(t *testing.T) {
		req := ask(97, 30, func(r *media.Request) {
			r.Fit, r.Gravity.Kind = media.Cover, media.GravityAttention
		})
		got := picture(t, src, req).(*image.NRGBA)
		var found bool
		for y := range 61 - 30 + 1 {
			part := faint.SubImage(image.Rect(0, y, 97, y+30)).(*image.NRGBA)
			found = found || bytes.Equal(got.Pix, part.Pix[:97*30*4])
		}
		if !found {
			t.Error("the result is no part of the source")
		}
	})
}

// asPNG is a picture of any format as PNG, its pixels untouched.
func asPNG(t *testing.T, data []byte) []byte {
	t.Helper()
	return render(t, data, ask(0, 0), media.PNG).data
}

func samePixels(t *testing.T, got image.Image, want *image.NRGBA) {
	t.Helper()
	sizeIs(t, got, want.Rect.Dx(), want.Rect.Dy())
	var differ int
	for y := range want.Rect.Dy() {
		for x := range want.Rect.Dx() {
			if color.NRGBAModel.Convert(got.At(x, y)) != want.NRGBAAt(x, y) {
				differ++
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d pixels differ", differ)
	}
}

func TestEqualRequestsGiveEqualBytes(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(320, 200), 90,
		testpictures.EXIFSegment(testpictures.EXIF{Orientation: 6, Artist: "A", Copyright: "B", Latitude: 1}.Bytes()))
	keeps := map[string]media.Keep{"nothing": {}, "everything": {EXIF: true, XMP: true, IPTC: true, ICC: true}}
	for name, keep := range keeps {
		for _, format := range media.OutputFormats() {
			t.Run(fmt.Sprintf("%s keeping %s", format, name), func(t *testing.T) {
				req := ask(100, 0, func(r *media.Request) { r.Keep = keep })
				if !bytes.Equal(render(t, src, req, format).data, render(t, src, req, format).data) {
					t.Error("two runs differ")
				}
			})
		}
	}
}

func TestProbeTellsWhatTheHeaderHolds(t *testing.T) {
	scene := testpictures.Scene(60, 40)
	tests := map[string]struct {
		src  []byte
		want media.Info
	}{
		"a JPEG with a turn": {
			testpictures.Oriented(60, 40, 6, true),
			media.Info{Format: media.JPEG, Width: 40, Height: 60, Orientation: 6, Frames: 1, Bands: 3, BitDepth: 8, Colourspace: "srgb", Subsampled: true},
		},
		"a JPEG whose turn does not exist": {
			testpictures.JPEG(scene, 90, testpictures.EXIFSegment(testpictures.EXIF{Orientation: 99}.Bytes())),
			media.Info{Format: media.JPEG, Width: 60, Height: 40, Orientation: 1, Frames: 1, Bands: 3, BitDepth: 8, Colourspace: "srgb", Subsampled: true},
		},
		"a grey JPEG": {
			testpictures.JPEG(testpictures.Grey(60, 40), 90),
			media.Info{Format: media.JPEG, Width: 60, Height: 40, Orientation: 1, Frames: 1, Bands: 1, BitDepth: 8, Colourspace: "gray"},
		},
		"a CMYK JPEG": {
			testpictures.CMYKJPEG(testpictures.CMYK(60, 40), testpictures.AdobeYCCK),
			media.Info{Format: media.JPEG, Width: 60, Height: 40, Orientation: 1, Frames: 1, Bands: 4, BitDepth: 8, Colourspace: "cmyk"},
		},
		"an interlaced 16-bit PNG with a profile": {
			testpictures.PNGOf(scene, 16, testpictures.PNGRGBA, true, testpictures.ICCChunk(testpictures.WideGamutProfile())),
			media.Info{Format: media.PNG, Width: 60, Height: 40, Orientation: 1, Frames: 1, Alpha: true, Bands: 4, BitDepth: 16, Colourspace: "srgb", Profile: true, Progressive: true},
		},
		"a grey PNG of two bits": {
			testpictures.PNGOf(scene, 2, testpictures.PNGGrey, false),
			media.Info{Format: media.PNG, Width: 60, Height: 40, Orientation: 1, Frames: 1, Bands: 1, BitDepth: 2, Colourspace: "gray"},
		},
		"a PNG with a palette, whose colours have eight bits": {
			palettePNG(t, 60, 40, 16),
			media.Info{Format: media.PNG, Width: 60, Height: 40, Orientation: 1, Frames: 1, Bands: 3, BitDepth: 8, Colourspace: "srgb"},
		},
		"a GIF with a palette of 128 colours": {
			paletteGIF(t, 60, 40, 128),
			media.Info{Format: media.GIF, Width: 60, Height: 40, Orientation: 1, Frames: 1, Bands: 3, BitDepth: 8, Colourspace: "srgb"},
		},
		"a BMP with masks, alpha among them": {
			bmpOf(scene, 32, 3),
			media.Info{Format: media.BMP, Width: 60, Height: 40, Orientation: 1, Frames: 1, Bands: 4, BitDepth: 8, Colourspace: "srgb", Alpha: true},
		},
		"a BMP whose fourth byte means nothing": {
			bmpOf(scene, 32, 0),
			media.Info{Format: media.BMP, Width: 60, Height: 40, Orientation: 1, Frames: 1, Bands: 3, BitDepth: 8, Colourspace: "srgb"},
		},
		"a turned TIFF of three pages": {
			testpictures.TIFF(60, 40, 8, 3),
			media.Info{Format: media.TIFF, Width: 40, Height: 60, Orientation: 8, Frames: 3, Bands: 3, BitDepth: 8, Colourspace: "srgb"},
		},
		"an animated WebP": {
			testpictures.WebPFrames(60, 40, 60, 40, 3),
			media.Info{Format: media.WebP, Width: 60, Height: 40, Orientation: 1, Frames: 3, Animated: true, Delays: []int{100, 100, 100}, Bands: 4, BitDepth: 8, Colourspace: "srgb", Alpha: true},
		},
		"an SVG": {
			testpictures.SVG(60, 40),
			media.Info{Format: media.SVG, Width: 60, Height: 40, NaturalWidth: 60, NaturalHeight: 40, Orientation: 1, Frames: 1, Bands: 4, BitDepth: 8, Colourspace: "srgb", Alpha: true},
		},
		"a compressed SVG": {
			testpictures.PackedSVG(testpictures.SVG(60, 40)),
			media.Info{Format: media.SVG, Width: 60, Height: 40, NaturalWidth: 60, NaturalHeight: 40, Orientation: 1, Frames: 1, Bands: 4, BitDepth: 8, Colourspace: "srgb", Alpha: true},
		},
	}
	engine := start(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := engine.Probe(t.Context(), test.src, media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			test.want.Bytes = int64(len(test.src))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// paletted is stripes of some colours, 256 at most.
func paletted(w, h, colours int) *image.Paletted {
	palette := make(color.Palette, colours)
	for i := range palette {
		palette[i] = color.NRGBA{R: uint8(i), G: uint8(2 * i), B: uint8(255 - i), A: 255}
	}
	img := image.NewPaletted(image.Rect(0, 0, w, h), palette)
	for i := range img.Pix {
		img.Pix[i] = uint8(i % colours)
	}
	return img
}

func palettePNG(t *testing.T, w, h, colours int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, paletted(w, h, colours)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func paletteGIF(t *testing.T, w, h, colours int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := gif.Encode(&out, paletted(w, h, colours), nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSVGSizesAreInCSSPixels(t *testing.T) {
	const body = `<rect width="100%" height="100%" fill="#336699"/></svg>`
	tests := map[string]struct {
		head          string
		width, height int
	}{
		"plain numbers are pixels":           {`<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80">`, 120, 80},
		"pixels are pixels":                  {`<svg xmlns="http://www.w3.org/2000/svg" width="120px" height="80px">`, 120, 80},
		"an inch has 96 of them":             {`<svg xmlns="http://www.w3.org/2000/svg" width="2in" height="1in">`, 192, 96},
		"a point is a seventy-second":        {`<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt">`, 96, 48},
		"millimetres follow the inch":        {`<svg xmlns="http://www.w3.org/2000/svg" width="25.4mm" height="50.8mm">`, 96, 192},
		"without a size the viewBox decides": {`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 150">`, 300, 150},
		"a prolog is passed over":            {"\ufeff<?xml version=\"1.0\"?><!-- 1in --><!DOCTYPE svg><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"120\" height=\"80\">", 120, 80},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := []byte(test.head + body)
			sizeIs(t, picture(t, src, ask(0, 0)), test.width, test.height)
			grown := picture(t, src, ask(3*test.width, 0))
			sizeIs(t, grown, 3*test.width, 3*test.height)
			colourIs(t, grown, 2*test.width, 2*test.height, color.NRGBA{0x33, 0x66, 0x99, 255}, 1)
		})
	}
}

func TestBMPsAreRead(t *testing.T) {
	scene := testpictures.Scene(31, 17)
	for name, src := range map[string][]byte{
		"three bytes a pixel":                        bmpOf(scene, 24, 0),
		"four bytes of which the last means nothing": bmpOf(scene, 32, 0),
		"four bytes with masks, alpha among them":    bmpOf(scene, 32, 3),
	} {
		t.Run(name, func(t *testing.T) {
			looksLike(t, picture(t, src, ask(0, 0)), scene, 0)
		})
	}
	t.Run("alpha counts where a mask names it", func(t *testing.T) {
		img := picture(t, bmpOf(testpictures.SceneAlpha(31, 17), 32, 3), ask(0, 0))
		colourIs(t, img, 30, 3, color.NRGBA{}, 0)
	})
	t.Run("alpha does not count where none does", func(t *testing.T) {
		img := picture(t, bmpOf(testpictures.SceneAlpha(31, 17), 32, 0), ask(0, 0))
		colourIs(t, img, 30, 3, color.NRGBA{255, 0, 255, 255}, 0)
	})
}

// bmpOf writes a bitmap with a BITMAPV4HEADER, bottom row first.
func bmpOf(img *image.NRGBA, depth, compression int) []byte {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	stride := (width*depth/8 + 3) / 4 * 4
	put := func(out []byte, values ...uint32) []byte {
		for _, v := range values {
			out = append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
		return out
	}
	const header = 14 + 108
	out := put([]byte("BM"), uint32(header+stride*height), 0, header, 108, uint32(width), uint32(height))
	out = append(out, 1, 0, byte(depth), 0)
	out = put(out, uint32(compression), uint32(stride*height), 2835, 2835, 0, 0)
	out = put(out, 0xff0000, 0xff00, 0xff, 0xff000000)
	out = append(out, make([]byte, header-len(out))...)
	for y := height - 1; y >= 0; y-- {
		row := make([]byte, 0, stride)
		for x := range width {
			c := img.NRGBAAt(x, y)
			row = append(row, c.B, c.G, c.R, c.A)[:len(row)+depth/8]
		}
		out = append(out, append(row, make([]byte, stride-len(row))...)...)
	}
	return out
}
