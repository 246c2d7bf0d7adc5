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

// The roles. Up is Serve with a page to try it, pictures to try it on, a
// worker of jobs and a scheduler. Work is only that worker, Schedule only that
// scheduler.
const (
	Serve Role = iota
	Up
	Work
	Schedule
)

// Run serves, works, schedules, or all of it until ctx ends, then drains and
// answers nil. It reports the address it can be reached at by a log line
// "listening", that it takes jobs by one "working", and that it decides on
// machines by one "scheduling". Settings must have been validated, by Check
// and CheckRole.
func Run(ctx context.Context, cfg Config, role Role, log *slog.Logger) error {
	if role == Schedule {
		return schedule(ctx, cfg, log)
	}
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
// the worker, which ends its jobs first, and the background, which goes on
// until all of that is over.
func (p *program) run(ctx context.Context) error {
	rear := p.startRear(ctx)
	doors := p.doors()
	ended := make(chan error, len(doors))
	for _, d := range doors {
		go func() { ended <- d.serve() }()
	}
	worked := p.startWork(ctx)
	p.announce()
	settled := make(chan struct{})
	go func() { p.settle(); close(settled) }()
	var failure error
	waiting := len(doors)
	select {
	case failure = <-ended:
		waiting--
	case <-p.enough(worked):
	case <-ctx.Done():
	}
	failure = errors.Join(failure, p.drain(ctx, rear, worked))
	for range waiting {
		failure = errors.Join(failure, <-ended)
	}
	<-settled
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
	if p.public != nil {
		p.log.Info("listening", p.public.facts()...)
	}
	if p.backlog != nil && p.backlog.worker != nil {
		p.log.Info("working", "worker_id", p.backlog.worker.ID(), "queues", p.cfg.WorkedOn())
	}
}
