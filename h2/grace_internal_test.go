package h2

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/h2/priority"
)

func TestGrace(t *testing.T) {
	start := time.Unix(1e9, 0)
	at := func(d time.Duration) func() time.Time { return func() time.Time { return start.Add(d) } }
	two := func() (*grace, *stream, *stream) {
		g, a, b := &grace{}, &stream{}, &stream{}
		g.asked(a, start)
		g.asked(b, start)
		return g, a, b
	}
	t.Run("a preview waits for the headers of others, a header and a body do not", func(t *testing.T) {
		g, a, _ := two()
		g.answers(a)
		for phase, want := range map[priority.Phase]bool{
			priority.Body: false, priority.Header: false, priority.Preview: true, priority.Good: true, priority.Rest: true,
		} {
			if got := g.holds(phase, at(0)); got != want {
				t.Errorf("phase %d is held: %t, want %t", phase, got, want)
			}
		}
	})
	t.Run("when all have answered nothing waits", func(t *testing.T) {
		g, a, b := two()
		g.answers(a)
		g.answers(a)
		if !g.holds(priority.Preview, at(0)) {
			t.Error("one stream answered twice and counts as two")
		}
		g.answers(b)
		if g.holds(priority.Preview, at(0)) {
			t.Error("a preview waits for nobody")
		}
	})
	t.Run("a slow handler is waited for once, and not for long", func(t *testing.T) {
		g, a, _ := two()
		g.answers(a)
		if g.holds(priority.Preview, at(graceTime)) || g.holds(priority.Preview, at(0)) {
			t.Error("a preview waits beyond the grace")
		}
		g.asked(a, start.Add(graceRest/2))
		if g.holds(priority.Preview, at(graceRest/2)) {
			t.Error("a request that comes while others load holds them up")
		}
	})
	t.Run("requests after a rest begin another", func(t *testing.T) {
		g, a, b := two()
		g.answers(a)
		g.answers(b)
		later := graceTime + graceRest + 1
		g.asked(a, start.Add(later))
		if !g.holds(priority.Good, at(later)) {
			t.Error("a later page has no grace")
		}
	})
}
