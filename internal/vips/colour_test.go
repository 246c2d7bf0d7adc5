package vips_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"slices"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestPNGsOfEveryDepthComeOutEightBit(t *testing.T) {
	scene := testpictures.Scene(60, 40)
	kinds := map[string]int{
		"grey": testpictures.PNGGrey, "RGB": testpictures.PNGRGB,
		"grey with alpha": testpictures.PNGGreyAlpha, "RGBA": testpictures.PNGRGBA,
	}
	for name, kind := range kinds {
		for _, depth := range []int{8, 16} {
			for _, interlaced := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s of %d bits, interlaced %v", name, depth, interlaced), func(t *testing.T) {
					src := testpictures.PNGOf(scene, depth, kind, interlaced)
					want := decode(t, media.PNG, src)
					looksLike(t, picture(t, src, ask(0, 0)), want, 0.6)
				})
			}
		}
	}
	for _, depth := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("grey of %d bits", depth), func(t *testing.T) {
			src := testpictures.PNGOf(scene, depth, testpictures.PNGGrey, false)
			looksLike(t, picture(t, src, ask(0, 0)), decode(t, media.PNG, src), 0)
		})
	}
}

func TestPaletteAndColourKeyTransparencySurvives(t *testing.T) {
	for name, src := range map[string][]byte{
		"palette": testpictures.PalettePNG(64, 32), "colour key": testpictures.ColourKeyPNG(64, 32),
	} {
		t.Run(name, func(t *testing.T) {
			looksLike(t, picture(t, src, ask(0, 0)), decode(t, media.PNG, src), 0)
		})
	}
}

func TestClearPixelsNeverShowTheirColour(t *testing.T) {
	src := testpictures.PNGOf(testpictures.SceneAlpha(600, 400), 8, testpictures.PNGRGBA, false)
	img := picture(t, src, ask(60, 0))
	for y := range 32 {
		for x := range 60 {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			if c.A > 8 && c.R > 180 && c.B > 180 && c.G < 80 {
				t.Fatalf("hidden magenta shows at %d,%d: %v", x, y, c)
			}
		}
	}
	t.Run("nor on a ground", func(t *testing.T) {
		img := decode(t, media.JPEG, render(t, src, ask(60, 0), media.JPEG).data)
		colourIs(t, img, 57, 10, color.NRGBA{255, 255, 255, 255}, 10)
	})
}

// The rounding of a resize must not show as noise where little is seen of a
// pixel: WebP would store it, alpha without any loss.
func TestFaintPixelsKeepTheirColourInAResize(t *testing.T) {
	ground := color.NRGBA{R: 60, G: 110, B: 75}
	src := image.NewNRGBA(image.Rect(0, 0, 2550, 40))
	for i := range 2550 * 40 {
		c := ground
		c.A = uint8(i % 2550 / 10)
		src.SetNRGBA(i%2550, i/2550, c)
	}
	png := testpictures.PNGOf(src, 8, testpictures.PNGRGBA, false)
	for name, req := range map[string]media.Request{
		"once":                   ask(255, 0),
		"beside another size":    ask(255, 0, func(r *media.Request) { r.Sizes = append(r.Sizes, media.Size{Width: 510}) }),
		"beside one nearly that": ask(255, 0, func(r *media.Request) { r.Sizes = append(r.Sizes, media.Size{Width: 300}) }),
	} {
		t.Run(name, func(t *testing.T) {
			got := decode(t, media.PNG, renderAll(t, png, nil, req, media.PNG)[0].data).(*image.NRGBA)
			for x := 8; x < 255; x++ {
				want := ground
				want.A = uint8(x)
				colourIs(t, got, x, 2, want, 1)
			}
		})
	}
}

