package app

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// answerSpare is what a round may take on top of the time between two.
const answerSpare = time.Minute

// Ask hands in what an operator wants, and gives the decisions that came of it:
// those of the scheduler that runs, in its next round, or of a round that this
// process does itself where none runs.
func (f *Fleet) Ask(ctx context.Context, r fleet.Request) ([]fleet.Decision, error) {
	planner, err := f.planner()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r.ID, r.At = fleet.RequestID(now), now
	patience := f.file.Config().EvaluationInterval + answerSpare
	limited, cancel := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("no scheduler has answered within %s; the request stays for an hour, and the next round of one answers it", patience))
	defer cancel()
	return planner.Ask(limited, f.tables, r)
}
