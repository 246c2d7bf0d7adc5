package bindings

import (
	"bytes"
	"context"
	"image"
	"io"
	"syscall"
	"testing"
	"time"

	govips "github.com/davidbyttow/govips/v2/vips"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

const (
	width   = 300
	quality = 60
)

// way is one way from source bytes to a WebP of the width; it gives the size.
type way struct {
	name string
	run  func(src []byte, frames int) (int, error)
}

func BenchmarkMakeThumbnail(b *testing.B) {
	engine := begin(b)
	ways := []way{
		{"ours", func(src []byte, _ int) (int, error) { return ours(engine, src) }},
		{"govips-buffer-thumbnail", bufferThumbnail},
		{"govips-reader-thumbnail", readerThumbnail},
	}
	for _, source := range sources() {
		for _, w := range ways {
			b.Run("source="+source.name+"/way="+w.name, func(b *testing.B) {
				var size int
				before := cpu(b)
				for b.Loop() {
					var err error
					if size, err = w.run(source.data, source.frames); err != nil {
						b.Fatal(err)
					}
				}
				used := cpu(b) - before
				b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}

// begin starts libvips by both bindings, with one thread a job and no cache.
func begin(b *testing.B) *vips.Engine {
	engine, err := vips.New(vips.Config{ConcurrencyPerJob: 1})
	if err != nil {
		b.Fatal(err)
	}
	govips.LoggingSettings(func(string, govips.LogLevel, string) {}, govips.LogLevelError)
	if err := govips.Startup(&govips.Config{ConcurrencyLevel: 1}); err != nil {
		b.Fatal(err)
	}
	return engine
}

type source struct {
	name   string
	data   []byte
	frames int
}

func sources() []source {
	return []source{
		{"jpeg-12mp", testpictures.JPEG(testpictures.Photo(4000, 3000), 90), 1},
		{"png-alpha-6mp", testpictures.PNGOf(alphaPhoto(3000, 2000), 8, testpictures.PNGRGBA, false), 1},
		{"gif-40-frames", testpictures.ManyFrames(600, 400, 40), 40},
	}
}

// alphaPhoto is a photograph with a soft edge to the right.
func alphaPhoto(w, h int) *image.NRGBA {
	img := testpictures.Photo(w, h)
	for y := range h {
		for x := range w {
			img.Pix[img.PixOffset(x, y)+3] = uint8(min(255, (w-1-x)*255/(w/4)))
		}
	}
	return img
}

func ours(engine *vips.Engine, src []byte) (int, error) {
	ctx, limits := context.Background(), media.DefaultLimits()
	info, err := engine.Probe(ctx, src, limits)
	if err != nil {
		return 0, err
	}
	req := media.NewRequest()
	req.Sizes, req.Quality = []media.Size{{Width: width}}, quality
	plan, err := media.NewPlan(info, req, media.WebP, engine.Abilities(), limits)
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	err = engine.Run(ctx, src, nil, plan, func(int, transform.Made) (io.Writer, error) { return &out, nil })
	return out.Len(), err
}

func bufferThumbnail(src []byte, frames int) (int, error) {
	img, err := govips.LoadThumbnailFromBuffer(src, width, 1<<20, govips.InterestingNone, govips.SizeDown, importParams(frames))
	if err != nil {
		return 0, err
	}
	defer img.Close()
	return export(img)
}

func readerThumbnail(src []byte, frames int) (int, error) {
	img, err := govips.LoadImageFromReader(bytes.NewReader(src), importParams(frames))
	if err != nil {
		return 0, err
	}
	defer img.Close()
	if err := img.ThumbnailWithSize(width, 1<<20, govips.InterestingNone, govips.SizeDown); err != nil {
		return 0, err
	}
	return export(img)
}

// importParams asks for frames only where there are several: loaders of stills
// refuse the option.
func importParams(frames int) *govips.ImportParams {
	params := govips.NewImportParams()
	if frames > 1 {
		params.NumPages.Set(frames)
	}
	return params
}

func export(img *govips.ImageRef) (int, error) {
	params := govips.NewWebpExportParams()
	params.Quality, params.StripMetadata = quality, true
	data, _, err := img.ExportWebp(params)
	return len(data), err
}

// cpu is what this process has used so far, in all threads.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
