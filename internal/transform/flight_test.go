package transform_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// gated is an engine that writes all once let is closed, and notes the plans.
type gated struct {
	let   chan struct{}
	mu    sync.Mutex
	plans []*media.Plan
}

func (g *gated) run(ctx context.Context, plan *media.Plan, begin transform.Begin) error {
	g.mu.Lock()
	g.plans = append(g.plans, plan)
	g.mu.Unlock()
	select {
	case <-g.let:
		return writeSizes(ctx, plan, begin)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeSizes writes into each output how wide it is.
func writeSizes(_ context.Context, plan *media.Plan, begin transform.Begin) error {
	for i, o := range plan.Outputs {
		w, h := o.Layout.Final()
		out, err := begin(i, transform.Made{Width: w, Height: h, Frames: 1})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%d wide", w); err != nil {
			return err
		}
	}
	return nil
}

func newGated(t *testing.T, change func(*transform.Config)) (*bench, *gated) {
	b := newBench(t, change)
	g := &gated{let: make(chan struct{})}
	b.engine.run = g.run
	return b, g
}

// answer is what one ask came to.
type answer struct {
	res  *transform.Result
	err  error
	text string
}

// ask asks on a goroutine of its own and reads all of the first output.
func ask(ctx context.Context, b *bench, j transform.Job) <-chan answer {
	told := make(chan answer, 1)
	go func() {
		res, err := b.Do(ctx, j)
		a := answer{res: res, err: err}
		if err == nil {
			r := res.Outputs[0].Reader(ctx)
			var text []byte
			text, a.err = io.ReadAll(r)
			a.text = string(text)
			_ = r.Close()
			res.Close()
		}
		told <- a
	}()
	return told
}

func wide(width int) transform.Job { return job(media.Size{Width: width}) }

func TestWhoAsksForTheSameSharesTheWork(t *testing.T) {
	t.Run("sixty-four asks at once are one run of one fetch", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		var all []<-chan answer
		for range 64 {
			all = append(all, ask(t.Context(), b, wide(100)))
		}
		synctest.Wait()
		close(g.let)
		joined := 0
		for _, told := range all {
			a := <-told
			if a.err != nil || a.text != "100 wide" {
				t.Fatalf("got %q, %v", a.text, a.err)
			}
			if a.res.Joined {
				joined++
			}
		}
		if runs := b.engine.runs.Load(); runs != 1 || joined != 63 || b.source.reads != 1 {
			t.Errorf("%d runs, %d joined, %d reads; want 1, 63 and 1", runs, joined, b.source.reads)
		}
	}))
	t.Run("the first to ask may leave and the rest are served", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		ctx, leave := context.WithCancel(t.Context())
		first := ask(ctx, b, wide(100))
		synctest.Wait()
		second := ask(t.Context(), b, wide(100))
		synctest.Wait()
		leave()
		wantCode(t, (<-first).err, media.CodeCancelled)
		synctest.Wait()
		close(g.let)
		if a := <-second; a.err != nil || a.text != "100 wide" {
			t.Errorf("the follower got %q, %v", a.text, a.err)
		}
		if runs := b.engine.runs.Load(); runs != 1 {
			t.Errorf("%d runs", runs)
		}
	}))
	t.Run("the last to leave ends the work, and who comes then begins anew", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		ctx, leave := context.WithCancel(t.Context())
		first, second := ask(ctx, b, wide(100)), ask(ctx, b, wide(100))
		synctest.Wait()
		leave()
		wantCode(t, (<-first).err, media.CodeCancelled)
		wantCode(t, (<-second).err, media.CodeCancelled)
		synctest.Wait()
		if b.engine.alive.Load() != 0 {
			t.Fatal("the engine works for nobody")
		}
		third := ask(t.Context(), b, wide(100))
		synctest.Wait()
		close(g.let)
		if a := <-third; a.err != nil || a.res.Joined {
			t.Errorf("joined %v, %v", a.res.Joined, a.err)
		}
	}))
	t.Run("a failure is told to all, and is not kept", inBubble(func(t *testing.T) {
		b := newBench(t, nil)
		let := make(chan struct{})
		b.engine.run = func(context.Context, *media.Plan, transform.Begin) error {
			<-let
			return media.Errorf(media.CodeDecodeFailed, "The picture is broken.")
		}
		first, second := ask(t.Context(), b, wide(100)), ask(t.Context(), b, wide(100))
		synctest.Wait()
		close(let)
		wantCode(t, (<-first).err, media.CodeDecodeFailed)
		wantCode(t, (<-second).err, media.CodeDecodeFailed)
		b.engine.run = writeSizes
		if a := <-ask(t.Context(), b, wide(100)); a.err != nil {
			t.Errorf("the next ask got the old fault: %v", a.err)
		}
	}))
	t.Run("a reader that is late still gets all of it after the others have left", inBubble(func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.run = writeSizes
		one, err := b.Do(t.Context(), wide(100))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := mustRead(t, one.Outputs[0]); got != "100 wide" {
			t.Errorf("read %q", got)
		}
		one.Close()
	}))
	t.Run("answers that travel otherwise share the work but not the tag", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		plain, wrapped := wide(100), wide(100)
		wrapped.Request.Encoder = media.EncodeJSON
		first, second := ask(t.Context(), b, plain), ask(t.Context(), b, wrapped)
		synctest.Wait()
		close(g.let)
		one, two := <-first, <-second
		if one.err != nil || two.err != nil {
			t.Fatal(one.err, two.err)
		}
		if b.engine.runs.Load() != 1 || one.res.ETag == two.res.ETag {
			t.Errorf("%d runs, tags %q and %q", b.engine.runs.Load(), one.res.ETag, two.res.ETag)
		}
	}))
}

