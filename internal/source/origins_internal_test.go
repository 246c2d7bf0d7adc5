package source

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spillway-media/spillway/internal/media"
)

// town is a set of origins with visitors whose coming and going is observed.
type town struct {
	*origins
	t *testing.T
}

func newTown(t *testing.T, each, all int) *town {
	t.Helper()
	return &town{newOrigins(Config{FetchesPerOrigin: each, Fetches: all}), t}
}

// mustVisit takes a place that has to be free.
func (w *town) mustVisit(name string) *visit {
	w.t.Helper()
	v, waiting, err := w.enter(name)
	if err != nil || waiting != nil {
		w.t.Fatalf("no place at %s: %v", name, err)
	}
	return v
}

// came is a visit that has been waited for.
type came struct {
	visit *visit
	err   error
}

// wait stands in line in a goroutine.
func (w *town) wait(ctx context.Context, name string) <-chan came {
	out := make(chan came, 1)
	go func() {
		v, err := w.visit(ctx, name)
		out <- came{v, err}
	}()
	synctest.Wait()
	return out
}

// arrived tells whether the wait is over.
func arrived(c <-chan came) bool {
	synctest.Wait()
	return len(c) == 1
}

// elapse lets d pass, and what was due by then happen.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (w *town) end(v *visit, kind verdictKind) {
	v.end(verdict{kind: kind})
	synctest.Wait()
}

func (w *town) want(want ...OriginStats) {
	w.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, w.stats(), cmpopts.IgnoreFields(OriginStats{}, "Until")); diff != "" {
		w.t.Error(diff)
	}
}

func wantUnavailable(t *testing.T, err error, wait time.Duration) {
	t.Helper()
	var fault *media.Error
	if !errors.As(err, &fault) || fault.Code != media.CodeSourceUnavailable || fault.RetryAfter != wait {
		t.Errorf("error = %+v, want %s after %s", err, media.CodeSourceUnavailable, wait)
	}
}

func TestPlaces(t *testing.T) {
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	run("a full origin keeps others waiting in order, and other origins not", func(t *testing.T) {
		w := newTown(t, 2, 10)
		a, b := w.mustVisit("http://slow"), w.mustVisit("http://slow")
		first, second := w.wait(t.Context(), "http://slow"), w.wait(t.Context(), "http://slow")
		w.want(OriginStats{Host: "http://slow", InFlight: 2, Waiting: 2})
		w.end(w.mustVisit("http://fast"), verdictGood)
		w.end(a, verdictGood)
		if !arrived(first) || arrived(second) {
			t.Error("the place did not go to the first in line, and to it alone")
		}
		w.end(b, verdictNone)
		w.end((<-second).visit, verdictGood)
		w.end((<-first).visit, verdictGood)
		w.want(OriginStats{Host: "http://fast"}, OriginStats{Host: "http://slow"})
	})
	run("one origin gets half of all at most", func(t *testing.T) {
		w := newTown(t, 64, 8)
		for range 4 {
			w.mustVisit("http://slow")
		}
		if _, waiting, _ := w.enter("http://slow"); waiting == nil {
			t.Error("a fifth of eight places was given")
		}
		for range 4 {
			w.mustVisit("http://fast")
		}
		if _, waiting, _ := w.enter("http://other"); waiting == nil {
			t.Error("a ninth of eight places was given")
		}
	})
	run("when all is full, the origin with the fewest places is next", func(t *testing.T) {
		w := newTown(t, 3, 6)
		var held []*visit
		for range 3 {
			held = append(held, w.mustVisit("http://a"))
		}
		for range 2 {
			w.mustVisit("http://b")
		}
		w.mustVisit("http://c")
		a, b, c := w.wait(t.Context(), "http://a"), w.wait(t.Context(), "http://b"), w.wait(t.Context(), "http://c")
		d := w.wait(t.Context(), "http://d")
		w.end(held[0], verdictGood)
		if !arrived(d) || arrived(a) || arrived(b) || arrived(c) {
			t.Error("the place did not go to the origin that had none")
		}
		w.end(held[1], verdictGood)
		if !arrived(a) || arrived(b) || arrived(c) {
			t.Error("of two that have one place each, the first in line was not served")
		}
		w.end(held[2], verdictGood)
		if !arrived(c) || arrived(b) {
			t.Error("the origin with the most places was not the last")
		}
		w.end((<-a).visit, verdictGood)
		<-b
	})
	run("a line has an end, and tells how long it is", func(t *testing.T) {
		w := newTown(t, 2, 10)
		for range 2 {
			v := w.mustVisit("http://slow")
			elapse(4 * time.Second)
			w.end(v, verdictGood)
		}
		w.mustVisit("http://slow")
		w.mustVisit("http://slow")
		for range 8 {
			if _, waiting, err := w.enter("http://slow"); waiting == nil || err != nil {
				t.Fatalf("no place in line: %v", err)
			}
		}
		_, _, err := w.enter("http://slow")
		wantUnavailable(t, err, 18*time.Second) // 9 visits of 4 s, two at a time
		w.mustVisit("http://fast")
	})
	run("who leaves the line is not missed", func(t *testing.T) {
		w := newTown(t, 2, 10)
		a := w.mustVisit("http://slow")
		w.mustVisit("http://slow")
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("gone")
		first, second := w.wait(ctx, "http://slow"), w.wait(t.Context(), "http://slow")
		cancel(reason)
		if got := <-first; !errors.Is(got.err, reason) {
			t.Errorf("error = %v", got.err)
		}
		w.end(a, verdictGood)
		if !arrived(second) {
			t.Error("the place was given to one who had left")
		}
		w.want(OriginStats{Host: "http://slow", InFlight: 2})
	})
	run("a place that comes as its waiter leaves goes on to the next", func(t *testing.T) {
		w := newTown(t, 2, 10)
		a := w.mustVisit("http://slow")
		w.mustVisit("http://slow")
		_, leaving, _ := w.enter("http://slow")
		next := w.wait(t.Context(), "http://slow")
		w.end(a, verdictGood)
		w.giveUp(leaving)
		if !arrived(next) {
			t.Error("the place is lost")
		}
		w.want(OriginStats{Host: "http://slow", InFlight: 2})
	})
	run("an end counts once", func(t *testing.T) {
		w := newTown(t, 2, 10)
		v := w.mustVisit("http://a")
		w.end(v, verdictBad)
		w.end(v, verdictBad)
		w.want(OriginStats{Host: "http://a", Failures: 1})
	})
}

