package vips_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"math"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func linear(r *media.Request) { r.Linear = true }

// halfLit is the sRGB level that gives half the light of white.
const halfLit = 188

// chequers alternate two colours from pixel to pixel.
func chequers(width, height int, a, b color.NRGBA) *image.NRGBA {
	return painted(width, height, func(x, y int) color.NRGBA {
		if (x+y)%2 == 0 {
			return a
		}
		return b
	})
}

// In linear light black and white in turns are half as bright as white is;
// without it they are as dark as the half of its level.
func TestLinearLightKeepsBrightness(t *testing.T) {
	black, white := color.NRGBA{0, 0, 0, 255}, color.NRGBA{255, 255, 255, 255}
	board := chequers(96, 64, black, white)
	inks := image.NewCMYK(board.Rect)
	for i := range 96 * 64 {
		inks.Pix[4*i+3] = uint8((i/96/8%2 + i%96/8%2) % 2 * 255)
	}
	tests := map[string][]byte{
		"RGB":                 testpictures.PNGOf(board, 8, testpictures.PNGRGB, false),
		"RGB with alpha":      testpictures.PNGOf(board, 8, testpictures.PNGRGBA, false),
		"16-bit RGB":          testpictures.PNGOf(board, 16, testpictures.PNGRGB, false),
		"16-bit with alpha":   testpictures.PNGOf(board, 16, testpictures.PNGRGBA, false),
		"grey":                testpictures.PNGOf(board, 8, testpictures.PNGGrey, false),
		"grey with alpha":     testpictures.PNGOf(board, 8, testpictures.PNGGreyAlpha, false),
		"16-bit grey":         testpictures.PNGOf(board, 16, testpictures.PNGGrey, false),
		"a wide-gamut PNG":    testpictures.PNGOf(board, 8, testpictures.PNGRGB, false, testpictures.ICCChunk(testpictures.WideGamutProfile())),
		"a JPEG read in full": testpictures.JPEG(board, 100),
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			for _, keep := range []bool{false, true} {
				req := func(r *media.Request) { r.Keep.ICC, r.Shrink = keep, media.ShrinkNone }
				half := picture(t, src, ask(24, 0, linear, req))
				colourIs(t, half, 12, 8, color.NRGBA{halfLit, halfLit, halfLit, 255}, 2)
			}
			colourIs(t, picture(t, src, ask(24, 0)), 12, 8, color.NRGBA{128, 128, 128, 255}, 2)
		})
	}
	t.Run("CMYK", func(t *testing.T) {
		// Paper, and black ink of level 34.
		level := uint8(math.Round(255 * encoded((1+decoded(34.0/255))/2)))
		img := picture(t, testpictures.CMYKJPEG(inks, testpictures.AdobeCMYK), ask(6, 0, linear))
		colourIs(t, img, 3, 2, color.NRGBA{level, level, level, 255}, 8)
	})
	t.Run("every frame of an animation", func(t *testing.T) {
		out := render(t, stripes(96, 64, 3), ask(24, 0, linear), media.GIF)
		all, err := gif.DecodeAll(bytes.NewReader(out.data))
		if err != nil || len(all.Image) != 3 {
			t.Fatalf("%d frames, %v", len(all.Image), err)
		}
		composed := image.NewNRGBA(image.Rect(0, 0, 24, 16))
		for i, frame := range all.Image {
			for y := range 16 {
				for x := range 24 {
					if _, _, _, a := frame.At(x, y).RGBA(); a > 0 && (image.Point{x, y}).In(frame.Rect) {
						composed.Set(x, y, frame.At(x, y))
					}
				}
			}
			colourIs(t, composed, 12, 8, color.NRGBA{halfLit, halfLit, halfLit, 255}, 6)
			if t.Failed() {
				t.Fatalf("frame %d", i)
			}
		}
	})
}

