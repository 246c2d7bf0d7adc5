package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

// FleetBackend is a scheduler's store on an empty database.
type FleetBackend struct {
	Fleet fleet.Store
	Jobs  Jobs
	// Shift moves the clock of the database.
	Shift func(d time.Duration)
}

// Jobs is what clients and workers do to the same database, as far as a
// scheduler sees it. Failures end the test.
type Jobs interface {
	// Enqueue puts a job in and answers its number.
	Enqueue(s jobs.Spec) int64
	// Register enters a worker, or has it take over its row.
	Register(workerID string, queues ...string)
	// Claim takes the next job for a registered worker; 0 when it gets none.
	Claim(workerID string) int64
	// Finish ends what the worker has claimed, and says whether it still had it.
	Finish(workerID string, id int64, succeeds bool) bool
}

// RunFleet holds a scheduler's store to all rules of package fleet.
func RunFleet(t *testing.T, open func(t *testing.T) *FleetBackend) {
	for _, g := range fleetGroups() {
		t.Run(g.name, func(t *testing.T) {
			for _, r := range g.rules {
				t.Run(r.name, func(t *testing.T) { r.check(&fleetFixture{t, open(t), t.Context()}) })
			}
		})
	}
}

type fleetRule struct {
	name  string
	check func(*fleetFixture)
}

type fleetGroup struct {
	name  string
	rules []fleetRule
}

func fleetGroups() []fleetGroup {
	return []fleetGroup{
		{"rows", rowRules()},
		{"drains", drainRules()},
		{"demand", demandRules()},
		{"decisions", decisionRules()},
		{"spending", spendRules()},
		{"the scheduler's state", stateRules()},
	}
}

// fleetFixture is what a rule works with.
type fleetFixture struct {
	*testing.T
	*FleetBackend
	ctx context.Context //nolint:containedctx // it is the test's, and lives as long
}

func (f *fleetFixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fleetFixture) wants(err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Fatalf("error is %v; want %v", err, target)
	}
}

// equal compares anything; times to within what databases round away.
func (f *fleetFixture) equal(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(time.Millisecond), cmpopts.EquateEmpty()); diff != "" {
		f.Fatalf("%s is not as it should be (-want +got):\n%s", what, diff)
	}
}

// rented is a row for a machine that will be asked for.
func rented(id string) fleet.Worker {
	place := fleet.Place{Provider: "cloud", Type: "large", Zone: "zone-a", Market: fleet.Spot}
	return fleet.Worker{
		ID: id, Place: place, Queues: []string{"images", "bulk"}, Slots: 4, Origin: fleet.OriginTick,
		Rate: 123_456, Ceiling: 250_000, Granularity: time.Minute,
		Request: fleet.LaunchRequest{
			Candidate: fleet.Candidate{Offer: fleet.Offer{Place: place, Price: 120_000, Ceiling: 250_000}, Image: "image-1", Bid: 250_000},
			Token:     "d1-1-1", WorkerID: id, Queues: []string{"images", "bulk"}, Slots: 4,
		},
	}
}

// hire provisions a row and has its worker register.
func (f *fleetFixture) hire(id string) {
	f.Helper()
	f.must(f.Fleet.Provision(f.ctx, rented(id)))
	f.Jobs.Register(id, "images", "bulk")
}

func (f *fleetFixture) fleet() []fleet.Worker {
	f.Helper()
	list, err := f.Fleet.Fleet(f.ctx)
	f.must(err)
	return list
}

// row is the one of that id, which must be in the fleet.
func (f *fleetFixture) row(id string) fleet.Worker {
	f.Helper()
	for _, w := range f.fleet() {
		if w.ID == id {
			return w
		}
	}
	f.Fatalf("worker %s is not in the fleet", id)
	return fleet.Worker{}
}

// now is what the database takes for the time.
func (f *fleetFixture) now() time.Time {
	f.Helper()
	at, _, err := f.Fleet.Demand(f.ctx, nil)
	f.must(err)
	return at
}

// job is an ordinary one.
func job(queue string, changes ...func(*jobs.Spec)) jobs.Spec {
	return with(append([]func(*jobs.Spec){in(queue)}, changes...)...)
}
