package vips_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
)

// whole has a good file of every format the engine reads, as far as one can
// be made here.
func whole(t testing.TB) map[media.Format][]byte {
	photo := testpictures.PNGOf(testpictures.Photo(200, 150), 8, testpictures.PNGRGB, false)
	files := map[media.Format][]byte{
		media.JPEG: testpictures.JPEG(testpictures.Photo(200, 150), 90),
		media.PNG:  photo,
		media.GIF:  testpictures.Disposals(200, 150)["mixed"].Bytes(),
		media.TIFF: testpictures.TIFF(200, 150, 1, 1),
		media.SVG:  testpictures.SVG(200, 150),
		media.BMP:  bmpOf(testpictures.Photo(200, 150), 24, 0),
	}
	for _, format := range []media.Format{media.WebP, media.AVIF, media.JXL} {
		files[format] = render(t, photo, ask(0, 0), format).data
	}
	return files
}

// attempt probes, plans and runs, and gives the first error.
func attempt(t testing.TB, src []byte) error {
	t.Helper()
	engine := start(t)
	info, err := engine.Probe(t.Context(), src, media.DefaultLimits())
	if err != nil {
		return err
	}
	plan, err := media.NewPlan(info, ask(50, 0), media.PNG, engine.Abilities(), media.DefaultLimits())
	if err != nil {
		return err
	}
	_, err = collect(t.Context(), engine, src, nil, plan)
	return err
}

func TestTruncatedFilesFail(t *testing.T) {
	for format, file := range whole(t) {
		for _, share := range []float64{0.2, 0.5, 0.9} {
			t.Run(fmt.Sprintf("%s cut at %.0f %%", format, share*100), func(t *testing.T) {
				wantCode(t, attempt(t, testpictures.Truncate(file, share)), media.CodeDecodeFailed)
			})
		}
	}
}

func TestDamagedFilesFailOrDecodeButNeverTakeTheProcessDown(t *testing.T) {
	allowed := map[media.Code]bool{
		media.CodeDecodeFailed: true, media.CodeUnsupported: true, media.CodePixels: true, media.CodeMetadata: true,
		media.CodeSVG: true, media.CodeFrames: true, media.CodeScans: true, media.CodeOutputSide: true,
	}
	for format, file := range whole(t) {
		t.Run(string(format), func(t *testing.T) {
			for seed := range 60 {
				damaged := append([]byte(nil), file...)
				for i := range 1 + seed%7 {
					// A fixed walk over the file, so that a failure can be repeated.
					at := (seed*7919 + i*104729) % len(damaged)
					damaged[at] ^= byte(1 << (seed % 8))
				}
				err := attempt(t, damaged)
				var told *media.Error
				if err != nil && (!errors.As(err, &told) || !allowed[told.Code]) {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

func TestWhatIsNoPictureIsRefused(t *testing.T) {
	for name, src := range map[string][]byte{
		"nothing": {}, "text": []byte("hello"), "a script": []byte("%!PS-Adobe-3.0\n(%pipe%id) (w) file\n"),
		"an empty JPEG": []byte("\xff\xd8\xff"), "half a header": []byte("\x89PNG\r\n\x1a\n\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			err := attempt(t, src)
			var told *media.Error
			if !errors.As(err, &told) || (told.Code != media.CodeUnsupported && told.Code != media.CodeDecodeFailed) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a PDF, unless allowed", func(t *testing.T) {
		wantCode(t, attempt(t, testpictures.PDF(100, 100, 1)), media.CodeUnsupported)
	})
}

func TestDetailsHoldNoWordsOfALibrary(t *testing.T) {
	for format, file := range whole(t) {
		t.Run(string(format), func(t *testing.T) {
			damaged := testpictures.Truncate(file, 0.6)
			var told *media.Error
			if err := attempt(t, damaged); !errors.As(err, &told) {
				t.Fatalf("got %v", err)
			}
			for _, word := range []string{"vips", "lib", "buffer", "0x", "error:"} {
				if strings.Contains(strings.ToLower(told.Detail), word) {
					t.Errorf("%q is in %q", word, told.Detail)
				}
			}
		})
	}
}

func TestWritersThatFailStopTheRun(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(1200, 800), 90)
	engine := start(t)
	gone := errors.New("the reader went away")
	for _, format := range media.OutputFormats() {
		plan := planFor(t, engine, src, ask(0, 0), format)
		t.Run(fmt.Sprintf("%s at its first byte", format), func(t *testing.T) {
			writes := 0
			err := engine.Run(t.Context(), src, nil, plan, func(int, transform.Made) (io.Writer, error) {
				return writerFunc(func([]byte) (int, error) { writes++; return 0, gone }), nil
			})
			if wantCode(t, err, media.CodeCancelled); !errors.Is(err, gone) {
				t.Errorf("the cause is %v", err)
			}
			if writes != 1 {
				t.Errorf("%d writes after the first failed", writes-1)
			}
		})
		t.Run(fmt.Sprintf("%s before it", format), func(t *testing.T) {
			full := media.Errorf(media.CodeOverloaded, "No room for the result.")
			err := engine.Run(t.Context(), src, nil, plan, func(int, transform.Made) (io.Writer, error) { return nil, full })
			wantCode(t, err, media.CodeOverloaded)
		})
	}
}

func TestBytesLeaveBeforeTheEncoderIsDone(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(1600, 1200), 90)
	engine := start(t)
	for _, format := range []media.Format{media.JPEG, media.PNG} {
		t.Run(string(format), func(t *testing.T) {
			var sizes []int
			err := engine.Run(t.Context(), src, nil, planFor(t, engine, src, ask(0, 0, func(r *media.Request) { r.Effort = 0 }), format),
				func(int, transform.Made) (io.Writer, error) {
					return writerFunc(func(b []byte) (int, error) { sizes = append(sizes, len(b)); return len(b), nil }), nil
				})
			if err != nil {
				t.Fatal(err)
			}
			if len(sizes) < 10 {
				t.Errorf("it came in %d pieces", len(sizes))
			}
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
