package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/jobs"
)

func decisionRules() []fleetRule {
	return []fleetRule{
		{"a decision is kept whole, and found by its id", decisionIsKept},
		{"decisions are listed newest first, as a filter chooses, page by page", decisionsAreListed},
		{"a record that comes twice is there once", recordIsOnce},
	}
}

// launch is a decision with all that one can have.
func launch(id string, at time.Time) fleet.Decision {
	c := rented("w-" + id).Request.Candidate
	return fleet.Decision{
		ID: id, Tick: "t1", At: at, Kind: fleet.KindLaunch, Origin: fleet.OriginTick, Queue: "images", WorkerID: "w-" + id,
		Provider: "cloud", MachineID: "i-1", Rule: "seed.queue_depth_threshold", Sentence: "Scaling up images: depth=12, oldest=40s",
		Inputs: []fleet.Fact{{Name: "depth", Value: "12"}}, Wanted: 4, Allowed: 3, Limit: "max_workers (3)",
		Rejected: []fleet.Rejected{{What: "cloud large in zone-b, spot", Reason: "cool_off"}},
		Launch:   &fleet.Launch{Candidates: []fleet.Candidate{c}, Queues: []string{"images"}, Slots: 4, KeepFor: time.Hour},
		Outcome:  "done", Attempts: []fleet.Attempt{{Place: c.Place, Token: id + "-1-1", Outcome: "launched"}},
	}
}

func (f *fleetFixture) record(r fleet.Record) {
	f.Helper()
	f.must(f.Fleet.Record(f.ctx, r))
}

func decisionIsKept(f *fleetFixture) {
	want := launch("d1", f.now().Truncate(time.Second))
	f.record(fleet.Record{Decisions: []fleet.Decision{want}})
	got, err := f.Fleet.Decision(f.ctx, "d1")
	f.must(err)
	f.equal("the decision", got, want)
	_, err = f.Fleet.Decision(f.ctx, "d2")
	f.wants(err, fleet.ErrNotFound)
	_, err = f.Fleet.Decision(f.ctx, "no\x00thing\xff")
	f.wants(err, fleet.ErrNotFound)
}

func decisionsAreListed(f *fleetFixture) {
	at := f.now()
	var all []string
	for tick := range 4 {
		r := fleet.Record{}
		for i, queue := range []string{"images", "ocr"} {
			d := fleet.Decision{ID: fmt.Sprintf("d%d%d", tick, i), Tick: fmt.Sprint("t", tick), At: at, Kind: fleet.KindHold, Queue: queue}
			if tick == 2 {
				d.Kind, d.WorkerID = fleet.KindDrain, "w-"+queue
			}
			r.Decisions = append(r.Decisions, d)
			all = append(all, d.ID)
		}
		f.record(r)
	}
	slices.Reverse(all)
	for _, c := range []struct {
		name   string
		filter fleet.DecisionFilter
		want   []string
	}{
		{"all", fleet.DecisionFilter{}, all},
		{"a page", fleet.DecisionFilter{Limit: 3}, all[:3]},
		{"the next page", fleet.DecisionFilter{Before: all[2], Limit: 2}, all[3:5]},
		{"of a kind", fleet.DecisionFilter{Kind: fleet.KindDrain}, []string{"d21", "d20"}},
		{"of a queue", fleet.DecisionFilter{Queue: "ocr"}, []string{"d31", "d21", "d11", "d01"}},
		{"of a worker", fleet.DecisionFilter{WorkerID: "w-ocr"}, []string{"d21"}},
		{"of a tick", fleet.DecisionFilter{Tick: "t1"}, []string{"d11", "d10"}},
		{"of a kind, of a queue, before one", fleet.DecisionFilter{Kind: fleet.KindHold, Queue: "images", Before: "d30"}, []string{"d10", "d00"}},
		{"of none", fleet.DecisionFilter{Queue: "media"}, nil},
	} {
		list, err := f.Fleet.Decisions(f.ctx, c.filter)
		f.must(err)
		var got []string
		for _, d := range list {
			got = append(got, d.ID)
		}
		f.equal("the list "+c.name, got, c.want)
	}
	_, err := f.Fleet.Decisions(f.ctx, fleet.DecisionFilter{Before: "unknown"})
	f.wants(err, fleet.ErrNotFound)
}

