package jobs

import (
	"context"
	"errors"
	"slices"
	"time"
)

// beatLoop keeps the leases of all jobs by one statement each quarter of a
// lease, or about once a second while there is progress to write. A beat that
// failed is sent again at the next look. The longest lease does not keep the
// worker from being taken for alive.
func (w *Worker) beatLoop(ctx context.Context) {
	quarter := min(w.cfg.Lease, StaleAfter) / 4
	ticker := time.NewTicker(min(time.Second, quarter))
	defer ticker.Stop()
	last := w.cfg.Clock() // registering was a sign of life
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if w.cfg.Clock().Sub(last) < quarter && !w.reported() {
			continue
		}
		sent, err := w.beat(ctx)
		switch {
		case err == nil:
			last, failures = sent, 0
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

// reported says whether a job has progress that was not written yet.
func (w *Worker) reported() bool {
	return slices.ContainsFunc(w.deliveries(), func(d *delivery) bool {
		p, _ := d.pulse()
		return p.Progress != nil && d.lease.holds()
	})
}

// beat sends the pulses of all that is in flight and whose lease holds.
func (w *Worker) beat(ctx context.Context) (sent time.Time, err error) {
	var alive []*delivery
	var pulses []Pulse
	var reports []uint64
	for _, d := range w.deliveries() {
		if !d.lease.holds() {
			continue
		}
		p, report := d.pulse()
		alive, pulses, reports = append(alive, d), append(pulses, p), append(reports, report)
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
