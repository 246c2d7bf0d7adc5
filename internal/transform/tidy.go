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
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			l := s.line.stats()
			quiet := now.Sub(l.moved) >= tidyAfter || now.Sub(last) >= tidyAtLeast
			if l.working == 0 && l.done != trimmed && quiet {
				trimmer.Trim()
				debug.FreeOSMemory()
				trimmed, last = l.done, now
			}
		}
	}
}

// Memory goes back after so long a pause, which is short enough that a burst's
// is not held for long. What comes a little at a time would pay for the pages
// anew with each request, a tenth of a picture's work, so there it goes back
// now and then only.
const (
	tidyEvery   = time.Second
	tidyAfter   = 2 * time.Second
	tidyAtLeast = 30 * time.Second
)
