package jobs

import (
	"context"
	"time"
)

// Doorbell tells workers that there may be work, and keeps the depth of each
// queue where others can read it. It decides nothing: a lost ring costs a poll,
// a false one an empty claim. Who enqueued is told of no fault of it; they are
// counted in BellStats.
type Doorbell interface {
	// Ring says that n jobs of the queue became ready.
	Ring(ctx context.Context, queue string, n int)
	// Wait blocks until there may be work in one of the queues, at the latest
	// for about poll (with jitter, so that processes do not come together).
	// It answers the queue whose token it took, or "" when it took none.
	Wait(ctx context.Context, queues []string, poll time.Duration) (took string)
	// Took corrects the depths after a claim: by how many more jobs of each
	// queue were claimed than tokens taken (negative: fewer). Every claim tells,
	// so that it adds up; when tokens led to no job at all, the bell sees to it
	// that this process does not take them again in circles.
	Took(ctx context.Context, more map[string]int)
	// Repair sets the depths of these queues to what SQL says, and answers
	// what it changed them by.
	Repair(ctx context.Context, depths map[string]int64) (changed map[string]int64, err error)
	Stats() BellStats
}

// BellStats tells how the bell is.
type BellStats struct {
	Kind     string // "process" or "redis"
	Up       bool   // false: its server is away, workers poll
	Rings    uint64
	Failures uint64
	Repairs  uint64 // how many depths were set right
	Drift    uint64 // by how many tokens together
	// Doubts is how many waits were cut off so that a token may be lost; the
	// next repair puts it back.
	Doubts uint64
}
