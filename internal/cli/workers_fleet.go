package cli

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// workersLaunch asks for machines by hand.
type workersLaunch struct {
	place
	Queue    string        `name:"queue" required:"" placeholder:"NAME" help:"Queue that the machines work on."`
	Provider string        `name:"provider" default:"" placeholder:"NAME" help:"Provider to launch at; the one of the lowest price when not given."`
	Count    int           `name:"count" default:"1" placeholder:"N" help:"How many machines."`
	Spot     bool          `name:"spot" help:"Launch spot machines."`
	For      time.Duration `name:"for" default:"0s" placeholder:"TIME" help:"Keep them for so long, however idle they are; 0s treats them as any other."`
	JSON     bool          `name:"json" help:"Print the decisions as JSON."`
}

// Help is the rest of what --help tells.
func (c *workersLaunch) Help() string {
	return `It is decided on as the scheduler's own launches are, under the same caps, prices and limits of money, and written down with who wanted it. In the mode vps_only it is refused. The scheduler that runs does it in its next round; where none runs, this command does that round itself.`
}

// Run asks, and prints what was decided.
func (c *workersLaunch) Run(ctx context.Context, s *session) error {
	if c.Queue == "" {
		return usagef("--queue: it is empty; it must be the name of a queue")
	}
	if c.Count < 1 || c.Count > 100 {
		return usagef("--count: %d is not within 1 to 100", c.Count)
	}
	if c.For < 0 || c.For > 31*24*time.Hour {
		return usagef("--for: %s is not within 0s to 744h", c.For)
	}
	return c.ask(ctx, s, c.JSON, fleet.Request{
		Do: fleet.KindLaunch, Queue: c.Queue, Provider: c.Provider, Count: c.Count, Spot: c.Spot, For: c.For,
	})
}

// workersTerminate ends a machine.
type workersTerminate struct {
	ID string `arg:"" name:"id" help:"Name of the worker, as the list has it."`
	place
	JSON bool `name:"json" help:"Print the decisions as JSON."`
}

// Help is the rest of what --help tells.
func (c *workersTerminate) Help() string {
	return `The worker takes no more jobs, gets time to end those that it has, and then its machine is ended. That of the VPS is not the scheduler's to end.`
}

// Run asks, and prints what was decided.
func (c *workersTerminate) Run(ctx context.Context, s *session) error {
	return c.ask(ctx, s, c.JSON, fleet.Request{Do: fleet.KindTerminate, WorkerID: c.ID})
}

// ask hands a request in and prints the answer. It fails when nothing came of it.
func (p *place) ask(ctx context.Context, s *session, asJSON bool, r fleet.Request) error {
	f, end, err := p.open(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	answer, err := f.Ask(ctx, r)
	if err != nil {
		return err
	}
	if asJSON {
		err = writeJSON(s.Stdout, map[string][]fleet.Decision{"decisions": answer})
	} else {
		err = showDecisions(s.Stdout, answer)
	}
	if err != nil {
		return err
	}
	return refusedOf(answer)
}

// refusedOf is a failure, told already, when a decision refuses or failed.
func refusedOf(answer []fleet.Decision) error {
	for _, d := range answer {
		if d.Kind == fleet.KindHold {
			return errSilent
		}
	}
	return failureOf(answer)
}
