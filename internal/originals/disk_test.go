package originals_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
)

func newDisk(t *testing.T) *cache.Disk {
	t.Helper()
	disk, err := cache.OpenDisk(cache.DiskConfig{Dir: t.TempDir(), Limit: 16 << 20}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if st := disk.Stats(); st.Held != 0 {
			t.Errorf("%d entries are still held", st.Held)
		}
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// TestAfterARestart fetches an original, starts anew on the same disk, and
// opens it again.
func TestAfterARestart(t *testing.T) {
	const tag = `"1"`
	unchanged := asked{Conditional: 1, Unchanged: 1}
	anew := asked{Plain: 1, Bodies: 1}
	tests := map[string]struct {
		page  page
		cfg   originals.Config // of the second start
		after time.Duration
		then  func(*page)
		asked asked
		stale bool
		want  string // if other bytes
	}{
		"what is fresh needs no question":               {page: page{etag: tag, life: fresh(time.Hour)}, after: time.Minute},
		"what is stale is asked about":                  {page: page{etag: tag, life: fresh(time.Hour)}, after: 2 * time.Hour, asked: unchanged},
		"an origin that says nothing is asked":          {page: page{etag: tag, life: says()}, asked: unchanged},
		"what has changed is fetched":                   {page: page{etag: tag, life: says()}, then: func(p *page) { p.etag, p.data = `"2"`, "new" }, asked: asked{Conditional: 1, Bodies: 1}, want: "new"},
		"without a validator what is fresh is used":     {page: page{life: fresh(time.Hour)}, after: time.Minute},
		"without a validator what is stale is fetched":  {page: page{life: fresh(time.Hour)}, after: 2 * time.Hour, asked: anew},
		"what must not be stored is not there":          {page: page{etag: tag, life: source.Life{NoStore: true}}, asked: anew},
		"what may be cut is not there":                  {page: page{etag: tag, life: fresh(time.Hour), openEnded: true}, asked: anew},
		"files are not there":                           {page: page{kind: source.KindFile, etag: tag}, asked: anew},
		"other settings find nothing":                   {page: page{etag: tag, life: fresh(time.Hour)}, cfg: originals.Config{Scope: "other"}, asked: anew},
		"an unavailable origin is helped out":           {page: page{etag: tag, life: says()}, cfg: originals.Config{IfError: time.Hour}, then: func(p *page) { p.fault = unavailable() }, asked: asked{Conditional: 1}, stale: true},
		"what is stale in its window is asked about":    {page: page{etag: tag, life: says()}, cfg: originals.Config{WhileRevalidate: time.Hour}, asked: unchanged, stale: true},
		"what is stale is not fetched to be kept again": {page: page{etag: tag, life: says()}, cfg: originals.Config{Memory: 1 << 20}, asked: unchanged},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := newDisk(t)
				tt.page.data = strings.Repeat("bytes ", 100<<10)
				o := newOrigin(map[string]page{"a": tt.page})
				first := newBench(t, o, setup{disk: disk})
				first.get("a")
				synctest.Wait()
				first.end()
				first.wait(tt.after)
				if tt.then != nil {
					o.change("a", tt.then)
				}
				o.count()
				second := newBench(t, o, setup{cfg: tt.cfg, disk: disk})
				got := second.open("a")
				defer got.Close()
				want := tt.page.data
				if tt.want != "" {
					want = tt.want
				}
				if second.load(got) != want {
					t.Error("the bytes are others")
				}
				second.wantAsked(tt.asked)
				if got.Stale() != tt.stale {
					t.Errorf("stale is %t", got.Stale())
				}
			})
		})
	}
}

func TestBytesThatLeftMemoryComeFromTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newDisk(t)
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: says()}}), setup{disk: disk})
		b.get("a")
		synctest.Wait()
		b.origin.count()
		b.wantBytes(b.get("a"), "bytes")
		b.wantAsked(asked{Conditional: 1, Unchanged: 1})
		if st := b.store.Stats(); st.FromDisk != 1 || st.Saved != 1 {
			t.Errorf("stats are %+v", st)
		}
		b.origin.set("a", page{data: "new", etag: `"2"`, life: says()})
		b.wantBytes(b.get("a"), "new")
		synctest.Wait()
		b.wantBytes(b.get("a"), "new")
		if st := b.store.Stats(); st.Saved != 2 || st.Disk.Entries != 1 {
			t.Errorf("stats are %+v", st)
		}
	})
}

func TestAForgottenOriginalLeavesTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newDisk(t)
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: fresh(time.Hour)}}), setup{disk: disk})
		b.get("a")
		synctest.Wait()
		if st := disk.Stats(); st.Entries != 1 {
			t.Fatalf("stats are %+v", st)
		}
		b.wait(2 * time.Hour)
		b.origin.change("a", func(p *page) { p.fault = unavailable() })
		if _, err := b.store.Open(t.Context(), "a"); err == nil {
			t.Error("an unavailable origin was answered for")
		}
		if st := disk.Stats(); st.Entries != 1 {
			t.Error("trouble on the way has removed it")
		}
		b.origin.set("b", page{})
		b.origin.change("a", func(p *page) { *p = page{fault: notThere()} })
		if _, err := b.store.Open(t.Context(), "a"); err == nil {
			t.Error("it was opened all the same")
		}
		if st := disk.Stats(); st.Entries != 0 {
			t.Errorf("%d entries are left", st.Entries)
		}
	})
}

func TestWhatIsNoRecordOfOursIsRemoved(t *testing.T) {
	for name, parts := range map[string]struct {
		meta string
		data string
	}{
		"no JSON":                        {"{", "bytes"},
		"another length than was told":   {`{"Meta":{"Size":4,"ETag":"\"1\"","Life":{"Fresh":3600000000000}},"At":"2000-01-01T00:00:00Z"}`, "bytes"},
		"nothing":                        {`{"Meta":{"Size":-1,"ETag":"\"1\"","Life":{"Fresh":3600000000000}},"At":"2000-01-01T00:00:00Z"}`, ""},
		"a time that has not come yet":   {`{"Meta":{"Size":5,"Life":{"Fresh":3600000000000}},"At":"2100-01-01T00:00:00Z"}`, "bytes"},
		"a record that must not be kept": {`{"Meta":{"Size":5,"ETag":"\"1\"","OpenEnded":true,"Life":{"Fresh":3600000000000}},"At":"2000-01-01T00:00:00Z"}`, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := newDisk(t)
				group := cache.Group("a")
				if err := disk.Put("original  "+group, group, []byte(parts.meta), []byte(parts.data)); err != nil {
					t.Fatal(err)
				}
				b := newBench(t, newOrigin(map[string]page{"a": {data: "right", etag: `"1"`, life: says()}}), setup{disk: disk})
				b.wantBytes(b.get("a"), "right")
				b.wantAsked(asked{Plain: 1, Bodies: 1})
			})
		})
	}
}
