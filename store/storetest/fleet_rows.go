package storetest

import (
	"time"

	"github.com/spillway-media/spillway/fleet"
)

func rowRules() []fleetRule {
	return []fleetRule{
		{"a provisioned row is in the fleet with all that it was given", rowIsKept},
		{"a row that is provisioned twice is there once, as it was first", rowIsKeptOnce},
		{"what the provider answers is written to the row", rowIsAttached},
		{"a worker that registers takes over its row", rowIsTakenOver},
		{"claimed jobs are counted from the jobs", claimedIsCounted},
		{"a machine that is being ended claims nothing and cannot come back", rowIsTerminating},
		{"a machine that is gone gives its jobs back, once", rowIsGone},
		{"what is unknown or terminated is refused", rowsRefuse},
	}
}

func rowIsKept(f *fleetFixture) {
	want := rented("w-1")
	want.KeepUntil = f.now().Add(time.Hour).Truncate(time.Second)
	f.must(f.Fleet.Provision(f.ctx, want))
	got := f.row("w-1")
	if d := f.now().Sub(got.ProvisionedAt); d < 0 || d > time.Minute {
		f.Errorf("it was provisioned %v ago", d)
	}
	want.Status, want.ProvisionedAt = fleet.Provisioning, got.ProvisionedAt
	f.equal("the row", got, want)
}

func rowIsKeptOnce(f *fleetFixture) {
	f.must(f.Fleet.Provision(f.ctx, rented("w-1")))
	was := f.fleet()
	f.Shift(time.Minute)
	other := rented("w-1")
	other.Rate, other.Zone = 1, "elsewhere"
	f.must(f.Fleet.Provision(f.ctx, other))
	f.equal("the fleet", f.fleet(), was)
}

func rowIsAttached(f *fleetFixture) {
	f.must(f.Fleet.Provision(f.ctx, rented("w-1")))
	place := fleet.Place{Provider: "cloud", Type: "small", Zone: "zone-b", Market: fleet.OnDemand}
	offer := fleet.Offer{Place: place, Price: 300_000, Ceiling: 200_000, Surcharge: 7, Granularity: time.Hour}
	f.must(f.Fleet.Attach(f.ctx, "w-1", fleet.Machine{Place: place, WorkerID: "w-1"}, offer))
	if w := f.row("w-1"); w.InstanceID != "" || !w.LaunchedAt.IsZero() || w.Place != place || w.Rate != 300_007 {
		f.Errorf("the candidate that is asked next is %+v", w)
	}
	launched := f.now().Add(-10 * time.Second).Truncate(time.Second)
	m := fleet.Machine{Place: place, ID: "i-1", WorkerID: "w-1", LaunchedAt: launched}
	for range 2 {
		f.must(f.Fleet.Attach(f.ctx, "w-1", m, offer))
		w := f.row("w-1")
		if w.Place != place || w.InstanceID != "i-1" || w.Rate != 300_007 || w.Ceiling != 300_007 || w.Granularity != time.Hour {
			f.Errorf("the row is %+v", w)
		}
		f.equal("when it was launched", w.LaunchedAt, launched)
		f.equal("its status", w.Status, fleet.Provisioning)
	}
}

func rowIsTakenOver(f *fleetFixture) {
	f.must(f.Fleet.Provision(f.ctx, rented("w-1")))
	if w := f.row("w-1"); !w.RegisteredAt.IsZero() || !w.LastHeartbeat.IsZero() {
		f.Errorf("nobody has registered: %+v", w)
	}
	f.Shift(time.Minute)
	f.Jobs.Register("w-1", "images")
	w := f.row("w-1")
	if d := w.RegisteredAt.Sub(w.ProvisionedAt); d < 59*time.Second || d > 90*time.Second || w.LastHeartbeat.IsZero() {
		f.Errorf("it registered %v after it was provisioned: %+v", d, w)
	}
	if w.Status != fleet.Active || w.Rate != 123_456 || w.Place != rented("w-1").Place || w.Request.Token != "d1-1-1" {
		f.Errorf("the row is %+v", w)
	}
	f.Jobs.Register("vps-1", "images")
	if w := f.row("vps-1"); w.Market != fleet.VPS || w.Cloud() || !w.ProvisionedAt.IsZero() || w.Status != fleet.Active {
		f.Errorf("a worker that no scheduler started is %+v", w)
	}
}

