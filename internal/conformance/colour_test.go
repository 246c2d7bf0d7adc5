package conformance_test

import (
	"image"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// mapped is img with every colour changed by f.
func mapped(img *image.NRGBA, f func(color.NRGBA) color.NRGBA) *image.NRGBA {
	out := image.NewNRGBA(img.Rect)
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			out.SetNRGBA(x, y, f(img.NRGBAAt(x, y)))
		}
	}
	return out
}

func grey(c color.NRGBA) color.NRGBA {
	y := uint8((299*int(c.R) + 587*int(c.G) + 114*int(c.B) + 500) / 1000)
	return color.NRGBA{y, y, y, c.A}
}

// TestColours sends every way of storing colour and holds the answer to the
// sRGB pixels that it has by construction.
func TestColours(t *testing.T) {
	const w, h = 120, 80
	scene, clear := testpictures.Scene(w, h), testpictures.SceneAlpha(w, h)
	wide := mapped(scene, testpictures.WideGamutToSRGB)
	swapped := testpictures.SwappedProfile()
	for _, tt := range []struct {
		name   string
		file   []byte
		want   *image.NRGBA
		levels float64
	}{
		{"8-bit RGB PNG", testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false), scene, 0.1},
		{"8-bit RGBA PNG", testpictures.PNGOf(clear, 8, testpictures.PNGRGBA, false), clear, 0.1},
		{"16-bit RGB PNG", testpictures.PNGOf(scene, 16, testpictures.PNGRGB, false), scene, 0.6},
		{"16-bit RGBA PNG", testpictures.PNGOf(clear, 16, testpictures.PNGRGBA, false), clear, 0.6},
		{"interlaced PNG", testpictures.PNGOf(scene, 8, testpictures.PNGRGB, true), scene, 0.1},
		{"grey PNG", testpictures.PNGOf(scene, 8, testpictures.PNGGrey, false), mapped(scene, grey), 0.6},
		{"16-bit grey PNG", testpictures.PNGOf(scene, 16, testpictures.PNGGrey, true), mapped(scene, grey), 1},
		{"grey PNG with alpha", testpictures.PNGOf(clear, 8, testpictures.PNGGreyAlpha, false), mapped(clear, grey), 0.6},
		{"colour-keyed PNG", testpictures.ColourKeyPNG(w, h), mapped(scene, func(c color.NRGBA) color.NRGBA {
			if c == (color.NRGBA{208, 32, 40, 255}) {
				c.A = 0
			}
			return c
		}), 0.1},
		{"wide-gamut PNG", testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, testpictures.ICCChunk(testpictures.WideGamutProfile())), wide, 1.5},
		{"wide-gamut 16-bit PNG", testpictures.PNGOf(scene, 16, testpictures.PNGRGB, false, testpictures.ICCChunk(testpictures.WideGamutProfile())), wide, 1.5},
		{"wide-gamut JPEG", testpictures.JPEG(scene, 95, testpictures.ICCSegments(testpictures.WideGamutProfile(), 0)...), wide, 3},
		{"JPEG with a profile in many segments", testpictures.JPEG(scene, 95, testpictures.ICCSegments(testpictures.WideGamutProfile(), 300)...), wide, 3},
		{"PNG whose profile exchanges red and green", testpictures.PNGOf(scene, 8, testpictures.PNGRGB, false, testpictures.ICCChunk(swapped)), mapped(scene, func(c color.NRGBA) color.NRGBA {
			return color.NRGBA{c.G, c.R, c.B, c.A}
		}), 1.5},
		{"grey JPEG", testpictures.JPEG(testpictures.Grey(w, h), 95), mapped(scene, grey), 2},
		{"JPEG with broken EXIF", testpictures.JPEG(scene, 95, testpictures.EXIFSegment(testpictures.BrokenEXIF())), scene, 3},
		{"TIFF", testpictures.TIFF(w, h, 1, 1), scene, 0.1},
	} {
		t.Run(tt.name+" comes out in the right colours", func(t *testing.T) {
			s := start(t, withFile(t, "in", tt.file))
			for _, mode := range []string{"", "&shrink=fast", "&linear=true", "&linear=true&shrink=fast", "&linear=true&shrink=none&keep=icc"} {
				full := mustDecode(t, s.good(t, "/assets/in?format=png"+mode).body)
				alike(t, "full size"+mode, full.first(), tt.want, tt.levels)
				half := mustDecode(t, s.good(t, "/assets/in?format=png&sizes=60x0"+mode).body)
				want := halved(tt.want)
				if strings.Contains(mode, "linear") {
					want = halvedLight(tt.want)
				}
				alike(t, "half size"+mode, half.first(), want, tt.levels+2.5)
			}
		})
	}
}

