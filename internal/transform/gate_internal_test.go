package transform

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

const patience = time.Minute

func mustAcquire(t *testing.T, g *gate, bytes int64) func() {
	t.Helper()
	release, err := g.acquire(t.Context(), bytes, patience)
	if err != nil {
		t.Fatalf("acquire %d bytes: %v", bytes, err)
	}
	return release
}

func wantCode(t *testing.T, err error, code media.Code) {
	t.Helper()
	var coded *media.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
}

func TestGate(t *testing.T) {
	t.Run("without any patience a free permit is still given", func(t *testing.T) {
		g := newGate(1, 100, 10)
		for range 200 {
			release, err := g.acquire(t.Context(), 10, 0)
			if err != nil {
				t.Fatal(err)
			}
			release()
		}
		if s := g.stats(); s.refused != 0 || s.done != 200 {
			t.Errorf("stats %+v", s)
		}
	})
	t.Run("a job larger than the whole budget is refused at once", func(t *testing.T) {
		_, err := newGate(4, 100, 10).acquire(t.Context(), 101, patience)
		wantCode(t, err, media.CodeMemory)
	})
	t.Run("permits bound how many run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(1, 100, 10)
			first := mustAcquire(t, g, 1)
			second := make(chan func())
			go func() { second <- mustAcquire(t, g, 1) }()
			synctest.Wait()
			if s := g.stats(); s.running != 1 || s.waiting != 1 {
				t.Fatalf("running %d, waiting %d; want 1 and 1", s.running, s.waiting)
			}
			first()
			(<-second)()
			if s := g.stats(); s.running != 0 || s.reserved != 0 || s.done != 2 {
				t.Fatalf("after both: %+v", s)
			}
		})
	})
	t.Run("bytes bound what runs and small jobs do not overtake a large one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(4, 95, 10) // room for the large one alone
			first := mustAcquire(t, g, 60)
			order := make(chan string, 2)
			go func() { r := mustAcquire(t, g, 90); order <- "large"; r() }()
			synctest.Wait()
			go func() { r := mustAcquire(t, g, 10); order <- "small"; r() }()
			synctest.Wait()
			if s := g.stats(); s.waiting != 2 || s.reserved != 60 {
				t.Fatalf("waiting %d, reserved %d; want 2 and 60", s.waiting, s.reserved)
			}
			first()
			synctest.Wait()
			if got := <-order + " " + <-order; got != "large small" {
				t.Fatalf("order %q", got)
			}
		})
	})
	t.Run("a full queue refuses at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(1, 100, 1)
			first := mustAcquire(t, g, 1)
			waiting := make(chan func())
			go func() { waiting <- mustAcquire(t, g, 1) }()
			synctest.Wait()
			_, err := g.acquire(t.Context(), 1, patience)
			wantCode(t, err, media.CodeOverloaded)
			first()
			(<-waiting)()
		})
	})
	t.Run("a waiter that gives up leaves the queue and lets the next one in", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(2, 100, 10)
			first := mustAcquire(t, g, 60)
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan error)
			go func() { _, err := g.acquire(ctx, 90, patience); gone <- err }()
			synctest.Wait()
			small := make(chan func())
			go func() { small <- mustAcquire(t, g, 10) }()
			synctest.Wait()
			cancel()
			wantCode(t, <-gone, media.CodeCancelled)
			(<-small)()
			first()
			if s := g.stats(); s.running != 0 || s.waiting != 0 || s.reserved != 0 {
				t.Fatalf("something was kept: %+v", s)
			}
		})
	})
	t.Run("patience ends the wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(1, 100, 10)
			first := mustAcquire(t, g, 1)
			_, err := g.acquire(t.Context(), 1, time.Second)
			wantCode(t, err, media.CodeOverloaded)
			first()
		})
	})
	t.Run("releasing twice gives back once", func(t *testing.T) {
		g := newGate(1, 100, 10)
		release := mustAcquire(t, g, 50)
		release()
		release()
		if s := g.stats(); s.running != 0 || s.reserved != 0 {
			t.Fatalf("after two releases: %+v", s)
		}
	})
	t.Run("the drain estimate follows pace and queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(1, 100, 10)
			for range 50 {
				release := mustAcquire(t, g, 1)
				time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock, not the machine's
				release()
			}
			hold := mustAcquire(t, g, 1)
			if d := g.drain(); d < 900*time.Millisecond || d > time.Second {
				t.Fatalf("drain of one running job at 1 s each: %s", d)
			}
			hold()
		})
	})
}

func TestCache(t *testing.T) {
	picture := func(key string, n int) *entry {
		return &entry{key: key, outputs: []cachedPicture{{data: make([]byte, n)}}}
	}
	t.Run("what was used last stays when room is needed", func(t *testing.T) {
		c := newCache(10 * (1000 + entryOverhead + 1))
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			c.put(picture(key, 1000))
		}
		if c.get("a") == nil {
			t.Fatal("a is missing before the cache is full")
		}
		c.put(picture("k", 1000))
		if c.get("a") == nil || c.get("b") != nil {
			t.Fatal("the least recently used entry was b and should have gone alone")
		}
	})
	t.Run("one result may not take more than an eighth", func(t *testing.T) {
		c := newCache(80_000)
		c.put(picture("big", 10_001))
		if s := c.stats(); s.entries != 0 || s.bytes != 0 {
			t.Fatalf("kept a result that is too large: %+v", s)
		}
	})
	t.Run("the same key twice counts once", func(t *testing.T) {
		c := newCache(80_000)
		c.put(picture("x", 100))
		c.put(picture("x", 200))
		if s := c.stats(); s.entries != 1 || s.bytes != 200+entryOverhead+1 {
			t.Fatalf("after two puts of one key: %+v", s)
		}
	})
}
