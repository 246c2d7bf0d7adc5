package fleet

import (
	"context"
	"time"
)

// PastJob is one job as it was, or as it might be: what a replay is made of.
type PastJob struct {
	At             time.Time     // when it became eligible
	Queue          string        //
	Priority       int           // 1 to 10
	Service        time.Duration // how long it ran in the attempt that ended it
	Estimate       time.Duration // what was thought before; 0: as long as it ran
	Checkpointable bool
	Failed         bool
}

// History reads what jobs there were.
type History interface {
	// Jobs visits the jobs that became eligible from one time until before
	// another and are over, in order of that time, until visit answers an error.
	Jobs(ctx context.Context, from, until time.Time, visit func(PastJob) error) error
}