func claimedIsCounted(f *fleetFixture) {
	f.hire("w-1")
	f.Jobs.Register("vps-1", "images")
	for range 3 {
		f.Jobs.Enqueue(job("images"))
	}
	first := f.Jobs.Claim("w-1")
	f.Jobs.Claim("w-1")
	f.Jobs.Claim("vps-1")
	if a, b := f.row("w-1"), f.row("vps-1"); a.Claimed != 2 || b.Claimed != 1 {
		f.Errorf("claimed are %d and %d; want 2 and 1", a.Claimed, b.Claimed)
	}
	f.Jobs.Finish("w-1", first, true)
	if w := f.row("w-1"); w.Claimed != 1 || w.LastJobCompletedAt.IsZero() {
		f.Errorf("after one has ended the row is %+v", w)
	}
}

func rowIsTerminating(f *fleetFixture) {
	f.hire("w-1")
	f.must(f.Fleet.Terminating(f.ctx, "w-1"))
	first := f.row("w-1")
	if first.Status != fleet.Draining || first.TerminateAt.IsZero() {
		f.Errorf("the row is %+v", first)
	}
	f.Shift(time.Minute)
	f.must(f.Fleet.Terminating(f.ctx, "w-1"))
	f.equal("when it was first asked", f.row("w-1").TerminateAt, first.TerminateAt)
	f.wants(f.Fleet.Undrain(f.ctx, "w-1"), fleet.ErrState)
	f.Jobs.Enqueue(job("images"))
	if id := f.Jobs.Claim("w-1"); id != 0 {
		f.Errorf("it got job %d", id)
	}
}

func rowIsGone(f *fleetFixture) {
	f.hire("w-1")
	f.hire("w-2")
	var held []int64
	for range 2 {
		f.Jobs.Enqueue(job("images"))
		held = append(held, f.Jobs.Claim("w-1"))
	}
	f.Jobs.Enqueue(job("images"))
	others := f.Jobs.Claim("w-2")
	f.must(f.Fleet.Terminating(f.ctx, "w-1"))
	at := f.now()
	requeued, err := f.Fleet.Gone(f.ctx, "w-1", at)
	f.must(err)
	f.equal("the jobs that were given back", requeued, held)
	again, err := f.Fleet.Gone(f.ctx, "w-1", at.Add(time.Hour))
	f.must(err)
	f.equal("the jobs that were given back a second time", again, []int64(nil))
	if list := f.fleet(); len(list) != 1 || list[0].ID != "w-2" || list[0].Claimed != 1 {
		f.Errorf("the fleet is %+v", list)
	}
	if f.Jobs.Finish("w-1", held[0], true) {
		f.Error("a machine that is gone has ended a job")
	}
	for range held {
		if id := f.Jobs.Claim("w-2"); id != held[0] && id != held[1] {
			f.Errorf("job %d was claimed next; want one of %v", id, held)
		}
	}
	if !f.Jobs.Finish("w-2", others, true) || !f.Jobs.Finish("w-2", held[0], true) {
		f.Error("a job was taken from a worker that is there")
	}
}

func rowsRefuse(f *fleetFixture) {
	calls := func(id string) []error {
		return []error{
			f.Fleet.Attach(f.ctx, id, fleet.Machine{ID: "i-9", Place: rented(id).Place}, fleet.Offer{}),
			f.Fleet.Terminating(f.ctx, id), f.Fleet.Drain(f.ctx, id, time.Minute),
			f.Fleet.Undrain(f.ctx, id), f.Fleet.Restrict(f.ctx, id, 3),
		}
	}
	for _, err := range calls("nobody") {
		f.wants(err, fleet.ErrNotFound)
	}
	_, err := f.Fleet.Gone(f.ctx, "nobody", f.now())
	f.wants(err, fleet.ErrNotFound)
	f.hire("w-1")
	_, err = f.Fleet.Gone(f.ctx, "w-1", f.now())
	f.must(err)
	for _, err := range calls("w-1") {
		f.wants(err, fleet.ErrState)
	}
}

func drainRules() []fleetRule {
	return []fleetRule{
		{"a deadline to drain is brought forward and never put off", deadlineComesForward},
		{"a drained worker gets nothing, and goes on when it is un-drained", drainIsUndone},
		{"a machine that has not registered is un-drained to what it was", drainOfNobody},
		{"a restricted worker gets no job of a higher rank", restricted},
		{"a parked worker gets no job until it is let go on, and can be drained", parked},
		{"one scheduler is elected, and another when it goes", oneIsElected},
	}
}

