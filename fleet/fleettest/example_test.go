package fleettest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// A launch whose answer is lost has made its machine all the same, and the same
// token finds it again.
func Example() {
	world := fleettest.NewWorld(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	cloud := world.AddCloud("aws")
	offer := cloud.Offer("c6i.xlarge", "eu-west-3a", fleet.OnDemand, 20*fleet.Cent)
	cloud.SetOffer(offer)

	request := fleet.LaunchRequest{
		Candidate: fleet.Candidate{Offer: offer}, Token: "d1-1-1", FleetID: "f", WorkerID: "w-d1",
	}
	cloud.SetFaults(func(fleettest.Call) fleettest.Fault { return fleettest.LoseAnswer() })
	_, err := cloud.Launch(context.Background(), request)
	fmt.Println(fleet.OutcomeOf(err), cloud.Live())

	cloud.SetFaults(nil)
	machine, err := cloud.Launch(context.Background(), request)
	fmt.Println(machine.ID, err, cloud.Live())

	world.Advance(90 * time.Minute)
	fmt.Println(cloud.Billed(time.Time{}, world.Clock.Now()))
	// Output:
	// unknown 1
	// aws-0001 <nil> 1
	// 30 cents
}
