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
	err := s.crews.each(func(p *elastic.DynamicScaler[*turn]) error { return p.Shutdown(ctx) })
	if again {
		return nil // what was cut off is told once
	}
	total := cutOff(err)
	if total == (elastic.ShutdownError{}) {
		return nil
	}
	err = &total
	if total.Abandoned > 0 {
		err = fmt.Errorf("%d cannot be stopped: %w", total.Abandoned, err)
	}
	return fmt.Errorf("drain transforms: %w", errors.Join(context.Cause(ctx), err))
}

// cutOff adds up what the shutdown of several pools has cut off.
func cutOff(err error) (total elastic.ShutdownError) {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return total
	}
	for _, one := range joined.Unwrap() {
		var cut *elastic.ShutdownError
		if errors.As(one, &cut) {
			total.Returned += cut.Returned
			total.Stopped += cut.Stopped
			total.Abandoned += cut.Abandoned
		}
	}
	return total
}

// Ready tells whether the service is of use at the moment: it is not while it
// stops, nor when the line has been too long for Config.Unready, nor when work
// waits and none has moved for Config.Stall.
func (s *Service) Ready(now time.Time) error {
	if s.closing.Load() {
		return errors.New("stopping")
	}
	l := s.line.stats()
	for in, since := range l.stood {
		if stood := now.Sub(since); !since.IsZero() && stood >= s.cfg.Unready {
			return fmt.Errorf("saturated: %s have waited for more than %s since %s ago", lane(in), s.cfg.OverloadWait, stood.Round(time.Second))
		}
	}
	// Whoever waits leaves when patience is used up, so that it is the line
	// which must not have stood for so long, not the first in it.
	if l.waiting == 0 || now.Sub(l.since) < s.cfg.Stall || now.Sub(l.moved) < s.cfg.Stall {
		return nil
	}
	return fmt.Errorf("stalled: %d wait, none has moved for %s", l.waiting, now.Sub(l.moved).Round(time.Second))
}

// RetryAfter is when a refused client should come back: the time that the
// present line takes at the present pace, at least a second.
func (s *Service) RetryAfter() time.Duration {
	return min(max(s.line.drain(), time.Second), time.Minute)
}
