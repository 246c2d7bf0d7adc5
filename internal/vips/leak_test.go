package vips_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestNothingIsLeftBehind(t *testing.T) {
	engine := start(t)
	files := whole(t)
	scene := func(n int) {
		for _, file := range files {
			for _, out := range media.OutputFormats() {
				src := file
				if n%3 == 1 {
					src = testpictures.Truncate(file, 0.7)
				}
				ctx, cancel := context.WithCancel(t.Context())
				info, err := engine.Probe(ctx, src, media.DefaultLimits())
				if err == nil {
					req := ask(40, 40, fit(media.Cover), gravity(media.GravityAttention), func(r *media.Request) { r.Watermark = &media.Watermark{Opacity: 0.5} })
					if n%3 == 2 {
						cancel()
					}
					if plan, err := media.NewPlan(info, req, out, engine.Abilities(), media.DefaultLimits()); err == nil {
						_, _ = collect(ctx, engine, src, files[media.PNG], plan)
						_, _ = engine.Describe(ctx, src, info)
					}
				}
				cancel()
			}
		}
	}
	scene(0) // what libraries set up once
	descriptors, goroutines := openFiles(t), runtime.NumGoroutine()
	for n := range 6 {
		scene(n)
	}
	if got := openFiles(t); got != descriptors {
		t.Errorf("%d files are open, before %d", got, descriptors)
	}
	if !settles(func() bool {
		s := engine.Stats()
		return s.MemoryBytes == 0 && s.Allocations == 0 && s.Files == 0
	}) {
		t.Errorf("libvips still holds %+v", engine.Stats())
	}
	if !settles(func() bool { return runtime.NumGoroutine() <= goroutines }) {
		t.Errorf("%d goroutines, before %d", runtime.NumGoroutine(), goroutines)
	}
}

// settles tells whether a condition comes true soon: threads of libvips free
// their buffers, and goroutines of cancelled contexts end, a moment after the
// run they served.
func settles(condition func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 5000 {
		if condition() {
			return true
		}
		<-tick.C
	}
	return false
}

func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestManyRunsAtOnceDoNotMixTheirResults(t *testing.T) {
	engine := start(t)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for n := range 4 {
				side := 40 + 10*worker
				src := testpictures.PNGOf(testpictures.Scene(3*side, 2*side), 8, testpictures.PNGRGB, false)
				if n == 3 { // a broken one among them must not spoil a neighbour
					if attempt(t, testpictures.Truncate(src, 0.5)) == nil {
						t.Error("half a file was taken for whole")
					}
					continue
				}
				for _, format := range []media.Format{media.JPEG, media.PNG, media.WebP} {
					plan := planFor(t, engine, src, ask(side, 0), format)
					outputs, err := collect(t.Context(), engine, src, nil, plan)
					if err != nil {
						t.Error(err)
						return
					}
					if outputs[0].Width != side {
						t.Errorf("worker %d got a picture of %d", worker, outputs[0].Width)
					}
					if format == media.PNG {
						looksLike(t, decode(t, format, outputs[0].data), testpictures.Scene(side, plan.Outputs[0].Layout.Height), 8)
					}
				}
			}
		})
	}
	group.Wait()
}

func TestDescribe(t *testing.T) {
	engine := start(t)
	for format, file := range whole(t) {
		t.Run(fmt.Sprintf("%s has a thumbnail of the right shape", format), func(t *testing.T) {
			info, err := engine.Probe(t.Context(), file, media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			got, err := engine.Describe(t.Context(), file, info)
			if err != nil {
				t.Fatal(err)
			}
			if got.Width != 32 || got.Height != 24 || len(got.Thumb) != 32*24*4 {
				t.Errorf("%dx%d in %d bytes", got.Width, got.Height, len(got.Thumb))
			}
		})
	}
	t.Run("the dominant colour is that of the largest part, clear ones aside", func(t *testing.T) {
		src := []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="300" height="300"><rect width="90" height="300" fill="#2040c0"/><rect x="90" width="60" height="300" fill="#c02020"/></svg>`)
		info, err := engine.Probe(t.Context(), src, media.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.Describe(t.Context(), src, info)
		if want := (media.Colour{R: 0x20, G: 0x40, B: 0xc0, A: 255}); err != nil || got.Dominant != want {
			t.Errorf("got %v, %v", got.Dominant, err)
		}
	})
	t.Run("a turned source is described upright", func(t *testing.T) {
		src := testpictures.Oriented(300, 150, 6, false)
		info, err := engine.Probe(t.Context(), src, media.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.Describe(t.Context(), src, info)
		if err != nil || got.Width != 32 || got.Height != 16 {
			t.Errorf("%dx%d, %v", got.Width, got.Height, err)
		}
	})
}