func deadlineComesForward(f *fleetFixture) {
	f.hire("w-1")
	f.must(f.Fleet.Drain(f.ctx, "w-1", 5*time.Minute))
	first := f.row("w-1")
	if d := first.DrainDeadline.Sub(f.now()); first.Status != fleet.Draining || d < 4*time.Minute || d > 5*time.Minute {
		f.Errorf("it is %s and has %v left", first.Status, d)
	}
	f.must(f.Fleet.Drain(f.ctx, "w-1", time.Hour))
	f.equal("the deadline after a later one", f.row("w-1").DrainDeadline, first.DrainDeadline)
	f.must(f.Fleet.Drain(f.ctx, "w-1", 2*time.Minute))
	if d := f.row("w-1").DrainDeadline.Sub(f.now()); d > 2*time.Minute {
		f.Errorf("%v are left after a nearer deadline", d)
	}
	f.must(f.Fleet.Undrain(f.ctx, "w-1"))
	f.must(f.Fleet.Drain(f.ctx, "w-1", time.Hour))
	if d := f.row("w-1").DrainDeadline.Sub(f.now()); d < 59*time.Minute {
		f.Errorf("%v are left of a new drain", d)
	}
}

func drainIsUndone(f *fleetFixture) {
	f.hire("w-1")
	f.Jobs.Enqueue(job("images"))
	f.must(f.Fleet.Drain(f.ctx, "w-1", time.Minute))
	if id := f.Jobs.Claim("w-1"); id != 0 {
		f.Errorf("it got job %d", id)
	}
	f.must(f.Fleet.Undrain(f.ctx, "w-1"))
	if w := f.row("w-1"); w.Status != fleet.Active || !w.DrainDeadline.IsZero() {
		f.Errorf("the row is %+v", w)
	}
	if id := f.Jobs.Claim("w-1"); id == 0 {
		f.Error("it got no job")
	}
}

func drainOfNobody(f *fleetFixture) {
	f.must(f.Fleet.Provision(f.ctx, rented("w-1")))
	f.must(f.Fleet.Drain(f.ctx, "w-1", time.Minute))
	f.equal("its status", f.row("w-1").Status, fleet.Draining)
	f.must(f.Fleet.Undrain(f.ctx, "w-1"))
	f.equal("its status", f.row("w-1").Status, fleet.Provisioning)
}

func restricted(f *fleetFixture) {
	f.Jobs.Register("vps-1", "images")
	f.must(f.Fleet.Restrict(f.ctx, "vps-1", 3))
	f.equal("what it may claim", f.row("vps-1").MaxRank, 3)
	f.Jobs.Enqueue(job("images", priority(4)))
	if id := f.Jobs.Claim("vps-1"); id != 0 {
		f.Errorf("it got job %d", id)
	}
	urgent := f.Jobs.Enqueue(job("images", priority(3)))
	f.equal("the job that it got", f.Jobs.Claim("vps-1"), urgent)
	f.must(f.Fleet.Restrict(f.ctx, "vps-1", 0))
	if id := f.Jobs.Claim("vps-1"); id == 0 {
		f.Error("it got no job when it was not restricted any more")
	}
}

func parked(f *fleetFixture) {
	f.hire("w-1")
	f.Jobs.Register("vps-1", "images")
	for range 4 {
		f.Jobs.Enqueue(job("images"))
	}
	held := f.Jobs.Claim("w-1")
	f.must(f.Fleet.Restrict(f.ctx, "w-1", -1))
	if w := f.row("w-1"); w.MaxRank != -1 || w.Status != fleet.Active || w.Claimed != 1 {
		f.Errorf("the row is %+v", w)
	}
	if id := f.Jobs.Claim("w-1"); id != 0 {
		f.Errorf("it got job %d", id)
	}
	if id := f.Jobs.Claim("vps-1"); id == 0 {
		f.Error("another one got no job")
	}
	if !f.Jobs.Finish("w-1", held, true) {
		f.Error("it lost the job that it had")
	}
	f.Jobs.Register("w-1", "images") // as after a restart of its process
	f.equal("what it may claim when it comes back", f.row("w-1").MaxRank, -1)
	f.must(f.Fleet.Drain(f.ctx, "w-1", time.Minute))
	f.must(f.Fleet.Undrain(f.ctx, "w-1"))
	if w := f.row("w-1"); w.MaxRank != -1 || w.Status != fleet.Active {
		f.Errorf("after a drain that was undone the row is %+v", w)
	}
	f.must(f.Fleet.Restrict(f.ctx, "w-1", 0))
	if id := f.Jobs.Claim("w-1"); id == 0 {
		f.Error("it got no job when it was not parked any more")
	}
}

func oneIsElected(f *fleetFixture) {
	first, err := f.Fleet.Elect(f.ctx, "scheduler")
	f.must(err)
	second, err := f.Fleet.Elect(f.ctx, "scheduler")
	f.must(err)
	if first == nil || second != nil {
		f.Fatalf("elected are %v and %v", first, second)
	}
	f.must(first.Held(f.ctx))
	first.Release()
	third, err := f.Fleet.Elect(f.ctx, "scheduler")
	f.must(err)
	if third == nil {
		f.Fatal("nobody was elected after the first had gone")
	}
	third.Release()
}
