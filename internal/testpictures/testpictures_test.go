package testpictures_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	_ "image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"testing"

	_ "golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestStoredPicturesTurnUprightByTheirOrientation(t *testing.T) {
	// The turns are spelled out as sequences of quarter turns and mirrors, an
	// account that shares nothing with the one in the package.
	steps := map[int]string{1: "", 2: "m", 3: "rr", 4: "rrm", 5: "rm", 6: "r", 7: "rrrm", 8: "rrr"}
	upright := testpictures.Scene(30, 20)
	for orientation, turns := range steps {
		got := testpictures.Stored(upright, orientation)
		for _, step := range turns {
			got = turned(got, step)
		}
		if got.Rect != upright.Rect || !bytes.Equal(got.Pix, upright.Pix) {
			t.Errorf("orientation %d: the stored picture does not turn upright by %q", orientation, turns)
		}
	}
}

// turned is img after a clockwise quarter turn (r) or a mirror left to right (m).
func turned(img *image.NRGBA, step rune) *image.NRGBA {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	if step == 'r' {
		out = image.NewNRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			if step == 'r' {
				out.SetNRGBA(h-1-y, x, img.NRGBAAt(x, y))
			} else {
				out.SetNRGBA(w-1-x, y, img.NRGBAAt(x, y))
			}
		}
	}
	return out
}

func TestSceneIsLikeNoTurnOfItself(t *testing.T) {
	scene := testpictures.Scene(40, 40)
	for _, turns := range []string{"m", "r", "rm", "rr", "rrm", "rrr", "rrrm"} {
		got := scene
		for _, step := range turns {
			got = turned(got, step)
		}
		if d := meanDifference(scene, got); d < 15 {
			t.Errorf("turned by %q the scene differs by %.1f levels only", turns, d)
		}
	}
}

func meanDifference(a, b *image.NRGBA) float64 {
	sum := 0
	for i := range a.Pix {
		sum += max(int(a.Pix[i])-int(b.Pix[i]), int(b.Pix[i])-int(a.Pix[i]))
	}
	return float64(sum) / float64(len(a.Pix))
}

func TestCMYKFilesDecodeToTheInksThatWentIn(t *testing.T) {
	inks := testpictures.CMYK(50, 34)
	for _, tt := range []struct {
		name string
		kind testpictures.CMYKKind
	}{
		{"Adobe CMYK is inverted", testpictures.AdobeCMYK},
		{"Adobe YCCK is inverted and in YCbCr", testpictures.AdobeYCCK},
		{"CMYK without a marker is inverted too", testpictures.PlainCMYK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			profile := testpictures.ICCSegments(testpictures.OddInkProfile(), 0)
			if tt.kind == testpictures.PlainCMYK {
				// The standard library reads four bands only behind this mark.
				profile = append(profile, testpictures.Segment{Marker: 0xee, Data: []byte("Adobe\x00\x64\x00\x00\x00\x00\x00")})
			}
			img, err := jpeg.Decode(bytes.NewReader(testpictures.CMYKJPEG(inks, tt.kind, profile...)))
			if err != nil {
				t.Fatal(err)
			}
			got, ok := img.(*image.CMYK)
			if !ok || got.Rect != inks.Rect {
				t.Fatalf("decoded to %T %v, want *image.CMYK %v", img, img.Bounds(), inks.Rect)
			}
			for i := range inks.Pix {
				if d := int(inks.Pix[i]) - int(got.Pix[i]); d > 12 || d < -12 {
					t.Fatalf("ink %d of pixel %d is %d, want %d", i%4, i/4, got.Pix[i], inks.Pix[i])
				}
			}
		})
	}
}

