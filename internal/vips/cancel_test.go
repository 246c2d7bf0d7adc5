package vips_test

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

// cpu is what this process has used so far, in all threads.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// discard takes every output and throws it away.
func discard(int, transform.Made) (io.Writer, error) { return io.Discard, nil }

// cancelAfter ends the context once the process has used so much more CPU.
func cancelAfter(ctx context.Context, used time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	until := cpu() + used
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil && cpu() < until {
			<-tick.C
		}
		cancel()
	}()
	return ctx, cancel
}

func TestCancellingGivesTheCPUBack(t *testing.T) {
	photo := testpictures.JPEG(testpictures.Photo(2000, 1500), 90)
	interlaced := testpictures.PNGOf(testpictures.Photo(1500, 1200), 8, testpictures.PNGRGB, true)
	walk := testpictures.ManyFrames(600, 400, 120)
	tests := map[string]struct {
		src    []byte
		req    media.Request
		format media.Format
	}{
		"a JPEG":                       {photo, ask(0, 0), media.JPEG},
		"a progressive JPEG":           {photo, ask(0, 0, func(r *media.Request) { r.Progressive = true }), media.JPEG},
		"a WebP":                       {photo, ask(0, 0), media.WebP},
		"a lossless WebP":              {photo, ask(1000, 0, func(r *media.Request) { r.Lossless = true }), media.WebP},
		"a PNG":                        {photo, ask(0, 0), media.PNG},
		"an animated WebP":             {walk, ask(0, 0), media.WebP},
		"an animated GIF":              {walk, ask(0, 0), media.GIF},
		"a resize in linear light":     {photo, ask(1900, 0, linear), media.JPEG},
		"a blur":                       {photo, ask(0, 0, func(r *media.Request) { r.Blur = 40 }), media.JPEG},
		"a search for a quality":       {photo, ask(0, 0, func(r *media.Request) { r.MaxBytes = 100_000 }), media.WebP},
		"a search for a likeness":      {photo, ask(0, 0, alike(0.95)), media.WebP},
		"the same on tiles":            {photo, ask(0, 0, alike(0.95)), media.JPEG},
		"an interlaced PNG being read": {interlaced, ask(100, 0), media.JPEG},
	}
	engine := start(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := planFor(t, engine, test.src, test.req, test.format)
			before := cpu()
			if err := engine.Run(t.Context(), test.src, nil, plan, discard); err != nil {
				t.Fatal(err)
			}
			full := cpu() - before

			ctx, cancel := cancelAfter(t.Context(), full/5)
			defer cancel()
			before = cpu()
			err := engine.Run(ctx, test.src, nil, plan, discard)
			used := cpu() - before
			wantCode(t, err, media.CodeCancelled)
			// A fifth was allowed; what comes on top is how long it took to
			// stop. Half of the full run leaves room for a busy machine.
			if used > full/2 {
				t.Errorf("used %v of %v", used, full)
			}
		})
	}
}

func TestContextsThatAreOverCostNothing(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(600, 400), 90)
	engine := start(t)
	for _, format := range media.OutputFormats() {
		t.Run(string(format), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := engine.Run(ctx, src, nil, planFor(t, engine, src, ask(0, 0), format), func(int, transform.Made) (io.Writer, error) {
				t.Error("an output began")
				return io.Discard, nil
			})
			wantCode(t, err, media.CodeCancelled)
		})
	}
}

func TestReasonsForStoppingAreTold(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(600, 400), 90)
	engine := start(t)
	plan := planFor(t, engine, src, ask(0, 0), media.JPEG)
	tests := map[string]struct {
		ctx  func() (context.Context, context.CancelFunc)
		want media.Code
	}{
		"a deadline is a timeout": {func() (context.Context, context.CancelFunc) {
			return context.WithDeadline(t.Context(), time.Unix(0, 0))
		}, media.CodeTimeout},
		"a cause that is an error of ours is passed on": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(media.Errorf(media.CodeOverloaded, "The server is full."))
			return ctx, func() { cancel(nil) }
		}, media.CodeOverloaded},
		"a cause that is a deadline is a timeout": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(context.DeadlineExceeded)
			return ctx, func() { cancel(nil) }
		}, media.CodeTimeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := test.ctx()
			defer cancel()
			wantCode(t, engine.Run(ctx, src, nil, plan, discard), test.want)
			if _, err := engine.Probe(ctx, src, media.DefaultLimits()); err == nil {
				t.Error("a probe went on")
			}
			if _, err := engine.Describe(ctx, src, plan.Info); err == nil {
				t.Error("a description went on")
			}
		})
	}
}

var _ transform.Engine = (*vips.Engine)(nil)

// wantCode fails unless err is a media.Error of that code.
func wantCode(t testing.TB, err error, want media.Code) {
	t.Helper()
	var told *media.Error
	if !errors.As(err, &told) || told.Code != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
