package fleettest_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/storetest"
)

func TestTheStoreInMemoryKeepsTheRulesOfAllStores(t *testing.T) {
	storetest.RunFleet(t, func(*testing.T) *storetest.FleetBackend {
		store, clock := newStore()
		return &storetest.FleetBackend{Fleet: store, Jobs: work{store, clock}, Shift: clock.Advance}
	})
}

// work is what clients and workers do to the store.
type work struct {
	store *fleettest.Store
	clock *fleettest.Clock
}

func (w work) Enqueue(s jobs.Spec) int64 {
	priority := s.Priority
	if priority == 0 {
		priority = jobs.DefaultPriority
	}
	return w.store.Enqueue(fleettest.Job{
		Queue: s.Queue, Priority: priority, Tenant: s.Tenant, Resumes: s.Checkpointable, EligibleAt: w.clock.Now().Add(s.Delay),
		Estimated: time.Duration(s.EstimatedSeconds * float64(time.Second)),
	})[0]
}

func (w work) Register(workerID string, queues ...string) {
	if w.store.Register(workerID) {
		return
	}
	w.store.Put(fleet.Worker{
		ID: workerID, Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Queues: queues, Slots: 4,
		Status: fleet.Active, RegisteredAt: w.clock.Now(), LastHeartbeat: w.clock.Now(),
	})
}

func (w work) Claim(workerID string) int64 {
	job, _ := w.store.Claim(workerID)
	return job.ID
}

func (w work) Finish(workerID string, id int64, succeeds bool) bool {
	if succeeds {
		return w.store.Finish(workerID, id)
	}
	return w.store.Fail(workerID, id)
}
