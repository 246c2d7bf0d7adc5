package jobs

import (
	"context"
	"errors"
	"slices"
	"time"
)

// signalLoop asks each second what this worker is to know: whether it drains,
// and which of its jobs are to stop.
func (w *Worker) signalLoop(ctx context.Context) {
	ticker := time.NewTicker(w.cfg.Signals)
	defer ticker.Stop()
	for {
		w.signals(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.tell:
		}
	}
}

func (w *Worker) signals(ctx context.Context) {
	w.tellDrain(ctx)
	sent := w.cfg.Clock()
	var s Signals
	err := w.ask(ctx, func(ctx context.Context) (err error) {
		s, err = w.store.Signals(ctx, w.cfg.Row.ID)
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound), err == nil && s.Status == WorkerTerminated:
		w.enlist(ctx)
		return
	case err != nil:
		return // claims and beats say in the log that the store is away
	}
	for _, d := range w.deliveries() {
		if slices.Contains(s.Cancel, d.job.ID) && d.lease.holds() {
			d.stop(ErrCancelled)
		}
	}
	w.makeRoom(s.Suspect)
	w.heed(s, sent)
}

// heed follows the status of the worker's row.
func (w *Worker) heed(s Signals, sent time.Time) {
	w.mu.Lock()
	bound := w.maxRank
	w.maxRank = s.MaxRank
	before := w.drainage.on()
	if s.Status == WorkerDraining {
		w.drainage.ask(sent.Add(s.DrainIn))
	} else {
		w.drainage.undo()
	}
	after := w.drainage.on()
	w.mu.Unlock()
	w.rebound(bound, s.MaxRank)
	switch {
	case after && !before:
		w.beginDrain("the worker's status is draining")
	case after:
		nudge(w.moved) // the deadline may be another
	case before:
		w.log.Info("drain undone")
		w.poke()
	}
}

// rebound has the claim loop look again when what it may claim has changed.
func (w *Worker) rebound(before, now int) {
	if before == now {
		return
	}
	switch {
	case now < 0:
		w.log.Info("parked: the scheduler lets this worker claim nothing")
	case before < 0:
		w.log.Info("not parked any more")
	}
	w.awake()
}

// tellDrain puts a drain that began here into the worker's row, where others
// see it.
func (w *Worker) tellDrain(ctx context.Context) {
	w.mu.Lock()
	tell, until := w.drainage.untold(), w.drainage.until
	w.mu.Unlock()
	if !tell {
		return
	}
	within := max(0, until.Sub(w.cfg.Clock()))
	err := w.ask(ctx, func(ctx context.Context) error { return w.store.Drain(ctx, w.cfg.Row.ID, within) })
	if err != nil {
		return // the next look tells it
	}
	w.mu.Lock()
	if w.drainage.until.Equal(until) {
		w.drainage.told = true
	}
	w.mu.Unlock()
}

// recordLoop writes down the use of the machine.
func (w *Worker) recordLoop(ctx context.Context) {
	ticker := time.NewTicker(w.cfg.Metrics)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		m := w.cfg.Machine()
		m.JobsRunning = w.Stats().Running
		err := w.ask(ctx, func(ctx context.Context) error { return w.store.Record(ctx, w.cfg.Row.ID, m) })
		if err != nil && ctx.Err() == nil {
			w.log.Debug("metric not recorded", "error", err)
		}
	}
}
