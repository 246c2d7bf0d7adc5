package transform

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// script drives a line of two slots with a clock of its own.
type script struct {
	*testing.T
	*line
	now time.Time
}

func newScript(t *testing.T) *script {
	p := patience{burst: 10 * time.Second, strict: 800 * time.Millisecond, after: 3 * time.Second}
	return &script{T: t, line: newLine(2, 10_000, p), now: time.Unix(1000, 0)}
}

func (s *script) come(in lane, n int, cost time.Duration) (refused int) {
	for range n {
		if s.enter(in, cost, s.now) != nil {
			refused++
		}
	}
	return refused
}

// work lets n begin and end, each after took.
func (s *script) work(in lane, n int, cost, took time.Duration) {
	for range n {
		s.began(in, cost, s.now)
		s.ended(in, cost, s.now.Add(took), took)
	}
}

func TestLine(t *testing.T) {
	const cost = 100 * time.Millisecond
	t.Run("a burst is let in as far as patience goes", func(t *testing.T) {
		s := newScript(t)
		// Ten seconds of two slots are two hundred of them.
		if refused := s.come(quick, 300, cost); refused < 95 || refused > 101 {
			t.Errorf("%d of 300 refused", refused)
		}
	})
	t.Run("once the line has stood only short waits are let in", func(t *testing.T) {
		s := newScript(t)
		s.come(quick, 100, cost)
		s.now = s.now.Add(2 * time.Second)
		if refused := s.come(quick, 1, cost); refused != 0 {
			t.Error("refused while it may still be a burst")
		}
		s.now = s.now.Add(2 * time.Second)
		if refused := s.come(quick, 1, cost); refused != 1 {
			t.Error("let in although the line has stood")
		}
		s.work(quick, 90, cost, cost)
		if refused := s.come(quick, 20, cost); refused < 10 || refused > 15 {
			t.Errorf("%d of 20 refused with 800 ms for newcomers", refused)
		}
		if s.lanes[quick].stood.IsZero() {
			t.Error("a line that is held at its limit is thought to have moved on")
		}
		s.work(quick, s.lanes[quick].waiting, cost, cost)
		if refused := s.come(quick, 50, cost); refused != 0 {
			t.Errorf("%d refused of the next burst", refused)
		}
	})
	t.Run("what waits for too long in a line that stands is given up", func(t *testing.T) {
		s := newScript(t)
		s.come(quick, 100, cost)
		if _, late := s.overdue(quick, 9*time.Second, s.now); late {
			t.Error("nine seconds are within the patience with a burst")
		}
		s.now = s.now.Add(4 * time.Second)
		for waited, want := range map[time.Duration]bool{900 * time.Millisecond: false, 1100 * time.Millisecond: true} {
			if _, late := s.overdue(quick, waited, s.now); late != want {
				t.Errorf("after %s: late %v", waited, late)
			}
		}
	})
	t.Run("estimates follow how long work really takes", func(t *testing.T) {
		s := newScript(t)
		s.come(quick, 100, cost)
		s.work(quick, 60, cost, 3*cost)
		if got, want := s.expected(quick), 3*40*cost/2; got < want*9/10 || got > want*11/10 {
			t.Errorf("40 waiting at three times their cost take %s, want about %s", got, want)
		}
	})
	t.Run("what is being read counts as in line, and no more when it has arrived", func(t *testing.T) {
		s := newScript(t)
		s.come(quick, 50, cost)
		before := s.expected(quick)
		arrive, err := s.approach(quick, true, s.now)
		if err != nil {
			t.Fatal(err)
		}
		if s.expected(quick) <= before {
			t.Error("a source on its way is not counted")
		}
		arrive()
		arrive()
		if s.expected(quick) != before {
			t.Error("it is counted still, or twice less")
		}
		if _, err := s.approach(quick, false, s.now); err != nil || s.expected(quick) != before {
			t.Error("a slow origin is counted")
		}
	})
	t.Run("a line of sources that turn out broken does not stand for ever", func(t *testing.T) {
		s := newScript(t)
		s.come(quick, 10, cost)
		var broken []func()
		for range 200 {
			if arrive, err := s.approach(quick, true, s.now); err == nil {
				broken = append(broken, arrive)
			}
		}
		s.work(quick, 10, cost, cost)
		if s.lanes[quick].stood.IsZero() {
			t.Fatal("a long wait is not noticed")
		}
		for _, arrive := range broken {
			arrive()
		}
		if since := s.stats().stood[quick]; !since.IsZero() {
			t.Error("nobody is there, and it is thought to stand; the service would never be ready again")
		}
	})
	t.Run("animations do not close the door to thumbnails", func(t *testing.T) {
		s := newScript(t)
		s.come(slow, 100, time.Second)
		s.now = s.now.Add(5 * time.Second)
		if s.come(slow, 1, time.Second) != 1 {
			t.Error("another animation was let in")
		}
		if s.come(quick, 1, cost) != 0 {
			t.Error("a thumbnail was refused because of animations")
		}
	})
	t.Run("nor do those at work, beside which a slot is left", func(t *testing.T) {
		s := newScript(t)
		s.come(slow, 2, 20*time.Second)
		s.began(slow, 20*time.Second, s.now)
		s.began(slow, 20*time.Second, s.now)
		s.now = s.now.Add(5 * time.Second)
		if got := s.expected(quick); got != 0 {
			t.Errorf("a thumbnail would wait for %s", got)
		}
		if refused := s.come(quick, 5, cost); refused != 0 {
			t.Errorf("%d thumbnails were refused", refused)
		}
		// The one slot works them off one after the other.
		if got := s.expected(quick); got != 5*cost {
			t.Errorf("behind five thumbnails another would wait for %s", got)
		}
		if s.come(slow, 1, time.Second) != 1 {
			t.Error("another animation was let in")
		}
	})
	t.Run("a free slot is given whatever the estimates say", func(t *testing.T) {
		s := newScript(t)
		s.come(quick, 1, cost)
		s.began(quick, cost, s.now)
		if got := s.expected(quick); got != 0 {
			t.Errorf("a wait of %s with a slot free", got)
		}
	})
	t.Run("every account is even in the end", func(t *testing.T) {
		s := newScript(t)
		s.come(quick, 10, cost)
		s.grow(quick, cost)
		s.left(quick, 2*cost, true, s.now)
		s.left(quick, cost, false, s.now)
		s.work(quick, 8, cost, cost)
		if l := s.stats(); l.waiting != 0 || l.working != 0 || s.lanes[quick].cost != 0 || s.lanes[quick].holds != 0 || l.refused != 1 || l.shed != 1 || l.done != 8 {
			t.Errorf("%+v, %+v", l, s.lanes[quick])
		}
	})
}

func TestLanes(t *testing.T) {
	for cost, class := range map[time.Duration]int{0: 0, 20 * time.Millisecond: 0, 50 * time.Millisecond: 2, 100 * time.Millisecond: 4, time.Hour: 15} {
		if got := classOf(cost); got != class {
			t.Errorf("%s is of class %d, want %d", cost, got, class)
		}
	}
	for format, want := range map[media.Format]lane{media.AVIF: slow, media.JXL: slow, media.GIF: slow, media.WebP: quick, media.Auto: quick} {
		if got := guess(Job{Request: media.Request{Format: format}}); got != want {
			t.Errorf("%s is guessed to be of %s", format, got)
		}
	}
}
