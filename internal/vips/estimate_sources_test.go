package vips_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/spillway-media/spillway/internal/testcorpus"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

// estimatedSource is a file and what is asked of it.
type estimatedSource struct {
	name, file string
	queries    []string
}

// usual is what most requests ask for, steps what some do, and entire what
// keeps the size.
var (
	usual = []string{
		"sizes=300x0&format=webp", "sizes=1200x0&format=webp", "sizes=300x0&format=jpeg", "sizes=1200x0&format=jpeg",
		"sizes=300x0&format=avif", "sizes=300x0&format=png", "sizes=300x300&fit=cover&format=webp",
	}
	steps = []string{
		"sizes=300x300&fit=cover&gravity=attention&format=webp", "sizes=300x300&fit=cover&gravity=entropy&format=webp",
		"sizes=1200x0&rotate=90&format=webp", "sizes=1200x0&blur=5&format=jpeg", "sizes=1200x0&blur=50&format=jpeg",
		"sizes=1200x0&sharpen=1&format=jpeg", "sizes=1200x0&trim=10&format=jpeg", "sizes=1200x0,600x0,300x0&format=webp",
		"sizes=1200x0,600x0,300x0&format=jpeg", "sizes=1200x0&max_bytes=60000&format=webp", "sizes=1200x0&max_bytes=60000&format=jpeg",
		"sizes=1200x1200&fit=contain&format=png", "sizes=600x0&grayscale=true&format=jpeg", "crop=100,100,800,600&format=webp",
	}
	entire = []string{"format=jpeg", "format=webp", "format=jpeg&progressive=true", "rotate=90&format=jpeg", "flip=true&format=webp"}
	codes  = []string{
		"sizes=1200x0&format=webp&effort=0", "sizes=1200x0&format=webp&effort=3", "sizes=1200x0&format=webp&effort=9", "sizes=1200x0&format=webp&lossless=true",
		"sizes=1200x0&format=png", "sizes=600x0&format=png&effort=9", "sizes=600x0&format=png&effort=0", "sizes=1200x0&format=avif", "sizes=1200x0&format=avif&effort=0",
		"sizes=600x0&format=avif&effort=4", "sizes=600x0&format=avif&lossless=true", "sizes=600x0&format=jxl", "sizes=1200x0&format=jxl", "sizes=600x0&format=jxl&effort=9",
		"sizes=600x0&format=jxl&lossless=true", "sizes=600x0&format=gif", "sizes=600x0&format=gif&effort=0", "sizes=1200x0&format=tiff", "sizes=1200x0&format=jpeg&progressive=true", "sizes=1200x0&format=jpeg&effort=0",
	}
	moving = []string{"format=webp", "format=gif", "sizes=150x0&format=webp", "sizes=150x0&format=gif", "format=jpeg", "frames=5&format=webp", "rotate=90&format=webp", "sizes=100x100&fit=cover&gravity=attention&format=webp"}
)

