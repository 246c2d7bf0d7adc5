package derive_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/jobs"
)

// summary is what bulk.derive answers.
type summary struct {
	Items, Succeeded, Failed, Skipped, Resumed, Outputs int
	Bytes                                               int64
	Into                                                string
	Failures                                            []line
	Report                                              struct {
		Key   string
		Bytes int64
	}
}

// line is one of the report.
type line struct {
	Index        int
	Input        string
	Outputs      []derive.Output
	Code, Reason string
}

func (b *bench) report(t *testing.T, key string) (lines []line) {
	t.Helper()
	s := bufio.NewScanner(bytes.NewReader(b.stored(t, key)))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("line %q: %v", s.Text(), err)
		}
		lines = append(lines, l)
	}
	return lines
}

// itemRows are the checkpoints of finished items.
func (h *host) itemRows() (keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.parts {
		if !strings.HasPrefix(key, "list-") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// gallery has n pictures with names that bytes order otherwise than people do.
func gallery(n int) map[string][]byte {
	pictures := map[string][]byte{"in/notes.txt": []byte("no picture"), "in/.hidden/1.jpg": scene(30, 20), "other/1.jpg": scene(30, 20)}
	for i := range n {
		pictures[fmt.Sprintf("in/img%d.jpg", i+1)] = scene(60+i, 40)
	}
	return pictures
}

func TestBulkDeriveGoesThroughAPrefix(t *testing.T) {
	b := newBench(t, gallery(12))
	h := newHost()
	got := mustDo[summary](t, b, enqueue(t, derive.TypeBulk, "", `{"prefix":"in/","sizes":"30x0,15x0","format":"webp"}`), h)
	lines := b.report(t, got.Report.Key)
	want := summary{Items: 12, Succeeded: 12, Skipped: 2, Outputs: 24, Into: "blob", Bytes: got.Bytes, Report: got.Report}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var bytes int64
	for i, l := range lines {
		if name := fmt.Sprintf("in/img%d.jpg", i+1); l.Index != i || l.Input != name || len(l.Outputs) != 2 {
			t.Errorf("line %d is %+v; people would have %s there", i, l, name)
		}
		for _, o := range l.Outputs {
			bytes += o.Bytes
			if int64(len(b.stored(t, o.Key))) != o.Bytes {
				t.Errorf("%s is not what the report says", o.Key)
			}
		}
	}
	if bytes != got.Bytes || len(lines) != 12 {
		t.Errorf("%d lines of %d bytes, and the summary says %d", len(lines), bytes, got.Bytes)
	}
	if rows := h.itemRows(); len(rows) != 12 || !strings.HasPrefix(rows[0], "000000-") {
		t.Errorf("checkpoints %v", rows)
	}
	if last := h.progress[len(h.progress)-1]; last != (jobs.Progress{Done: 12, Total: 12}) {
		t.Errorf("the last progress is %+v", last)
	}
}

// A worker is lost in the middle; what another does is the rest, though the
// folder has changed meanwhile.
func TestBulkDeriveGoesOnWhereItStopped(t *testing.T) {
	const n = 60
	b := newBench(t, gallery(n))
	job := enqueue(t, derive.TypeBulk, "", `{"prefix":"in/","sizes":"30x0","format":"webp"}`)
	h := newHost()
	h.onSave = func(rows int) { h.lose(rows > 20) }
	if _, err := b.do(t.Context(), job, h); !errors.Is(err, jobs.ErrLeaseLost) {
		t.Fatalf("the first attempt ended with %v", err)
	}
	before, decodes, written := h.itemRows(), b.engine.runs.Load(), len(b.keys(t, "jobs"))
	if len(before) == 0 || len(before) >= n {
		t.Fatalf("%d items were saved before the lease was lost", len(before))
	}
	if over := written - len(before); over > 16+4 {
		t.Errorf("%d outputs were written and not saved", over)
	}
	b.write(t, "in/img0.jpg", scene(30, 20))

	h.onSave = nil
	h.lose(false)
	got := mustDo[summary](t, b, job, h)
	if want := (summary{Items: n, Succeeded: n, Skipped: 2, Resumed: len(before), Outputs: n, Into: "blob", Bytes: got.Bytes, Report: got.Report}); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	again := b.engine.runs.Load() - decodes
	if most := int64(n - len(before)); again > most {
		t.Errorf("%d pictures were decoded for %d that were not done", again, most)
	}
	if rows := h.itemRows(); len(rows) != n || !isSubset(before, rows) {
		t.Errorf("%d checkpoints; some of the first attempt are gone", len(rows))
	}
	t.Logf("summary: bulk.derive of %d: %d rows of job_checkpoints when the lease was lost, %d at the end; the second attempt decoded %d",
		n, len(before), len(h.itemRows()), again)
	if lines := b.report(t, got.Report.Key); len(lines) != n || lines[0].Input != "in/img1.jpg" {
		t.Errorf("%d lines, the first of %s: a changed folder has shifted the job", len(lines), lines[0].Input)
	}
}

// Also of a listing that was cut between its pages, whose last name is no text.
func TestNamesMeanTheSameInEveryAttempt(t *testing.T) {
	pictures := map[string][]byte{"in/z.jpg": scene(60, 40)}
	for _, name := range []string{"a b.jpg", "ü.jpg", "new\nline.jpg", "100%.jpg", "%41.jpg", "q?x#y.jpg", "-dash.jpg", "http:.jpg", "upload:x.jpg", "back\\slash.jpg"} {
		pictures["in/"+name] = scene(60, 40)
	}
	pictures["in/bad\xe9.jpg"] = scene(60, 40)
	b := newBench(t, pictures)
	job := enqueue(t, derive.TypeBulk, "", `{"prefix":"in/","sizes":"30x0","format":"webp"}`)
	h := newHost()
	for attempt, resumed := range []int{0, 11} {
		got := mustDo[summary](t, b, job, h)
		if got.Items != 12 || got.Succeeded != 11 || got.Failed != 1 || got.Resumed != resumed {
			t.Fatalf("attempt %d: %+v", attempt, got)
		}
		if f := got.Failures[0]; f.Input != "in/bad\ufffd.jpg" || !strings.Contains(f.Reason, "not UTF-8") {
			t.Errorf("attempt %d: failure %+v", attempt, f)
		}
	}
}

// paged is a source root of many names, which can be cut off.
type paged struct {
	names []string
	asked []string
	err   error
}

func (p *paged) List(_ context.Context, _, after string, limit int) ([]string, error) {
	p.asked = append(p.asked, after)
	if after != "" && p.err != nil {
		return nil, p.err
	}
	from, found := slices.BinarySearch(p.names, after)
	if found {
		from++
	}
	return p.names[from:min(from+limit, len(p.names))], nil
}

func TestAListingGoesOnWhereItWasCut(t *testing.T) {
	names := make([]string, 25_000)
	for i := range names {
		names[i] = fmt.Sprintf("%05d-\xff.jpg", i)
	}
	sources := &paged{names: names, err: media.Errorf(media.CodeSourceFailed, "The disk is away.")}
	b := newBench(t, nil)
	b.cfg.Lister = sources
	job := enqueue(t, derive.TypeBulk, "", `{"prefix":"","sizes":"30x0","format":"webp","max_failures":25000}`)
	h := newHost()
	_, err := b.do(t.Context(), job, h)
	wantFailure(t, err, media.CodeSourceFailed)
	sources.err = nil
	got := mustDo[summary](t, b, job, h)
	if got.Items != len(names) || got.Failed != len(names) {
		t.Errorf("%d items, %d failed", got.Items, got.Failed)
	}
	if want := []string{"", names[9_999], names[9_999], names[19_999]}; !slices.Equal(sources.asked, want) {
		t.Errorf("asked after %q", sources.asked)
	}
}

func isSubset(part, whole []string) bool {
	for _, p := range part {
		if !slices.Contains(whole, p) {
			return false
		}
	}
	return true
}

func TestBulkDeriveKeepsWhatIsDoneWhenItsWorkerDrains(t *testing.T) {
	b := newBench(t, gallery(40))
	job := enqueue(t, derive.TypeBulk, "", `{"prefix":"in/","sizes":"30x0","format":"webp"}`)
	ctx, drain := context.WithCancelCause(t.Context())
	h := newHost()
	h.onSave = func(rows int) {
		if rows > 10 {
			drain(jobs.ErrDraining)
		}
	}
	if _, err := b.do(ctx, job, h); !errors.Is(err, jobs.ErrDraining) {
		t.Fatalf("it ended with %v", err)
	}
	rows, written := len(h.itemRows()), len(b.keys(t, "jobs"))
	// Of an item that was in the making, the outputs may be there.
	if rows < written-4 {
		t.Errorf("of %d outputs only %d are saved", written, rows)
	}
	h.onSave = nil
	if got := mustDo[summary](t, b, job, h); got.Resumed != rows || got.Succeeded != 40 {
		t.Errorf("resumed %d of %d", got.Resumed, rows)
	}
}

func TestBulkDeriveCollectsFailures(t *testing.T) {
	pictures := gallery(0)
	for i := range 20 {
		pictures[fmt.Sprintf("mixed/%02d.jpg", i)] = scene(40+i, 30)
	}
	for _, name := range []string{"mixed/05.jpg", "mixed/11.jpg"} {
		pictures[name] = []byte("broken")
	}
	b := newBench(t, pictures)
	params := func(more string) string {
		return `{"prefix":"mixed/","sizes":"20x0","format":"webp"` + more + `}`
	}
	t.Run("a tenth may fail", func(t *testing.T) {
		got := mustDo[summary](t, b, enqueue(t, derive.TypeBulk, "", params("")), newHost())
		if got.Succeeded != 18 || got.Failed != 2 || len(got.Failures) != 2 {
			t.Fatalf("%+v", got)
		}
		for i, name := range []string{"mixed/05.jpg", "mixed/11.jpg"} {
			if f := got.Failures[i]; f.Input != name || f.Code != string(media.CodeUnsupported) || f.Reason == "" {
				t.Errorf("failure %+v", f)
			}
		}
		if lines := b.report(t, got.Report.Key); len(lines) != 20 || lines[5].Code == "" || lines[6].Code != "" {
			t.Errorf("%d lines", len(lines))
		}
	})
	t.Run("one more than may ends the job for good, with what is done", func(t *testing.T) {
		h := newHost()
		_, err := b.do(t.Context(), enqueue(t, derive.TypeBulk, "", params(`,"max_failures":1`)), h)
		f := wantFailure(t, err, derive.CodeFailures)
		if !f.Permanent || !strings.Contains(f.Reason, "2 of 20 items failed, and 1 may") || !strings.Contains(f.Reason, "mixed/05.jpg") {
			t.Errorf("failure %+v", f)
		}
		if len(h.itemRows()) == 0 {
			t.Error("nothing of it is kept")
		}
		b.write(t, "mixed/05.jpg", scene(45, 30))
		if got := mustDo[summary](t, b, enqueue(t, derive.TypeBulk, "", params(`,"max_failures":1`)), h); got.Succeeded != 19 || got.Failed != 1 || got.Resumed == 0 {
			t.Errorf("tried again: %+v", got)
		}
	})
	t.Run("none may fail when that is asked", func(t *testing.T) {
		_, err := b.do(t.Context(), enqueue(t, derive.TypeBulk, "", `{"inputs":["mixed/00.jpg","mixed/11.jpg"],"sizes":"20x0","max_failures":0}`), newHost())
		wantFailure(t, err, derive.CodeFailures)
	})
	t.Run("a job of which nothing was made has not succeeded", func(t *testing.T) {
		for _, inputs := range []string{`"mixed/05.jpg"`, `"mixed/05.jpg","mixed/11.jpg"`} {
			b.write(t, "mixed/05.jpg", []byte("broken"))
			_, err := b.do(t.Context(), enqueue(t, derive.TypeBulk, "", `{"inputs":[`+inputs+`],"sizes":"20x0"}`), newHost())
			wantFailure(t, err, derive.CodeFailures)
		}
	})
	t.Run("unless it was said that all may fail", func(t *testing.T) {
		got := mustDo[summary](t, b, enqueue(t, derive.TypeBulk, "", `{"inputs":["mixed/11.jpg"],"sizes":"20x0","max_failures":1}`), newHost())
		if got.Failed != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a prefix with no picture is no job", func(t *testing.T) {
		job, h := enqueue(t, derive.TypeBulk, "", `{"prefix":"nowhere/","sizes":"20x0"}`), newHost()
		_, err := b.do(t.Context(), job, h)
		if f := wantFailure(t, err, media.CodeSourceNotFound); !f.Permanent {
			t.Error("it is tried again")
		}
		b.write(t, "nowhere/a.jpg", scene(40, 30))
		if got := mustDo[summary](t, b, job, h); got.Succeeded != 1 {
			t.Errorf("when there is one, and somebody asks again: %+v", got)
		}
	})
}

// moody is a service that has an error for each ref as often as is said.
type moody struct {
	mu     sync.Mutex
	errs   map[string]error
	times  map[string]int
	asked  map[string]int
	atOnce atomic.Int32
	most   atomic.Int32
}

func (m *moody) DoAll(ctx context.Context, all []transform.Job) ([]*transform.Result, error) {
	m.most.Store(max(m.most.Load(), m.atOnce.Add(1)))
	defer m.atOnce.Add(-1)
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, media.Errorf(media.CodeCancelled, "It was.")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ref := all[0].Ref
	m.asked[ref]++
	if m.asked[ref] <= m.times[ref] {
		return nil, m.errs[ref]
	}
	return nil, nil
}

// warming asks a moody service, which makes nothing, for nothing.
func warming(m *moody) derive.Config {
	m.asked = map[string]int{}
	return derive.Config{Limits: media.DefaultLimits(), Warmer: warmer{m}, Log: discard(), Blobs: nowhere{}}
}

func TestItemsAreTriedAgain(t *testing.T) {
	busy := media.Errorf(media.CodeOverloaded, "It is busy.")
	slow := media.Errorf(media.CodeSourceTimeout, "It is slow.")
	list := func(names ...string) string {
		raw, _ := json.Marshal(names)
		return `{"into":"cache","concurrency":2,"inputs":` + string(raw) + `,"sizes":"20x0","format":"webp"}`
	}
	run := func(t *testing.T, m *moody, params string) (*host, time.Duration, error) {
		h, from := newHost(), time.Now()
		_, err := derive.Handlers(warming(m))[derive.TypeBulk].Do(t.Context(), jobs.NewTask(enqueue(t, derive.TypeBulk, "", params), h))
		return h, time.Since(from), err
	}
	t.Run("no more of them at once than was said", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &moody{}
			if _, took, err := run(t, m, list("a", "b", "c", "d", "e")); err != nil || m.most.Load() != 2 || took != 3*time.Second {
				t.Errorf("%d at once for %s, %v", m.most.Load(), took, err)
			}
		})
	})
	t.Run("a slow origin three times, and then it counts as failed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &moody{errs: map[string]error{"a": slow, "b": slow}, times: map[string]int{"a": 2, "b": 99}}
			h, _, err := run(t, m, list("a", "b", "c"))
			if err != nil || m.asked["a"] != 3 || m.asked["b"] != 3 || len(h.itemRows()) != 2 {
				t.Errorf("asked %v, %d done, %v", m.asked, len(h.itemRows()), err)
			}
		})
	})
	t.Run("when too many fail so, the job is tried again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &moody{errs: map[string]error{"a": slow, "b": slow}, times: map[string]int{"a": 99, "b": 99}}
			h, _, err := run(t, m, list("a", "b", "c"))
			if f := wantFailure(t, err, derive.CodeFailures); f.Permanent || f.Release != 0 || len(h.itemRows()) != 1 {
				t.Errorf("failure %+v with %d done", f, len(h.itemRows()))
			}
		})
	})
	t.Run("a busy service is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &moody{errs: map[string]error{"a": busy}, times: map[string]int{"a": 5}}
			if _, _, err := run(t, m, list("a")); err != nil || m.asked["a"] != 6 {
				t.Errorf("asked %v, %v", m.asked, err)
			}
		})
	})
	t.Run("but not for ever: then the job is released with what is done", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &moody{errs: map[string]error{"b": busy}, times: map[string]int{"b": 99}}
			h, _, err := run(t, m, list("a", "b", "c"))
			if f := wantFailure(t, err, media.CodeOverloaded); f.Release == 0 || len(h.itemRows()) != 2 {
				t.Errorf("failure %+v with %d done", f, len(h.itemRows()))
			}
		})
	})
	t.Run("a cancel ends it at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &moody{errs: map[string]error{"a": slow}, times: map[string]int{"a": 99}}
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := time.AfterFunc(1500*time.Millisecond, func() { cancel(jobs.ErrCancelled) })
			defer stop.Stop()
			from := time.Now()
			_, err := derive.Handlers(warming(m))[derive.TypeBulk].Do(ctx, jobs.NewTask(enqueue(t, derive.TypeBulk, "", list("a")), newHost()))
			if !errors.Is(err, jobs.ErrCancelled) || time.Since(from) != 1500*time.Millisecond {
				t.Errorf("after %s: %v", time.Since(from), err)
			}
		})
	})
}