func recordIsOnce(f *fleetFixture) {
	f.hire("w-1")
	at := f.now().Truncate(time.Second)
	r := fleet.Record{
		Decisions: []fleet.Decision{launch("d1", at)},
		Entries:   []fleet.SpendEntry{accrual("w-1", at.Add(-time.Minute), at, 600), correction("w-1", at.Add(-time.Hour), at, -100)},
	}
	f.record(r)
	f.record(r)
	list, err := f.Fleet.Decisions(f.ctx, fleet.DecisionFilter{})
	f.must(err)
	f.equal("how many decisions there are", len(list), 1)
	f.equal("what was spent", f.spent(at.Add(-2*time.Hour), at.Add(time.Hour)), fleet.Money(500))
	f.equal("up to when it is booked", f.row("w-1").AccruedUntil, at)
	// Time that was booked by an answer that was lost is not booked by the next tick.
	late := accrual("w-1", at.Add(-time.Minute), at, 600)
	late.At = at.Add(time.Minute)
	f.record(fleet.Record{Entries: []fleet.SpendEntry{late}})
	f.equal("what was spent", f.spent(at.Add(-2*time.Hour), at.Add(time.Hour)), fleet.Money(500))
}

func spendRules() []fleetRule {
	return []fleetRule{
		{"entries across an edge count by their share", spentIsShared},
		{"entries are listed newest first, page by page", entriesAreListed},
		{"money is summed by day of a time zone, provider and queue", spendingByDay},
		{"a worker's bill is all that was booked for it", billsAreSummed},
	}
}

func accrual(workerID string, from, until time.Time, amount fleet.Money) fleet.SpendEntry {
	return fleet.SpendEntry{
		At: until, WorkerID: workerID, Place: rented(workerID).Place, Queue: "images", Kind: fleet.SpendAccrual,
		From: from, Until: until, Amount: amount,
	}
}

func correction(workerID string, from, until time.Time, amount fleet.Money) fleet.SpendEntry {
	e := accrual(workerID, from, until, amount)
	e.Kind, e.Note = fleet.SpendCorrection, "the provider's inventory says 12m0s"
	return e
}

func (f *fleetFixture) spent(from, until time.Time) fleet.Money {
	f.Helper()
	sum, err := f.Fleet.Spent(f.ctx, from, until)
	f.must(err)
	return sum
}

func spentIsShared(f *fleetFixture) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	moment := correction("w-2", minute(10), minute(10), 5)
	f.record(fleet.Record{Entries: []fleet.SpendEntry{
		accrual("w-1", minute(0), minute(10), 1000), accrual("w-1", minute(10), minute(20), 1000),
		correction("w-1", minute(0), minute(20), -400), moment,
		accrual("w-3", minute(0), minute(60*24*40), 86_400_000_000_000), // longer than its product with its length is a number of 64 bits
	}})
	long := fleet.Money(86_400_000_000_000 / (60 * 24 * 40))
	for _, c := range []struct {
		from, until int
		want        fleet.Money
	}{
		{0, 20, 1605 + 20*long}, {0, 5, 400 + 5*long}, {5, 10, 400 + 5*long}, {10, 15, 405 + 5*long}, {-10, 0, 0}, {20, 30, 10 * long},
		{-60, 60 * 24 * 50, 1605 + 60*24*40*long}, {10, 10, 0},
	} {
		if got := f.spent(minute(c.from), minute(c.until)); got != c.want {
			f.Errorf("spent from minute %d to %d: %d; want %d", c.from, c.until, got, c.want)
		}
	}
}

func entriesAreListed(f *fleetFixture) {
	at := f.now().Truncate(time.Second)
	var want []fleet.SpendEntry
	for i := range 5 {
		want = append(want, accrual("w-1", at.Add(time.Duration(i)*time.Minute), at.Add(time.Duration(i+1)*time.Minute), fleet.Money(i)))
	}
	want[4] = correction("w-1", at, at.Add(time.Hour), -7)
	f.record(fleet.Record{Entries: want})
	slices.Reverse(want)
	var got []fleet.SpendEntry
	before := int64(0)
	for range 3 {
		page, err := f.Fleet.SpendEntries(f.ctx, before, 2)
		f.must(err)
		got = append(got, page...)
		before = page[len(page)-1].ID
	}
	for i := range got {
		got[i].ID = 0
	}
	f.equal("the entries", got, want)
}