func TestProfilesAreAppliedToThePixels(t *testing.T) {
	scene := testpictures.Scene(240, 160)
	managed := mapColours(scene, testpictures.WideGamutToSRGB)
	wide := testpictures.WideGamutProfile()
	sources := map[string][]byte{
		"a PNG":                             testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, testpictures.ICCChunk(wide)),
		"a 16-bit PNG":                      testpictures.PNGOf(scene, 16, testpictures.PNGRGB, false, testpictures.ICCChunk(wide)),
		"a 16-bit PNG with alpha":           testpictures.PNGOf(scene, 16, testpictures.PNGRGBA, false, testpictures.ICCChunk(wide)),
		"a JPEG with the profile in pieces": testpictures.JPEG(scene, 100, testpictures.ICCSegments(wide, 100)...),
	}
	for name, src := range sources {
		for _, format := range []media.Format{media.PNG, media.JPEG, media.WebP} {
			t.Run(fmt.Sprintf("%s as %s", name, format), func(t *testing.T) {
				out := render(t, src, ask(0, 0, func(r *media.Request) { r.Quality = 100 }), format)
				looksLike(t, decode(t, format, out.data), managed, 3)
			})
		}
	}
	t.Run("a profile for another kind of picture is ignored", func(t *testing.T) {
		src := testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, testpictures.ICCChunk(testpictures.OddInkProfile()))
		looksLike(t, picture(t, src, ask(0, 0)), scene, 0)
	})
	t.Run("a profile for grey in a coloured picture is ignored", func(t *testing.T) {
		src := testpictures.JPEG(scene, 100, testpictures.ICCSegments(testpictures.LinearGreyProfile(), 0)...)
		looksLike(t, picture(t, src, ask(0, 0)), scene, 3)
	})
	t.Run("a damaged profile is ignored", func(t *testing.T) {
		broken := slices.Clone(wide)
		for i := 128; i < len(broken); i++ {
			broken[i] ^= 0x5a
		}
		src := testpictures.JPEG(scene, 100, testpictures.ICCSegments(broken, 0)...)
		looksLike(t, picture(t, src, ask(0, 0)), scene, 3)
	})
	t.Run("exchanged primaries come back", func(t *testing.T) {
		src := testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, testpictures.ICCChunk(testpictures.SwappedProfile()))
		colourIs(t, picture(t, src, ask(0, 0)), 5, 5, color.NRGBA{32, 208, 40, 255}, 6)
	})
}

func TestKeepingTheProfileKeepsItsNumbers(t *testing.T) {
	scene := testpictures.Scene(60, 40)
	src := testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, testpictures.ICCChunk(testpictures.WideGamutProfile()))
	for _, format := range []media.Format{media.PNG, media.JPEG, media.WebP, media.TIFF, media.AVIF, media.JXL} {
		t.Run(string(format), func(t *testing.T) {
			out := render(t, src, ask(0, 0, func(r *media.Request) { r.Keep.ICC, r.Quality, r.Lossless = true, 100, format != media.AVIF }), format)
			info, err := start(t).Probe(t.Context(), out.data, media.DefaultLimits())
			if err != nil || !info.Profile {
				t.Fatalf("profile kept: %v, %v", info.Profile, err)
			}
			// Reading it again applies it, which only comes out right when
			// numbers and profile belong together.
			managed := mapColours(scene, testpictures.WideGamutToSRGB)
			looksLike(t, picture(t, out.data, ask(0, 0)), managed, 4)
		})
	}
	t.Run("GIF has no profiles and is converted", func(t *testing.T) {
		out := render(t, src, ask(0, 0, func(r *media.Request) { r.Keep.ICC = true }), media.GIF)
		looksLike(t, decode(t, media.GIF, out.data), mapColours(scene, testpictures.WideGamutToSRGB), 4)
	})
}

