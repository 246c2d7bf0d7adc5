package originals_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
)

func fresh(d time.Duration) source.Life {
	return source.Life{Fresh: d, WhileRevalidate: -1, IfError: -1}
}

func TestWhatIsRememberedIsFetchedWhenItsBytesAreWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: fresh(time.Minute)}}), setup{})
		b.get("a")
		b.wantAsked(asked{Plain: 1, Bodies: 1})
		o := b.open("a")
		defer o.Close()
		if v, err := o.Version(t.Context()); err != nil || v != `"1"` {
			t.Errorf("version %q, %v", v, err)
		}
		b.wantAsked(asked{})
		b.wantBytes(b.load(o), "bytes")
		b.wantAsked(asked{Plain: 1, Bodies: 1})
	})
}

func TestAnotherVersionThanTheOneOpenedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "old", etag: `"1"`, life: fresh(time.Minute)}}), setup{})
		b.get("a")
		b.origin.change("a", func(p *page) { p.data, p.etag, p.bytes = "new", `"2"`, time.Second })
		b.origin.count()
		o, twin := b.open("a"), b.open("a")
		for range 2 {
			if err := o.Load(t.Context()); !errors.Is(err, originals.ErrChanged) || codeOf(err) != media.CodeSourceFailed {
				t.Fatalf("got %v", err)
			}
		}
		o.Close()
		again := b.open("a")
		defer again.Close()
		if v, err := again.Version(t.Context()); err != nil || v != `"2"` {
			t.Errorf("version %q, %v", v, err)
		}
		b.wantBytes(b.load(again), "new")
		b.wantAsked(asked{Plain: 1, Bodies: 1})
		if err := twin.Load(t.Context()); !errors.Is(err, originals.ErrChanged) {
			t.Errorf("the other share got %v", err)
		}
		twin.Close()
	})
}

func TestAVanishedOriginalIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: fresh(time.Minute)}}), setup{cfg: originals.Config{IfError: time.Hour}})
		b.get("a")
		b.origin.change("a", func(p *page) { p.fault = media.Errorf(media.CodeSourceNotFound, "No.") })
		o := b.open("a")
		defer o.Close()
		if err := o.Load(t.Context()); codeOf(err) != media.CodeSourceNotFound {
			t.Errorf("Load gave %v", err)
		}
		if _, err := b.store.Open(t.Context(), "a"); codeOf(err) != media.CodeSourceNotFound {
			t.Errorf("Open gave %v", err)
		}
	})
}

func TestACutDownloadIsNeverKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newDisk(t)
		whole := page{data: "whole and well", etag: `"1"`, life: fresh(time.Hour)}
		cut := whole
		cut.cut = 5
		b := newBench(t, newOrigin(map[string]page{"a": cut}), setup{cfg: originals.Config{Memory: 1 << 20}, disk: disk})
		for range 3 {
			o := b.open("a")
			if err := o.Load(t.Context()); codeOf(err) != media.CodeSourceFailed || o.Bytes() != nil {
				t.Errorf("a cut original gave %v and %q", err, o.Bytes())
			}
			o.Close()
		}
		if st := b.store.Stats(); st.KeptBodies != 0 || st.Disk.Entries != 0 {
			t.Errorf("it is kept: %+v", st)
		}
		b.origin.set("a", whole)
		b.wantBytes(b.get("a"), "whole and well")
	})
}

func TestOriginsThatMissTheirDeclaredLengthAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {kind: "short", data: "bytes", life: says()}}), setup{})
		o := b.open("a")
		defer o.Close()
		if err := o.Load(t.Context()); codeOf(err) != media.CodeSourceFailed {
			t.Errorf("got %v", err)
		}
	})
}

func TestBodiesInMemoryAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]page{"large": {data: strings.Repeat("x", 33<<10), etag: `"1"`, life: fresh(time.Hour)}}
		for i := range 20 {
			pages[fmt.Sprint(i)] = page{data: strings.Repeat("x", 16<<10), etag: `"1"`, life: fresh(time.Hour)}
		}
		b := newBench(t, newOrigin(pages), setup{cfg: originals.Config{Memory: 128 << 10}})
		for i := range 20 {
			b.get(fmt.Sprint(i))
		}
		b.get("large")
		if st := b.store.Stats(); st.KeptBytes != 128<<10 || st.KeptBodies != 8 || st.Remembered != 21 {
			t.Errorf("stats are %+v", st)
		}
		b.origin.count()
		b.get("19")
		b.get("12") // used again, so others go first
		b.wantAsked(asked{})
		b.get("0")
		b.get("12")
		b.wantAsked(asked{Plain: 1, Bodies: 1})
	})
}

func TestABodyInUseOutlivesItsPlaceInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]page{}
		for i := range 10 {
			pages[fmt.Sprint(i)] = page{data: strings.Repeat(fmt.Sprint(i), 16<<10), etag: `"1"`, life: fresh(time.Hour)}
		}
		b := newBench(t, newOrigin(pages), setup{cfg: originals.Config{Memory: 64 << 10}})
		held := b.open("0")
		defer held.Close()
		b.load(held)
		for i := range 10 {
			b.get(fmt.Sprint(i))
		}
		b.wantBytes(string(held.Bytes()), pages["0"].data)
	})
}

func TestMemoriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]page{}
		for i := range 50 {
			pages[fmt.Sprint(i)] = page{data: "bytes", etag: `"1"`, life: fresh(time.Hour)}
		}
		b := newBench(t, newOrigin(pages), setup{cfg: originals.Config{Memory: 1 << 20, Kept: 10}})
		for i := range 50 {
			b.get(fmt.Sprint(i))
		}
		if st := b.store.Stats(); st.Remembered != 10 || st.KeptBodies != 10 {
			t.Errorf("stats are %+v", st)
		}
	})
}

func TestWithoutAValidatorOnlyBytesAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]page{"a": {data: "bytes", life: fresh(time.Hour)}}
		b := newBench(t, newOrigin(pages), setup{cfg: originals.Config{Memory: 16 << 10}})
		b.get("a")
		b.get("a")
		b.wantAsked(asked{Plain: 1, Bodies: 1})
		for i := range 8 {
			ref := fmt.Sprint(i)
			b.origin.set(ref, page{data: "bytes", etag: `"1"`, life: fresh(time.Hour)})
			b.get(ref)
		}
		b.origin.count()
		b.get("a")
		b.wantAsked(asked{Plain: 1, Bodies: 1})
	})
}

func TestPurge(t *testing.T) {
	for _, group := range []string{cache.Group("a"), ""} {
		t.Run(fmt.Sprintf("group %q", group), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := newDisk(t)
				b := newBench(t, newOrigin(map[string]page{"a": {data: "old", etag: `"1"`, life: fresh(time.Hour)}}), setup{cfg: originals.Config{Memory: 1 << 20}, disk: disk})
				held := b.open("a")
				defer held.Close()
				b.load(held)
				synctest.Wait()
				b.origin.change("a", func(p *page) { p.data = "new" })
				b.wantBytes(b.get("a"), "old")
				if group == "" {
					if _, err := disk.Purge(""); err != nil {
						t.Fatal(err)
					}
				}
				b.store.Purge(group)
				b.origin.count()
				b.wantBytes(b.get("a"), "new")
				b.wantAsked(asked{Plain: 1, Bodies: 1})
				b.wantBytes(b.load(held), "old")
			})
		})
	}
}

func TestWhatIsUnderWayAtAPurgeIsNotForThoseWhoComeAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newDisk(t)
		b := newBench(t, newOrigin(map[string]page{"a": {data: "old", etag: `"1"`, life: fresh(time.Hour), headers: time.Second, bytes: time.Second}}), setup{cfg: originals.Config{Memory: 1 << 20}, disk: disk})
		before := make(chan string, 1)
		go func() { before <- b.get("a") }()
		synctest.Wait()
		b.store.Purge("")
		after := b.open("a") // while the first question is under way
		defer after.Close()
		b.store.Purge("")
		b.wantBytes(<-before, "old")
		b.load(after)
		synctest.Wait()
		if st := b.store.Stats(); st.KeptBodies != 0 || st.Disk.Entries != 0 || st.Remembered != 0 {
			t.Errorf("what was asked before the purge is kept: %+v", st)
		}
		b.wantAsked(asked{Plain: 2, Bodies: 2})
	})
}
