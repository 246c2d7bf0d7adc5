package jobs

import (
	"context"
	"fmt"
)

// rescueBatch is how many lost jobs are looked at together.
const rescueBatch = 100

// rescueLost gives jobs whose lease is over to another worker, or buries them.
// It starts from the running jobs, so that one without any lease is found too.
func (k *Keeper) rescueLost(ctx context.Context) error {
	return batches(ctx, rescueBatch, k.cfg.Rescue, 0, k.rescueSome)
}

// rescueSome answers how many it changed: when others were faster with all of
// them, this process need not hurry.
func (k *Keeper) rescueSome(ctx context.Context) (int, error) {
	lost, err := k.store.Expired(ctx, rescueBatch)
	if err != nil {
		return 0, fmt.Errorf("list lost jobs: %w", err)
	}
	changed := 0
	for i := range lost {
		job := &lost[i]
		o := AfterLoss(job)
		done, err := k.store.Rescue(ctx, Lease{ID: job.ID, Token: job.Token}, o)
		if err != nil {
			return changed, fmt.Errorf("rescue job %s: %w", job.ID, err)
		}
		if !done {
			continue
		}
		changed++
		k.noteRescue(job, o)
		if o.State == Queued && !job.CancelAsked {
			k.ring(ctx, map[string]int{job.Queue: 1})
		}
	}
	return changed, nil
}

// noteRescue counts and logs what became of a lost job.
func (k *Keeper) noteRescue(job *Job, o Outcome) {
	log := k.log.With("job_id", job.ID, "queue", job.Queue, "worker_id", job.WorkerID)
	switch {
	case job.CancelAsked:
		k.rescued.Add(1)
		log.Info("lost job cancelled", "reason", "its cancel was asked before its worker was lost")
	case o.State == Failed:
		k.poisoned.Add(1)
		log.Warn("job poisoned", "reason", o.Reason)
	default:
		k.rescued.Add(1)
		log.Info("job rescued", "reason", o.Reason)
	}
}

// ring tells the bell what became ready, also when the process is about to end.
func (k *Keeper) ring(ctx context.Context, ready map[string]int) {
	for queue, n := range ready {
		k.bell.Ring(context.WithoutCancel(ctx), queue, n)
	}
}