func spendingByDay(f *fleetFixture) {
	paris, err := time.LoadLocation("Europe/Paris")
	f.must(err)
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, paris)
	entry := func(worker string, minutes int, amount fleet.Money) fleet.SpendEntry {
		from := midnight.Add(time.Duration(minutes) * time.Minute)
		return accrual(worker, from, from.Add(time.Minute), amount)
	}
	across := accrual("w-2", midnight.Add(-10*time.Minute), midnight.Add(30*time.Minute), 4000)
	across.Provider = "other"
	moment := correction("w-1", midnight, midnight, -3)
	bulk := entry("w-3", 700, 11)
	bulk.Queue = "bulk"
	f.record(fleet.Record{Entries: []fleet.SpendEntry{
		entry("w-1", -3*24*60, 77), entry("w-1", -20, 1), entry("w-1", -19, 2), entry("w-1", -16, 4), entry("w-1", 1, 8),
		entry("w-1", 14, 16), across, moment, bulk,
	}})
	got, err := f.Fleet.Spending(f.ctx, midnight.Add(-24*time.Hour), midnight.Add(24*time.Hour), paris)
	f.must(err)
	f.equal("the spending", got, []fleet.Spending{
		{Day: "2026-12-01", Provider: "cloud", Queue: "bulk", Amount: 11},
		{Day: "2026-12-01", Provider: "cloud", Queue: "images", Amount: 21},
		{Day: "2026-12-01", Provider: "other", Queue: "images", Amount: 3000},
		{Day: "2026-11-30", Provider: "cloud", Queue: "images", Amount: 7},
		{Day: "2026-11-30", Provider: "other", Queue: "images", Amount: 1000},
	})
	half, err := f.Fleet.Spending(f.ctx, midnight.Add(-5*time.Minute), midnight.Add(10*time.Minute), paris)
	f.must(err)
	f.equal("the spending of a quarter of an hour", half, []fleet.Spending{
		{Day: "2026-12-01", Provider: "cloud", Queue: "images", Amount: 5},
		{Day: "2026-12-01", Provider: "other", Queue: "images", Amount: 1000},
		{Day: "2026-11-30", Provider: "other", Queue: "images", Amount: 500},
	})
}

func billsAreSummed(f *fleetFixture) {
	for _, id := range []string{"w-here", "w-late", "w-old"} {
		f.hire(id)
	}
	at := f.now().Truncate(time.Second)
	old, late := at.Add(-72*time.Hour), at.Add(-time.Hour)
	for id, ended := range map[string]time.Time{"w-late": late, "w-old": old} {
		_, err := f.Fleet.Gone(f.ctx, id, ended)
		f.must(err)
	}
	ghost := accrual("cloud/i-9", at.Add(-time.Minute), at, 9)
	f.record(fleet.Record{Entries: []fleet.SpendEntry{
		accrual("w-here", at.Add(-2*time.Minute), at.Add(-time.Minute), 10), accrual("w-here", at.Add(-time.Minute), at, 20),
		correction("w-late", at.Add(-time.Minute), at, -5), accrual("w-old", old.Add(-time.Hour), old, 40), ghost,
	}})
	type bill struct {
		ID     string
		Place  fleet.Place
		Ended  time.Time
		Booked fleet.Money
		Part   fleet.Money // that corrections are
	}
	of := func(ask fleet.Bills) []bill {
		list, err := f.Fleet.Bills(f.ctx, ask)
		f.must(err)
		var got []bill
		for _, b := range list {
			got = append(got, bill{b.ID, b.Place, b.TerminatedAt, b.Booked, b.Corrected})
		}
		return got
	}
	place := rented("").Place
	here, ended := bill{"w-here", place, time.Time{}, 30, 0}, bill{"w-late", place, late, -5, -5}
	f.equal("bills of the last two days", of(fleet.Bills{Since: at.Add(-48 * time.Hour)}), []bill{here, ended})
	f.equal("bills with ids", of(fleet.Bills{Since: at.Add(-48 * time.Hour), IDs: []string{"w-old", "cloud/i-9", "w-here", "unknown"}}),
		[]bill{{"cloud/i-9", place, time.Time{}, 9, 0}, here, ended, {"w-old", place, old, 40, 0}})
}

func stateRules() []fleetRule {
	return []fleetRule{
		{"the fleet has a name that stays", fleetHasAName},
		{"what the next tick has to know is kept", memoryIsKept},
		{"a latch stays until it is reset, and the spending stays after that", latchStays},
		{"requests wait until they are answered", requestsWait},
	}
}

func (f *fleetFixture) state() fleet.State {
	f.Helper()
	state, err := f.Fleet.State(f.ctx)
	f.must(err)
	return state
}

func fleetHasAName(f *fleetFixture) {
	name := f.state().FleetID
	f.record(fleet.Record{Memory: &fleet.Memory{}})
	if name == "" || f.state().FleetID != name {
		f.Errorf("the fleet was %q and is %q", name, f.state().FleetID)
	}
}

