package transform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// errStopped is the cancel cause of flights that outlive the drain deadline.
var errStopped = media.Errorf(media.CodeOverloaded, "The server stopped before the picture was ready.")

// lastWords is how long cancelled work gets to end. All that can be stopped
// ends within moments; a decoder that cannot must not keep the process alive.
const lastWords = 2 * time.Second

// Shutdown refuses new work, waits for running work until ctx ends, then
// cancels what is left and waits a little longer for that. Its error says
// whether something had to be cancelled, or even left running.
func (s *Service) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() { s.flights.Wait(); close(ended) }()
	select {
	case <-ended:
		s.stop(errStopped)
		return nil
	case <-ctx.Done():
		s.stop(errStopped)
		return fmt.Errorf("drain transforms: %w", errors.Join(context.Cause(ctx), s.abandon(ended)))
	}
}

// abandon waits for cancelled work, but not for ever.
func (s *Service) abandon(ended <-chan struct{}) error {
	patience := time.NewTimer(lastWords)
	defer patience.Stop()
	select {
	case <-ended:
		return nil
	case <-patience.C:
		return fmt.Errorf("%d cannot be stopped", s.gate.stats().running)
	}
}

// untilStopped is ctx ended by Shutdown's deadline as well. done gives it back.
func (s *Service) untilStopped(ctx context.Context) (stoppable context.Context, done func()) {
	stoppable, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(s.base, func() { cancel(context.Cause(s.base)) })
	return stoppable, func() { unlink(); cancel(nil) }
}

// Ready tells whether the service is of use at the moment: it is not while it
// stops, nor when work waits and none has moved for Config.Stall.
func (s *Service) Ready(now time.Time) error {
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	if closing {
		return errors.New("stopping")
	}
	g := s.gate.stats()
	if g.waiting == 0 || now.Sub(g.oldest) < s.cfg.Stall || now.Sub(g.moved) < s.cfg.Stall {
		return nil
	}
	return fmt.Errorf("stalled: %d wait, none has moved for %s", g.waiting, now.Sub(g.moved).Round(time.Second))
}

// RetryAfter is when a refused client should come back: the time the present
// queue takes at the present pace, at least a second.
func (s *Service) RetryAfter() time.Duration {
	return min(max(s.gate.drain(), time.Second), time.Minute)
}
