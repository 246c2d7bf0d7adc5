package transform

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// Run keeps the workers, and gives memory back to the system while nothing is
// decoded. It blocks until Shutdown is through. When ctx ends before, it
// refuses new work and works off for a while what there is.
func (s *Service) Run(ctx context.Context) error {
	// What serves the workers goes on until they have ended.
	behind, rest := context.WithCancel(context.WithoutCancel(ctx))
	var wait sync.WaitGroup
	wait.Go(func() { s.tidy(behind) })
	wait.Go(func() { s.shelf.run(behind) })
	var aside error
	wait.Go(func() { aside = s.originals.Run(behind) })
	err := s.crews.each(func(p *elastic.DynamicScaler[*turn]) error { return p.Run(ctx) })
	rest()
	wait.Wait()
	if s.closing.Load() && cutOff(err) != (elastic.ShutdownError{}) {
		err = nil // Shutdown has told
	}
	return errors.Join(err, aside)
}

// tidy gives memory back once a burst is over: C allocators keep freed pages,
// which looks like a leak, and Go returns what it has collected only slowly.
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
				debug.FreeOSMemory()
				trimmed = l.done
			}
		}
	}
}

// tidyEvery is short enough that a burst's memory is not held for long, and
// long enough that trimming never competes with steady work.
const tidyEvery = 2 * time.Second
