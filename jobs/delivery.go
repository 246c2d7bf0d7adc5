package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// stage is how far a delivery is.
type stage int

const (
	claimed stage = iota
	atGate
	inHandler
	settling // its handler is done with it; the outcome is being written
)

// delivery is one job in the hands of this worker, from claim to outcome. It is
// the Host of its Task.
type delivery struct {
	w       *Worker
	job     Job
	handler Handler // nil: the type is unknown
	need    Need
	refused error // why the handler could not even say what it needs
	lease   *hold

	mu       sync.Mutex
	stage    stage
	began    time.Time // in its handler
	cause    error     // the first reason to stop
	cancel   context.CancelCauseFunc
	progress *Progress // the last reported
	reports  uint64
	written  uint64 // reports that the store has
	returned bool   // the handler's goroutine has ended
	given    bool   // the handler was given up
}

func (w *Worker) newDelivery(job Job, sent time.Time) *delivery {
	d := &delivery{w: w, job: job, handler: w.cfg.Handlers[job.Type]}
	d.need, d.refused = needOf(d.handler, &d.job)
	d.lease = newHold(Lease{ID: job.ID, Token: job.Token}, w.cfg.Clock, sent.Add(w.cfg.Lease), d.loseLease)
	return d
}

// needOf asks the handler, whose panic must cost no more than the attempt.
func needOf(h Handler, job *Job) (n Need, err error) {
	if h == nil {
		return Need{}, nil
	}
	defer func() {
		if r := recover(); r != nil {
			n, err = Need{}, panicked(r)
		}
	}()
	return h.Need(job), nil
}

func (d *delivery) loseLease() {
	d.w.count(func(t *tally) { t.lost++ })
	d.w.log.Warn("lease lost", "job_id", d.job.ID, "queue", d.job.Queue)
	d.stop(ErrLeaseLost)
}

// start gives the delivery its context, which ends when somebody stops it.
func (d *delivery) start(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cancel = cancel
	if d.cause != nil {
		cancel(d.cause)
	}
	return ctx, func() { cancel(nil) }
}

// stop ends the context. The first cause counts.
func (d *delivery) stop(cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cause != nil || d.stage == settling {
		return
	}
	d.cause = cause
	if d.cancel != nil {
		d.cancel(cause)
	}
}

func (d *delivery) at() stage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stage
}

func (d *delivery) move(to stage) {
	d.mu.Lock()
	d.stage = to
	if to == inHandler {
		d.began = d.w.cfg.Clock()
	}
	d.mu.Unlock()
	d.w.poke()
}

// Report implements Host.
func (d *delivery) Report(p Progress) {
	p.Note = clip(p.Note, maxNote)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.progress != nil && *d.progress == p {
		return
	}
	d.progress = &p
	d.reports++
}

// pulse is what the next beat says of it, and the report that is part of it.
func (d *delivery) pulse() (p Pulse, report uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.Lease = d.lease.Lease
	if d.reports > d.written {
		p.Progress = d.progress
	}
	return p, d.reports
}

func (d *delivery) wrote(report uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written = max(d.written, report)
}

// Fence implements Host. Once it has refused, the lease is lost, even when a
// beat that is on its way should still save it: the handler has been told.
func (d *delivery) Fence() error {
	if d.lease.holds() {
		return nil
	}
	d.lease.lose()
	d.w.count(func(t *tally) { t.fenced++ })
	return ErrLeaseLost
}

// SaveCheckpoints implements Host. While the store is away it waits, as long as
// the lease holds.
func (d *delivery) SaveCheckpoints(ctx context.Context, parts []Checkpoint) error {
	err := d.persist(ctx, func(ctx context.Context) error {
		return d.w.store.SaveCheckpoints(ctx, d.lease.Lease, parts)
	})
	if err != nil {
		return fmt.Errorf("save checkpoints of job %s: %w", d.job.ID, err)
	}
	return nil
}

// Checkpoints implements Host, and waits likewise.
func (d *delivery) Checkpoints(ctx context.Context, after string, limit int) (page []Checkpoint, err error) {
	err = d.persist(ctx, func(ctx context.Context) (err error) {
		page, err = d.w.store.Checkpoints(ctx, d.job.ID, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read checkpoints of job %s: %w", d.job.ID, err)
	}
	return page, nil
}
