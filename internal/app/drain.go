package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/transform"
)

// errDrainTimeout is why a request that outlived the drain was cut off.
var errDrainTimeout = errors.New("the time to finish running requests is over")

// errHurry is why a request was cut off that had time left.
var errHurry = errors.New("a second signal to stop")

// readiness is the service as the edge sees it, which calls itself not ready
// from the first moment of a drain. The service itself must go on taking work
// then: requests that were read before are still to be answered.
type readiness struct {
	*transform.Service
	stopping atomic.Bool
	// idle tells why a process that only works does not; nil in all others,
	// where the jobs' database is not what pictures need.
	idle func() error
}

// Ready implements the question behind /readyz.
func (r *readiness) Ready(now time.Time) error {
	if r.stopping.Load() {
		return errors.New("stopping")
	}
	if r.idle != nil {
		return r.idle()
	}
	return r.Service.Ready(now)
}

// drain ends the program in the reverse order of its parts. The worker takes no
// more jobs from the first moment, and has a time of its own, which may be
// long. Requests get until the drain timeout; what is left then is cut off, so a
// drain always ends, and an orderly end is no failure of the process.
func (p *program) drain(ctx context.Context, rear *rear, worked *labour) error {
	reason := "a part of it has ended" // a worker was drained or could not begin, or a listener failed
	if cause := context.Cause(ctx); cause != nil {
		reason = cause.Error()
	}
	p.log.Info("stopping", "reason", reason, "drain_timeout", p.cfg.DrainTimeout.String())
	p.ready.stopping.Store(true)
	worked.stop()
	rear.endFirst()
	lasting := context.WithoutCancel(ctx)
	limited, cancel := p.patience(lasting)
	defer cancel()
	if p.public != nil {
		if err := p.public.server.Shutdown(limited); err != nil {
			p.log.Warn("requests cut off", "reason", context.Cause(limited))
		}
	}
	// Jobs make pictures as requests do, so the service outlasts them.
	<-worked.ended
	if err := p.service.Shutdown(limited); err != nil {
		p.log.Warn("transforms cut off", "error", err)
	}
	p.close(lasting)
	// The service writes to the stores to its end.
	err := errors.Join(worked.err, rear.end())
	if p.backlog != nil {
		err = errors.Join(err, p.backlog.close())
	}
	return err
}

// patience lasts for the drain timeout, but no longer than the user's.
func (p *program) patience(lasting context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeoutCause(lasting, p.cfg.DrainTimeout, errDrainTimeout)
	if p.cfg.Hurry == nil {
		return limited, cancel
	}
	hurried, stop := context.WithCancelCause(limited)
	go func() {
		select {
		case <-p.cfg.Hurry:
			stop(errHurry)
		case <-hurried.Done():
		}
	}()
	return hurried, func() { stop(nil); cancel() }
}

// part lets those go who were cut off, while what they use is still there.
func (p *program) part(ctx context.Context) {
	parting, cancel := context.WithTimeout(ctx, partingTime)
	defer cancel()
	for _, d := range p.doors() {
		d.present.await(parting)
	}
}

// close gives back what is left, in no need of patience.
func (p *program) close(ctx context.Context) {
	for _, d := range p.doors() {
		_ = d.server.Close()
		// A server that never served does not know its listener.
		_ = d.listener.Close()
	}
	p.part(ctx)
	if err := p.tracing.flush(ctx); err != nil {
		p.log.Warn("traces not sent", "error", err)
	}
	p.engine.Close()
	p.spools.Close()
	for _, sources := range []*source.Router{p.sources, p.warming} {
		if sources == nil {
			continue
		}
		if err := sources.Close(); err != nil {
			p.log.Warn("sources not closed", "error", err)
		}
	}
}
