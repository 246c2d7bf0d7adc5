package transform

import (
	"context"
	"time"
)

// Run gives memory back to the system while nothing is decoded; it blocks
// until ctx ends. C allocators keep freed pages, which looks like a leak after
// a burst: the engine is asked to trim once a burst is over.
func (s *Service) Run(ctx context.Context) error {
	trimmer, ok := s.engine.(interface{ Trim() })
	if !ok {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	var trimmed uint64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			g := s.gate.stats()
			if g.running == 0 && g.done != trimmed {
				trimmer.Trim()
				trimmed = g.done
			}
		}
	}
}

// tidyEvery is short enough that a burst's memory is not held for long, and
// long enough that trimming never competes with steady work.
const tidyEvery = 5 * time.Second
