package jobs

import (
	"context"
	"fmt"
	"time"
)

// Housekeeping goes in small steps with rests, because claims come first.
const (
	tidyBatch = 200
	tidyRest  = 20 * time.Millisecond
	ageBatch  = 1000
)

// pruneFinished deletes what was kept for long enough.
func (k *Keeper) pruneFinished(ctx context.Context) error {
	return batches(ctx, tidyBatch, tidyEvery, tidyRest, func(ctx context.Context) (int, error) {
		n, err := k.store.Prune(ctx, k.cfg.Retention, tidyBatch)
		if err != nil {
			return 0, fmt.Errorf("prune finished jobs: %w", err)
		}
		k.pruned.Add(uint64(n))
		return n, nil
	})
}

// ageWaiting lets bulk jobs come to their turn where priorities alone would not.
func (k *Keeper) ageWaiting(ctx context.Context) error {
	return batches(ctx, ageBatch, tidyEvery, tidyRest, func(ctx context.Context) (int, error) {
		n, err := k.store.Age(ctx, k.cfg.Ageing, ageBatch)
		if err != nil {
			return 0, fmt.Errorf("age waiting jobs: %w", err)
		}
		k.aged.Add(uint64(n))
		return n, nil
	})
}

// burySilent terminates workers that nobody has heard of. Their jobs are
// rescued by their leases, long before.
func (k *Keeper) burySilent(ctx context.Context) error {
	buried, err := bounded(ctx, func(ctx context.Context) ([]string, error) {
		return k.store.BuryWorkers(ctx, buryAfter)
	})
	if err != nil {
		return fmt.Errorf("bury silent workers: %w", err)
	}
	k.buried.Add(uint64(len(buried)))
	for _, id := range buried {
		k.log.Warn("worker is gone", "worker_id", id, "reason", "silent for too long")
	}
	return nil
}