// What cannot carry the profile is converted, or its numbers mean nothing.
func TestKeptProfilesFitWhatCarriesThem(t *testing.T) {
	t.Run("libpng refuses a profile of another illuminant", func(t *testing.T) {
		scene := testpictures.Scene(60, 40)
		daylight := testpictures.WideGamutProfile()
		copy(daylight[68:], []byte{0, 0, 0xf3, 0x51, 0, 1, 0, 0, 0, 1, 0x16, 0xcc})
		src := testpictures.JPEG(scene, 100, testpictures.ICCSegments(daylight, 0)...)
		for _, format := range []media.Format{media.PNG, media.TIFF} {
			out := render(t, src, ask(0, 0, func(r *media.Request) { r.Keep.ICC = true }), format)
			looksLike(t, picture(t, out.data, ask(0, 0)), mapColours(scene, testpictures.WideGamutToSRGB), 4)
		}
	})
	grey := image.NewGray(image.Rect(0, 0, 40, 30))
	for i := range grey.Pix {
		grey.Pix[i] = 128
	}
	src := testpictures.JPEG(grey, 100, testpictures.ICCSegments(testpictures.LinearGreyProfile(), 0)...)
	mark := testpictures.SolidWebP(1, 1, color.NRGBA{255, 0, 0, 255})
	steps := map[string]func(*media.Request){
		"plain":          func(*media.Request) {},
		"on blue":        func(r *media.Request) { r.Background = &media.Colour{B: 255, A: 255} },
		"with blue bars": func(r *media.Request) { r.Fit, r.Background = media.Contain, &media.Colour{B: 255, A: 255} },
		"with a mark":    func(r *media.Request) { r.Watermark = &media.Watermark{URL: "mark", Opacity: 1} },
	}
	for name, step := range steps {
		for _, format := range []media.Format{media.PNG, media.JPEG, media.WebP, media.TIFF, media.AVIF, media.JXL} {
			t.Run(fmt.Sprintf("a profile for grey, %s, as %s", name, format), func(t *testing.T) {
				req := ask(50, 30, func(r *media.Request) { r.Keep.ICC, r.Quality = true, 100 }, step)
				out := renderAll(t, src, mark, req, format)[0].data
				info, err := start(t).Probe(t.Context(), out, media.DefaultLimits())
				// Every JPEG XL is read with a profile of its decoder's making.
				if err != nil || info.Profile && info.Colourspace != "gray" && format != media.JXL {
					t.Errorf("a picture in %s has the profile (%v)", info.Colourspace, err)
				}
				colourIs(t, picture(t, out, ask(0, 0)), 25, 5, color.NRGBA{188, 188, 188, 255}, 3)
			})
		}
	}
}

// Marks and grounds are sRGB. Laid as they are on the numbers of another
// profile they would show as other colours.
func TestColoursLaidOnAKeptProfileStayThemselves(t *testing.T) {
	scene := testpictures.Scene(60, 40)
	profile := testpictures.ICCChunk(testpictures.SwappedProfile())
	opaque := testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, profile)
	clear := testpictures.PNGOf(image.NewNRGBA(scene.Rect), 8, testpictures.PNGRGBA, false, profile)
	red := color.NRGBA{220, 30, 10, 255}
	ground := func(c media.Colour) func(*media.Request) {
		return func(r *media.Request) { r.Background = &c }
	}
	bars := func(r *media.Request) { r.Fit, r.Sizes = media.Contain, []media.Size{{Width: 60, Height: 60}} }
	coloured := ground(media.Colour{R: 220, G: 30, B: 10, A: 255})
	grey := ground(media.Colour{R: 100, G: 100, B: 100, A: 255})
	white := ground(media.Colour{R: 255, G: 255, B: 255, A: 255})
	tests := []struct {
		name  string
		src   []byte
		steps []func(*media.Request)
		want  *color.NRGBA // in the middle of the top row
		kept  bool
	}{
		{"a watermark", opaque, []func(*media.Request){marked(media.Watermark{URL: "mark", Opacity: 1, Scale: 1})}, &red, false},
		{"a ground", clear, []func(*media.Request){coloured}, &red, false},
		{"a grey ground", clear, []func(*media.Request){grey}, &color.NRGBA{100, 100, 100, 255}, false},
		{"bars", opaque, []func(*media.Request){coloured, bars}, &red, false},
		{"white bars", opaque, []func(*media.Request){white, bars}, &color.NRGBA{255, 255, 255, 255}, true},
		{"a ground that nothing shows", opaque, []func(*media.Request){coloured}, nil, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req := ask(0, 0, append(test.steps, func(r *media.Request) { r.Keep.ICC = true })...)
			out := renderAll(t, test.src, plainPNG(3, 2, red), req, media.PNG)[0].data
			info, err := start(t).Probe(t.Context(), out, media.DefaultLimits())
			if err != nil || info.Profile != test.kept {
				t.Errorf("profile kept: %v, want %v (%v)", info.Profile, test.kept, err)
			}
			if test.want != nil {
				colourIs(t, picture(t, out, ask(0, 0)), 30, 1, *test.want, 2)
			}
		})
	}
}

