package jobs

import (
	"context"
	"fmt"
)

// moveBatch is how many jobs one statement makes ready or gives up.
const moveBatch = 500

// promoteDelayed makes ready whose time has come.
func (k *Keeper) promoteDelayed(ctx context.Context) error {
	return batches(ctx, moveBatch, k.cfg.Promote, 0, func(ctx context.Context) (int, error) {
		moved, err := k.store.Promote(ctx, moveBatch)
		if err != nil {
			return 0, fmt.Errorf("promote delayed jobs: %w", err)
		}
		k.promoted.Add(uint64(len(moved)))
		ready := map[string]int{}
		for _, m := range moved {
			if m.Ready {
				ready[m.Queue]++
			}
		}
		k.ring(ctx, ready)
		return len(moved), nil
	})
}

// giveUpWaiting fails jobs that nobody could start in time. They were ready, so
// their tokens go with them.
func (k *Keeper) giveUpWaiting(ctx context.Context) error {
	return batches(ctx, moveBatch, k.cfg.Rescue, 0, func(ctx context.Context) (int, error) {
		moved, err := k.store.GiveUp(ctx, moveBatch)
		if err != nil {
			return 0, fmt.Errorf("give up waiting jobs: %w", err)
		}
		k.givenUp.Add(uint64(len(moved)))
		gone := map[string]int{}
		for _, m := range moved {
			gone[m.Queue]++
			k.log.Info("job given up", "job_id", m.ID, "queue", m.Queue, "reason", CodeWaitLimit)
		}
		if len(gone) > 0 {
			k.bell.Took(context.WithoutCancel(ctx), gone)
		}
		return len(moved), nil
	})
}
