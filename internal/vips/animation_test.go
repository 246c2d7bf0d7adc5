package vips_test

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// frame makes frame number of an animation as a still of its own.
func frame(t testing.TB, src []byte, number int, changes ...func(*media.Request)) image.Image {
	t.Helper()
	return picture(t, src, ask(0, 0, append(changes, func(r *media.Request) { r.Page = number + 1 })...))
}

func TestFramesAreComposedByTheirDisposal(t *testing.T) {
	for name, animation := range testpictures.Disposals(48, 40) {
		src := animation.Bytes()
		want := animation.Composed()
		for _, format := range []media.Format{media.GIF, media.WebP} {
			out := render(t, src, ask(0, 0, func(r *media.Request) { r.Lossless = true }), format)
			if out.Frames != len(want) {
				t.Fatalf("%s as %s has %d frames, want %d", name, format, out.Frames, len(want))
			}
			for i := range want {
				t.Run(fmt.Sprintf("%s as %s, frame %d", name, format, i), func(t *testing.T) {
					looksLike(t, frame(t, out.data, i), want[i], 1)
				})
			}
		}
	}
}

func TestFramesDoNotBleedIntoEachOther(t *testing.T) {
	animation := testpictures.Disposals(400, 320)["none"]
	src := animation.Bytes()
	full := render(t, src, ask(50, 0, func(r *media.Request) { r.Lossless = true }), media.WebP)
	for i := range full.Frames {
		t.Run(fmt.Sprintf("frame %d is what it is alone", i), func(t *testing.T) {
			alone := picture(t, src, ask(50, 0, func(r *media.Request) { r.Page = i + 1 }))
			looksLike(t, frame(t, full.data, i), alone, 0)
		})
	}
}

func TestDelaysAndPlaysSurvive(t *testing.T) {
	engine := start(t)
	for _, plays := range []int{0, 1, 2, 3, 11} {
		animation := testpictures.Disposals(48, 40)["none"]
		animation.Plays = plays
		src := animation.Bytes()
		source, err := engine.Probe(t.Context(), src, media.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%d plays are read", plays), func(t *testing.T) {
			if source.Plays != plays {
				t.Errorf("read as %d", source.Plays)
			}
			var want []int
			for _, f := range animation.Frames {
				want = append(want, f.Delay)
			}
			if diff := cmp.Diff(want, source.Delays); diff != "" {
				t.Errorf("delays -want +got:\n%s", diff)
			}
		})
		for _, format := range []media.Format{media.GIF, media.WebP} {
			t.Run(fmt.Sprintf("%d plays as %s", plays, format), func(t *testing.T) {
				out := render(t, src, ask(24, 0), format)
				got, err := engine.Probe(t.Context(), out.data, media.DefaultLimits())
				if err != nil {
					t.Fatal(err)
				}
				if got.Plays != plays {
					t.Errorf("plays %d times, want %d", got.Plays, plays)
				}
				if diff := cmp.Diff(source.Delays, got.Delays); diff != "" {
					t.Errorf("delays -want +got:\n%s", diff)
				}
			})
		}
	}
}

func TestCutAnimationsKeepWholeFramesAndTheirDelays(t *testing.T) {
	animation := testpictures.Disposals(48, 40)["mixed"]
	src := animation.Bytes()
	want := animation.Composed()
	out := render(t, src, ask(0, 0, func(r *media.Request) { r.Page, r.Frames = 2, 2 }), media.GIF)
	decoded, err := gif.DecodeAll(bytes.NewReader(out.data))
	if err != nil {
		t.Fatal(err)
	}
	delays := []int{animation.Frames[1].Delay / 10, animation.Frames[2].Delay / 10}
	if diff := cmp.Diff(delays, decoded.Delay); diff != "" {
		t.Errorf("delays -want +got:\n%s", diff)
	}
	for i := range 2 {
		looksLike(t, frame(t, out.data, i), want[i+1], 1)
	}
}

func TestStepsApplyToEveryFrame(t *testing.T) {
	animation := testpictures.Disposals(96, 80)["mixed"]
	src := animation.Bytes()
	changes := map[string]func(*media.Request){
		"rotate":    func(r *media.Request) { r.Rotate = 90 },
		"cover":     func(r *media.Request) { r.Sizes = []media.Size{{Width: 30, Height: 60}}; r.Fit = media.Cover },
		"contain":   func(r *media.Request) { r.Sizes = []media.Size{{Width: 60, Height: 60}}; r.Fit = media.Contain },
		"blur":      func(r *media.Request) { r.Blur = 2 },
		"grayscale": func(r *media.Request) { r.Grayscale = true },
		"crop":      func(r *media.Request) { r.Crop = &media.Rect{X: 10, Y: 10, Width: 50, Height: 40} },
		"ground":    func(r *media.Request) { r.Background = &media.Colour{R: 1, G: 200, B: 3, A: 255} },
	}
	for name, change := range changes {
		out := render(t, src, ask(0, 0, change, func(r *media.Request) { r.Lossless = true }), media.WebP)
		for i := range out.Frames {
			t.Run(fmt.Sprintf("%s of frame %d is that of the frame alone", name, i), func(t *testing.T) {
				looksLike(t, frame(t, out.data, i), frame(t, src, i, change), 0.6)
			})
		}
	}
}

func TestSeveralAnimatedSizesComeFromOneDecode(t *testing.T) {
	animation := testpictures.Disposals(96, 80)["mixed"]
	src := animation.Bytes()
	req := ask(48, 0, func(r *media.Request) {
		r.Sizes = []media.Size{{Width: 24}, {Width: 96}, {Width: 48}}
		r.Lossless = true
	})
	outputs := renderAll(t, src, nil, req, media.WebP)
	for i, size := range req.Sizes {
		if outputs[i].Width != size.Width || outputs[i].Frames != len(animation.Frames) {
			t.Errorf("output %d is %+v", i, outputs[i].Made)
		}
		for n := range outputs[i].Frames {
			alone := picture(t, src, ask(size.Width, 0, func(r *media.Request) { r.Page = n + 1 }))
			looksLike(t, frame(t, outputs[i].data, n), alone, 4)
		}
	}
}

func TestStillFormatsTakeOneFrame(t *testing.T) {
	animation := testpictures.Disposals(48, 40)["previous"]
	src := animation.Bytes()
	want := animation.Composed()
	for _, format := range []media.Format{media.PNG, media.JPEG, media.AVIF, media.TIFF} {
		out := render(t, src, ask(0, 0, func(r *media.Request) { r.Page = 2; r.Quality = 100 }), format)
		if out.Frames != 1 || out.Height != 40 {
			t.Errorf("%s is %+v", format, out.Made)
		}
		looksLike(t, decode(t, format, out.data), want[1], 6)
	}
}