func TestPNGsOfEveryDepthAndTypeHoldTheScene(t *testing.T) {
	scene := testpictures.SceneAlpha(21, 13)
	for _, kind := range []int{testpictures.PNGGrey, testpictures.PNGRGB, testpictures.PNGGreyAlpha, testpictures.PNGRGBA} {
		for _, depth := range []int{1, 2, 4, 8, 16} {
			if depth < 8 && kind != testpictures.PNGGrey {
				continue
			}
			plain := decodePNG(t, testpictures.PNGOf(scene, depth, kind, false))
			woven := decodePNG(t, testpictures.PNGOf(scene, depth, kind, true))
			for y := range 13 {
				for x := range 21 {
					if plain.At(x, y) != woven.At(x, y) {
						t.Fatalf("type %d depth %d: interlacing changes pixel %d,%d", kind, depth, x, y)
					}
					got := color.NRGBAModel.Convert(plain.At(x, y)).(color.NRGBA)
					want := scene.NRGBAAt(x, y)
					if kind == testpictures.PNGRGBA && want.A > 0 && got != want {
						t.Fatalf("depth %d: pixel %d,%d is %v, want %v", depth, x, y, got, want)
					}
				}
			}
		}
	}
}

func decodePNG(t *testing.T, file []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestPaletteAndColourKeyAreTransparentWhereTheySay(t *testing.T) {
	palette := decodePNG(t, testpictures.PalettePNG(8, 4))
	for i, want := range []uint8{255, 128, 64, 0} {
		if got := color.NRGBAModel.Convert(palette.At(2*i, 1)).(color.NRGBA).A; got != want {
			t.Errorf("bar %d has alpha %d, want %d", i, got, want)
		}
	}
	key := decodePNG(t, testpictures.ColourKeyPNG(40, 40))
	if _, _, _, a := key.At(2, 2).RGBA(); a != 0 {
		t.Error("the keyed block is not transparent")
	}
	if _, _, _, a := key.At(30, 30).RGBA(); a != 0xffff {
		t.Error("the ground is not opaque")
	}
}

func TestComposedFramesFollowTheDisposalRules(t *testing.T) {
	at := func(name string, frame, x, y int) color.NRGBA {
		return testpictures.Disposals(64, 64)[name].Composed()[frame].NRGBAAt(x, y)
	}
	red, green, blue := color.NRGBA{200, 40, 40, 255}, color.NRGBA{40, 160, 60, 255}, color.NRGBA{40, 60, 200, 255}
	for _, tt := range []struct {
		name  string
		rule  string
		frame int
		x, y  int
		want  color.NRGBA
	}{
		{"none keeps the second block under the third", "none", 2, 10, 10, green},
		{"none shows the ground through the hole", "none", 1, 20, 20, red},
		{"background clears the whole ground at once", "background", 1, 60, 60, color.NRGBA{}},
		{"background clears the second block", "background", 2, 10, 10, color.NRGBA{}},
		{"previous brings the ground back", "previous", 2, 10, 10, red},
		{"previous still shows its own block", "previous", 2, 45, 45, blue},
		{"mixed clears the second block only", "mixed", 2, 10, 10, color.NRGBA{}},
		{"mixed takes the third block back", "mixed", 3, 52, 52, red},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := at(tt.rule, tt.frame, tt.x, tt.y); got != tt.want {
				t.Errorf("frame %d at %d,%d is %v, want %v", tt.frame, tt.x, tt.y, got, tt.want)
			}
		})
	}
}

