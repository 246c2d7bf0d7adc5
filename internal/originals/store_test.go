package originals_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
)

func TestManyAtOnceAreOneRequestAndOneBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", life: says(), headers: time.Second, bytes: time.Second}}), setup{})
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				o := b.open("a")
				defer o.Close()
				b.wantBytes(b.load(o), "bytes")
			})
		}
		all.Wait()
		b.wantAsked(asked{Plain: 1, Bodies: 1})
		if st := b.store.Stats(); st.Opens != 200 || st.Joined != 199 {
			t.Errorf("stats are %+v", st)
		}
	})
}

func TestWhoLeavesEndsNothingForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", life: says(), headers: time.Second, bytes: time.Second}}), setup{})
		impatient, leave := context.WithCancelCause(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := b.store.Open(impatient, "a")
			failed <- err
		}()
		synctest.Wait()
		got := make(chan string, 1)
		go func() { got <- b.get("a") }()
		synctest.Wait()
		leave(nil)
		if err := <-failed; codeOf(err) != media.CodeCancelled {
			t.Errorf("who left got %v", err)
		}
		b.wantBytes(<-got, "bytes")
		b.wantAsked(asked{Plain: 1, Bodies: 1})
	})
}

func TestTheQuestionEndsWithItsLastWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", life: says(), headers: time.Hour}}), setup{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.store.Open(ctx, "a"); codeOf(err) != media.CodeSourceTimeout {
			t.Errorf("got %v", err)
		}
		b.checkEmpty(false)
		b.origin.change("a", func(p *page) { p.headers = 0 })
		b.wantBytes(b.get("a"), "bytes")
	})
}

func TestTheDownloadEndsWithItsLastHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", life: says(), bytes: time.Hour}}), setup{})
		first := b.open("a")
		second := first.Retain()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := first.Load(ctx); codeOf(err) != media.CodeSourceTimeout {
			t.Errorf("got %v", err)
		}
		first.Close()
		synctest.Wait()
		if n := b.origin.left(); n != 1 {
			t.Errorf("%d bodies are open while somebody holds one", n)
		}
		second.Close()
		b.checkEmpty(false)
	})
}

func TestABodyThatNobodyWantsIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: says()}}), setup{})
		b.open("a").Close()
		b.wantAsked(asked{Plain: 1})
		b.checkEmpty(false)
	})
}

func TestALaterOpenSharesWhatIsHeldOnceTheOriginSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: says(), bytes: time.Second}}), setup{})
		first := b.open("a")
		defer first.Close()
		go func() { _ = first.Load(t.Context()) }()
		synctest.Wait()
		b.wantBytes(b.get("a"), "bytes")
		b.wantAsked(asked{Plain: 1, Conditional: 1, Unchanged: 1, Bodies: 1})
	})
}

func TestWithoutAValidatorALaterOpenAsksAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "old", life: says()}}), setup{cfg: originals.Config{Memory: 1 << 20}})
		first := b.open("a")
		defer first.Close()
		b.wantBytes(b.load(first), "old")
		old, err := first.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.origin.set("a", page{data: "new", life: says()})
		second := b.open("a")
		defer second.Close()
		b.wantBytes(b.load(second), "new")
		b.wantBytes(b.load(first), "old")
		if v, err := second.Version(t.Context()); err != nil || v == old {
			t.Errorf("version %q, %v; the old one was %q", v, err, old)
		}
		b.wantAsked(asked{Plain: 2, Bodies: 2})
	})
}

func TestFaultsAreToldToAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"gone": {headers: time.Second, fault: media.Errorf(media.CodeSourceNotFound, "No.")}}), setup{})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := b.store.Open(t.Context(), "gone"); codeOf(err) != media.CodeSourceNotFound {
					t.Errorf("got %v", err)
				}
			})
		}
		all.Wait()
		b.wantAsked(asked{Plain: 1})
	})
}

func TestOneOriginalTwiceInOneRequestNeedsOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: says()}}), setup{cfg: originals.Config{Fetches: 2}})
		picture := b.open("a")
		defer picture.Close()
		watermark := b.open("a")
		defer watermark.Close()
		b.wantBytes(b.load(watermark), "bytes")
		b.wantBytes(b.load(picture), "bytes")
		b.wantAsked(asked{Plain: 1, Conditional: 1, Unchanged: 1, Bodies: 1})
	})
}

func TestMoreFetchesThanPlacesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]page{"a": {data: "a", life: says()}, "b": {data: "b", life: says()}, "c": {data: "c", life: says()}}
		b := newBench(t, newOrigin(pages), setup{cfg: originals.Config{Fetches: 2}})
		first, second := b.open("a"), b.open("b")
		defer second.Close()
		if _, err := b.store.Open(t.Context(), "c"); codeOf(err) != media.CodeOverloaded {
			t.Errorf("got %v", err)
		}
		first.Close()
		b.wantBytes(b.get("c"), "c")
	})
}