// busy takes the only slot until the returned function is called.
func busy(t *testing.T, b *bench) (free func()) {
	t.Helper()
	before := b.engine.run
	let := make(chan struct{})
	b.engine.run = func(ctx context.Context, p *media.Plan, begin transform.Begin) error {
		<-let
		return writeSizes(ctx, p, begin)
	}
	j := wide(400)
	j.Request.Trim = 5 // shares nothing with others
	told := ask(t.Context(), b, j)
	synctest.Wait()
	b.engine.run = before
	return func() {
		close(let)
		if a := <-told; a.err != nil {
			t.Error(a.err)
		}
	}
}

func oneSlot(c *transform.Config) { c.Jobs, c.Queue = 1, 100 }

func TestSizesThatWaitTogetherShareADecode(t *testing.T) {
	t.Run("three sizes that wait are one run, each with its own bytes", inBubble(func(t *testing.T) {
		b, g := newGated(t, oneSlot)
		close(g.let)
		free := busy(t, b)
		var all []<-chan answer
		for _, w := range []int{100, 50, 200} {
			all = append(all, ask(t.Context(), b, wide(w)))
			synctest.Wait()
		}
		free()
		tags := map[string]bool{}
		for i, w := range []int{100, 50, 200} {
			a := <-all[i]
			if want := fmt.Sprintf("%d wide", w); a.err != nil || a.text != want {
				t.Fatalf("got %q, %v; want %q", a.text, a.err, want)
			}
			if !a.res.Merged || !strings.HasPrefix(a.res.ETag, a.res.Key+".") {
				t.Errorf("merged %v with tag %q of key %q", a.res.Merged, a.res.ETag, a.res.Key)
			}
			tags[a.res.ETag] = true
		}
		if len(g.plans) != 1 || len(g.plans[0].Outputs) != 3 || len(tags) != 3 {
			t.Errorf("%d runs, %d tags", len(g.plans), len(tags))
		}
	}))
	t.Run("one that leaves takes nobody along, and one that is left alone is as if it had been", inBubble(func(t *testing.T) {
		b, g := newGated(t, oneSlot)
		close(g.let)
		free := busy(t, b)
		ctx, leave := context.WithCancel(t.Context())
		goner, stayer := ask(ctx, b, wide(200)), ask(t.Context(), b, wide(100))
		synctest.Wait()
		leave()
		wantCode(t, (<-goner).err, media.CodeCancelled)
		synctest.Wait()
		free()
		a := <-stayer
		if a.err != nil || a.text != "100 wide" || a.res.Merged || a.res.ETag != a.res.Key {
			t.Errorf("got %q, %v, merged %v", a.text, a.err, a.res.Merged)
		}
		if len(g.plans) != 1 || len(g.plans[0].Outputs) != 1 {
			t.Errorf("%d runs, the first of %d outputs", len(g.plans), len(g.plans[0].Outputs))
		}
	}))
	t.Run("nothing is made when all have left", inBubble(func(t *testing.T) {
		b, g := newGated(t, oneSlot)
		close(g.let)
		free := busy(t, b)
		ctx, leave := context.WithCancel(t.Context())
		one, two := ask(ctx, b, wide(200)), ask(ctx, b, wide(100))
		synctest.Wait()
		leave()
		wantCode(t, (<-one).err, media.CodeCancelled)
		wantCode(t, (<-two).err, media.CodeCancelled)
		free()
		waitIdle(t, b)
		if len(g.plans) != 0 {
			t.Errorf("%d runs for nobody", len(g.plans))
		}
	}))
	t.Run("what is kept of a merged run is found again with its tag", inBubble(func(t *testing.T) {
		b, g := newGated(t, oneSlot)
		close(g.let)
		free := busy(t, b)
		one, two := ask(t.Context(), b, wide(200)), ask(t.Context(), b, wide(100))
		synctest.Wait()
		free()
		first := <-one
		<-two
		synctest.Wait()
		if again := <-ask(t.Context(), b, wide(200)); again.err != nil || !again.res.CacheHit || again.res.ETag != first.res.ETag {
			t.Errorf("tag %q, was %q", again.res.ETag, first.res.ETag)
		}
	}))
	apart := map[string]func(*media.Request){
		"another crop":     func(r *media.Request) { r.Crop = &media.Rect{Width: 100, Height: 100} },
		"another rotation": func(r *media.Request) { r.Rotate = 90 },
		"a blur":           func(r *media.Request) { r.Blur = 2 },
		"a trim":           func(r *media.Request) { r.Trim = 10 },
		"a largest size":   func(r *media.Request) { r.MaxBytes = 1000 },
	}
	for name, change := range apart {
		t.Run(name+" is a run of its own", inBubble(func(t *testing.T) {
			b, g := newGated(t, oneSlot)
			close(g.let)
			free := busy(t, b)
			odd := wide(50)
			change(&odd.Request)
			one, two := ask(t.Context(), b, wide(100)), ask(t.Context(), b, odd)
			synctest.Wait()
			free()
			if a := <-one; a.err != nil || a.res.Merged {
				t.Errorf("%v", a.err)
			}
			if a := <-two; a.err != nil || a.res.Merged {
				t.Errorf("%v", a.err)
			}
			if len(g.plans) != 2 {
				t.Errorf("%d runs", len(g.plans))
			}
		}))
	}
	t.Run("an output that has no place is its own trouble", inBubble(func(t *testing.T) {
		b := newBench(t, func(c *transform.Config) { oneSlot(c); c.Limits.OutputBytes = 1000 })
		b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
			for i, o := range plan.Outputs {
				w, _ := o.Layout.Final()
				out, err := begin(i, transform.Made{Width: w})
				if err != nil {
					return err
				}
				if _, err := out.Write(make([]byte, 10*w)); err != nil {
					return err
				}
			}
			return nil
		}
		free := busy(t, b)
		small, large := ask(t.Context(), b, wide(50)), ask(t.Context(), b, wide(200))
		synctest.Wait()
		free()
		if a := <-small; a.err != nil || len(a.text) != 500 {
			t.Errorf("%d bytes, %v", len(a.text), a.err)
		}
		wantCode(t, (<-large).err, media.CodeOutputBytes)
	}))
}

