package transform

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// brake slows refusals down when they come by the hundreds. A refused client
// that asks again at once, whatever Retry-After says, would otherwise take the
// CPU from those who were let in: each refusal is cheap, and there is no end of
// them. Held back, it costs a timer. Refusals at a rate that clients who heed
// their answers can cause are not held.
type brake struct {
	rate float64 // refusals a second that go out at once, and as many as a start

	mu   sync.Mutex
	left float64
	at   time.Time
	held int
}

const (
	// freeRefusals is for each job: twenty times what a core can do of the
	// smallest pictures, and a hundredth of what it can refuse.
	freeRefusals = 100
	holdFor      = 500 * time.Millisecond
	// mostHeld bounds what the waiting itself holds.
	mostHeld = 4096
)

func newBrake(jobs int, now time.Time) *brake {
	rate := float64(freeRefusals * jobs)
	return &brake{rate: rate, left: rate, at: now}
}

// take is true when a refusal should be held, which release ends.
func (b *brake) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.rate, b.left+b.rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.left >= 1 {
		b.left--
		return false
	}
	if b.held >= mostHeld {
		return false
	}
	b.held++
	return true
}

func (b *brake) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held--
}

// hold waits before a refusal goes out, if it has to.
func (b *brake) hold(ctx context.Context) {
	if !b.take(time.Now()) {
		return
	}
	defer b.release()
	timer := time.NewTimer(holdFor)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// slow holds a refusal back when there are too many of them. A stopping server
// has no reason to: its clients are to go elsewhere at once.
func (s *Service) slow(ctx context.Context, err error) {
	var coded *media.Error
	if errors.As(err, &coded) && coded.Code == media.CodeOverloaded && !s.closing.Load() {
		s.brake.hold(ctx)
	}
}
