package storetest

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

// fleetOf is a Backend as the rules of a scheduler's store want it.
func fleetOf(f *fixture) *fleetFixture {
	held := map[int64]jobs.Job{}
	return &fleetFixture{f.T, &FleetBackend{Fleet: f.Fleet, Jobs: &storeJobs{f, held}, Shift: f.Shift}, f.ctx}
}

// storeJobs is Jobs by a jobs.Store.
type storeJobs struct {
	*fixture
	held map[int64]jobs.Job
}

func (s *storeJobs) Enqueue(spec jobs.Spec) int64 {
	s.Helper()
	return int64(s.enqueue(spec)[0])
}

func (s *storeJobs) Register(workerID string, queues ...string) {
	s.Helper()
	s.register(workerID, func(w *jobs.WorkerRow) { w.Queues = queues })
}

func (s *storeJobs) Claim(workerID string) int64 {
	s.Helper()
	var row fleet.Worker
	for _, w := range fleetOf(s.fixture).fleet() {
		if w.ID == workerID {
			row = w
		}
	}
	list, err := s.Store.Claim(s.ctx, jobs.Claim{
		WorkerID: workerID, Queues: row.Queues, N: 1, Lease: lease, Market: jobs.VPS, MaxRank: row.MaxRank,
	})
	s.must(err)
	if len(list) == 0 {
		return 0
	}
	s.held[int64(list[0].ID)] = list[0]
	return int64(list[0].ID)
}

func (s *storeJobs) Finish(_ string, id int64, succeeds bool) bool {
	s.Helper()
	o := failed()
	if succeeds {
		o = succeeded()
	}
	err := s.Store.Finish(s.ctx, leaseOf(s.held[id]), o)
	if err != nil {
		s.wants(err, jobs.ErrLeaseLost)
	}
	return err == nil
}

// runFleet holds a store to the rules of package fleet, where it has that side.
func runFleet(t *testing.T, open func(t *testing.T) *Backend) {
	if open(t).Fleet == nil {
		return
	}
	for _, g := range fleetGroups() {
		t.Run(g.name, func(t *testing.T) {
			for _, r := range g.rules {
				t.Run(r.name, func(t *testing.T) { r.check(fleetOf(&fixture{t, open(t), t.Context()})) })
			}
		})
	}
	t.Run("workers of machines", func(t *testing.T) {
		for _, r := range machineRules() {
			t.Run(r.name, func(t *testing.T) { r.check(enter(t, open(t))) })
		}
	})
}

// machineRules are about workers on machines that a scheduler has started.
func machineRules() []rule {
	return []rule{
		{"how a machine is paid for is the scheduler's to say", paymentStays},
		{"a worker that registers late on a machine that is being ended drains", lateWorkerDrains},
		{"a machine whose worker has left stays in the fleet until it is gone", leftStays},
		{"a machine whose worker fell silent stays in the fleet until it is gone", silentStays},
		{"a job counts a lost lease when its machine went by itself", machineWentByItself},
		{"a job that was to be cancelled is cancelled when its machine is gone", cancelledWithMachine},
		{"a worker of a machine that was forgotten is in the fleet again", forgottenComesBack},
		{"decisions and entries are deleted when nobody will ask for them any more", pruneLedger},
		{"a parked worker is told so, and of no job that is to run alone", parkedIsTold},
	}
}

func paymentStays(f *fixture) {
	f.must(f.Fleet.Provision(f.ctx, rented("w-1")))
	f.must(f.Store.Register(f.ctx, jobs.WorkerRow{ID: "w-1", Hostname: "h", Provider: "vps", Market: jobs.VPS,
		InstanceType: "small", Queues: []string{"images"}, Slots: 2, Version: "2", CostPerHour: 1}))
	w := fleetOf(f).row("w-1")
	if w.Place != rented("w-1").Place || w.Rate != 123_456 || w.Ceiling != 250_000 || w.Slots != 2 || len(w.Queues) != 1 {
		f.Errorf("the row is %+v", w)
	}
	if row := f.worker("w-1"); row.Market != jobs.Spot || row.CostPerHour != 123_456 || row.Hostname != "h" {
		f.Errorf("the worker is %+v", row)
	}
}

func lateWorkerDrains(f *fixture) {
	f.must(f.Fleet.Provision(f.ctx, rented("w-1")))
	f.must(f.Fleet.Terminating(f.ctx, "w-1"))
	f.register("w-1")
	f.equal("what it is told", f.signals("w-1").Status, jobs.WorkerDraining)
	f.one()
	if n := len(f.claimBy("w-1", 1)); n != 0 {
		f.Error("it got a job")
	}
}

