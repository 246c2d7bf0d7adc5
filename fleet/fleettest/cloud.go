package fleettest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

var _ fleet.Provider = (*Cloud)(nil)

// Knobs are how a cloud behaves. Zero values are a cloud that is quick and never full.
type Knobs struct {
	Boot     time.Duration // from launch until a machine runs
	Shutdown time.Duration // from Terminate until it is terminated
	Remember time.Duration // how long it lists what is terminated (default 1 h)
	// Lag is by how much what it tells is behind what is: a machine just
	// launched is not there yet, one just terminated still runs.
	Lag time.Duration
	// Page is how many machines a page of the inventory holds (default 100).
	Page int
	// Quota is how many machines there may be at once; 0 any number.
	Quota int
	// Capacity is how many machines of a place there may be at once; a place
	// that is not in it never runs out.
	Capacity map[fleet.Place]int
	// PerMinute is how many calls it takes a minute; 0 any number.
	PerMinute int
	// LeaveDisks keeps the disk of a terminated machine until it is removed.
	LeaveDisks bool
	// NoMaxLife ignores what a launch says about it.
	NoMaxLife bool
}

// Call is one call of a cloud. Page counts from 1 in an inventory.
type Call struct {
	Method string // "Launch", "Terminate", "Inventory", "Offers" or "RemoveDisk"
	Launch fleet.LaunchRequest
	ID     string
	Page   int
}

// Fault is what goes wrong with a call.
type Fault struct {
	Err error // is answered
	// After has the call carried out first, so that only its answer is lost.
	After bool
	// Hang answers nothing until the caller's time is over.
	Hang bool
	// Vanish is a launch that is answered well, of a machine that never comes.
	Vanish bool
}

// Fail is a fault with an outcome.
func Fail(o fleet.Outcome) Fault {
	return Fault{Err: &fleet.ProviderError{Outcome: o, Err: fmt.Errorf("the test asked for %s", o)}}
}

// LoseAnswer is a fault after which nobody knows whether it was done.
func LoseAnswer() Fault { return Fault{After: true, Err: errors.New("connection reset by peer")} }

// Cloud is a fleet.Provider in memory.
type Cloud struct {
	name string
	now  func() time.Time // the provider's clock

	mu       sync.Mutex // guards all below
	knobs    Knobs
	fault    func(Call) Fault
	offers   []fleet.Offer
	prices   map[fleet.Place][]priced
	machines []*machine // in the order in which they were launched
	byID     map[string]*machine
	byToken  map[string]*machine
	disks    []disk
	calls    []Call
	called   []time.Time // of the last minute
	made     int
}

// priced is from when on a place had a price.
type priced struct {
	at    time.Time
	price fleet.Money
}

// NewCloud makes one that launches what is offered.
func NewCloud(name string, now func() time.Time, offers ...fleet.Offer) *Cloud {
	c := &Cloud{
		name: name, now: now, prices: map[fleet.Place][]priced{},
		byID: map[string]*machine{}, byToken: map[string]*machine{},
	}
	for _, o := range offers {
		c.SetOffer(o)
	}
	return c
}

// Offer is one of a cloud's: a price on demand, known live.
func (c *Cloud) Offer(kind, zone string, market fleet.Market, price fleet.Money) fleet.Offer {
	place := fleet.Place{Provider: c.name, Type: kind, Zone: zone, Market: market}
	return fleet.Offer{Place: place, Price: price, Ceiling: price, Source: "live"}
}

// SetKnobs changes how it behaves from now on.
func (c *Cloud) SetKnobs(change func(*Knobs)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.knobs)
}

// SetFaults has a function asked at every call what goes wrong with it; nil
// heals the cloud. The function must not call the cloud.
func (c *Cloud) SetFaults(fault func(Call) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// SetOffer adds an offer, or changes the one of the same place. Spot machines
// whose bid is below the new price are interrupted, with two minutes' notice.
func (c *Cloud) SetOffer(o fleet.Offer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.prices[o.Place] = append(c.prices[o.Place], priced{now, o.Price})
	at := slices.IndexFunc(c.offers, func(other fleet.Offer) bool { return other.Place == o.Place })
	if at < 0 {
		c.offers = append(c.offers, o)
		return
	}
	c.offers[at] = o
	for _, m := range c.machines {
		if m.Place == o.Place && m.bid > 0 && m.bid < o.Price && m.endsAt(now).After(now) {
			m.interrupt(now, 2*time.Minute)
		}
	}
}

// Withdraw takes an offer away; machines of it go on.
func (c *Cloud) Withdraw(p fleet.Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offers = slices.DeleteFunc(c.offers, func(o fleet.Offer) bool { return o.Place == p })
}

// Calls lists whatever it was asked, refused calls included.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}
