package jobs

import (
	"context"
	"time"
)

// register enters the worker, however long the store is away. It reports false
// when ctx ended first.
func (w *Worker) register(ctx context.Context) bool {
	for try := 1; ctx.Err() == nil; try++ {
		err := w.enter(ctx)
		if err == nil {
			w.count(func(t *tally) { t.condition = WorkerWorking })
			w.log.Info("worker registered", "queues", w.cfg.Row.Queues, "slots", w.cfg.Slots, "market", w.cfg.Row.Market)
			return true
		}
		if try == 1 {
			w.log.Error("worker not registered; trying again", "error", err)
		}
		pause(ctx, retryWait(try))
	}
	w.count(func(t *tally) { t.condition = WorkerStopped })
	return false
}

func (w *Worker) enter(ctx context.Context) error {
	return w.ask(ctx, func(ctx context.Context) error { return w.store.Register(ctx, w.cfg.Row) })
}

// enlist enters a living worker again whose row was buried, as happens when the
// store was out of reach for long. A drain that began here is told again.
func (w *Worker) enlist(ctx context.Context) {
	if err := w.enter(ctx); err != nil {
		return // the next look tries again
	}
	w.log.Warn("worker registered again; its row was gone")
	w.mu.Lock()
	w.drainage.told = false
	w.mu.Unlock()
}

// leave marks the worker as gone. When the store is away its silence will.
func (w *Worker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := w.store.Leave(ctx, w.cfg.Row.ID)
	for try := 1; err != nil && ctx.Err() == nil; try++ {
		pause(ctx, retryWait(try))
		err = w.store.Leave(ctx, w.cfg.Row.ID)
	}
	if err != nil {
		w.log.Error("worker not marked as gone", "error", err)
	}
	w.count(func(t *tally) { t.condition = WorkerStopped })
	w.log.Info("worker stopped")
}
