package jobs

import (
	"context"
	"errors"
	"slices"
	"time"
)

// beatLoop keeps the leases of all jobs by one statement each quarter of a
// lease, or about once a second while there is news: progress to write, or
// another number of jobs, because nobody may take a busy machine away for an
// old number. A beat that failed is sent again at the next look. Even with the
// longest lease the worker is not taken for stale.
func (w *Worker) beatLoop(ctx context.Context) {
	quarter := min(w.cfg.Lease, StaleAfter) / 4
	ticker := time.NewTicker(min(time.Second, quarter))
	defer ticker.Stop()
	last := w.cfg.Clock() // registering was a sign of life
	told, failures := 0, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		alive := w.alive()
		if w.cfg.Clock().Sub(last) < quarter && len(alive) == told && !slices.ContainsFunc(alive, (*delivery).reported) {
			continue
		}
		sent, err := w.beat(ctx, alive)
		switch {
		case err == nil:
			last, told, failures = sent, len(alive), 0
			w.count(func(t *tally) { t.condition = WorkerWorking })
		case ctx.Err() == nil:
			failures++
			w.count(func(t *tally) { t.beatFailures++; t.condition = WorkerStoreAway })
			if failures == 1 {
				w.log.Error("heartbeat failed; trying again", "error", err)
			}
		}
	}
}

// alive are the deliveries whose lease holds.
func (w *Worker) alive() []*delivery {
	return slices.DeleteFunc(w.deliveries(), func(d *delivery) bool { return !d.lease.holds() })
}

// reported says whether there is progress that was not written yet.
func (d *delivery) reported() bool {
	p, _ := d.pulse()
	return p.Progress != nil
}

// beat sends a pulse of each.
func (w *Worker) beat(ctx context.Context, alive []*delivery) (sent time.Time, err error) {
	pulses, reports := make([]Pulse, len(alive)), make([]uint64, len(alive))
	for i, d := range alive {
		pulses[i], reports[i] = d.pulse()
	}
	sent = w.cfg.Clock()
	var lost []ID
	err = w.ask(ctx, func(ctx context.Context) (err error) {
		lost, err = w.store.Beat(ctx, w.cfg.Row.ID, w.cfg.Lease, pulses)
		return err
	})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrState) {
		w.enlist(ctx)
	}
	if err != nil {
		return sent, err
	}
	for i, d := range alive {
		if slices.Contains(lost, d.job.ID) {
			w.missed(d)
			continue
		}
		d.lease.extend(sent.Add(w.cfg.Lease))
		d.wrote(reports[i])
	}
	return sent, nil
}

// missed: the store says that a lease is lost. Of a job that is being ended,
// that is the effect of its own end, whose answer alone says how it went.
func (w *Worker) missed(d *delivery) {
	if d.at() != settling {
		d.lease.lose()
	}
}
