package fleet_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

// booked sums what is in the ledger for a worker.
func (l *loop) booked(workerID string) fleet.Money {
	var sum fleet.Money
	for _, e := range l.store.AllEntries() {
		if e.WorkerID == workerID {
			sum += e.Amount
		}
	}
	return sum
}

func TestASpotMachineIsBookedWithTheSurchargeOfTheFile(t *testing.T) {
	l := newLoop(t, func(c *fleet.Config) {
		p := c.Providers["aws"]
		p.Spot, p.Surcharge = true, 6*fleet.Cent
		c.Providers["aws"] = p
	})
	c := l.world.Clouds["aws"]
	c.SetOffer(c.Offer(xlarge, "a", fleet.Spot, 6*fleet.Cent))
	for range 10 {
		l.store.Enqueue(fleettest.Job{Queue: "media", Priority: 8, Work: 10 * time.Hour})
	}
	l.run(60)
	w := l.rows()[0]
	hours := w.AccruedUntil.Sub(w.ProvisionedAt).Hours()
	if got, want := l.booked(w.ID), fleet.Money(hours*float64(12*fleet.Cent)); got < want-fleet.Cent/10 || w.Market != fleet.Spot {
		t.Errorf("%.2f hours of a %s machine are booked as %s, with the disk they cost %s", hours, w.Market, got, want)
	}
}