func TestDoAll(t *testing.T) {
	t.Run("several jobs come from one decode even when nobody waits", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		close(g.let)
		results, err := b.DoAll(t.Context(), []transform.Job{wide(200), wide(100), wide(50)})
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range []int{200, 100, 50} {
			if got := mustRead(t, results[i].Outputs[0]); got != fmt.Sprintf("%d wide", w) {
				t.Errorf("result %d is %q", i, got)
			}
			results[i].Close()
		}
		if len(g.plans) != 1 || b.source.reads != 1 {
			t.Errorf("%d runs, %d reads", len(g.plans), b.source.reads)
		}
		waitIdle(t, b)
		if a := <-ask(t.Context(), b, wide(100)); a.err != nil || !a.res.CacheHit {
			t.Errorf("the single size is not found afterwards: %v", a.err)
		}
	}))
	t.Run("one fault fails all and leaves nothing behind", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		close(g.let)
		bad := wide(10)
		bad.Request.Crop = &media.Rect{X: 5000, Y: 5000, Width: 1, Height: 1}
		_, err := b.DoAll(t.Context(), []transform.Job{wide(200), bad})
		wantCode(t, err, media.CodeInvalidParameter)
		waitIdle(t, b)
		if n := b.Stats().Flights; n != 0 {
			t.Errorf("%d flights are left", n)
		}
	}))
}

