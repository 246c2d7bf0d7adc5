package jobs

import (
	"context"
	"time"
)

// lookAgain is how soon a worker without room looks for it unasked: other pools
// leave the gate without telling anybody.
const lookAgain = 250 * time.Millisecond

// claimLoop is the only one that claims.
func (w *Worker) claimLoop(ctx context.Context) {
	c := claimer{Worker: w}
	for ctx.Err() == nil {
		if wait := c.turn(ctx); wait > 0 {
			w.pause(ctx, wait)
		}
	}
	c.putBack(ctx)
}

// claimer is the loop's own state.
type claimer struct {
	*Worker
	token    string // the queue whose token was taken and is not spent; "" is none
	failures int    // claims in a row that the store did not answer
}

// turn claims once, and answers how long to wait before the next turn.
func (c *claimer) turn(ctx context.Context) time.Duration {
	queues, n := c.opened()
	if n == 0 || !c.mayClaim() {
		c.putBack(ctx)
		return lookAgain
	}
	defer c.claimed()
	sent := c.cfg.Clock()
	var found []Job
	err := c.ask(ctx, func(ctx context.Context) (err error) {
		found, err = c.store.Claim(ctx, Claim{
			WorkerID: c.cfg.Row.ID, Queues: queues, N: n, Lease: c.cfg.Lease, Market: c.cfg.Row.Market, Alone: c.alone(), MaxRank: c.rank(),
		})
		return err
	})
	switch {
	case err != nil:
		return c.failed(ctx, err)
	case len(found) == 0:
		return c.nothing(ctx, queues)
	}
	c.took(ctx, found)
	c.deliver(ctx, found, sent)
	return 0
}

// rank is the highest that a scheduler lets this worker claim.
func (w *Worker) rank() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.maxRank
}

// mayClaim is asked under the same lock that a drain begins under, so that no
// claim is on its way when a worker without jobs is taken for drained.
func (w *Worker) mayClaim() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claiming = !w.drainage.on() && !w.parked()
	return w.claiming
}

// parked is true while a scheduler lets it claim nothing. What it has it
// finishes; it takes no token, beats on, and can be drained. The caller holds mu.
func (w *Worker) parked() bool { return w.maxRank < 0 }

func (w *Worker) claimed() {
	w.mu.Lock()
	w.claiming = false
	w.mu.Unlock()
	nudge(w.moved)
}

func (c *claimer) failed(ctx context.Context, err error) time.Duration {
	c.putBack(ctx)
	if ctx.Err() != nil {
		return 0
	}
	c.failures++
	if c.failures == 1 {
		c.log.Error("claim failed; trying again", "error", err)
	}
	c.count(func(t *tally) { t.claimFailures++; t.condition = WorkerStoreAway })
	return retryWait(c.failures)
}

// nothing: wait for the bell. A token that led to nothing is put back all the
// same, because only then do tokens taken and jobs claimed add up: whose claim
// was faster takes it, or it stands for a job that others may take. The bell
// sees to it that it is not taken in circles.
func (c *claimer) nothing(ctx context.Context, queues []string) time.Duration {
	c.answered()
	c.putBack(ctx)
	c.claimed() // nothing is on its way while it waits
	c.token = c.wait(ctx, queues)
	return 0
}

// wait listens for the bell until a drain begins, or the worker is parked.
func (w *Worker) wait(ctx context.Context, queues []string) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	if w.drainage.on() || w.parked() || w.narrowed && w.freed {
		cancel()
	}
	w.hush = cancel
	w.mu.Unlock()
	return w.bell.Wait(ctx, queues, w.cfg.Poll)
}

// answered: the store is there.
func (c *claimer) answered() {
	if c.failures > 0 {
		c.log.Info("claims are answered again")
	}
	c.failures = 0
	c.count(func(t *tally) { t.condition = WorkerWorking })
}

// took has the bell count what was claimed.
func (c *claimer) took(ctx context.Context, found []Job) {
	c.answered()
	more := map[string]int{}
	if c.token != "" {
		more[c.token]--
	}
	for i := range found {
		more[found[i].Queue]++
	}
	c.token = ""
	c.correct(ctx, more)
}

// putBack returns a token that no claim will follow.
func (c *claimer) putBack(ctx context.Context) {
	if c.token != "" {
		c.correct(ctx, map[string]int{c.token: -1})
	}
	c.token = ""
}

func (c *claimer) correct(ctx context.Context, more map[string]int) {
	for queue, n := range more {
		if n == 0 {
			delete(more, queue)
		}
	}
	if len(more) > 0 {
		c.bell.Took(context.WithoutCancel(ctx), more)
	}
}

// deliver hands claimed jobs to the pool, which has a goroutine for each.
func (c *claimer) deliver(ctx context.Context, found []Job, sent time.Time) {
	all := make([]*delivery, len(found))
	for i := range found {
		all[i] = c.newDelivery(found[i], sent)
		c.hold(all[i])
	}
	c.mu.Lock()
	c.tally.claimed += uint64(len(found))
	c.tally.lastClaim = sent
	for _, d := range all {
		if d.handler != nil {
			c.needs[d.job.Type] = d.need.memory()
		}
	}
	c.mu.Unlock()
	c.resize()
	base := context.WithoutCancel(ctx)
	for _, d := range all {
		if err := c.pool.TrySubmit(base, d); err != nil {
			// Only a pool that shuts down refuses.
			c.settle(base, d, verdict{err: &Failure{Code: CodeReleased, Reason: "The worker is about to stop.", Release: time.Second, Cause: err}})
			c.drop(d)
		}
	}
}

// memory is what the gate will be asked for; never 0, which says that nothing
// is known.
func (n Need) memory() int64 {
	if !n.CPU {
		return 1
	}
	return max(1, n.Memory)
}
