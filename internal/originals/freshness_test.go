package originals_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
)

// TestWhenAnOriginalIsUsedAgain opens an original, waits, and opens it again.
func TestWhenAnOriginalIsUsedAgain(t *testing.T) {
	const tag = `"1"`
	var (
		nothing   = asked{}
		unchanged = asked{Conditional: 1, Unchanged: 1}
		tried     = asked{Conditional: 1}
		anew      = asked{Plain: 1}
	)
	minute := source.Life{Fresh: time.Minute, WhileRevalidate: -1, IfError: -1}
	windows := source.Life{Fresh: time.Minute, WhileRevalidate: time.Minute, IfError: time.Hour}
	forbids := source.Life{Fresh: time.Minute} // must-revalidate
	tests := map[string]struct {
		cfg   originals.Config
		life  source.Life
		kind  string
		etag  string
		open  bool // OpenEnded
		noRun bool
		after time.Duration
		down  bool // the origin is unavailable by then
		asked asked
		stale bool
		fails bool
	}{
		"an origin that says nothing is asked each time":              {life: says(), etag: tag, asked: unchanged},
		"an origin that says nothing is believed as long as is set":   {cfg: originals.Config{Fresh: time.Minute}, life: says(), etag: tag, after: 59 * time.Second, asked: nothing},
		"and asked after that":                                        {cfg: originals.Config{Fresh: time.Minute}, life: says(), etag: tag, after: time.Minute, asked: unchanged},
		"what is fresh needs no question":                             {life: minute, etag: tag, after: 59 * time.Second, asked: nothing},
		"what is fresh no more is asked about":                        {life: minute, etag: tag, after: time.Minute, asked: unchanged},
		"an origin's word counts more than the setting":               {cfg: originals.Config{Fresh: time.Hour}, life: source.Life{Fresh: 0, WhileRevalidate: -1, IfError: -1}, etag: tag, asked: unchanged},
		"what must not be stored is not kept":                         {cfg: originals.Config{Fresh: time.Hour, IfError: time.Hour}, life: source.Life{NoStore: true}, etag: tag, asked: anew},
		"what must not be stored does not help out":                   {cfg: originals.Config{IfError: time.Hour}, life: source.Life{NoStore: true}, etag: tag, down: true, asked: anew, fails: true},
		"what may be cut is not kept, however fresh":                  {life: minute, etag: tag, open: true, asked: anew},
		"without a validator nothing can be revalidated":              {life: says(), asked: anew},
		"a file is asked about however long it is set to be fresh":    {cfg: originals.Config{Fresh: time.Hour}, kind: source.KindFile, etag: tag, asked: unchanged},
		"a store's object obeys the setting":                          {cfg: originals.Config{Fresh: time.Hour}, kind: source.KindS3, life: says(), etag: tag, after: time.Minute, asked: nothing},
		"stale in the origin's window is used while it is asked":      {life: windows, etag: tag, after: 119 * time.Second, asked: unchanged, stale: true},
		"stale after the origin's window waits for the answer":        {life: windows, etag: tag, after: 2 * time.Minute, asked: unchanged},
		"stale in the set window is used while it is asked":           {cfg: originals.Config{WhileRevalidate: time.Minute}, life: minute, etag: tag, after: 119 * time.Second, asked: unchanged, stale: true},
		"the set window begins where the set freshness ends":          {cfg: originals.Config{Fresh: time.Minute, WhileRevalidate: time.Minute}, life: says(), etag: tag, after: 119 * time.Second, asked: unchanged, stale: true},
		"an origin can forbid the set window":                         {cfg: originals.Config{WhileRevalidate: time.Hour}, life: forbids, etag: tag, after: 61 * time.Second, asked: unchanged},
		"without a validator nothing stale is used":                   {cfg: originals.Config{WhileRevalidate: time.Hour}, life: minute, after: 61 * time.Second, asked: anew},
		"a file is never used stale":                                  {cfg: originals.Config{WhileRevalidate: time.Hour}, kind: source.KindFile, etag: tag, life: says(), asked: unchanged},
		"without a Run nothing is asked in the background":            {life: windows, etag: tag, noRun: true, after: 90 * time.Second, asked: unchanged},
		"an unavailable origin is helped out in the origin's window":  {life: windows, etag: tag, after: time.Hour, down: true, asked: tried, stale: true},
		"and not after it":                                            {life: windows, etag: tag, after: time.Hour + time.Minute, down: true, asked: tried, fails: true},
		"an unavailable origin is helped out in the set window":       {cfg: originals.Config{IfError: time.Hour}, life: says(), etag: tag, after: 59 * time.Minute, down: true, asked: tried, stale: true},
		"and not after that":                                          {cfg: originals.Config{IfError: time.Hour}, life: says(), etag: tag, after: time.Hour, down: true, asked: tried, fails: true},
		"an origin can forbid to be helped out":                       {cfg: originals.Config{IfError: time.Hour}, life: forbids, etag: tag, after: time.Minute, down: true, asked: tried, fails: true},
		"without a validator nothing helps out":                       {cfg: originals.Config{IfError: time.Hour}, life: minute, after: time.Minute, down: true, asked: anew, fails: true},
		"an unavailable origin is not noticed while all is fresh":     {life: minute, etag: tag, after: time.Second, down: true, asked: nothing},
		"the background meets an unavailable origin, and nobody else": {life: windows, etag: tag, after: 90 * time.Second, down: true, asked: tried, stale: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.cfg.Memory = 1 << 20
				p := page{kind: tt.kind, etag: tt.etag, life: tt.life, openEnded: tt.open, data: "bytes"}
				b := newBench(t, newOrigin(map[string]page{"a": p}), setup{cfg: tt.cfg, noRun: tt.noRun})
				b.wantBytes(b.get("a"), "bytes")
				b.origin.count()
				b.wait(tt.after)
				if tt.down {
					b.origin.change("a", func(p *page) { p.fault = unavailable() })
				}
				o, err := b.store.Open(t.Context(), "a")
				b.wantAsked(tt.asked)
				if (err != nil) != tt.fails {
					t.Fatalf("Open gave %v", err)
				}
				if err != nil {
					return
				}
				defer o.Close()
				if o.Stale() != tt.stale {
					t.Errorf("stale is %t", o.Stale())
				}
				b.wantBytes(b.load(o), "bytes")
			})
		})
	}
}

func TestAnAnswerMakesFreshAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life := source.Life{Fresh: time.Minute, WhileRevalidate: -1, IfError: -1}
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: life, maxAge: time.Minute}}), setup{})
		b.get("a")
		b.wait(2 * time.Minute)
		b.open("a").Close()
		b.wantAsked(asked{Plain: 1, Conditional: 1, Unchanged: 1, Bodies: 1})
		b.wait(40 * time.Second)
		o := b.open("a")
		defer o.Close()
		b.wantAsked(asked{})
		if m := o.Meta(); m.MaxAge != 20*time.Second || m.Life.Fresh != 20*time.Second {
			t.Errorf("after 40 of 60 seconds it may be reused for %s and %s", m.MaxAge, m.Life.Fresh)
		}
	})
}

func TestAgeBeginsWhenTheQuestionIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life := source.Life{Fresh: time.Minute, WhileRevalidate: -1, IfError: -1}
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: life, headers: 50 * time.Second}}), setup{})
		b.open("a").Close()
		b.wait(11 * time.Second)
		b.open("a").Close()
		b.wantAsked(asked{Plain: 1, Conditional: 1, Unchanged: 1})
	})
}

func TestAnAnswerCanForbidWhatWasKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: says()}}), setup{cfg: originals.Config{Memory: 1 << 20}})
		b.get("a")
		b.origin.change("a", func(p *page) { p.life = source.Life{NoStore: true} })
		b.open("a").Close()
		if st := b.store.Stats(); st.KeptBodies != 0 || st.Remembered != 0 {
			t.Errorf("kept all the same: %+v", st)
		}
	})
}

func TestBehindAUserANewVersionIsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := originals.Config{Memory: 1 << 20, WhileRevalidate: time.Hour}
		b := newBench(t, newOrigin(map[string]page{"a": {data: "old", etag: `"1"`, life: says(), headers: time.Second, bytes: time.Second}}), setup{cfg: cfg})
		b.get("a")
		b.origin.change("a", func(p *page) { p.data, p.etag = "new", `"2"` })
		b.origin.count()
		for range 50 {
			o := b.open("a")
			if !o.Stale() {
				t.Error("it is not marked as stale")
			}
			b.wantBytes(b.load(o), "old")
			o.Close()
		}
		b.wait(3 * time.Second)
		b.wantAsked(asked{Conditional: 1, Bodies: 1})
		b.wantBytes(b.get("a"), "new")
		if st := b.store.Stats(); st.Behind != 2 || st.Stale != 51 {
			t.Errorf("stats are %+v", st)
		}
	})
}

func TestQuestionsInTheBackgroundAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]page{}
		for i := range 100 {
			pages[string(rune('A'+i))] = page{data: "bytes", etag: `"1"`, life: says()}
		}
		b := newBench(t, newOrigin(pages), setup{cfg: originals.Config{WhileRevalidate: time.Hour}})
		for ref := range pages {
			b.get(ref)
			b.origin.change(ref, func(p *page) { p.headers = time.Hour })
		}
		for ref := range pages {
			b.open(ref).Close()
		}
		if st := b.store.Stats(); st.Fetches != 16 {
			t.Errorf("%d are under way", st.Fetches)
		}
		b.end() // and Run ends them
	})
}

func TestAnOriginInTroubleIsLeftAloneForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newOrigin(map[string]page{"a": {data: "bytes", etag: `"1"`, life: says()}}), setup{cfg: originals.Config{Memory: 1 << 20, IfError: time.Hour}})
		b.get("a")
		b.origin.change("a", func(p *page) { p.fault = unavailable() })
		b.origin.count()
		for range 10 {
			b.get("a")
		}
		b.wantAsked(asked{Conditional: 1})
		b.wait(time.Second)
		b.get("a")
		b.wantAsked(asked{Conditional: 1})
	})
}

func TestChangedCountsWhatIsNotWhatItWas(t *testing.T) {
	for name, c := range map[string]struct {
		kind, etag string
		change     func(*page)
		want       uint64
	}{
		"another version at an origin":   {source.KindHTTP, `"1"`, func(p *page) { p.etag, p.data = `"2"`, "other" }, 1},
		"another version of a file":      {source.KindFile, `"1"`, func(p *page) { p.etag, p.data = `"2"`, "other" }, 1},
		"the same version":               {source.KindHTTP, `"1"`, func(*page) {}, 0},
		"what has no version to compare": {source.KindHTTP, "", func(p *page) { p.data = "other" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := page{kind: c.kind, etag: c.etag, life: says(), data: "bytes"}
				b := newBench(t, newOrigin(map[string]page{"a": p}), setup{cfg: originals.Config{Memory: 1 << 20}})
				b.wantBytes(b.get("a"), "bytes")
				b.origin.change("a", c.change)
				b.get("a")
				if got := b.store.Stats().Changed; got != c.want {
					t.Errorf("%d changed, want %d", got, c.want)
				}
			})
		})
	}
}