// estimated are pictures made here, as detailed as photographs, and those of
// the shared corpus where it is.
func estimated(tb testing.TB, dir string) []estimatedSource {
	tb.Helper()
	engine, err := vips.New(vips.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	base := filepath.Join(dir, "base.png")
	if err := os.WriteFile(base, pngOf(tb, grained(2400, 1600)), 0o600); err != nil {
		tb.Fatal(err)
	}
	made := func(name, query string) string {
		path := filepath.Join(dir, name)
		convertFile(tb, engine, base, query+"&enlarge=true&fit=fill", path)
		return path
	}
	all := func(lists ...[]string) (queries []string) {
		for _, list := range lists {
			queries = append(queries, list...)
		}
		return queries
	}
	list := []estimatedSource{
		{"jpeg12", made("12.jpg", "sizes=4200x2800&format=jpeg&quality=88"), all(usual, steps, entire, codes)},
		{"jpeg4", made("4.jpg", "sizes=2400x1600&format=jpeg&quality=85"), all(usual, entire)},
		{"jpeg24", made("24.jpg", "sizes=6000x4000&format=jpeg&quality=88"), all(usual, steps[:4])},
		{"jpeg1", made("1.jpg", "sizes=1280x853&format=jpeg&quality=80"), all(usual, steps, entire)},
		{"progressive12", made("p12.jpg", "sizes=4200x2800&format=jpeg&quality=88&progressive=true"), all(usual, steps[:3], entire[:2])},
		{"png6", made("6.png", "sizes=3000x2000&format=png"), all(usual, steps, entire[:1])},
		{"png-interlaced", made("i.png", "sizes=2000x1333&format=png&progressive=true"), usual},
		{"webp6", made("6.webp", "sizes=3000x2000&format=webp"), all(usual, steps[:3], entire[:1])},
		{"webp-lossless2", made("l.webp", "sizes=1500x1000&format=webp&lossless=true"), usual},
		{"avif6", made("6.avif", "sizes=3000x2000&format=avif"), all(usual, entire[:1])},
		{"jxl6", made("6.jxl", "sizes=3000x2000&format=jxl"), all(usual, entire[:1])},
		{"jxl-lossless2", made("l.jxl", "sizes=1500x1000&format=jxl&lossless=true"), usual[:3]},
		{"avif-lossless2", made("l.avif", "sizes=1500x1000&format=avif&lossless=true"), usual[:3]},
		{"tiff6", made("6.tif", "sizes=3000x2000&format=tiff"), all(usual, entire[:1])},
		{"gif", made("s.gif", "sizes=1000x667&format=gif"), usual},
	}
	alpha := filepath.Join(dir, "alpha.png")
	if err := os.WriteFile(alpha, pngOf(tb, feathered(grained(2000, 1500))), 0o600); err != nil {
		tb.Fatal(err)
	}
	list = append(list, estimatedSource{"png-alpha", alpha, all(usual, steps, entire[1:2])})
	moves := filepath.Join(dir, "moves.gif")
	if err := os.WriteFile(moves, panned(tb, 600, 400, 40), 0o600); err != nil {
		tb.Fatal(err)
	}
	list = append(list, estimatedSource{"gif-moving", moves, moving})
	convertFile(tb, engine, moves, "format=webp", filepath.Join(dir, "moves.webp"))
	list = append(list, estimatedSource{"webp-moving", filepath.Join(dir, "moves.webp"), moving})
	shared := testcorpus.Open[truth](tb).Folder
	for name, queries := range map[string][]string{
		"photo-12mp-canon.jpg": all(usual, steps[:1]), "photo-16mp-roses.jpg": usual, "heic-12mp-samsung-rotated.heic": usual,
		"jpeg-100-megapixel.jpg": usual[:2],
		"avif-20mp-hdr-p3.avif":  usual[:2], "avif-12mp-display-p3.avif": usual, "jp2-world.jp2": usual, "jxl-photo-8bit.jxl": usual,
		"heic-multi-image-thumbnail.heic": usual, "jpeg-ycck-with-profile.jpg": usual, "jpeg-icc-multi-segment.jpg": usual,
		"svg-logo.svgz": usual, "svg-text-unicode.svg": usual, "svg-embedded-data-uri.svg": usual, "tiff-16bit-rgba.tif": usual,
		"jpeg-webtoon-400x20000.jpg": usual[2:3], "gif-many-frames.gif": moving[:4], "webp-animated-loop-3.webp": moving[:4], "avif-grid.avif": usual[:2],
	} {
		if shared != "" {
			list = append(list, estimatedSource{name, filepath.Join(shared, "images", name), queries})
		}
	}
	return list
}

func convertFile(tb testing.TB, engine *vips.Engine, from, query, to string) {
	tb.Helper()
	src, err := os.ReadFile(from)
	if err != nil {
		tb.Fatal(err)
	}
	plan, err := planOf(engine, src, query)
	if err != nil {
		tb.Fatal(err)
	}
	file, err := os.Create(to)
	if err != nil {
		tb.Fatal(err)
	}
	if err := engine.Run(context.Background(), src, nil, plan, func(int, transform.Made) (io.Writer, error) { return file, nil }); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	if err := file.Close(); err != nil {
		tb.Fatal(err)
	}
}

// grained is the scene with detail at every scale, as photographs have it: an
// octave half as wide is half as strong. Without it codecs have nothing to do.
func grained(w, h int) *image.NRGBA {
	img := testpictures.Scene(w, h)
	for period, strength := 256, 40.0; period >= 1; period, strength = period/2, strength*0.62 {
		layer := newNoise(w/period+2, h/period+2, uint64(period))
		for y := range h {
			for x := range w {
				n := strength * layer.at(float64(x)/float64(period), float64(y)/float64(period))
				c := img.NRGBAAt(x, y)
				img.SetNRGBA(x, y, color.NRGBA{added(c.R, n), added(c.G, 0.9*n), added(c.B, 0.7*n), c.A})
			}
		}
	}
	return img
}

func added(v uint8, n float64) uint8 { return uint8(min(max(float64(v)+n, 0), 255)) }

// noise is random at whole coordinates and even between them.
type noise struct {
	width  int
	values []float64
}

func newNoise(w, h int, seed uint64) noise {
	random := rand.New(rand.NewPCG(seed, 1))
	values := make([]float64, w*h)
	for i := range values {
		values[i] = 2*random.Float64() - 1
	}
	return noise{w, values}
}

func (n noise) at(x, y float64) float64 {
	column, row := int(x), int(y)
	u, v := x-math.Floor(x), y-math.Floor(y)
	top, bottom := n.values[row*n.width+column:], n.values[(row+1)*n.width+column:]
	return (top[0]*(1-u)+top[1]*u)*(1-v) + (bottom[0]*(1-u)+bottom[1]*u)*v
}

// feathered fades out to the right.
func feathered(img *image.NRGBA) *image.NRGBA {
	bounds := img.Bounds()
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			c := img.NRGBAAt(x, y)
			c.A = uint8(255 - 255*x/bounds.Dx())
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

// panned is a view that moves over a detailed picture, frame by frame.
func panned(tb testing.TB, w, h, frames int) []byte {
	tb.Helper()
	ground := grained(w+4*frames, h)
	var animation gif.GIF
	for i := range frames {
		view := image.NewPaletted(image.Rect(0, 0, w, h), palette.WebSafe)
		draw.Draw(view, view.Rect, ground, image.Pt(4*i, 0), draw.Src)
		animation.Image, animation.Delay = append(animation.Image, view), append(animation.Delay, 4)
	}
	var file bytes.Buffer
	if err := gif.EncodeAll(&file, &animation); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

func pngOf(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var file bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&file, img); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}
