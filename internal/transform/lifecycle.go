package transform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/media"
)

// errStopping refuses new work, and errStopped ends what outlives the drain's
// deadline.
var (
	errStopping = media.Errorf(media.CodeOverloaded, "The server is stopping.")
	errStopped  = media.Errorf(media.CodeOverloaded, "The server stopped before the picture was ready.")
)

// Shutdown refuses new work, lets what waits and works end until ctx does, then
// cancels what is left and waits Scale.RetireGrace longer for that. The error
// of its first call says whether something had to be cancelled, or even left
// running. Run ends, too.
func (s *Service) Shutdown(ctx context.Context) error {
	again := s.closing.Swap(true)
	unwatch := context.AfterFunc(ctx, func() { s.expired.Store(true) })
	defer unwatch()
	err := s.pool.Shutdown(ctx)
	var cut *elastic.ShutdownError
	if again || !errors.As(err, &cut) {
		return nil // what was cut off is told once
	}
	if cut.Abandoned > 0 {
		err = fmt.Errorf("%d cannot be stopped: %w", cut.Abandoned, err)
	}
	return fmt.Errorf("drain transforms: %w", errors.Join(context.Cause(ctx), err))
}

// Ready tells whether the service is of use at the moment: it is not while it
// stops, nor when work waits and none has moved for Config.Stall.
func (s *Service) Ready(now time.Time) error {
	if s.closing.Load() {
		return errors.New("stopping")
	}
	// Whoever waits leaves when patience is used up, so that it is the line
	// which must not have stood for so long, not the first in it.
	l := s.line.stats()
	if l.waiting == 0 || now.Sub(l.since) < s.cfg.Stall || now.Sub(l.moved) < s.cfg.Stall {
		return nil
	}
	return fmt.Errorf("stalled: %d wait, none has moved for %s", l.waiting, now.Sub(l.moved).Round(time.Second))
}

// RetryAfter is when a refused client should come back: the time the present
// queue takes at the present pace, at least a second.
func (s *Service) RetryAfter() time.Duration {
	return min(max(s.line.drain(), time.Second), time.Minute)
}
