package redisbell

import (
	"slices"
	"testing"
	"time"
)

func TestBreakerLetsOneTryAfterEachRest(t *testing.T) {
	var b breaker
	now := time.Unix(0, 0)
	turn, allowed := b.allow(now, false)
	if !allowed {
		t.Fatal("a new breaker refuses")
	}
	old := turn
	for i, ms := range []int{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		rest := time.Duration(ms) * time.Millisecond
		counts, away := b.fail(turn, now, 0.5)
		if !counts || away != (i == 0) {
			t.Errorf("failure %d: counts %v, away %v; only the first makes it away", i, counts, away)
		}
		if _, allowed := b.allow(now.Add(rest-1), false); allowed {
			t.Errorf("after failure %d somebody may try before %v are over", i, rest)
		}
		now = now.Add(rest)
		if turn, allowed = b.allow(now, false); !allowed {
			t.Fatalf("after failure %d nobody may try though %v are over", i, rest)
		}
		if _, second := b.allow(now, false); second {
			t.Errorf("after failure %d two may try at once", i)
		}
	}
	if b.ok(old) {
		t.Error("an answer of long ago closes it")
	}
	if !b.ok(turn) {
		t.Error("the answer of who was let through does not close it")
	}
	if _, allowed := b.allow(now, false); !allowed {
		t.Error("a closed breaker refuses")
	}
	if counts, _ := b.fail(turn, now, 0.5); counts {
		t.Error("a failure of before opens it again")
	}
}

// A standby answers a ping, so that it is back, and refuses what comes then.
func TestBreakerRestsLongerEachTimeThoughPingsAreAnswered(t *testing.T) {
	var b breaker
	now := time.Unix(0, 0)
	for i, ms := range []int{100, 200, 400, 800, 1600, 3200, 5000, 5000, 100} {
		if ms == 100 {
			now = now.Add(time.Minute) // it was steady
		}
		turn, _ := b.allow(now, false)
		b.fail(turn, now, 0.5)
		if _, until := b.state(); until.Sub(now) != time.Duration(ms)*time.Millisecond {
			t.Errorf("rest %d takes %v, want %d ms", i, until.Sub(now), ms)
		}
		_, now = b.state()
		if turn, _ = b.allow(now, false); !b.ok(turn) {
			t.Fatal("a ping that is answered does not close it")
		}
	}
}

func TestBreakerLetsThroughWhoInsists(t *testing.T) {
	var b breaker
	now := time.Unix(0, 0)
	turn, _ := b.allow(now, false)
	b.fail(turn, now, 0)
	turn, allowed := b.allow(now, true)
	if !allowed || !b.ok(turn) {
		t.Error("who insists is refused, or its answer does not count")
	}
}

func TestBreakerRestsAreSpread(t *testing.T) {
	var low, high breaker
	now := time.Unix(0, 0)
	low.fail(0, now, 0)
	high.fail(0, now, 0.999)
	_, soon := low.state()
	_, late := high.state()
	if soon.Sub(now) != 75*time.Millisecond || late.Sub(now) < 124*time.Millisecond {
		t.Errorf("rests are %v to %v, want a quarter either way of 100 ms", soon.Sub(now), late.Sub(now))
	}
}

func TestQuietGrowsWithFalseTokensAndIsForgotten(t *testing.T) {
	var q quiet
	now := time.Unix(0, 0)
	until := now.Add(time.Hour)
	both := []string{"images", "bulk"}
	var rests []time.Duration
	for range 8 {
		q.mistrust("images", now)
		heard, next := q.audible(both, now, until)
		if !slices.Equal(heard, []string{"bulk"}) {
			t.Fatalf("after a false token %v are heard, want bulk alone", heard)
		}
		rests = append(rests, next.Sub(now)/time.Millisecond)
		now = next
		if heard, _ = q.audible(both, now, until); !slices.Equal(heard, both) {
			t.Fatalf("when the rest is over %v are heard, want both", heard)
		}
	}
	if want := []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000}; !slices.Equal(rests, want) {
		t.Errorf("rests are %v ms, want %v", rests, want)
	}
	now = now.Add(5 * time.Second)
	q.audible(both, now, until)
	if q.forget("images") {
		t.Error("a queue that gave no false token for 5 s is still mistrusted")
	}
	q.mistrust("images", now)
	if _, next := q.audible(both, now, until); next.Sub(now) != firstQuiet {
		t.Errorf("the next false token rests %v, want %v", next.Sub(now), firstQuiet)
	}
	if _, next := q.audible([]string{"images"}, now, now.Add(time.Millisecond)); next.Sub(now) != time.Millisecond {
		t.Error("a rest outlasts the wait")
	}
	if !q.forget("images") || q.forget("images") {
		t.Error("forget does not tell once that it was mistrusted")
	}
}
