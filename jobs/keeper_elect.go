package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
)

// lead stands for election, and does what the elected process does for as long
// as it is that.
func (k *Keeper) lead(ctx context.Context) error {
	won, err := bounded(ctx, func(ctx context.Context) (Election, error) { return k.store.Elect(ctx, election) })
	if err != nil {
		return fmt.Errorf("stand for election: %w", err)
	}
	if won == nil {
		return nil
	}
	defer won.Release()
	k.elected.Store(true)
	defer k.elected.Store(false)
	k.elect.note(nil) // it is not over before the election is
	k.log.Info("this process reconciles and prunes")
	return k.leadWhile(ctx, won)
}

// leadWhile runs the elected roles until the election is lost or ctx ends. All
// of them have ended when it returns, so that the next one is alone.
func (k *Keeper) leadWhile(ctx context.Context, won Election) error {
	ctx, stop := context.WithCancel(ctx)
	roles := []*role{k.prune, k.bury}
	if k.bell.Stats().Kind != processKind { // which keeps no depths
		roles = append(roles, k.reconcile)
	}
	if k.cfg.Ageing > 0 {
		roles = append(roles, k.aging)
	}
	var loops sync.WaitGroup
	defer func() {
		stop()
		loops.Wait()
		for _, r := range roles {
			r.failed.Store(0) // what it could not do is another's concern now
		}
	}()
	for _, r := range roles {
		loops.Go(func() { r.run(ctx) })
	}
	for pause(ctx, Jitter(electEvery, rand.Float64())) { //nolint:gosec // jitter is no secret
		_, err := bounded(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, won.Held(ctx) })
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("hold the election: %w", err)
		}
	}
	return nil
}
