package jobs

import (
	"context"
	"fmt"
)

const (
	// countMost bounds what is counted, and so the depth that is repaired.
	countMost = 1_000_000
	// rememberFor is for how many intervals an empty queue is still looked at.
	rememberFor = 10
)

// repairDepths sets the bell's depths to what SQL says. A job that comes or
// goes between the count and the repair is off by one until the next.
func (k *Keeper) repairDepths(ctx context.Context) error {
	queues, err := bounded(ctx, func(ctx context.Context) ([]QueueStats, error) {
		return k.store.Queues(ctx, countMost)
	})
	if err != nil {
		return fmt.Errorf("count queues: %w", err)
	}
	changed, err := k.bell.Repair(ctx, k.depths(queues))
	if err != nil {
		return fmt.Errorf("repair depths: %w", err)
	}
	for queue, by := range changed {
		k.log.Debug("depth repaired", "queue", queue, "by", by)
	}
	return nil
}

// depths are those of the queues that have jobs, and 0 for those that had some
// lately: their tokens would stay for ever otherwise.
func (k *Keeper) depths(queues []QueueStats) map[string]int64 {
	for _, q := range queues {
		k.known[q.Queue] = rememberFor
	}
	depths := make(map[string]int64, len(k.known)+len(k.cfg.Queues))
	for _, name := range k.cfg.Queues {
		depths[name] = 0
	}
	for name, left := range k.known {
		depths[name] = 0
		if k.known[name] = left - 1; left == 0 {
			delete(k.known, name)
		}
	}
	for _, q := range queues {
		depths[q.Queue] = q.Depth
	}
	return depths
}
