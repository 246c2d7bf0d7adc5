package transform_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// onDisk is a service over a folder, to be stopped by the function it gives.
func onDisk(t *testing.T, b *bench, dir string) (*transform.Service, func()) {
	t.Helper()
	disk, err := cache.OpenDisk(cache.DiskConfig{Dir: dir, Limit: 64 << 20}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	service, err := transform.New(b.cfg, b.engine, b.source, b.spools, transform.Stores{Results: disk}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Run(context.WithoutCancel(t.Context())) }()
	return service, func() {
		if err := service.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestResultsOutliveTheProcess(t *testing.T) {
	b := newBench(t, func(c *transform.Config) { c.CacheMemory = 0 })
	dir := t.TempDir()
	j := job(media.Size{Width: 100}, media.Size{Width: 50})
	j.Thumb = true
	var tag string
	for i, hit := range []bool{false, true} {
		service, stop := onDisk(t, b, dir)
		res, err := service.Do(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		first, second := mustRead(t, res.Outputs[0]), mustRead(t, res.Outputs[1])
		if res.CacheHit != hit || len(first) != 100 || first[0] != 'a' || second[0] != 'b' || res.Thumb == nil || res.Info.Width != 400 {
			t.Errorf("life %d: hit %v, %q, %q, %+v", i+1, res.CacheHit, first, second, res.Info)
		}
		if i == 1 && res.ETag != tag {
			t.Errorf("tag %q was %q", res.ETag, tag)
		}
		tag = res.ETag
		res.Close()
		stop() // what is to be written is written by then
	}
	if runs := b.engine.runs.Load(); runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

func TestBrokenResultsAreNeverKept(t *testing.T) {
	faults := map[string]func(b *bench){
		"a source that was cut off":  func(b *bench) { b.source.cut = true },
		"a source whose end is open": func(b *bench) { b.source.ends = true },
		"an engine that fails late": func(b *bench) {
			b.engine.run = func(_ context.Context, _ *media.Plan, begin transform.Begin) error {
				out, _ := begin(0, transform.Made{})
				_, _ = out.Write(make([]byte, 100<<10))
				return media.Errorf(media.CodeDecodeFailed, "The picture is broken further down.")
			}
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			fault(b)
			service, stop := onDisk(t, b, t.TempDir())
			if res, err := service.Do(t.Context(), job()); err == nil {
				_ = drain(t, res.Outputs[0])
				res.Close()
			}
			stop()
			if s := service.Stats(); s.Disk.Entries != 0 || s.Cache.Entries != 0 {
				t.Errorf("kept %+v and %+v", s.Cache, s.Disk)
			}
		})
	}
}

func TestPurgedResultsAreMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		for range 2 {
			res, err := b.Do(t.Context(), job())
			if err != nil {
				t.Fatal(err)
			}
			mustRead(t, res.Outputs[0])
			res.Close()
			waitIdle(t, b)
			if n := b.Stats().Cache.Entries; n != 1 {
				t.Errorf("%d entries", n)
			}
			b.Purge(cache.Group("a.jpg"))
		}
		if runs := b.engine.runs.Load(); runs != 2 {
			t.Errorf("%d runs", runs)
		}
	})
}

// What is purged is what the origin's own word does not tell apart, so that a
// result of before would be found again by its key.
func TestNothingOfBeforeAPurgeIsUsedAfterIt(t *testing.T) {
	start := func(t *testing.T) (*bench, *gated, <-chan answer) {
		b, g := newGated(t, nil)
		old := ask(t.Context(), b, wide(100))
		synctest.Wait()
		b.Purge(cache.Group("a.jpg"))
		return b, g, old
	}
	t.Run("what was under way is not kept", inBubble(func(t *testing.T) {
		b, g, old := start(t)
		close(g.let)
		if a := <-old; a.err != nil || a.text != "100 wide" {
			t.Errorf("who waited already got %q, %v", a.text, a.err)
		}
		waitIdle(t, b)
		if a := <-ask(t.Context(), b, wide(100)); a.err != nil || a.res.CacheHit {
			t.Errorf("a result of before the purge was kept: %v", a.err)
		}
	}))
	t.Run("nor is it joined, or its decode shared", inBubble(func(t *testing.T) {
		b, g := newGated(t, oneSlot)
		close(g.let)
		free := busy(t, b)
		old := ask(t.Context(), b, wide(100))
		synctest.Wait()
		b.Purge("")
		same, other := ask(t.Context(), b, wide(100)), ask(t.Context(), b, wide(50))
		synctest.Wait()
		free()
		if a := <-old; a.err != nil || a.res.Merged {
			t.Errorf("the old one: merged %v, %v", a.res.Merged, a.err)
		}
		for _, told := range []<-chan answer{same, other} {
			if a := <-told; a.err != nil || a.res.Joined || !a.res.Merged {
				t.Errorf("joined %v, merged %v, %v", a.res.Joined, a.res.Merged, a.err)
			}
		}
	}))
	t.Run("another source goes on as it was", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		first := ask(t.Context(), b, wide(100))
		synctest.Wait()
		b.Purge(cache.Group("b.jpg"))
		second := ask(t.Context(), b, wide(100))
		synctest.Wait()
		close(g.let)
		<-first
		if a := <-second; a.err != nil || !a.res.Joined {
			t.Errorf("joined %v, %v", a.res.Joined, a.err)
		}
	}))
	t.Run("what waits to be written to disk is not", func(t *testing.T) {
		b := newBench(t, func(c *transform.Config) { c.CacheMemory = 0 })
		dir := t.TempDir()
		service, stop := onDisk(t, b, dir)
		begun, let := make(chan struct{}), make(chan struct{})
		b.engine.run = func(ctx context.Context, p *media.Plan, begin transform.Begin) error {
			close(begun)
			<-let
			return writeAll(ctx, p, begin)
		}
		told := make(chan *transform.Result, 1)
		go func() { res, _ := service.Do(t.Context(), job()); told <- res }()
		<-begun
		service.Purge("")
		close(let)
		res := <-told
		mustRead(t, res.Outputs[0])
		res.Close()
		stop()
		if n := service.Stats().Disk.Entries; n != 0 {
			t.Errorf("%d entries were written after the purge", n)
		}
	})
}