// stripes are frames of black and white lines, each a line further down.
func stripes(width, height, frames int) []byte {
	g := gif.GIF{}
	for n := range frames {
		img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
		for i := range img.Pix {
			img.Pix[i] = uint8((i/width + n) % 2)
		}
		g.Image, g.Delay = append(g.Image, img), append(g.Delay, 5)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &g); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// decoded and encoded are the sRGB curve (IEC 61966-2-1).
func decoded(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func encoded(v float64) float64 {
	if v <= 0.0031308 {
		return v * 12.92
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

func TestLinearLightLeavesFlatColoursAlone(t *testing.T) {
	for _, alpha := range []uint8{255, 128, 16} {
		for level := 0; level < 256; level += 5 {
			c := color.NRGBA{uint8(level), uint8(255 - level), 200, alpha}
			img := picture(t, plainPNG(60, 40, c), ask(20, 0, linear))
			// A faint pixel has no more precise a colour than its own levels.
			colourIs(t, img, 10, 6, c, 1)
			if t.Failed() {
				t.Fatalf("alpha %d, level %d", alpha, level)
			}
		}
	}
}

func TestLinearLightMixesOnlyWhatShows(t *testing.T) {
	red, hidden := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 255, 0}
	src := testpictures.PNGOf(chequers(64, 64, red, hidden), 8, testpictures.PNGRGBA, false)
	tests := map[string]media.Request{
		"resized":                   ask(16, 0, linear),
		"and turned":                ask(16, 0, linear, func(r *media.Request) { r.Rotate = 90 }),
		"and blurred":               ask(16, 0, linear, func(r *media.Request) { r.Blur = 2 }),
		"and cropped to attention":  ask(16, 8, linear, fit(media.Cover), gravity(media.GravityAttention)),
		"with a size beside it":     ask(16, 0, linear, func(r *media.Request) { r.Sizes = append(r.Sizes, media.Size{Width: 40}) }),
		"enlarged":                  ask(256, 0, linear, func(r *media.Request) { r.Enlarge = true; r.Blur = 9 }),
		"trimmed, which holds them": ask(16, 0, linear, func(r *media.Request) { r.Trim = 10 }),
	}
	for name, req := range tests {
		t.Run(name, func(t *testing.T) {
			img := decode(t, media.PNG, renderAll(t, src, nil, req, media.PNG)[0].data)
			size := img.Bounds().Size()
			colourIs(t, img, size.X/2, size.Y/2, color.NRGBA{255, 0, 0, 128}, 3)
		})
	}
	t.Run("a watermark is resized so too", func(t *testing.T) {
		mark := testpictures.PNGOf(chequers(64, 64, color.NRGBA{255, 255, 255, 255}, color.NRGBA{0, 0, 0, 255}), 8, testpictures.PNGRGB, false)
		req := ask(0, 0, linear, marked(media.Watermark{URL: "mark", Opacity: 1, Scale: 0.5, Gravity: media.Gravity{Kind: media.GravityCenter}}))
		img := decode(t, media.PNG, renderAll(t, plainPNG(32, 32, red), mark, req, media.PNG)[0].data)
		colourIs(t, img, 16, 16, color.NRGBA{halfLit, halfLit, halfLit, 255}, 2)
	})
}

// In linear light and in no more than one resize, several sizes are what each
// is alone.
func TestLinearLightOfSeveralSizes(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(1600, 1200), 92)
	widths := []int{600, 300, 280}
	req := ask(0, 0, linear)
	req.Sizes = nil
	for _, width := range widths {
		req.Sizes = append(req.Sizes, media.Size{Width: width})
	}
	for i, out := range renderAll(t, src, nil, req, media.PNG) {
		t.Run(fmt.Sprintf("width %d", widths[i]), func(t *testing.T) {
			alone := picture(t, src, ask(widths[i], 0, linear))
			if got := ssim(decode(t, media.PNG, out.data), alone); got < leastSSIM {
				t.Errorf("SSIM is %.4f, want %.4f", got, leastSSIM)
			}
		})
	}
}
