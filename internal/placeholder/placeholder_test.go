package placeholder_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/bbrks/go-blurhash"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/placeholder"
)

// draw makes a picture by a rule for each pixel.
func draw(t testing.TB, width, height int, at func(x, y int) [4]int) placeholder.Picture {
	t.Helper()
	return take(t, paint(width, height, at))
}

func paint(width, height int, at func(x, y int) [4]int) *image.NRGBA {
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		for c, v := range at(i%width, i/width) {
			picture.Pix[4*i+c] = byte(v)
		}
	}
	return picture
}

func take(t testing.TB, picture *image.NRGBA) placeholder.Picture {
	t.Helper()
	p, err := placeholder.New(picture.Rect.Dx(), picture.Rect.Dy(), picture.Pix)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func pick(yes bool, a, b int) int {
	if yes {
		return a
	}
	return b
}

// The hashes were made by the format's own implementation in JavaScript,
// version 0.1.1.
func TestThumbHashIsThatOfItsInventor(t *testing.T) {
	tests := []struct {
		name          string
		width, height int
		at            func(x, y int) [4]int
		want          string
	}{
		{"a landscape", 32, 24, func(x, y int) [4]int { return [4]int{x*8 + y*y, y*10 + x*y, 255 - x*4 - y*5, 255} }, "nxcGRYheeYocY2YAmEjVs3BgNvX2"},
		{"a portrait", 18, 32, func(x, y int) [4]int { return [4]int{x*x + y*3, 200 - y*6, x * 14, 255} }, "m/cNVBhguYd4iHh3iHhvekcFdg=="},
		{"a square", 32, 32, func(x, y int) [4]int { return [4]int{x * x * y, y*y*5 + x, x*y*3 + y, 255} }, "3PcFDwRTM2Vxd4dyhwh3WHZyyHuPElcP"},
		{"a wide strip", 100, 9, func(x, y int) [4]int { return [4]int{x*x + y*y*7, x*3 + y, x * y, 255} }, "mxgKKZABOXhziFiIWY/Nb3c="},
		{"half clear", 24, 20, func(x, y int) [4]int { return [4]int{250, x*10 + y*y, y*10 + x*x, pick(x*3+y < 40, 255, 0)} }, "5xmHFIRXRmQQdFSImPpuyd7/aZdoh3eICA=="},
		{"a fading portrait", 16, 32, func(x, y int) [4]int {
			return [4]int{x*15 + y*y, x * y, 255 - y*7, 255 - y*y*y>>8 - x*x*3>>3 - x*x*y>>7}
		}, "HWaGUwYrMGtod3ZmYNX71W54f3h1mHc="},
		{"nothing but clear", 10, 8, func(int, int) [4]int { return [4]int{90, 90, 90, 0} }, "AAiCBIAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := draw(t, tt.width, tt.height, tt.at).ThumbHash(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The terms of a wave that is not there are rounding in the inventor's own
// hashes. What tells size, colours and scales comes before them.
func TestThumbHashOfWhatHasNoWaves(t *testing.T) {
	lines := map[string]struct {
		width, height int
		at            func(x, y int) [4]int
		want          string
	}{
		"one pixel":     {1, 1, func(int, int) [4]int { return [4]int{200, 100, 50, 255} }, "Hcs6zzII9wiIh4hwj3CI+AiIgIAICIgA"},
		"a line across": {100, 1, func(x, _ int) [4]int { return [4]int{x * 2, 255 - x*2, 128, 255} }, "4IdBAaiIiIiIiAh4d4cPiNc="},
		"a line down":   {1, 100, func(_, y int) [4]int { return [4]int{y * 2, 128, 255 - y*2, 255} }, "oMZBeRQIiIh4iIiI2HCIDYc="},
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			got, err := base64.StdEncoding.DecodeString(draw(t, line.width, line.height, line.at).ThumbHash())
			if err != nil {
				t.Fatal(err)
			}
			want, err := base64.StdEncoding.DecodeString(line.want)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) || !bytes.Equal(got[:5], want[:5]) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}

// The module is another reading of the same format. It takes milliseconds,
// which is why it is only asked here.
func TestBlurHashIsThatOfOthers(t *testing.T) {
	pictures := map[string]*image.NRGBA{
		"a landscape":   paint(32, 24, func(x, y int) [4]int { return [4]int{x*8 + y*y, y*10 + x*y, 255 - x*4 - y*5, 255} }),
		"a portrait":    paint(18, 32, func(x, y int) [4]int { return [4]int{x*x + y*3, 200 - y*6, x * 14, 255} }),
		"a square":      paint(32, 32, func(x, y int) [4]int { return [4]int{x * x * y, y*y*5 + x, x*y*3 + y, 255} }),
		"a wide strip":  paint(100, 9, func(x, y int) [4]int { return [4]int{x*x + y*y*7, x*3 + y, x * y, 255} }),
		"black":         paint(9, 7, func(int, int) [4]int { return [4]int{0, 0, 0, 255} }),
		"one pixel":     paint(1, 1, func(int, int) [4]int { return [4]int{200, 100, 50, 255} }),
		"a chess board": paint(32, 24, func(x, y int) [4]int { v := pick(x/4%2 == y/4%2, 255, 0); return [4]int{v, v, v, 255} }),
	}
	for name, picture := range pictures {
		t.Run(name, func(t *testing.T) {
			across, down := 4, 3
			if picture.Rect.Dy() > picture.Rect.Dx() {
				across, down = 3, 4
			}
			want, err := blurhash.Encode(across, down, picture)
			if err != nil {
				t.Fatal(err)
			}
			if got := take(t, picture).BlurHash(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestBlurHashShowsWhatIsClearAsWhite(t *testing.T) {
	seen, err := blurhash.Decode(draw(t, 8, 8, func(int, int) [4]int { return [4]int{0, 0, 0, 0} }).BlurHash(), 8, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, seen.At(4, 4), color.NRGBA{255, 255, 255, 255}, 3)
}

func near(t *testing.T, got color.Color, want color.NRGBA, most float64) {
	t.Helper()
	c := color.NRGBAModel.Convert(got).(color.NRGBA)
	for i, pair := range [][2]uint8{{c.R, want.R}, {c.G, want.G}, {c.B, want.B}, {c.A, want.A}} {
		if math.Abs(float64(pair[0])-float64(pair[1])) > most {
			t.Errorf("got %v, want %v (channel %d)", c, want, i)
			return
		}
	}
}

// preview reads the picture of a data URI.
func preview(t *testing.T, p placeholder.Picture) image.Image {
	t.Helper()
	uri, err := p.DataURI()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := p.DataURI(); again != uri {
		t.Error("the same picture has two URIs")
	}
	if len(uri) > 500 {
		t.Errorf("the URI has %d bytes", len(uri))
	}
	encoded, found := strings.CutPrefix(uri, "data:image/png;base64,")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil {
		t.Fatalf("%q, %v", uri, err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

func TestDataURIIsASmallPicture(t *testing.T) {
	t.Run("of the same shape and colours", func(t *testing.T) {
		got := preview(t, draw(t, 32, 24, func(x, y int) [4]int { return [4]int{x * 8, y * 10, 255 - x*4 - y*5, 255} }))
		if size := got.Bounds().Size(); size != image.Pt(16, 12) {
			t.Fatalf("size is %v", size)
		}
		for y := range 12 {
			for x := range 16 {
				near(t, got.At(x, y), color.NRGBA{uint8(16*x + 4), uint8(20*y + 5), uint8(255 - 8*x - 2 - 10*y - 2), 255}, 45)
			}
		}
	})
	t.Run("of few colours without loss", func(t *testing.T) {
		flag := func(x, y int) [4]int {
			return [4]int{pick(x < 5, 250, 0), pick(y < 5, 0, 250), 7, pick(x == 9, 0, 255)}
		}
		got := preview(t, draw(t, 10, 10, flag))
		for y := range 10 {
			for x := range 10 {
				want := flag(x, y)
				if want[3] == 0 {
					want = [4]int{}
				}
				near(t, got.At(x, y), color.NRGBA{uint8(want[0]), uint8(want[1]), uint8(want[2]), uint8(want[3])}, 0)
			}
		}
	})
	t.Run("of clear pixels that lend no colour to their neighbours", func(t *testing.T) {
		got := preview(t, draw(t, 32, 32, func(x, y int) [4]int {
			return [4]int{pick((x+y)%2 == 0, 200, 0), pick((x+y)%2 == 0, 40, 255), 40, pick((x+y)%2 == 0, 255, 0)}
		}))
		near(t, got.At(8, 8), color.NRGBA{200, 40, 40, 128}, 1)
	})
	t.Run("of any shape", func(t *testing.T) {
		for _, size := range []image.Point{{1, 1}, {100, 1}, {1, 100}, {100, 100}, {17, 16}, {3, 97}} {
			got := preview(t, draw(t, size.X, size.Y, func(x, y int) [4]int { return [4]int{x * 91 % 256, y * 57 % 256, x * y % 256, 255} }))
			if side := max(got.Bounds().Dx(), got.Bounds().Dy()); side > 16 {
				t.Errorf("%v became %v", size, got.Bounds().Size())
			}
		}
	})
}

func TestDominantColour(t *testing.T) {
	got := draw(t, 10, 10, func(x, y int) [4]int { return [4]int{pick(x < 3, 32, 200), 64, 192, pick(x > 4, 100, 255)} }).Dominant()
	if want := (media.Colour{R: 32, G: 64, B: 192, A: 255}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := draw(t, 2, 2, func(int, int) [4]int { return [4]int{9, 9, 9, 0} }).Dominant(); got != (media.Colour{}) {
		t.Errorf("a clear picture has the colour %v", got)
	}
}

func TestOnlySmallPicturesAreTaken(t *testing.T) {
	for name, bad := range map[string]struct{ width, height, bytes int }{
		"no pixels": {0, 0, 0}, "too few bytes": {2, 2, 15}, "too many": {2, 2, 17}, "too wide": {101, 1, 404}, "a negative side": {-1, -1, 4},
	} {
		if _, err := placeholder.New(bad.width, bad.height, make([]byte, bad.bytes)); !errors.Is(err, placeholder.ErrSize) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

// BenchmarkMakePlaceholder is the cost of each, of the pixels a server uses.
func BenchmarkMakePlaceholder(b *testing.B) {
	picture := draw(b, 32, 24, func(x, y int) [4]int { return [4]int{x*x + y*3, 200 - y*6, x * 8, 255} })
	for name, run := range map[string]func(){
		"blurhash":  func() { picture.BlurHash() },
		"thumbhash": func() { picture.ThumbHash() },
		"lqip":      func() { picture.DataURI() },
		"color":     func() { picture.Dominant() },
	} {
		b.Run("kind="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
