package fleet_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

func TestBookingsAreCorrectedByTheInventory(t *testing.T) {
	at, place := midday(), paid("a", 60).Place
	ended := func(booked int64, change func(*fleet.Bill)) []fleet.Bill {
		w := paid("a", 60)
		w.Status, w.AccruedUntil = fleet.Terminated, at.Add(-10*time.Minute)
		b := fleet.Bill{Worker: w, TerminatedAt: at.Add(-9 * time.Minute), Booked: fleet.Cents(booked)}
		if change != nil {
			change(&b)
		}
		return []fleet.Bill{b}
	}
	// A clock that is an hour ahead: only the time between its readings counts.
	stopped := func(ran time.Duration) fleet.Machine {
		return fleet.Machine{ID: "i-a", WorkerID: "a", Place: place, State: fleet.MachineTerminated, LaunchedAt: at, TerminatedAt: at.Add(ran)}
	}
	runs := func(id, tag string) fleet.Machine {
		return fleet.Machine{ID: id, WorkerID: tag, Place: place, State: fleet.MachineRunning, LaunchedAt: at.Add(-30 * time.Minute)}
	}
	tests := []struct {
		name     string
		bills    []fleet.Bill
		machines []fleet.Machine
		want     map[string]fleet.Money
	}{
		{"it is right", ended(50, nil), []fleet.Machine{stopped(50 * time.Minute)}, nil},
		{"it stopped later than was booked", ended(50, nil), []fleet.Machine{stopped(52 * time.Minute)}, map[string]fleet.Money{"a": fleet.Cents(2)}},
		{"it stopped sooner", ended(50, nil), []fleet.Machine{stopped(45 * time.Minute)}, map[string]fleet.Money{"a": -fleet.Cents(5)}},
		{"the least time is paid in any case", ended(5, func(b *fleet.Bill) { b.Granularity, b.AccruedUntil = 10*time.Minute, at.Add(-55*time.Minute) }), []fleet.Machine{stopped(5 * time.Minute)}, map[string]fleet.Money{"a": fleet.Cents(5)}},
		{"a ghost runs on after its row ended", ended(50, nil), []fleet.Machine{runs("i-a", "a")}, map[string]fleet.Money{"a": fleet.Cents(10)}},
		{"the provider has forgotten it, and its last minute was not booked", ended(50, nil), nil, map[string]fleet.Money{"a": fleet.Cents(1)}},
		{"the provider has forgotten it, and more was booked: that stays", ended(55, func(b *fleet.Bill) { b.AccruedUntil = at.Add(-5 * time.Minute) }), nil, nil},
		{"a spot machine is corrected at what it was booked for on average", ended(25, nil), []fleet.Machine{stopped(52 * time.Minute)}, map[string]fleet.Money{"a": fleet.Cents(1)}},
		{"there never was a machine", ended(3, func(b *fleet.Bill) { b.InstanceID = "" }), nil, map[string]fleet.Money{"a": -fleet.Cents(3)}},
		{"one that still has its row goes on accruing", ended(50, func(b *fleet.Bill) { b.TerminatedAt = time.Time{} }), []fleet.Machine{runs("i-a", "a")}, nil},
		{"a machine that no row knows", nil, []fleet.Machine{runs("i-x", "")}, map[string]fleet.Money{"aws/i-x": fleet.Cents(15)}},
		{"what was booked for it already counts", []fleet.Bill{{Worker: fleet.Worker{ID: "aws/i-x", Place: place}, Booked: fleet.Cents(14)}}, []fleet.Machine{runs("i-x", "")}, map[string]fleet.Money{"aws/i-x": fleet.Cents(1)}},
		{"a second machine with the tag of a row", ended(50, nil), []fleet.Machine{stopped(50 * time.Minute), runs("i-b", "a")}, map[string]fleet.Money{"aws/i-b": fleet.Cents(15)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			snap := fleet.Snapshot{At: at, Inventories: map[string]fleet.Inventory{"aws": {Machines: test.machines}},
				Offers: []fleet.Offer{{Place: place, Price: fleet.Cents(30), Ceiling: fleet.Cents(30)}}}
			got := map[string]fleet.Money{}
			bills := test.bills
			for _, e := range fleet.Reconcile(at, fleet.Config{}, snap, bills) {
				got[e.WorkerID] += e.Amount
				if e.Kind != fleet.SpendCorrection || e.Until.Before(e.From) || e.Note == "" {
					t.Errorf("not a correction: %+v", e)
				}
			}
			if len(got) == 0 {
				got = nil
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("corrections (-want +got):\n%s", d)
			}
			for i := range bills {
				bills[i].Booked += got[bills[i].ID]
				bills[i].Corrected += got[bills[i].ID]
				delete(got, bills[i].ID)
			}
			for id, booked := range got {
				bills = append(bills, fleet.Bill{Worker: fleet.Worker{ID: id, Place: place}, Booked: booked})
			}
			if again := fleet.Reconcile(at, fleet.Config{}, snap, bills); len(again) > 0 {
				t.Errorf("reconciling again books %d more", len(again))
			}
		})
	}
}

func TestBillsAreComparedEveryFifteenMinutes(t *testing.T) {
	snap := fleet.Snapshot{Inventories: map[string]fleet.Inventory{"aws": {Machines: []fleet.Machine{{ID: "i-1", WorkerID: "w-1"}, {ID: "i-2"}}}}}
	snap.Memory.Reconciled = midday().Add(-15*time.Minute + 1)
	if _, due := fleet.ReconcileDue(midday(), snap); due {
		t.Error("due too soon")
	}
	ask, due := fleet.ReconcileDue(midday().Add(1), snap)
	if !due {
		t.Error("not due after fifteen minutes")
	}
	if d := cmp.Diff([]string{"aws/i-1", "w-1", "aws/i-2"}, ask.IDs); d != "" {
		t.Errorf("ids (-want +got):\n%s", d)
	}
	if _, due := fleet.ReconcileDue(midday().Add(time.Hour), fleet.Snapshot{}); due {
		t.Error("due although no provider answered")
	}
}
