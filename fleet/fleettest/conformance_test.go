package fleettest_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// subject is a cloud in memory, under test.
func subject(knobs func(*fleettest.Knobs)) fleettest.Subject {
	clock := fleettest.NewClock(noon())
	c := fleettest.NewCloud("aws", clock.Now)
	offer := c.Offer("c6i.xlarge", "eu-west-3a", fleet.OnDemand, 20*fleet.Cent)
	c.SetOffer(offer)
	c.SetOffer(c.Offer("c6i.xlarge", "eu-west-3a", fleet.Spot, 7*fleet.Cent))
	c.SetKnobs(knobs)
	next := func(f fleettest.Fault, page int) {
		c.SetFaults(func(call fleettest.Call) fleettest.Fault {
			if page > 0 && call.Page != page || f == (fleettest.Fault{}) {
				return fleettest.Fault{}
			}
			defer func() { f = fleettest.Fault{} }()
			return f
		})
	}
	return fleettest.Subject{
		Provider:  c,
		Candidate: fleet.Candidate{Offer: offer, Image: "ami-1"},
		Settle:    func() { clock.Advance(5 * time.Second) },
		Refuse:    func(o fleet.Outcome) { next(fleettest.Fail(o), 0) },
		Lose:      func() { next(fleettest.LoseAnswer(), 0) },
		Hang:      func() { next(fleettest.Fault{Hang: true}, 0) },
		Many:      func(fleetID string, n int) { c.Put(fleetID, n, offer.Place) },
		FailPage:  func(page int) { next(fleettest.Fail(fleet.Throttled), page) },
		Interrupt: func(id string) { c.Interrupt(id, time.Minute) },
		Stop:      c.Stop,
		Disk:      func(fleetID string) string { return c.PutDisk(fleetID, "") },
	}
}

func TestTheCloudInMemoryConforms(t *testing.T) {
	for name, knobs := range map[string]func(*fleettest.Knobs){
		"when it is quick":               func(*fleettest.Knobs) {},
		"when it is slow":                func(k *fleettest.Knobs) { k.Boot, k.Shutdown = 2*time.Minute, time.Minute },
		"when what it tells lags behind": func(k *fleettest.Knobs) { k.Lag, k.Boot = 30*time.Second, time.Minute },
		"when it forgets the dead soon":  func(k *fleettest.Knobs) { k.Remember = time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			fleettest.Conformance(t, func(*testing.T) fleettest.Subject { return subject(knobs) })
		})
	}
}
