package fleettest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// sky is a cloud with its clock and one offer on demand and one on spot.
type sky struct {
	t              *testing.T
	clock          *fleettest.Clock
	cloud          *fleettest.Cloud
	onDemand, spot fleet.Offer
	count          int
}

func newSky(t *testing.T, knobs func(*fleettest.Knobs)) *sky {
	t.Helper()
	s := &sky{t: t, clock: fleettest.NewClock(noon())}
	s.cloud = fleettest.NewCloud("aws", s.clock.Now)
	s.onDemand = s.cloud.Offer("c6i.xlarge", "eu-west-3a", fleet.OnDemand, 20*fleet.Cent)
	s.spot = s.cloud.Offer("c6i.xlarge", "eu-west-3a", fleet.Spot, 7*fleet.Cent)
	s.cloud.SetOffer(s.onDemand)
	s.cloud.SetOffer(s.spot)
	s.cloud.SetKnobs(knobs)
	return s
}

func (s *sky) launch(o fleet.Offer, bid fleet.Money) (fleet.Machine, error) {
	s.count++
	return s.cloud.Launch(s.t.Context(), fleet.LaunchRequest{
		Candidate: fleet.Candidate{Offer: o, Bid: bid}, Token: time.Duration(s.count).String(), FleetID: "f", WorkerID: "w",
	})
}

func (s *sky) must(o fleet.Offer, bid fleet.Money) fleet.Machine {
	s.t.Helper()
	m, err := s.launch(o, bid)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

func (s *sky) state(id string) fleet.MachineState {
	s.t.Helper()
	all, err := s.cloud.Inventory(s.t.Context(), "f")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range all.Machines {
		if m.ID == id {
			return m.State
		}
	}
	return "missing"
}

func TestALaunchIsRefusedAsCloudsDo(t *testing.T) {
	for name, c := range map[string]struct {
		knobs func(*fleettest.Knobs, fleet.Place)
		bid   fleet.Money
		want  fleet.Outcome
	}{
		"no capacity is left in the place": {func(k *fleettest.Knobs, p fleet.Place) { k.Capacity = map[fleet.Place]int{p: 1} }, 0, fleet.NoCapacity},
		"the account has all it may have":  {func(k *fleettest.Knobs, _ fleet.Place) { k.Quota = 1 }, 0, fleet.OverQuota},
		"there were too many calls":        {func(k *fleettest.Knobs, _ fleet.Place) { k.PerMinute = 1 }, 0, fleet.Throttled},
		"the bid is below the price":       {func(*fleettest.Knobs, fleet.Place) {}, 6 * fleet.Cent, fleet.NoCapacity},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSky(t, func(*fleettest.Knobs) {})
			s.cloud.SetKnobs(func(k *fleettest.Knobs) { c.knobs(k, s.spot.Place) })
			first := s.must(s.spot, 0)
			if _, err := s.launch(s.spot, c.bid); fleet.OutcomeOf(err) != c.want {
				t.Errorf("the outcome is %s, want %s: %v", fleet.OutcomeOf(err), c.want, err)
			}
			if n := s.cloud.Live(); n != 1 {
				t.Errorf("%d machines live", n)
			}
			s.clock.Advance(time.Minute)
			if err := s.cloud.Terminate(t.Context(), first.ID); err != nil {
				t.Fatal(err)
			}
			s.clock.Advance(time.Minute)
			s.must(s.spot, 0)
		})
	}
}

func TestAThrottledCallSaysWhenToComeAgain(t *testing.T) {
	s := newSky(t, func(k *fleettest.Knobs) { k.PerMinute = 1 })
	s.must(s.onDemand, 0)
	s.clock.Advance(20 * time.Second)
	_, err := s.launch(s.onDemand, 0)
	var refused *fleet.ProviderError
	if !errors.As(err, &refused) || refused.After != 40*time.Second {
		t.Errorf("the error is %v", err)
	}
}

func TestASpotMachineIsTakenAwayWhenThePriceRisesAboveItsBid(t *testing.T) {
	s := newSky(t, func(*fleettest.Knobs) {})
	low, high, fixed := s.must(s.spot, 8*fleet.Cent), s.must(s.spot, 10*fleet.Cent), s.must(s.onDemand, 0)
	dearer := s.spot
	dearer.Price = 9 * fleet.Cent
	s.cloud.SetOffer(dearer)
	s.clock.Advance(2*time.Minute - time.Second)
	if got := s.state(low.ID); got != fleet.MachineRunning {
		t.Errorf("before its notice is over it is %s", got)
	}
	s.clock.Advance(time.Second)
	if got := s.state(low.ID); got != fleet.MachineTerminated {
		t.Errorf("after it, it is %s", got)
	}
	if a, b := s.state(high.ID), s.state(fixed.ID); a != fleet.MachineRunning || b != fleet.MachineRunning {
		t.Errorf("the others are %s and %s", a, b)
	}
}

