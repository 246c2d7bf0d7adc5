package transform

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// Run keeps the workers, and gives memory back to the system while nothing is
// decoded. It blocks until Shutdown is through. When ctx ends before, it
// refuses new work and works off for a while what there is.
func (s *Service) Run(ctx context.Context) error {
	idle, rest := context.WithCancel(ctx)
	tidied := make(chan struct{})
	go func() { s.tidy(idle); close(tidied) }()
	err := s.pool.Run(ctx)
	rest()
	<-tidied
	var cut *elastic.ShutdownError
	if s.closing.Load() && errors.As(err, &cut) {
		return nil // Shutdown has told
	}
	return err
}

// tidy asks the engine to trim once a burst is over: C allocators keep freed
// pages, which looks like a leak.
func (s *Service) tidy(ctx context.Context) {
	trimmer, ok := s.engine.(interface{ Trim() })
	if !ok {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	var trimmed uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l := s.line.stats()
			if l.working == 0 && l.done != trimmed {
				trimmer.Trim()
				trimmed = l.done
			}
		}
	}
}

// tidyEvery is short enough that a burst's memory is not held for long, and
// long enough that trimming never competes with steady work.
const tidyEvery = 5 * time.Second
