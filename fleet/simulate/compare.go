package simulate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/spillway-media/spillway/fleet"
)

// Case is one of the settings that are compared.
type Case struct {
	Name   string
	Config fleet.Config
}

// Compare replays the same trace with each of the settings, as many at a time
// as there are cores. Results are in the order of the cases.
func Compare(ctx context.Context, trace Trace, cases []Case, o Options) ([]Result, error) {
	results, errs := make([]Result, len(cases)), make([]error, len(cases))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, c := range cases {
		wait.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			mine := o
			mine.Name = c.Name
			if results[i], errs[i] = Run(ctx, trace, c.Config, mine); errs[i] != nil {
				errs[i] = fmt.Errorf("replay %s: %w", c.Name, errs[i])
			}
		})
	}
	wait.Wait()
	return results, errors.Join(errs...)
}
