package fleettest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// Launch is of fleet.Provider.
func (c *Cloud) Launch(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
	var answer fleet.Machine
	err := c.take(ctx, Call{Method: "Launch", Launch: r}, func(now time.Time, f Fault) error {
		m, err := c.launch(r, now)
		if err != nil {
			return err
		}
		m.vanished = m.vanished || f.Vanish
		answer = m.shown(now)
		return nil
	})
	if err != nil {
		return fleet.Machine{}, err
	}
	return answer, nil
}

func (c *Cloud) launch(r fleet.LaunchRequest, now time.Time) (*machine, error) {
	if m := c.byToken[r.Token]; m != nil {
		if !reflect.DeepEqual(m.request, r) {
			return nil, refuse(fleet.Permanent, "the token was used for another machine")
		}
		return m, nil
	}
	if r.Token == "" || len(r.Token) > 64 {
		return nil, refuse(fleet.Permanent, "the token has %d characters, not 1 to 64", len(r.Token))
	}
	at := slices.IndexFunc(c.offers, func(o fleet.Offer) bool { return o.Place == r.Place })
	if at < 0 {
		return nil, refuse(fleet.Permanent, "there is no %s", r.Place)
	}
	offer := c.offers[at]
	if r.Bid > 0 && r.Market == fleet.Spot && r.Bid < offer.Price {
		return nil, refuse(fleet.NoCapacity, "the bid of %s is below the price of %s", r.Bid, offer.Price)
	}
	if n, some := c.knobs.Capacity[r.Place]; some && c.live(now, &r.Place) >= n {
		return nil, refuse(fleet.NoCapacity, "no capacity for %s", r.Place)
	}
	if c.knobs.Quota > 0 && c.live(now, nil) >= c.knobs.Quota {
		return nil, refuse(fleet.OverQuota, "%d machines are all that the account may have", c.knobs.Quota)
	}
	m := c.add(r, offer, now)
	c.byToken[r.Token] = m
	return m, nil
}

// Terminate is of fleet.Provider.
func (c *Cloud) Terminate(ctx context.Context, id string) error {
	return c.take(ctx, Call{Method: "Terminate", ID: id}, func(now time.Time, _ Fault) error {
		m := c.byID[id]
		if m == nil || m.vanished || m.LaunchedAt.After(now.Add(-c.knobs.Lag)) {
			return refuse(fleet.NotFound, "there is no machine %s", id)
		}
		if !m.endsAt(now).After(now) || !m.asked.IsZero() {
			return nil
		}
		m.asked = now
		m.end(now.Add(c.knobs.Shutdown))
		if c.knobs.LeaveDisks {
			c.addDisk(m.fleetID, m.WorkerID, now)
		}
		return nil
	})
}

// Inventory is of fleet.Provider.
func (c *Cloud) Inventory(ctx context.Context, fleetID string) (fleet.Inventory, error) {
	var all fleet.Inventory
	for page, more := 1, true; more; page++ {
		err := c.take(ctx, Call{Method: "Inventory", ID: fleetID, Page: page}, func(now time.Time, _ Fault) error {
			all.Machines, more = c.page(all.Machines, fleetID, page, now)
			return nil
		})
		if err != nil {
			return fleet.Inventory{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.disks {
		if d.fleetID == fleetID {
			all.Disks = append(all.Disks, d.Disk)
		}
	}
	return all, nil
}

// page adds one to what was listed before.
func (c *Cloud) page(sofar []fleet.Machine, fleetID string, page int, now time.Time) (list []fleet.Machine, more bool) {
	size := cmp.Or(c.knobs.Page, 100)
	seen := now.Add(-c.knobs.Lag)
	forgotten := seen.Add(-cmp.Or(c.knobs.Remember, time.Hour))
	n := 0
	for _, m := range c.machines {
		if m.fleetID != fleetID || m.vanished || m.LaunchedAt.After(seen) || !m.endsAt(now).After(forgotten) {
			continue
		}
		if n == page*size {
			return sofar, true
		}
		if n++; n > (page-1)*size {
			sofar = append(sofar, m.shown(seen))
		}
	}
	return sofar, false
}

// Offers is of fleet.Provider.
func (c *Cloud) Offers(ctx context.Context) ([]fleet.Offer, error) {
	var list []fleet.Offer
	err := c.take(ctx, Call{Method: "Offers"}, func(time.Time, Fault) error {
		list = slices.Clone(c.offers)
		return nil
	})
	return list, err
}

// RemoveDisk is of fleet.Provider.
func (c *Cloud) RemoveDisk(ctx context.Context, id string) error {
	return c.take(ctx, Call{Method: "RemoveDisk", ID: id}, func(time.Time, Fault) error {
		c.disks = slices.DeleteFunc(c.disks, func(d disk) bool { return d.ID == id })
		return nil
	})
}

// take notes a call, has it fail if it is to, and carries it out under the lock.
func (c *Cloud) take(ctx context.Context, call Call, do func(time.Time, Fault) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", c.name, call.Method, err)
	}
	fault, err := c.carry(call, do)
	if fault.Hang {
		<-ctx.Done()
		return fmt.Errorf("%s %s: %w", c.name, call.Method, ctx.Err())
	}
	return err
}

func (c *Cloud) carry(call Call, do func(time.Time, Fault) error) (Fault, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.calls = append(c.calls, call)
	var fault Fault
	if c.fault != nil {
		fault = c.fault(call)
	}
	if (fault.Err != nil || fault.Hang) && !fault.After {
		return fault, fault.Err
	}
	if err := c.throttle(now); err != nil {
		return fault, err
	}
	if err := do(now, fault); err != nil {
		return fault, err
	}
	return fault, fault.Err
}

func (c *Cloud) throttle(now time.Time) error {
	if c.knobs.PerMinute == 0 {
		return nil
	}
	c.called = slices.DeleteFunc(c.called, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(c.called) >= c.knobs.PerMinute {
		err := refuse(fleet.Throttled, "more than %d calls a minute", c.knobs.PerMinute)
		err.After = c.called[0].Add(time.Minute).Sub(now)
		return err
	}
	c.called = append(c.called, now)
	return nil
}

func refuse(o fleet.Outcome, format string, args ...any) *fleet.ProviderError {
	return &fleet.ProviderError{Outcome: o, Err: fmt.Errorf(format, args...)}
}