func TestCMYKGoesThroughItsProfileOrTheFallback(t *testing.T) {
	inks := testpictures.CMYK(60, 40)
	t.Run("the embedded profile is used", func(t *testing.T) {
		for name, kind := range map[string]testpictures.CMYKKind{"CMYK": testpictures.AdobeCMYK, "YCCK": testpictures.AdobeYCCK} {
			src := testpictures.CMYKJPEG(inks, kind, testpictures.ICCSegments(testpictures.OddInkProfile(), 0)...)
			want := image.NewNRGBA(inks.Rect)
			for y := range 40 {
				for x := range 60 {
					want.SetNRGBA(x, y, testpictures.OddInk(inks.CMYKAt(x, y)))
				}
			}
			t.Run(name, func(t *testing.T) { looksLike(t, picture(t, src, ask(0, 0)), want, 8) })
		}
	})
	t.Run("without one all kinds look alike and roughly right", func(t *testing.T) {
		for name, kind := range map[string]testpictures.CMYKKind{
			"Adobe CMYK": testpictures.AdobeCMYK, "Adobe YCCK": testpictures.AdobeYCCK, "unmarked": testpictures.PlainCMYK,
		} {
			t.Run(name, func(t *testing.T) {
				img := picture(t, testpictures.CMYKJPEG(inks, kind), ask(0, 0))
				looksLike(t, img, testpictures.Scene(60, 40), 40)
				colourIs(t, img, 42, 16, color.NRGBA{245, 245, 240, 255}, 14)
			})
		}
	})
}

func TestInksWithoutAProfileAreThoseOfCoatedPaper(t *testing.T) {
	tests := map[string]struct {
		inks color.CMYK
		want color.NRGBA
	}{
		"paper is white":                     {color.CMYK{}, color.NRGBA{255, 255, 255, 255}},
		"cyan is no screen cyan":             {color.CMYK{C: 255}, color.NRGBA{0, 174, 239, 255}},
		"magenta":                            {color.CMYK{M: 255}, color.NRGBA{236, 0, 140, 255}},
		"yellow":                             {color.CMYK{Y: 255}, color.NRGBA{255, 242, 0, 255}},
		"black is nearly black":              {color.CMYK{K: 255}, color.NRGBA{35, 31, 32, 255}},
		"all inks are black":                 {color.CMYK{255, 255, 255, 255}, color.NRGBA{0, 0, 0, 255}},
		"half of black prints darker by far": {color.CMYK{K: 128}, color.NRGBA{151, 150, 151, 255}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			flat := image.NewCMYK(image.Rect(0, 0, 16, 16))
			for y := range 16 {
				for x := range 16 {
					flat.SetCMYK(x, y, test.inks)
				}
			}
			img := picture(t, testpictures.CMYKJPEG(flat, testpictures.AdobeCMYK), ask(0, 0))
			colourIs(t, img, 8, 8, test.want, 4)
		})
	}
}

func TestGreyStaysGreyWhereTheOutputAllows(t *testing.T) {
	src := testpictures.JPEG(testpictures.Grey(60, 40), 95)
	for _, format := range []media.Format{media.JPEG, media.PNG, media.TIFF} {
		t.Run(string(format), func(t *testing.T) {
			out := render(t, src, ask(30, 0), format)
			if _, ok := decode(t, format, out.data).(*image.Gray); !ok {
				t.Errorf("decodes as %T", decode(t, format, out.data))
			}
		})
	}
}

func mapColours(img *image.NRGBA, by func(color.NRGBA) color.NRGBA) *image.NRGBA {
	out := image.NewNRGBA(img.Rect)
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			out.SetNRGBA(x, y, by(img.NRGBAAt(x, y)))
		}
	}
	return out
}

// Pixels that are held for several sizes outlive the loader and what it had
// allocated for the profile.
func TestTheProfileOfAnAVIFOutlivesItsLoader(t *testing.T) {
	keep := func(r *media.Request) { r.Keep.ICC = true }
	src := render(t, tagged(), ask(600, 0, keep, func(r *media.Request) { r.Enlarge = true }), media.AVIF).data
	want := render(t, src, ask(100, 0, keep), media.JPEG).data
	both := func(r *media.Request) { r.Sizes = append(r.Sizes, r.Sizes[0]) }
	for range 8 {
		for i, got := range renderAll(t, src, nil, ask(100, 0, keep, both), media.JPEG) {
			if !bytes.Equal(got.data, want) {
				t.Fatalf("size %d is not what it is alone: profile %t", i, bytes.Contains(got.data, []byte("ICC_PROFILE")))
			}
		}
	}
}
