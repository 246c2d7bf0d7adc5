package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/internal/transform"
)

// errDrainTimeout is why a request that outlived the drain was cut off.
var errDrainTimeout = errors.New("the time to finish running requests is over")

// readiness is the service as the edge sees it, which calls itself not ready
// from the first moment of a drain. The service itself must go on taking work
// then: requests that were read before are still to be answered.
type readiness struct {
	*transform.Service
	stopping atomic.Bool
}

// Ready implements the question behind /readyz.
func (r *readiness) Ready(now time.Time) error {
	if r.stopping.Load() {
		return errors.New("stopping")
	}
	return r.Service.Ready(now)
}

// drain ends the program in the reverse order of its parts. Requests get
// until the drain timeout; what is left then is cut off, so a drain always
// ends, and an orderly end is no failure of the process.
func (p *program) drain(ctx context.Context) {
	p.log.Info("stopping", "reason", context.Cause(ctx), "drain_timeout", p.cfg.DrainTimeout.String())
	p.ready.stopping.Store(true)
	lasting := context.WithoutCancel(ctx)
	limited, cancel := context.WithTimeoutCause(lasting, p.cfg.DrainTimeout, errDrainTimeout)
	defer cancel()
	if err := p.public.server.Shutdown(limited); err != nil {
		p.log.Warn("requests cut off", "reason", context.Cause(limited))
	}
	if err := p.service.Shutdown(limited); err != nil {
		p.log.Warn("transforms cut off", "error", err)
	}
	p.close(lasting)
}

// close gives back what is left, in no need of patience.
func (p *program) close(ctx context.Context) {
	for _, d := range p.doors() {
		_ = d.server.Close()
		// A server that never served does not know its listener.
		_ = d.listener.Close()
	}
	if err := p.tracing.flush(ctx); err != nil {
		p.log.Warn("traces not sent", "error", err)
	}
	p.engine.Close()
	p.spools.Close()
	if err := p.sources.Close(); err != nil {
		p.log.Warn("sources not closed", "error", err)
	}
}