func TestWhatIsToldLagsBehindWhatIs(t *testing.T) {
	s := newSky(t, func(k *fleettest.Knobs) { k.Lag = 30 * time.Second })
	m := s.must(s.onDemand, 0)
	if got := s.state(m.ID); got != "missing" {
		t.Errorf("a machine just launched is %s", got)
	}
	if err := s.cloud.Terminate(t.Context(), m.ID); fleet.OutcomeOf(err) != fleet.NotFound {
		t.Errorf("its end is answered with %v", err)
	}
	s.clock.Advance(30 * time.Second)
	if err := s.cloud.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.state(m.ID); got != fleet.MachineRunning || s.cloud.Live() != 0 {
		t.Errorf("a machine that has just ended is listed as %s, and %d live", got, s.cloud.Live())
	}
	s.clock.Advance(30 * time.Second)
	if got := s.state(m.ID); got != fleet.MachineTerminated {
		t.Errorf("later it is listed as %s", got)
	}
}

func TestMachinesThatVanishEndThemselvesOrLeaveADisk(t *testing.T) {
	s := newSky(t, func(k *fleettest.Knobs) { k.LeaveDisks = true })
	s.cloud.SetFaults(func(fleettest.Call) fleettest.Fault { return fleettest.Fault{Vanish: true} })
	if m := s.must(s.onDemand, 0); s.state(m.ID) != "missing" || s.cloud.Live() != 0 {
		t.Errorf("the machine that never was is %s", s.state(m.ID))
	}
	s.cloud.SetFaults(nil)
	m, err := s.cloud.Launch(t.Context(), fleet.LaunchRequest{
		Candidate: fleet.Candidate{Offer: s.onDemand}, Token: "t", FleetID: "f", WorkerID: "w", MaxLife: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Hour)
	if got := s.state(m.ID); got != fleet.MachineTerminated {
		t.Errorf("when its life is over it is %s", got)
	}
	other := s.must(s.onDemand, 0)
	if err := s.cloud.Terminate(t.Context(), other.ID); err != nil || s.cloud.Disks() != 1 {
		t.Errorf("%v; %d disks are left", err, s.cloud.Disks())
	}
}

func TestACloudKnowsWhatItReallyCost(t *testing.T) {
	s := newSky(t, func(*fleettest.Knobs) {})
	paid := s.onDemand
	paid.Surcharge, paid.Granularity = fleet.Cent, time.Hour
	s.cloud.SetOffer(paid)
	short := s.must(paid, 0)
	if err := s.cloud.Terminate(t.Context(), short.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.cloud.Billed(noon(), noon().Add(3*time.Hour)); got != 21*fleet.Cent {
		t.Errorf("a machine of no time at all costs %s, not an hour of it", got)
	}
	s.must(s.spot, 0)
	s.clock.Advance(time.Hour)
	dearer := s.spot
	dearer.Price = 9 * fleet.Cent
	s.cloud.SetOffer(dearer)
	if got := s.cloud.Billed(noon().Add(30*time.Minute), noon().Add(2*time.Hour)); got != 21*fleet.Cent/2+7*fleet.Cent/2+9*fleet.Cent {
		t.Errorf("half an hour of the one, and half an hour and an hour at another price of the other cost %s", got)
	}
}

func TestFaultsAreOneCallsOwn(t *testing.T) {
	s := newSky(t, func(*fleettest.Knobs) {})
	s.cloud.SetFaults(func(c fleettest.Call) fleettest.Fault {
		if c.Method == "Offers" {
			return fleettest.Fault{Hang: true}
		}
		return fleettest.LoseAnswer()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.cloud.Offers(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("offers that hang end with %v", err)
	}
	if _, err := s.launch(s.onDemand, 0); fleet.OutcomeOf(err) != fleet.Unknown || s.cloud.Live() != 1 {
		t.Errorf("a launch whose answer is lost ends with %v, and %d machines live", err, s.cloud.Live())
	}
	if n := len(s.cloud.Calls()); n != 2 {
		t.Errorf("%d calls were noted", n)
	}
}
