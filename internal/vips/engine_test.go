package vips_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"sync"
	"testing"

	"golang.org/x/image/tiff"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

// shared is the engine of all tests: a new one tries every format anew.
var shared = sync.OnceValues(func() (*vips.Engine, error) { return vips.New(vips.Config{ConcurrencyPerJob: 1}) })

// start gives the engine of this process.
func start(t testing.TB) *vips.Engine {
	t.Helper()
	engine, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// ask is a request for one size with changes.
func ask(width, height int, changes ...func(*media.Request)) media.Request {
	req := media.NewRequest()
	req.Sizes = []media.Size{{Width: width, Height: height}}
	for _, change := range changes {
		change(&req)
	}
	return req
}

// made is one finished output.
type made struct {
	transform.Made
	data []byte
}

// planFor probes src and plans req for it.
func planFor(t testing.TB, engine *vips.Engine, src []byte, req media.Request, format media.Format) *media.Plan {
	t.Helper()
	info, err := engine.Probe(t.Context(), src, media.DefaultLimits())
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	plan, err := media.NewPlan(info, req, format, engine.Abilities(), media.DefaultLimits())
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	return plan
}

// collect runs a plan and keeps what it makes, by output.
func collect(ctx context.Context, engine *vips.Engine, src, overlay []byte, plan *media.Plan) ([]made, error) {
	outputs := make([]made, len(plan.Outputs))
	buffers := make([]bytes.Buffer, len(plan.Outputs))
	err := engine.Run(ctx, src, overlay, plan, func(index int, m transform.Made) (io.Writer, error) {
		outputs[index].Made = m
		return &buffers[index], nil
	})
	for i := range buffers {
		outputs[i].data = buffers[i].Bytes()
	}
	return outputs, err
}

// renderAll makes every output of a request.
func renderAll(t testing.TB, src, overlay []byte, req media.Request, format media.Format) []made {
	t.Helper()
	engine := start(t)
	outputs, err := collect(t.Context(), engine, src, overlay, planFor(t, engine, src, req, format))
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return outputs
}

// render makes the one output of a request.
func render(t testing.TB, src []byte, req media.Request, format media.Format) made {
	t.Helper()
	return renderAll(t, src, nil, req, format)[0]
}

// picture makes the one output of a request as PNG and decodes it.
func picture(t testing.TB, src []byte, req media.Request) image.Image {
	t.Helper()
	return decode(t, media.PNG, render(t, src, req, media.PNG).data)
}

// decode reads a result with a decoder that is not libvips' where there is a
// right one in Go (that of WebP takes the colour range for JPEG's); the others
// go through the engine once more.
func decode(t testing.TB, format media.Format, data []byte) image.Image {
	t.Helper()
	decoders := map[media.Format]func(io.Reader) (image.Image, error){
		media.JPEG: jpeg.Decode, media.PNG: png.Decode, media.GIF: gif.Decode,
		media.TIFF: tiff.Decode,
	}
	read, ok := decoders[format]
	if !ok {
		return picture(t, data, ask(0, 0))
	}
	img, err := read(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("decode %s: %v", format, err)
	}
	return img
}

// sizeIs fails unless img is of that size.
func sizeIs(t testing.TB, img image.Image, width, height int) {
	t.Helper()
	if b := img.Bounds(); b.Dx() != width || b.Dy() != height {
		t.Errorf("size is %dx%d, want %dx%d", b.Dx(), b.Dy(), width, height)
	}
}

// onWhite is the colour a viewer sees at x, y on a white page.
func onWhite(img image.Image, x, y int) [3]float64 {
	r, g, b, a := img.At(img.Bounds().Min.X+x, img.Bounds().Min.Y+y).RGBA()
	white := float64(0xffff - a)
	return [3]float64{(float64(r) + white) / 257, (float64(g) + white) / 257, (float64(b) + white) / 257}
}

// distance is the mean difference of two pictures of one size, 0 to 255, as
// seen on white.
func distance(a, b image.Image) float64 {
	if a.Bounds().Size() != b.Bounds().Size() {
		return 255
	}
	var sum float64
	size := a.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			p, q := onWhite(a, x, y), onWhite(b, x, y)
			for i := range 3 {
				sum += math.Abs(p[i] - q[i])
			}
		}
	}
	return sum / float64(3*size.X*size.Y)
}

// looksLike fails unless two pictures differ by at most that on average.
func looksLike(t testing.TB, got, want image.Image, most float64) {
	t.Helper()
	if got.Bounds().Size() != want.Bounds().Size() {
		t.Errorf("size is %v, want %v", got.Bounds().Size(), want.Bounds().Size())
		return
	}
	if d := distance(got, want); d > most {
		t.Errorf("differs by %.2f on average, want at most %.2f", d, most)
	}
}

// colourIs fails unless the colour at x, y is near want.
func colourIs(t testing.TB, img image.Image, x, y int, want color.NRGBA, most float64) {
	t.Helper()
	got := color.NRGBAModel.Convert(img.At(img.Bounds().Min.X+x, img.Bounds().Min.Y+y)).(color.NRGBA)
	if math.Abs(float64(got.A)-float64(want.A)) > most {
		t.Errorf("alpha at %d,%d is %d, want %d", x, y, got.A, want.A)
		return
	}
	if want.A == 0 {
		return
	}
	for i, pair := range [][2]uint8{{got.R, want.R}, {got.G, want.G}, {got.B, want.B}} {
		if math.Abs(float64(pair[0])-float64(pair[1])) > most {
			t.Errorf("colour at %d,%d is %v, want %v (band %d)", x, y, got, want, i)
			return
		}
	}
}

// begun notes the order in which outputs begin, and drops their bytes.
func begun(order *[]int) transform.Begin {
	return func(index int, _ transform.Made) (io.Writer, error) {
		*order = append(*order, index)
		return io.Discard, nil
	}
}