func TestLinesAndBreakers(t *testing.T) {
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	fail := func(w *town, times int) {
		for range times {
			w.end(w.mustVisit("http://a"), verdictBad)
		}
	}
	run("an opening sends those who wait home, and only those of its origin", func(t *testing.T) {
		w := newTown(t, 2, 4)
		fail(w, 4)
		last := w.mustVisit("http://a")
		w.mustVisit("http://a")
		w.mustVisit("http://b")
		held := w.mustVisit("http://b")
		a, b := w.wait(t.Context(), "http://a"), w.wait(t.Context(), "http://b")
		w.end(last, verdictBad)
		wantUnavailable(t, (<-a).err, firstCoolOff)
		if arrived(b) {
			t.Error("b got a third place of two")
		}
		_, _, err := w.enter("http://a")
		wantUnavailable(t, err, firstCoolOff)
		w.want(OriginStats{Host: "http://a", InFlight: 1, Failures: 5, Open: true}, OriginStats{Host: "http://b", InFlight: 2, Waiting: 1})
		elapse(firstCoolOff)
		w.end(w.mustVisit("http://a"), verdictGood)
		w.want(OriginStats{Host: "http://a", InFlight: 1, Failures: 5}, OriginStats{Host: "http://b", InFlight: 2, Waiting: 1})
		w.end(held, verdictGood)
		<-b
	})
	run("the one that tries may have to wait for a place, and may leave", func(t *testing.T) {
		w := newTown(t, 2, 4)
		w.mustVisit("http://a")
		w.mustVisit("http://a")
		w.known["http://a"].breaker.open(time.Now(), time.Second)
		elapse(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		probe := w.wait(ctx, "http://a")
		_, _, err := w.enter("http://a")
		wantUnavailable(t, err, probeWait)
		cancel()
		<-probe
		if _, waiting, err := w.enter("http://a"); waiting == nil {
			t.Errorf("no other may try: %v", err)
		}
	})
	run("the one that tries counts as that when it had to wait", func(t *testing.T) {
		w := newTown(t, 2, 4)
		old := w.mustVisit("http://a")
		other := w.mustVisit("http://a")
		w.known["http://a"].breaker.open(time.Now(), time.Second)
		elapse(time.Second)
		probe := w.wait(t.Context(), "http://a")
		w.end(old, verdictGood)
		w.want(OriginStats{Host: "http://a", InFlight: 2, Open: true})
		w.end((<-probe).visit, verdictGood)
		w.want(OriginStats{Host: "http://a", InFlight: 1})
		w.end(other, verdictGood)
	})
	run("a breaker that is switched off opens never", func(t *testing.T) {
		w := newTown(t, 2, 4)
		w.breaking = false
		fail(w, 20)
		w.want(OriginStats{Host: "http://a", Failures: 20})
	})
}

func TestUnreadBodiesTakeNoPlace(t *testing.T) {
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	run("after a moment", func(t *testing.T) {
		w := newTown(t, 2, 4)
		a, b := w.mustVisit("http://a"), w.mustVisit("http://a")
		a.answered()
		b.answered()
		mark := w.wait(t.Context(), "http://a")
		elapse(parkAfter - 1)
		if arrived(mark) {
			t.Error("the place was taken at once")
		}
		elapse(1)
		if !arrived(mark) {
			t.Fatal("pictures whose watermark waits for a place keep theirs")
		}
		w.want(OriginStats{Host: "http://a", InFlight: 1, Unread: 2})
		w.end((<-mark).visit, verdictGood)
		for _, v := range []*visit{a, b} {
			if err := v.read(t.Context()); err != nil {
				t.Error(err)
			}
		}
		w.want(OriginStats{Host: "http://a", InFlight: 2})
		w.end(a, verdictGood)
		w.end(b, verdictGood)
		w.want(OriginStats{Host: "http://a"})
	})
	run("but one that is read at once keeps it", func(t *testing.T) {
		w := newTown(t, 2, 4)
		v := w.mustVisit("http://a")
		v.answered()
		if err := v.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		elapse(10 * parkAfter)
		w.want(OriginStats{Host: "http://a", InFlight: 1})
		w.end(v, verdictGood)
	})
	run("and one who begins to read is the next to get one", func(t *testing.T) {
		w := newTown(t, 2, 4)
		parked := w.mustVisit("http://a")
		parked.answered()
		elapse(parkAfter)
		a, b := w.mustVisit("http://a"), w.mustVisit("http://a")
		newcomer := w.wait(t.Context(), "http://a")
		read := make(chan error, 1)
		go func() { read <- parked.read(t.Context()) }()
		synctest.Wait()
		w.end(a, verdictGood)
		if err := <-read; err != nil || arrived(newcomer) {
			t.Errorf("the newcomer was served first, or %v", err)
		}
		w.end(parked, verdictGood)
		w.end((<-newcomer).visit, verdictGood)
		w.end(b, verdictGood)
		w.want(OriginStats{Host: "http://a"})
	})
	run("and one who leaves unread gives none back", func(t *testing.T) {
		w := newTown(t, 2, 4)
		parked := w.mustVisit("http://a")
		parked.answered()
		elapse(parkAfter)
		a, b := w.mustVisit("http://a"), w.mustVisit("http://a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := parked.read(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
		w.end(parked, verdictNone)
		w.want(OriginStats{Host: "http://a", InFlight: 2})
		w.end(a, verdictGood)
		w.end(b, verdictGood)
	})
	run("and one who returns is not sent home by an opening", func(t *testing.T) {
		w := newTown(t, 2, 4)
		parked := w.mustVisit("http://a")
		parked.answered()
		elapse(parkAfter)
		for range 4 {
			w.end(w.mustVisit("http://a"), verdictBad)
		}
		a, b := w.mustVisit("http://a"), w.mustVisit("http://a")
		read := make(chan error, 1)
		go func() { read <- parked.read(t.Context()) }()
		synctest.Wait()
		w.end(a, verdictBad)
		if err := <-read; err != nil {
			t.Error(err)
		}
		w.end(b, verdictBad)
		w.end(parked, verdictGood)
		w.want(OriginStats{Host: "http://a", Failures: 6, Open: true})
	})
}

func TestIdleOriginsAreForgottenBusyOnesNot(t *testing.T) {
	w := newTown(t, 2, 4)
	busy := w.mustVisit("http://busy")
	w.mustVisit("http://used").end(verdict{})
	for i := range 2 * rememberedOrigins {
		w.mustVisit(fmt.Sprintf("http://%d", i)).end(verdict{})
		if i%100 == 0 {
			w.mustVisit("http://used").end(verdict{})
		}
	}
	if n := len(w.known); n > rememberedOrigins+1 || n != w.idle.Len()+1 {
		t.Errorf("%d origins are known and %d idle", n, w.idle.Len())
	}
	if w.known["http://busy"] != busy.origin || w.known["http://used"] == nil || w.known["http://0"] != nil {
		t.Error("the wrong ones were forgotten")
	}
	busy.end(verdict{})
}
