package fleet

import (
	"context"
	"slices"
	"time"
)

// PastJob is one job as it was, or as it might be: what a replay is made of.
type PastJob struct {
	At             time.Time // when it became eligible; when it was asked for, if it was run more than once
	Queue          string
	Priority       int           // 1 to 10
	Service        time.Duration // how long it ran in the attempt that ended it
	Estimate       time.Duration // what was thought before; 0: as long as it ran
	Checkpointable bool
	Failed         bool
}

// History reads what jobs there were.
type History interface {
	// Past lists the jobs that succeeded or failed from one time until before
	// another, by PastJob.At. It asks for a stretch of time after the other, so
	// that no question takes long.
	Past(ctx context.Context, from, until time.Time) ([]PastJob, error)
}

// pastStretch is the time that ReadPast asks for at once.
const pastStretch = time.Hour

// ReadPast is Past for a store that can answer one stretch.
func ReadPast(from, until time.Time, stretch func(from, until time.Time) ([]PastJob, error)) ([]PastJob, error) {
	var all []PastJob
	for at := from; at.Before(until); at = at.Add(pastStretch) {
		some, err := stretch(at, earlier(at.Add(pastStretch), until))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b PastJob) int { return a.At.Compare(b.At) })
	return all, nil
}