// halvedLight is halved in linear light.
func halvedLight(img *image.NRGBA) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, img.Rect.Dx()/2, img.Rect.Dy()/2))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var r, g, b, a float64
			for i := range 4 {
				c := img.NRGBAAt(2*x+i%2, 2*y+i/2)
				cover := float64(c.A)
				r, g, b = r+light(c.R)*cover, g+light(c.G)*cover, b+light(c.B)*cover
				a += cover
			}
			if a > 0 {
				out.SetNRGBA(x, y, color.NRGBA{level(r / a), level(g / a), level(b / a), uint8(a/4 + 0.5)})
			}
		}
	}
	return out
}

// light and level are the sRGB curve (IEC 61966-2-1) and back.
func light(level uint8) float64 {
	v := float64(level) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func level(light float64) uint8 {
	if light <= 0.0031308 {
		return uint8(255*light*12.92 + 0.5)
	}
	return uint8(255*(1.055*math.Pow(light, 1/2.4)-0.055) + 0.5)
}

// halved averages 2 x 2 pixels, each weighed by its opacity, as a resize has to.
func halved(img *image.NRGBA) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, img.Rect.Dx()/2, img.Rect.Dy()/2))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var r, g, b, a int
			for i := range 4 {
				c := img.NRGBAAt(2*x+i%2, 2*y+i/2)
				r, g, b = r+int(c.R)*int(c.A), g+int(c.G)*int(c.A), b+int(c.B)*int(c.A)
				a += int(c.A)
			}
			if a > 0 {
				out.SetNRGBA(x, y, color.NRGBA{uint8(r / a), uint8(g / a), uint8(b / a), uint8(a / 4)})
			}
		}
	}
	return out
}

// TestClearPixelsDoNotBleed shrinks a picture whose transparent part hides a
// loud magenta: none of it may be seen anywhere in any format.
func TestClearPixelsDoNotBleed(t *testing.T) {
	clear := testpictures.SceneAlpha(400, 300)
	s := start(t, withFile(t, "in.png", testpictures.PNGOf(clear, 8, testpictures.PNGRGBA, false)))
	for _, query := range []string{"format=png&sizes=37x0", "format=png&sizes=37x0&linear=true", "format=webp&sizes=37x0&linear=true&blur=2", "format=webp&ssim=0.95&sizes=37x0", "format=webp&sizes=37x0", "format=png&sizes=37x0&blur=2", "format=jpeg&sizes=37x0&background=ffffff"} {
		t.Run("not with "+query, func(t *testing.T) {
			img := mustDecode(t, s.good(t, "/assets/in.png?"+query).body).first()
			for y := range img.Rect.Dy() {
				for x := range img.Rect.Dx() {
					c := onWhite(img.NRGBAAt(x, y))
					// Nothing in the scene is as far from green as magenta is.
					if min(c[0], c[2])-c[1] > 70 {
						t.Fatalf("pixel %d,%d is %.0f", x, y, c)
					}
				}
			}
		})
	}
}

// TestPaletteTransparencySurvives looks at each bar of the palette picture.
func TestPaletteTransparencySurvives(t *testing.T) {
	s := start(t, withFile(t, "in.png", testpictures.PalettePNG(80, 20)))
	for _, format := range []string{"png", "webp"} {
		img := mustDecode(t, s.good(t, "/assets/in.png?lossless=true&format="+format).body).first()
		for i, want := range []color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 128}, {0, 0, 255, 64}} {
			got := img.NRGBAAt(20*i+10, 10)
			if d := int(got.A) - int(want.A); d > 2 || d < -2 {
				t.Errorf("%s: bar %d is %v, want %v", format, i, got, want)
			}
			near(t, format, onWhite(got), onWhite(want), 6)
		}
		if a := img.NRGBAAt(70, 10).A; a != 0 {
			t.Errorf("%s: the clear bar has alpha %d", format, a)
		}
	}
}
