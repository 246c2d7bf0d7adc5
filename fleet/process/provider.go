package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

var _ fleet.Provider = (*Provider)(nil)

// Provider starts and ends workers on this computer.
type Provider struct {
	cfg  Config
	dir  folder
	boot string
}

// New opens the folder. It starts nothing.
func New(c Config) (*Provider, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("provider process: %w", err)
	}
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	c.Remember = cmp.Or(c.Remember, time.Hour)
	boot, err := bootID()
	if err != nil {
		return nil, fmt.Errorf("provider process: %w", err)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("provider process: make folder: %w", err)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("provider process: find folder: %w", err)
	}
	return &Provider{cfg: c, dir: folder(dir), boot: boot}, nil
}

// Run sees to it each second that no worker outlives its time and no zombie
// stays, until ctx ends. Every call does the same, so nothing is lost without
// it but punctuality.
func (p *Provider) Run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			// A folder that cannot be read makes the next call of the scheduler
			// fail, which says so.
			_ = p.locked(ctx, func() error { return nil })
		}
	}
}

// locked does something with the folder, after it has been brought up to date.
func (p *Provider) locked(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("provider process: %w", err)
	}
	unlock, err := p.dir.lock(ctx)
	if err != nil {
		return fmt.Errorf("provider process: %w", err)
	}
	defer unlock()
	if err := p.settle(p.cfg.Clock()); err != nil {
		return fmt.Errorf("provider process: %w", err)
	}
	return do()
}

// Launch is of fleet.Provider.
func (p *Provider) Launch(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
	if err := p.check(r); err != nil {
		return fleet.Machine{}, err
	}
	var machine fleet.Machine
	err := p.locked(ctx, func() error {
		id := idOf(r.Token)
		known, err := p.dir.load(id)
		if err != nil {
			return err
		}
		if known == nil {
			known, err = p.start(id, r)
		}
		if err == nil {
			machine = known.machine()
		}
		return err
	})
	return machine, err
}

func (p *Provider) check(r fleet.LaunchRequest) error {
	switch {
	case r.Token == "" || len(r.Token) > 64:
		return refuse(fleet.Permanent, fmt.Errorf("a token has 1 to 64 characters, not %d", len(r.Token)))
	case r.Type != "" && r.Type != Name:
		return refuse(fleet.Permanent, fmt.Errorf("there is no type %q, only %q", r.Type, Name))
	case r.Market != fleet.OnDemand && r.Market != fleet.VPS:
		return refuse(fleet.Permanent, fmt.Errorf("there is no market %q here, only %q and %q", r.Market, fleet.OnDemand, fleet.VPS))
	case r.WorkerID == "":
		return refuse(fleet.Permanent, errors.New("a worker has an id"))
	}
	return nil
}

// Terminate is of fleet.Provider. The worker is asked once, and made to end when
// Grace is over.
func (p *Provider) Terminate(ctx context.Context, id string) error {
	return p.locked(ctx, func() error {
		if id != filepath.Base(id) {
			return refuse(fleet.NotFound, fmt.Errorf("there is no machine %q", id))
		}
		r, err := p.dir.load(id)
		switch {
		case err != nil:
			return err
		case r == nil:
			return refuse(fleet.NotFound, fmt.Errorf("there is no machine %q", id))
		case !r.Ended.IsZero() || !r.Asked.IsZero():
			return nil
		}
		return p.ask(r, p.cfg.Clock())
	})
}

// Inventory is of fleet.Provider. There are no disks.
func (p *Provider) Inventory(ctx context.Context, fleetID string) (fleet.Inventory, error) {
	var all fleet.Inventory
	err := p.locked(ctx, func() error {
		list, err := p.dir.all()
		for _, r := range list {
			if r.FleetID == fleetID {
				all.Machines = append(all.Machines, r.machine())
			}
		}
		return err
	})
	if err != nil {
		return fleet.Inventory{}, err
	}
	return all, nil
}

// Offers is of fleet.Provider. A process costs nothing, unless the scheduler's
// file says otherwise.
func (p *Provider) Offers(ctx context.Context) ([]fleet.Offer, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("provider process: %w", err)
	}
	place := fleet.Place{Provider: Name, Type: Name, Zone: p.cfg.Zone, Market: fleet.OnDemand}
	return []fleet.Offer{{Place: place, Slots: p.cfg.Slots, Source: "config"}}, nil
}

// RemoveDisk is of fleet.Provider; there are none.
func (p *Provider) RemoveDisk(context.Context, string) error { return nil }

func refuse(o fleet.Outcome, err error) error {
	return &fleet.ProviderError{Outcome: o, Err: fmt.Errorf("provider process: %w", err)}
}