func memoryIsKept(f *fleetFixture) {
	f.equal("the first state", f.state().Memory, fleet.Memory{})
	if ticked := f.state().Ticked; !ticked.IsZero() {
		f.Errorf("it ticked at %v", ticked)
	}
	at := f.now().Truncate(time.Second)
	m := fleet.Memory{
		LastUp: map[string]time.Time{"images": at}, Idle: map[string]int{"w-1": 2}, Reconciled: at,
		CoolOffs: []fleet.CoolOff{{Place: rented("").Place, Until: at.Add(time.Hour), Outcome: fleet.NoCapacity, Times: 2}},
	}
	f.record(fleet.Record{Memory: &m})
	f.equal("the memory", f.state().Memory, m)
	first := f.state().Ticked
	f.Shift(time.Minute)
	f.record(fleet.Record{})
	f.equal("the memory after a record without one", f.state().Memory, m)
	if d := f.state().Ticked.Sub(first); d < time.Minute || d > 2*time.Minute {
		f.Errorf("the ticks are %v apart", d)
	}
}

func latchStays(f *fleetFixture) {
	at := f.now().Truncate(time.Second)
	f.record(fleet.Record{Entries: []fleet.SpendEntry{accrual("w-1", at.Add(-time.Minute), at, 50)}})
	first := fleet.Latch{At: at, Spent: 50, Limit: 40, Reason: "The daily limit was reached."}
	f.must(f.Fleet.Trip(f.ctx, first))
	f.must(f.Fleet.Trip(f.ctx, fleet.Latch{At: at.Add(time.Minute), Spent: 60}))
	f.record(fleet.Record{Memory: &fleet.Memory{}})
	f.equal("the latch", f.state().Latch, &first)
	was, err := f.Fleet.Reset(f.ctx)
	f.must(err)
	f.equal("what was reset", was, &first)
	was, err = f.Fleet.Reset(f.ctx)
	f.must(err)
	f.equal("what was reset the second time", was, (*fleet.Latch)(nil))
	f.equal("the latch after it", f.state().Latch, (*fleet.Latch)(nil))
	f.equal("the spending", f.spent(at.Add(-time.Hour), at), fleet.Money(50))
}

func requestsWait(f *fleetFixture) {
	at := f.now().Truncate(time.Second)
	first := fleet.Request{ID: "r1", At: at, Do: fleet.KindLaunch, Queue: "images", Provider: "cloud", Count: 2, Spot: true, For: time.Hour}
	second := fleet.Request{ID: "r0", At: at.Add(time.Second), Do: fleet.KindDrain, WorkerID: "w-1"}
	for _, r := range []fleet.Request{first, second, {ID: "r1", At: at, Do: fleet.KindDrain}} {
		f.must(f.Fleet.Ask(f.ctx, r))
	}
	f.equal("the requests", f.state().Requests, []fleet.Request{first, second})
	f.record(fleet.Record{Answered: []string{"r1", "unknown"}})
	f.equal("the requests", f.state().Requests, []fleet.Request{second})
}

// pruneLedger: what was not done is kept for a week, what cost money for two years.
func pruneLedger(x *fixture) {
	f := fleetOf(x)
	at := f.now()
	decide := func(id string, kind fleet.Kind) fleet.Decision {
		d := launch(id, at)
		d.Kind = kind
		return d
	}
	place := rented("w-1").Place
	f.record(fleet.Record{
		Decisions: []fleet.Decision{decide("d1", fleet.KindHold), decide("d2", fleet.KindAlert), decide("d3", fleet.KindLaunch), decide("d4", fleet.KindRevert)},
		Entries:   []fleet.SpendEntry{{At: at, WorkerID: "w-1", Place: place, Queue: "images", Kind: fleet.SpendAccrual, From: at.Add(-time.Hour), Until: at, Amount: 7}},
	})
	left := func(after time.Duration) (ids []string, entries int) {
		f.Helper()
		f.Shift(after)
		x.prune(jobs.Retention{Succeeded: time.Hour, Failed: time.Hour, Cancelled: time.Hour}, 100)
		list, err := f.Fleet.Decisions(f.ctx, fleet.DecisionFilter{})
		f.must(err)
		for _, d := range list {
			ids = append(ids, d.ID)
		}
		booked, err := f.Fleet.SpendEntries(f.ctx, 0, 10)
		f.must(err)
		return ids, len(booked)
	}
	const day = 24 * time.Hour
	for _, step := range []struct {
		after   time.Duration
		ids     []string
		entries int
	}{
		{7*day - time.Hour, []string{"d4", "d3", "d2", "d1"}, 1},
		{2 * time.Hour, []string{"d4", "d3"}, 1},
		{fleet.KeepSpending - 8*day, []string{"d4", "d3"}, 1},
		{2 * day, nil, 0},
	} {
		ids, entries := left(step.after)
		f.equal("the decisions that are left", ids, step.ids)
		f.equal("the entries that are left", entries, step.entries)
	}
}