// left checks that a machine is there to be ended, and only that.
func (f *fixture) left(id string) {
	f.Helper()
	w := fleetOf(f).row(id)
	if w.Status != fleet.Draining || w.LeftAt.IsZero() || w.DrainDeadline.After(w.LeftAt) || w.CurrentJobs != 0 {
		f.Errorf("the row is %+v", w)
	}
	f.wants(f.Fleet.Undrain(f.ctx, id), fleet.ErrState)
	_, err := f.Fleet.Gone(f.ctx, id, w.LeftAt)
	f.must(err)
	if row := f.worker(id); row.Status != jobs.WorkerTerminated || row.TerminatedAt.IsZero() {
		f.Errorf("the worker is %+v", row)
	}
}

func leftStays(f *fixture) {
	fleetOf(f).hire("w-1")
	f.must(f.Store.Leave(f.ctx, "w-1"))
	f.must(f.Store.Leave(f.ctx, "w-1"))
	f.equal("its status", f.worker("w-1").Status, jobs.WorkerDraining)
	f.left("w-1")
	f.must(f.Store.Leave(f.ctx, "w-1"))
	f.equal("its status", f.worker("w-1").Status, jobs.WorkerTerminated)
}

func silentStays(f *fixture) {
	fleetOf(f).hire("w-1")
	f.Shift(time.Hour)
	f.beat()
	f.equal("who is buried", f.bury(20*time.Minute), []string{"w-1"})
	f.equal("who is buried again", f.bury(20*time.Minute), []string(nil))
	f.left("w-1")
}

func machineWentByItself(f *fixture) {
	fleetOf(f).hire("w-1")
	id := f.one()
	f.equal("what it claimed", ids(f.claimBy("w-1", 1)), []jobs.ID{id})
	requeued, err := f.Fleet.Gone(f.ctx, "w-1", fleetOf(f).now())
	f.must(err)
	f.equal("what was given back", requeued, []int64{int64(id)})
	f.equal("its attempts", f.statuses(id), []jobs.AttemptStatus{jobs.AttemptLost})
	if j := f.is(id, jobs.Queued); j.Attempts != 0 || j.Lost != 1 {
		f.Errorf("the job is %+v", j)
	}
	fleetOf(f).hire("w-2")
	f.claimBy("w-2", 1)
	f.must(f.Fleet.Terminating(f.ctx, "w-2"))
	_, err = f.Fleet.Gone(f.ctx, "w-2", fleetOf(f).now())
	f.must(err)
	f.equal("its attempts", f.statuses(id), []jobs.AttemptStatus{jobs.AttemptLost, jobs.AttemptReleased})
	if j := f.is(id, jobs.Queued); j.Attempts != 0 || j.Lost != 0 {
		f.Errorf("the job is %+v", j)
	}
}

func cancelledWithMachine(f *fixture) {
	fleetOf(f).hire("w-1")
	id := f.one()
	f.claimBy("w-1", 1)
	f.cancel(id)
	f.must(f.Fleet.Terminating(f.ctx, "w-1"))
	requeued, err := f.Fleet.Gone(f.ctx, "w-1", fleetOf(f).now())
	f.must(err)
	f.equal("what was given back", requeued, []int64(nil))
	f.is(id, jobs.Cancelled)
}

func forgottenComesBack(f *fixture) {
	fleetOf(f).hire("w-1")
	_, err := f.Fleet.Gone(f.ctx, "w-1", fleetOf(f).now())
	f.must(err)
	f.register("w-1")
	if w := fleetOf(f).row("w-1"); w.Status != fleet.Active || w.Rate != 123_456 || w.ProvisionedAt.IsZero() {
		f.Errorf("the row is %+v", w)
	}
}

func parkedIsTold(f *fixture) {
	fleetOf(f).hire("w-1")
	j := f.begin(priority(5))
	f.lose()
	f.start(j.ID)
	f.lose()
	if s := f.signals("w-1"); !s.Suspect || s.MaxRank != 0 {
		f.Errorf("before, it is told %+v", s)
	}
	f.must(f.Fleet.Restrict(f.ctx, "w-1", -1))
	if s := f.signals("w-1"); s.Suspect || s.MaxRank != -1 || s.Status != jobs.WorkerActive {
		f.Errorf("it is told %+v", s)
	}
	list, err := f.Store.Claim(f.ctx, jobs.Claim{
		WorkerID: "w-1", Queues: []string{queue}, N: 1, Lease: lease, Market: jobs.OnDemand, Alone: true, MaxRank: -1,
	})
	f.must(err)
	f.equal("what it got", ids(list), []jobs.ID{})
	f.must(f.Fleet.Restrict(f.ctx, "w-1", 0))
	if s := f.signals("w-1"); !s.Suspect || s.MaxRank != 0 {
		f.Errorf("when it is parked no more, it is told %+v", s)
	}
}
