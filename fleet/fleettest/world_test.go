package fleettest_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

func noon() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

// launched is a world of one cloud with one machine for queue media.
func launched(t *testing.T, market fleet.Market) (*fleettest.World, *fleettest.Cloud, fleet.Machine) {
	t.Helper()
	w := fleettest.NewWorld(noon())
	c := w.AddCloud("aws")
	offer := c.Offer("c6i.xlarge", "eu-west-3a", market, 20*fleet.Cent)
	c.SetOffer(offer)
	c.SetKnobs(func(k *fleettest.Knobs) { k.Boot = 2 * time.Minute; k.Shutdown = 30 * time.Second })
	err := w.Store.Provision(t.Context(), fleet.Worker{ID: "w-1", Place: offer.Place, Queues: []string{"media"}, Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Launch(t.Context(), fleet.LaunchRequest{
		Candidate: fleet.Candidate{Offer: offer}, Token: "d1-0-0", FleetID: "f", WorkerID: "w-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Store.Attach(t.Context(), "w-1", m, offer); err != nil {
		t.Fatal(err)
	}
	return w, c, m
}

func status(t *testing.T, w *fleettest.World, id string) fleet.WorkerStatus {
	t.Helper()
	row, _, ok := w.Store.Worker(id)
	if !ok {
		t.Fatalf("there is no worker %s", id)
	}
	return row.Status
}

func TestAMachineBootsRegistersAndWorks(t *testing.T) {
	w, _, _ := launched(t, fleet.OnDemand)
	w.Store.Enqueue(fleettest.Job{Queue: "media", Priority: 5, Work: time.Minute})
	w.Advance(2*time.Minute + 25*time.Second)
	if got := status(t, w, "w-1"); got != fleet.Provisioning {
		t.Errorf("before boot and registration are over it is %s", got)
	}
	w.Advance(5 * time.Second)
	if got := status(t, w, "w-1"); got != fleet.Active || len(w.Store.Running()) != 1 {
		t.Errorf("after them it is %s and has %d jobs", got, len(w.Store.Running()))
	}
	w.Advance(time.Minute)
	if n := w.Store.Ended("succeeded"); n != 1 {
		t.Errorf("%d jobs succeeded", n)
	}
}

func TestADrainingWorkerClaimsNothingAndGivesBackAtItsDeadline(t *testing.T) {
	w, _, _ := launched(t, fleet.OnDemand)
	w.Store.Enqueue(fleettest.Job{Queue: "media", Priority: 5, Work: time.Hour}, fleettest.Job{Queue: "media", Priority: 5})
	w.Advance(3 * time.Minute)
	if err := w.Store.Drain(t.Context(), "w-1", 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	w.Advance(5*time.Minute - time.Second)
	if n := len(w.Store.Running()); n != 1 {
		t.Fatalf("%d jobs run before the deadline", n)
	}
	w.Advance(time.Second)
	if n, waiting := len(w.Store.Running()), w.Store.Waiting("media"); n != 0 || waiting != 2 {
		t.Errorf("after it %d jobs run and %d wait", n, waiting)
	}
}

func TestATerminatedMachineTakesItsWorkerWithItAndGoneGivesJobsBackOnce(t *testing.T) {
	w, c, m := launched(t, fleet.OnDemand)
	w.Store.Enqueue(fleettest.Job{Queue: "media", Priority: 5, Work: time.Hour})
	w.Advance(3 * time.Minute)
	if err := c.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	w.Advance(30 * time.Second)
	if alive := w.Alive(); len(alive) != 0 {
		t.Errorf("%v is alive", alive)
	}
	first, err := w.Store.Gone(t.Context(), "w-1", w.Clock.Now())
	if err != nil || len(first) != 1 {
		t.Errorf("Gone gave back %v, %v", first, err)
	}
	again, err := w.Store.Gone(t.Context(), "w-1", w.Clock.Now())
	if err != nil || len(again) != 0 {
		t.Errorf("Gone gave back again %v, %v", again, err)
	}
	if cost := c.Billed(noon(), w.Clock.Now()); cost != (20 * fleet.Cent).For(3*time.Minute+30*time.Second) {
		t.Errorf("it cost %s", cost)
	}
}

func TestAWorkerDrainsItselfWhenItsSpotMachineIsTakenAway(t *testing.T) {
	w, c, m := launched(t, fleet.Spot)
	w.Store.Enqueue(fleettest.Job{Queue: "media", Priority: 8, Work: time.Hour, Resumes: true})
	w.Advance(3 * time.Minute)
	c.Interrupt(m.ID, 2*time.Minute)
	w.Advance(10 * time.Second)
	if got := status(t, w, "w-1"); got != fleet.Draining {
		t.Errorf("with the notice it is %s", got)
	}
	w.Advance(2 * time.Minute)
	if n := w.Store.Waiting("media"); n != 1 || c.Live() != 0 {
		t.Errorf("%d jobs wait and %d machines live", n, c.Live())
	}
}

func TestASpotMachineTakesNoInteractiveJob(t *testing.T) {
	w, _, _ := launched(t, fleet.Spot)
	w.Store.Enqueue(
		fleettest.Job{Queue: "media", Priority: 1},
		fleettest.Job{Queue: "media", Priority: 5, Estimated: time.Hour},
		fleettest.Job{Queue: "media", Priority: 5, Estimated: time.Hour, Resumes: true, Work: time.Hour},
	)
	w.Advance(3 * time.Minute)
	running := w.Store.Running()
	if len(running) != 1 || !running[0].Resumes {
		t.Errorf("it runs %+v", running)
	}
}
