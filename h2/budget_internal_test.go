package h2

import (
	"testing"
	"time"
)

func TestBucket(t *testing.T) {
	start := time.Unix(1_000_000, 0)

	t.Run("a full bucket lets its burst through and nothing more", func(t *testing.T) {
		b := newBucket(1000, 33, start)
		for i := range 1000 {
			if !b.spend(1, start) {
				t.Fatalf("unit %d of 1000 was refused", i+1)
			}
		}
		if b.spend(1, start) {
			t.Fatal("unit 1001 was let through")
		}
	})

	t.Run("time brings the rate back, however often it is asked", func(t *testing.T) {
		for _, step := range []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, 9 * time.Second} {
			b := newBucket(1000, 33, start)
			b.spend(1000, start)
			now := start
			for now.Sub(start) < 9*time.Second {
				now = now.Add(step)
				b.refill(now)
			}
			want := 33 * int64(now.Sub(start)) / int64(time.Second)
			if got := b.tokens; got < want-1 || got > want {
				t.Errorf("steps of %v brought %d units in %v, want %d", step, got, now.Sub(start), want)
			}
		}
	})

	t.Run("a bucket is never more than full, after years either", func(t *testing.T) {
		b := newGlitches(start)
		b.spend(glitchUnit, start)
		b.refill(start.AddDate(50, 0, 0))
		b.earn(1 << 40)
		if b.tokens != glitchBurst*glitchUnit {
			t.Errorf("holds %d, want %d", b.tokens, glitchBurst*glitchUnit)
		}
	})

	t.Run("a clock that goes back brings nothing and takes nothing", func(t *testing.T) {
		b := newBucket(10, 1, start)
		b.spend(5, start)
		b.refill(start.Add(-time.Hour))
		if b.tokens != 5 {
			t.Errorf("holds %d, want 5", b.tokens)
		}
	})

	t.Run("a client that takes data may update its windows for as long as it takes", func(t *testing.T) {
		b := newGlitches(start)
		for i := range 1_000_000 {
			b.earn(16 << 10) // one frame of DATA taken
			for range 16 {
				if !b.spend(glitchUnit, start) {
					t.Fatalf("refused at frame %d", i)
				}
			}
		}
	})

	t.Run("a client that takes a byte for each update does not", func(t *testing.T) {
		b := newGlitches(start)
		for i := range 20_000 {
			b.earn(1)
			if !b.spend(glitchUnit, start) {
				if i < glitchBurst {
					t.Fatalf("refused after %d updates", i)
				}
				return
			}
		}
		t.Fatal("20,000 updates of a byte were let through at once")
	})
}

func FuzzBucket(f *testing.F) {
	f.Add(int64(3), int64(1e9), int64(7))
	f.Add(int64(0), int64(-5), int64(1<<40))
	f.Fuzz(func(t *testing.T, spend, after, earn int64) {
		start := time.Unix(1_000_000, 0)
		b := newGlitches(start)
		spend, earn = max(spend, 0)%(1<<40), max(earn, 0)%(1<<40)
		b.spend(spend, start)
		before := b.tokens
		now := start.Add(time.Duration(after))
		b.refill(now)
		if b.tokens < before || b.tokens > b.burst {
			t.Fatalf("refilled from %d to %d, burst %d", before, b.tokens, b.burst)
		}
		if b.last.After(now) && after > 0 {
			t.Fatalf("accounts for %v, which is after %v", b.last, now)
		}
		b.earn(earn)
		if b.tokens > b.burst {
			t.Fatalf("earned up to %d, burst %d", b.tokens, b.burst)
		}
	})
}