func TestWhatCannotBeServed(t *testing.T) {
	tests := map[string]struct {
		page page
		want media.Code
	}{
		"an empty source is no picture":                    {page{life: says()}, media.CodeUnsupported},
		"a source that declares too much is not read":      {page{data: "12345678901", life: says()}, media.CodeSourceTooLarge},
		"a source that becomes too much is not read on":    {page{data: "12345678901", life: says(), openEnded: true}, media.CodeSourceTooLarge},
		"a source that is cut off is not served":           {page{data: "1234567890", life: says(), cut: 4}, media.CodeSourceFailed},
		"a source whose origin cannot be asked has a code": {page{fault: errors.New("no")}, media.CodeSourceFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newOrigin(map[string]page{"a": tt.page}), setup{cfg: originals.Config{SourceBytes: 10, Memory: 1 << 20}})
				o, err := b.store.Open(t.Context(), "a")
				if err == nil {
					defer o.Close()
					err = o.Load(t.Context())
				}
				if codeOf(err) != tt.want {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				if st := b.store.Stats(); st.KeptBodies != 0 {
					t.Error("it is kept")
				}
			})
		})
	}
}

func TestFilesAreLookedAtByEveryOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := page{kind: source.KindFile, data: "one", etag: `"1"`}
		b := newBench(t, newOrigin(map[string]page{"f": file}), setup{cfg: originals.Config{Fresh: time.Hour, WhileRevalidate: time.Hour, IfError: time.Hour}})
		held := b.open("f")
		defer held.Close()
		b.wantBytes(b.load(held), "one")
		b.wantBytes(b.get("f"), "one")
		b.wantAsked(asked{Plain: 1, Conditional: 1, Unchanged: 1, Bodies: 1})
		file.data, file.etag = "two", `"2"`
		b.origin.set("f", file)
		b.wantBytes(b.get("f"), "two")
		b.wantBytes(b.load(held), "one")
		b.wantAsked(asked{Conditional: 1, Bodies: 1})
		b.origin.change("f", func(p *page) { p.fault = media.Errorf(media.CodeSourceNotFound, "No.") })
		if _, err := b.store.Open(t.Context(), "f"); codeOf(err) != media.CodeSourceNotFound {
			t.Errorf("got %v", err)
		}
	})
}

func TestManyWhoFindAFileChangedReadItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := page{kind: source.KindFile, data: "one", etag: `"1"`}
		b := newBench(t, newOrigin(map[string]page{"f": file}), setup{})
		b.wantBytes(b.get("f"), "one")
		b.origin.set("f", page{kind: source.KindFile, data: "two", etag: `"2"`, headers: time.Second, bytes: time.Second})
		b.origin.count()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				o := b.open("f")
				defer o.Close()
				b.wantBytes(b.load(o), "two")
			})
		}
		all.Wait()
		b.wantAsked(asked{Conditional: 20, Bodies: 1})
	})
}

func TestAClosedShareSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", life: says()}}), setup{})
		o := b.open("a")
		o.Close()
		o.Close()
		if err := o.Load(t.Context()); err == nil {
			t.Error("a closed share was loaded")
		}
		if other := o.Retain(); other.Load(t.Context()) == nil {
			t.Error("a share of a closed one was loaded")
		}
		(*originals.Original)(nil).Close()
	})
}

func TestAfterRunNothingGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]page{"a": {data: "bytes", etag: `"1"`, life: says()}, "slow": {data: "slow", life: says(), bytes: time.Hour}, "never": {headers: time.Hour}}
		b := newBench(t, newOrigin(pages), setup{cfg: originals.Config{Memory: 1 << 20}})
		b.get("a")
		held := b.open("slow")
		loaded, opened := make(chan error, 1), make(chan error, 1)
		go func() { loaded <- held.Load(t.Context()) }()
		go func() {
			_, err := b.store.Open(t.Context(), "never")
			opened <- err
		}()
		synctest.Wait()
		b.end()
		if err := <-loaded; codeOf(err) != media.CodeOverloaded {
			t.Errorf("Load ended with %v", err)
		}
		if err := <-opened; err == nil {
			t.Error("Open went on")
		}
		held.Close()
		if _, err := b.store.Open(t.Context(), "a"); codeOf(err) != media.CodeOverloaded {
			t.Errorf("Open gives %v", err)
		}
		if err := b.store.Run(t.Context()); err == nil {
			t.Error("Run ran again")
		}
	})
}
