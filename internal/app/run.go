package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/machine"
)

// Config is every setting of the program.
type Config = settings.Config

// Role is which part of the program a process plays.
type Role int

// The roles. Up is Serve with a page to try it and pictures to try it on.
const (
	Serve Role = iota
	Up
)

// Run serves until ctx ends, then drains and answers nil. It reports the
// address it can be reached at by a log line "listening". Settings must have
// been validated.
func Run(ctx context.Context, cfg Config, role Role, log *slog.Logger) error {
	p, err := build(ctx, cfg, role, log)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		// A stop before anybody could connect has nothing to drain.
		log.Info("stopped", "reason", context.Cause(ctx))
		return nil
	}
	if err != nil {
		return err
	}
	return p.run(ctx)
}

// run opens for business. Its goroutines are the servers, which drain ends,
// and the service with its workers, which goes on until the drain is over.
func (p *program) run(ctx context.Context) error {
	lasting, rest := context.WithCancel(context.WithoutCancel(ctx))
	tidied := make(chan error, 1)
	go func() { tidied <- p.service.Run(lasting) }()
	watched := make(chan error, 1)
	go func() { watched <- watchStores(lasting, p.stores, p.service) }()
	doors := p.doors()
	ended := make(chan error, len(doors))
	for _, d := range doors {
		go func() { ended <- d.serve() }()
	}
	p.announce()
	settled := make(chan struct{})
	go func() { p.settle(); close(settled) }()
	var failure error
	waiting := len(doors)
	select {
	case failure = <-ended:
		waiting--
	case <-ctx.Done():
	}
	p.drain(ctx)
	for range waiting {
		failure = errors.Join(failure, <-ended)
	}
	rest()
	<-settled
	// The service writes to the stores to its end.
	failure = errors.Join(failure, <-tidied, <-watched)
	// Originals are kept for later until here; what is open now was lost.
	p.log.Info("stopped", slog.Int("spools_open", p.spools.Stats().Open))
	return errors.Join(failure, closeStores(p.stores))
}

// settle is what a start can do once it listens: find out what the codecs can,
// and let go of the memory that starting took.
func (p *program) settle() {
	p.engine.Abilities()
	freed, err := machine.ForgetLoading()
	p.log.Debug("start is over", "let_go_bytes", freed, "error", err)
}

// announce tells where to connect. Both listeners are open by now, so a
// client that reads the line and connects is answered.
func (p *program) announce() {
	if p.admin != nil {
		p.log.Info("listening for operators", "address", p.admin.address())
	}
	p.log.Info("listening", "address", p.public.address(), "url", p.public.url())
}
