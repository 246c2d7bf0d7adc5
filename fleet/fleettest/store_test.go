package fleettest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
)

func newStore() (*fleettest.Store, *fleettest.Clock) {
	clock := fleettest.NewClock(noon())
	return fleettest.NewStore(clock.Now), clock
}

func TestHooksFailACallBeforeOrAfterItIsCarriedOut(t *testing.T) {
	s, _ := newStore()
	away := errors.New("away")
	fail := func(_ context.Context, method string) error {
		if method == "Trip" {
			return away
		}
		return nil
	}
	latched := func() bool {
		state, err := s.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return state.Latch != nil
	}
	s.SetHooks(fleettest.Hooks{Before: fail})
	if err := s.Trip(t.Context(), fleet.Latch{}); !errors.Is(err, away) || latched() {
		t.Errorf("before: %v, and it is done: %t", err, latched())
	}
	s.SetHooks(fleettest.Hooks{After: fail})
	if err := s.Trip(t.Context(), fleet.Latch{}); !errors.Is(err, away) || !latched() {
		t.Errorf("after: %v, and it is done: %t", err, latched())
	}
}

func TestARecordMayBeSentAgain(t *testing.T) {
	s, clock := newStore()
	s.Put(fleet.Worker{ID: "w-1", Status: fleet.Active})
	if err := s.Ask(t.Context(), fleet.Request{ID: "r-1", Do: fleet.KindLaunch}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	entry := fleet.SpendEntry{WorkerID: "w-1", Kind: fleet.SpendAccrual, From: noon(), Until: noon().Add(time.Hour), Amount: 60 * fleet.Cent}
	record := fleet.Record{
		Decisions: []fleet.Decision{{ID: "d-1", Kind: fleet.KindHold, Queue: "media"}},
		Entries:   []fleet.SpendEntry{entry},
		Memory:    &fleet.Memory{Idle: map[string]int{"w-1": 2}, Inventoried: true},
		Answered:  []string{"r-1"},
	}
	for range 2 {
		if err := s.Record(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	spent, err := s.Spent(t.Context(), noon().Add(30*time.Minute), noon().Add(2*time.Hour))
	if err != nil || spent != 30*fleet.Cent {
		t.Errorf("the second half hour cost %s, %v", spent, err)
	}
	row, _, _ := s.Worker("w-1")
	if !row.AccruedUntil.Equal(entry.Until) {
		t.Errorf("it is booked until %s", row.AccruedUntil)
	}
	state, err := s.State(t.Context())
	if err != nil || len(state.Requests) != 0 || state.Memory.Idle["w-1"] != 2 || state.Memory.Inventoried || !state.Ticked.Equal(clock.Now()) {
		t.Errorf("the state is %+v, %v", state, err)
	}
	if list := s.AllDecisions(); len(list) != 1 || list[0].Queue != "media" {
		t.Errorf("the decisions are %+v", list)
	}
}

func TestDecisionsArePagedNewestFirst(t *testing.T) {
	s, _ := newStore()
	for _, id := range []string{"1", "2", "3", "4"} {
		d := fleet.Decision{ID: id, Kind: fleet.KindHold}
		if id == "2" {
			d.Kind = fleet.KindLaunch
		}
		if err := s.Record(t.Context(), fleet.Record{Decisions: []fleet.Decision{d}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		filter fleet.DecisionFilter
		want   string
	}{
		"all":                         {fleet.DecisionFilter{}, "4321"},
		"a page":                      {fleet.DecisionFilter{Limit: 2}, "43"},
		"the next page":               {fleet.DecisionFilter{Limit: 2, Before: "3"}, "21"},
		"one kind":                    {fleet.DecisionFilter{Kind: fleet.KindHold}, "431"},
		"one kind before another one": {fleet.DecisionFilter{Kind: fleet.KindHold, Before: "3"}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := s.Decisions(t.Context(), c.filter)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, d := range list {
				got += d.ID
			}
			if got != c.want {
				t.Errorf("they are %s, want %s", got, c.want)
			}
		})
	}
	if _, err := s.Decision(t.Context(), "5"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("a decision that never was gives %v", err)
	}
}

func TestDemandCountsWhatWaits(t *testing.T) {
	s, clock := newStore()
	s.Enqueue(
		fleettest.Job{Queue: "media", Priority: 2},
		fleettest.Job{Queue: "media", Priority: 5},
		fleettest.Job{Queue: "media", Priority: 8},
		fleettest.Job{Queue: "media", Priority: 8, Estimated: time.Hour, Resumes: true},
		fleettest.Job{Queue: "media", Priority: 2, Estimated: time.Hour, Resumes: true},
		fleettest.Job{Queue: "media", Priority: 5, EligibleAt: noon().Add(time.Hour)},
		fleettest.Job{Queue: "bulk", Priority: 8},
	)
	clock.Advance(time.Minute)
	at, states, err := s.Demand(t.Context(), []string{"media", "ocr"})
	if err != nil || !at.Equal(clock.Now()) || len(states) != 2 {
		t.Fatalf("%s, %+v, %v", at, states, err)
	}
	want := fleet.QueueState{
		Name: "media", Depth: 5, Source: "database", Rows: 5, Oldest: time.Minute, Arrivals: 6.0 / 300,
		Bands: states[0].Bands, Waits: fleet.Waits{Interactive: 1, Standard: 1, Bulk: 1, LongResumes: 1, LongFixed: 1},
	}
	want.Bands[fleet.Interactive] = fleet.Band{Depth: 2, Oldest: time.Minute}
	want.Bands[fleet.Standard] = fleet.Band{Depth: 1, Oldest: time.Minute}
	want.Bands[fleet.Bulk] = fleet.Band{Depth: 2, Oldest: time.Minute}
	if diff := cmp.Diff(want, states[0]); diff != "" {
		t.Error(diff)
	}
	s.SetDepth("media", 0) // Redis was flushed
	depths, err := s.Depths(t.Context(), []string{"media", "bulk", "nobody"})
	if diff := cmp.Diff(map[string]int64{"media": 0, "bulk": 1, "nobody": 0}, depths); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestADrainIsNeverMadeLongerAndNothingComesBackFromItsEnd(t *testing.T) {
	s, clock := newStore()
	if err := s.Provision(t.Context(), fleet.Worker{ID: "w-1", Queues: []string{"media"}}); err != nil {
		t.Fatal(err)
	}
	if !s.Register("w-1") {
		t.Fatal("it could not register")
	}
	for _, within := range []time.Duration{5 * time.Minute, 2 * time.Minute, 10 * time.Minute} {
		if err := s.Drain(t.Context(), "w-1", within); err != nil {
			t.Fatal(err)
		}
	}
	if row, _, _ := s.Worker("w-1"); !row.DrainDeadline.Equal(noon().Add(2 * time.Minute)) {
		t.Errorf("its deadline is %s", row.DrainDeadline)
	}
	if err := s.Undrain(t.Context(), "w-1"); err != nil {
		t.Errorf("it cannot come back: %v", err)
	}
	s.Leave("w-1")
	if row, _, _ := s.Worker("w-1"); row.Status != fleet.Draining || row.LeftAt.IsZero() {
		t.Errorf("one that left is %+v", row)
	}
	if err := s.Undrain(t.Context(), "w-1"); !errors.Is(err, fleet.ErrState) {
		t.Errorf("one that left comes back: %v", err)
	}
	clock.Advance(time.Minute)
	if _, err := s.Gone(t.Context(), "w-1", clock.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(t.Context(), "w-1", fleet.Machine{}, fleet.Offer{}); !errors.Is(err, fleet.ErrState) {
		t.Errorf("one that is gone gets a machine: %v", err)
	}
	if rows, err := s.Fleet(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("the fleet is %+v, %v", rows, err)
	}
}

func TestUsageSharesAMachineAmongItsSlots(t *testing.T) {
	s, clock := newStore()
	s.Put(fleet.Worker{ID: "w-1", Queues: []string{"media"}, Slots: 2, Status: fleet.Active, Rate: 20 * fleet.Cent, Place: fleet.Place{Market: fleet.OnDemand}})
	s.Enqueue(fleettest.Job{Queue: "media", Priority: 5, Tenant: "ann"})
	job, ok := s.Claim("w-1")
	if !ok {
		t.Fatal("nothing was claimed")
	}
	clock.Advance(time.Hour)
	s.Finish("w-1", job.ID)
	got, err := s.Usage(t.Context(), noon().Add(30*time.Minute), noon().Add(2*time.Hour))
	want := []fleet.Usage{{Tenant: "ann", Queue: "media", Jobs: 1, Seconds: 1800, Amount: 5 * fleet.Cent}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestOneIsElected(t *testing.T) {
	s, _ := newStore()
	first, err := s.Elect(t.Context(), "scheduler")
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if second, err := s.Elect(t.Context(), "scheduler"); err != nil || second != nil {
		t.Errorf("another is elected as well: %v, %v", second, err)
	}
	s.Depose("scheduler")
	if err := first.Held(t.Context()); err == nil {
		t.Error("one that was deposed still holds it")
	}
	second, err := s.Elect(t.Context(), "scheduler")
	if err != nil || second == nil {
		t.Fatal(second, err)
	}
	first.Release()
	if err := second.Held(t.Context()); err != nil {
		t.Errorf("the release of another ends it: %v", err)
	}
}