func TestAThumbComesFromTheSameDecode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, g := newGated(t, nil)
		close(g.let)
		j := wide(200)
		j.Thumb = true
		for _, hit := range []bool{false, true} {
			res, err := b.Do(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Outputs) != 1 || res.Thumb == nil || res.CacheHit != hit {
				t.Fatalf("%d outputs, thumb %v, hit %v", len(res.Outputs), res.Thumb, res.CacheHit)
			}
			if made, err := res.Thumb.Ready(t.Context()); err != nil || made.Width != 32 || made.Height != 24 {
				t.Errorf("thumb %+v, %v", made, err)
			}
			mustRead(t, res.Thumb)
			res.Close()
			waitIdle(t, b)
		}
		if len(g.plans) != 1 {
			t.Errorf("%d runs", len(g.plans))
		}
	})
}

func TestStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		let := make(chan struct{})
		b.engine.run = func(_ context.Context, _ *media.Plan, begin transform.Begin) error {
			out, _ := begin(0, transform.Made{})
			_, _ = out.Write(bytes.Repeat([]byte("a"), 40<<10))
			<-let
			return nil
		}
		res, err := b.Do(t.Context(), wide(10))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Close()
		if _, ok := res.Outputs[0].Stored(); ok {
			t.Error("a picture under way calls itself stored")
		}
		close(let)
		waitIdle(t, b)
		all, ok := res.Outputs[0].Stored()
		if !ok {
			t.Fatal("a whole picture is not stored")
		}
		if n, err := io.Copy(io.Discard, all); n != 40<<10 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

func TestEffortFallsWithTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, g := newGated(t, func(c *transform.Config) { oneSlot(c); c.ReduceAfter = time.Nanosecond })
		close(g.let)
		free := busy(t, b)
		eased := ask(t.Context(), b, wide(100))
		synctest.Wait()
		free()
		a := <-eased
		if a.err != nil || !a.res.Reduced || g.plans[0].Outputs[0].Encode.Effort >= 4 {
			t.Fatalf("reduced %v with effort %d, %v", a.res.Reduced, g.plans[0].Outputs[0].Encode.Effort, a.err)
		}
		waitIdle(t, b)
		free = busyAgain(t, b)
		kept := <-ask(t.Context(), b, wide(100))
		if kept.err != nil || !kept.res.Reduced || !kept.res.CacheHit || kept.res.Key != a.res.Key {
			t.Errorf("the reduced one is there: reduced %v, hit %v, %v", kept.res.Reduced, kept.res.CacheHit, kept.err)
		}
		free()
		waitIdle(t, b)
		full := <-ask(t.Context(), b, wide(100))
		if full.err != nil || full.res.Reduced || full.res.CacheHit || full.res.Key == a.res.Key {
			t.Errorf("without a wait: reduced %v, hit %v, key %q after %q", full.res.Reduced, full.res.CacheHit, full.res.Key, a.res.Key)
		}
		free = busyAgain(t, b)
		again := <-ask(t.Context(), b, wide(100))
		if again.err != nil || again.res.Reduced || !again.res.CacheHit {
			t.Errorf("the full one is there: reduced %v, hit %v, %v", again.res.Reduced, again.res.CacheHit, again.err)
		}
		free()
	})
}

// busyAgain is busy with another picture, as the first is in the cache.
func busyAgain(t *testing.T, b *bench) (free func()) {
	t.Helper()
	b.source.mu.Lock()
	b.source.files["b.jpg"] = []byte("others")
	b.source.mu.Unlock()
	let := make(chan struct{})
	before := b.engine.run
	b.engine.run = func(context.Context, *media.Plan, transform.Begin) error {
		<-let
		return errors.New("enough")
	}
	j := wide(300)
	j.Ref = "b.jpg"
	told := ask(t.Context(), b, j)
	synctest.Wait()
	b.engine.run = before
	return func() {
		close(let)
		<-told
	}
}

// A handler may be in the middle of writing when its client's end is noticed.
func TestWhoHasLeftMayStillTouchWhatItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *transform.Config) { c.CacheMemory, c.Originals.Memory = 0, 0 })
		b.engine.run = writeSizes
		ctx, leave := context.WithCancel(t.Context())
		res, err := b.Do(ctx, wide(100))
		if err != nil {
			t.Fatal(err)
		}
		waitIdle(t, b)
		all, ok := res.Outputs[0].Stored()
		leave()
		synctest.Wait()
		if n := b.spools.Stats().Open; !ok || n != 1 {
			t.Errorf("stored %v, %d spools open; the one that is read must stay", ok, n)
		}
		if text, err := io.ReadAll(all); err != nil || string(text) != "100 wide" {
			t.Errorf("%q, %v", text, err)
		}
		res.Close()
		if n := b.spools.Stats().Open; n != 0 {
			t.Errorf("%d spools are open after the close: %+v", n, b.Stats())
		}
	})
}
