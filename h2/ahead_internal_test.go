package h2

import (
	"testing"
	"time"
)

// given writes at a steady rate, in bytes a second, for as long as said, after
// what an empty socket swallows at once, and tells the bound at the end.
func given(p *ahead, now time.Time, rate int64, length time.Duration) time.Time {
	for range 3 {
		p.wrote(recordSize, 0, now)
	}
	step := time.Duration(recordSize * int64(time.Second) / rate)
	for end := now.Add(length); now.Before(end); {
		now = now.Add(step)
		p.wrote(recordSize, step, now)
	}
	return now
}

func TestAhead(t *testing.T) {
	const megabit = 1e6 / 8
	for _, test := range []struct {
		name      string
		rates     []int64 // one after another, with a rest of a second between
		low, high int
	}{
		{"a slow link has a record ahead", []int64{2 * megabit}, minUnsent, minUnsent},
		{"a link of 10 Mbit/s has a record ahead", []int64{10 * megabit}, minUnsent, minUnsent},
		{"a link of 100 Mbit/s has the bytes of a frame of the screen ahead", []int64{100 * megabit}, 100e3, 300e3},
		{"a link within the machine has as much as there may be", []int64{10000 * megabit}, maxUnsent, maxUnsent},
		{"a link that has become slow has a record ahead again", []int64{1000 * megabit, 10 * megabit}, minUnsent, 2*minUnsent - 1},
		{"a link that has become fast is used", []int64{10 * megabit, 1000 * megabit}, 1e6, 3e6},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p ahead
			now := time.Unix(1e9, 0)
			for _, rate := range test.rates {
				now = given(&p, now.Add(time.Second), rate, 2*time.Second)
			}
			if got := max(p.unsent, minUnsent); got < test.low || got > test.high {
				t.Errorf("unsent is %d, want %d to %d", got, test.low, test.high)
			}
		})
	}
}

func TestAheadDoesNotChangeForLittle(t *testing.T) {
	var p ahead
	now := given(&p, time.Unix(1e9, 0), 50e6, 2*time.Second)
	for i := range 100 {
		now = now.Add(time.Millisecond)
		if _, changed := p.wrote(40e3+500*i, time.Millisecond, now); changed {
			t.Fatalf("write %d of a link that is about as fast as before has changed the bound", i)
		}
	}
}

func TestASlowLinkIsGivenLessThanARecordAtOnce(t *testing.T) {
	const megabit = 1e6 / 8
	for _, test := range []struct {
		name      string
		rate      int64
		low, high int
	}{
		{"two packets or three at least", 2 * megabit, shortWrite, shortWrite},
		{"also of a link that carries no byte in 4 ms", 50, shortWrite, shortWrite},
		{"what 10 Mbit/s carry in 4 ms", 10 * megabit, 4500, 5500},
		{"a record at most", 100 * megabit, recordSize, recordSize},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &conn{}
			given(&c.ahead, time.Unix(1e9, 0), test.rate, time.Second)
			if got := c.batch(); got < test.low || got > test.high {
				t.Errorf("%d bytes, want %d to %d", got, test.low, test.high)
			}
		})
	}
}

func TestALinkThatIsGivenLittleIsNotTakenForSlow(t *testing.T) {
	c := &conn{}
	now := time.Unix(1e9, 0)
	for range 100 {
		now = now.Add(10 * time.Millisecond)
		c.ahead.wrote(100, 10*time.Microsecond, now)
	}
	if got := c.batch(); got != recordSize {
		t.Errorf("%d bytes at once, want a record", got)
	}
}