func TestBombsAreWhatTheyClaim(t *testing.T) {
	t.Run("the deflated PNG holds all its pixels", func(t *testing.T) {
		if got := decodePNG(t, testpictures.DeflatedPNG(1000, 900)).Bounds(); got != image.Rect(0, 0, 1000, 900) {
			t.Errorf("decoded to %v", got)
		}
	})
	t.Run("the scan bomb is a valid grey JPEG of as many scans", func(t *testing.T) {
		file := testpictures.ScanBombJPEG(64, 200)
		img, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := img.(*image.Gray).Pix[77]; got != 128 {
			t.Errorf("grey level %d, want 128", got)
		}
		if got := bytes.Count(file, []byte{0xff, 0xda}); got != 200 {
			t.Errorf("%d scans, want 200", got)
		}
	})
	t.Run("the giants claim their size", func(t *testing.T) {
		for name, file := range map[string][]byte{
			"png": testpictures.GiantPNG(50000, 40000), "gif": testpictures.GiantGIF(50000, 40000),
			"tiff": testpictures.GiantTIFF(50000, 40000),
		} {
			c, kind, err := image.DecodeConfig(bytes.NewReader(file))
			if err != nil || kind != name || c.Width != 50000 || c.Height != 40000 {
				t.Errorf("%s: %s %dx%d, %v", name, kind, c.Width, c.Height, err)
			}
		}
	})
}

func TestWebPsDecode(t *testing.T) {
	want := color.NRGBA{120, 60, 30, 255}
	img, err := webp.Decode(bytes.NewReader(testpictures.SolidWebP(70, 40, want)))
	if err != nil {
		t.Fatal(err)
	}
	if got := color.NRGBAModel.Convert(img.At(69, 39)); img.Bounds() != image.Rect(0, 0, 70, 40) || got != want {
		t.Errorf("decoded to %v with %v, want 70x40 of %v", img.Bounds(), got, want)
	}
}

func TestTIFFDecodesToTheStoredScene(t *testing.T) {
	img, _, err := image.Decode(bytes.NewReader(testpictures.TIFF(31, 20, 6, 2)))
	if err != nil {
		t.Fatal(err)
	}
	stored := testpictures.Stored(testpictures.Scene(31, 20), 6)
	if img.Bounds() != stored.Rect || color.NRGBAModel.Convert(img.At(3, 25)) != stored.At(3, 25) {
		t.Errorf("decoded to %v with %v", img.Bounds(), img.At(3, 25))
	}
}

func TestProfilesAreWellFormed(t *testing.T) {
	for name, p := range map[string][]byte{
		"wide": testpictures.WideGamutProfile(), "swapped": testpictures.SwappedProfile(), "inks": testpictures.OddInkProfile(),
	} {
		if int(binary.BigEndian.Uint32(p)) != len(p) || string(p[36:40]) != "acsp" {
			t.Errorf("%s: the header gives a length of %d for %d bytes", name, binary.BigEndian.Uint32(p), len(p))
		}
		for i := range int(binary.BigEndian.Uint32(p[128:])) {
			entry := p[132+12*i:]
			at, n := binary.BigEndian.Uint32(entry[4:]), binary.BigEndian.Uint32(entry[8:])
			if int(at+n) > len(p) || at%4 != 0 {
				t.Errorf("%s: tag %s lies at %d+%d of %d", name, entry[:4], at, n, len(p))
			}
		}
	}
}

func TestWideGamutColoursMoveTheRightWay(t *testing.T) {
	for in, want := range map[color.NRGBA]color.NRGBA{
		{255, 255, 255, 255}: {255, 255, 255, 255},
		{128, 128, 128, 255}: {128, 128, 128, 255},
		{200, 100, 50, 255}:  {215, 93, 31, 255},
	} {
		got := testpictures.WideGamutToSRGB(in)
		for _, d := range []int{int(got.R) - int(want.R), int(got.G) - int(want.G), int(got.B) - int(want.B)} {
			if d > 2 || d < -2 {
				t.Errorf("%v becomes %v, want %v", in, got, want)
			}
		}
	}
}

func TestPackedBombInflates(t *testing.T) {
	if got := len(testpictures.PackedBomb(8 << 20)); got > 100_000 {
		t.Errorf("8 MiB of zeros pack to %d bytes", got)
	}
	if _, err := io.ReadAll(bytes.NewReader(testpictures.PackedSVG(testpictures.SVG(9, 9)))); err != nil {
		t.Error(err)
	}
}
