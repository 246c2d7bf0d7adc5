package fleettest

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// manyMachines is more than any page of any provider holds.
const manyMachines = 1001

func faultRules() []rule {
	refuses := func(s Subject) bool { return s.Refuse != nil }
	loses := func(s Subject) bool { return s.Lose != nil }
	hangs := func(s Subject) bool { return s.Hang != nil }
	list := []rule{
		{name: "a throttled end says so, and its machine goes on", hold: throttledEnd, asked: refuses},
		{name: "a throttled inventory says so, and lists nothing", hold: throttledInventory, asked: refuses},
		{name: "throttled offers say so", hold: throttledOffers, asked: refuses},
		{name: "a launch whose answer is lost may have made its machine, and makes no other", hold: lostLaunch, asked: loses},
		{name: "an end whose answer is lost may be asked for again", hold: lostEnd, asked: loses},
		{name: "a launch without an answer ends with its caller's time", hold: hangingLaunch, asked: hangs},
		{name: "an inventory without an answer ends with its caller's time", hold: hangingInventory, asked: hangs},
		{name: "an inventory lists 1,001 machines", hold: allPages, asked: func(s Subject) bool { return s.Many != nil }},
		{name: "an inventory of which a page fails is none", hold: failingPage,
			asked: func(s Subject) bool { return s.Many != nil && s.FailPage != nil }},
	}
	for _, o := range []fleet.Outcome{fleet.NoCapacity, fleet.OverQuota, fleet.Throttled, fleet.Permanent} {
		list = append(list, rule{
			name: fmt.Sprintf("a launch that fails for %s says so, and makes no machine", o), asked: refuses,
			hold: func(t *trial) { refusedLaunch(t, o) },
		})
	}
	return list
}

func refusedLaunch(t *trial, o fleet.Outcome) {
	r := t.request()
	t.Refuse(o)
	m, err := t.Provider.Launch(t.Context(), r)
	t.fails("the launch", err, o)
	if m.ID != "" {
		t.Errorf("it gave machine %s all the same", m.ID)
	}
	for range 20 {
		t.Settle()
	}
	if list := t.machines(); len(list) != 0 {
		t.Errorf("there are %+v", list)
	}
	t.listed(t.launch(t.request()).ID) // it has healed
}

func throttledEnd(t *trial) {
	m := t.running()
	t.Refuse(fleet.Throttled)
	t.fails("the end", t.Provider.Terminate(t.Context(), m.ID), fleet.Throttled)
	if got, ok := t.find(m.ID); !ok || got.State != fleet.MachineRunning {
		t.Errorf("the machine is %+v", got)
	}
}

func throttledInventory(t *trial) {
	t.running()
	t.Refuse(fleet.Throttled)
	all, err := t.Provider.Inventory(t.Context(), ours)
	t.fails("the inventory", err, fleet.Throttled)
	if len(all.Machines)+len(all.Disks) > 0 {
		t.Errorf("it lists %d machines and %d disks", len(all.Machines), len(all.Disks))
	}
}

func throttledOffers(t *trial) {
	t.Refuse(fleet.Throttled)
	offers, err := t.Provider.Offers(t.Context())
	if err != nil {
		t.fails("asking for offers", err, fleet.Throttled)
		if len(offers) > 0 {
			t.Errorf("they are %+v", offers)
		}
		return
	}
	// Offers that nobody has to be asked for cannot be throttled.
	for _, o := range offers {
		if o.Source != "config" {
			t.Errorf("%s is told as %s, and nobody was asked", o.Place, o.Source)
		}
	}
}

func lostLaunch(t *trial) {
	r := t.request()
	t.Lose()
	_, err := t.Provider.Launch(t.Context(), r)
	if err != nil { // a provider may find out by itself
		t.fails("the launch", err, fleet.Unknown)
	}
	t.one("a launch had its answer lost")
	if got := t.launch(r); got.ID != t.machines()[0].ID {
		t.Errorf("asked for again, it gave another machine")
	}
	t.one("a launch was asked for again")
}

func lostEnd(t *trial) {
	m := t.running()
	t.Lose()
	if err := t.Provider.Terminate(t.Context(), m.ID); err != nil {
		t.fails("the end", err, fleet.Unknown)
	}
	if err := t.clean(t.Provider.Terminate(t.Context(), m.ID)); err != nil && fleet.OutcomeOf(err) != fleet.NotFound {
		t.Errorf("Terminate, again: %v", err)
	}
	t.gone(m.ID)
}

// patience is a caller's, with a call that gets no answer.
const patience = 50 * time.Millisecond

func hangingLaunch(t *trial) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := t.request()
	t.Hang()
	_, err := t.Provider.Launch(ctx, r)
	t.fails("the launch", err, fleet.Unknown)
	t.launch(r)
	t.one("a launch was asked for again")
}

func hangingInventory(t *trial) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	t.Hang()
	_, err := t.Provider.Inventory(ctx, ours)
	t.fails("the inventory", err, fleet.Unknown)
}

func allPages(t *trial) {
	t.Many(ours, manyMachines)
	t.Many(theirs, 3)
	t.until("all machines are listed", func() bool { return len(t.inventory(ours).Machines) >= manyMachines })
	ids := map[string]bool{}
	for _, m := range t.inventory(ours).Machines {
		ids[m.ID] = true
	}
	if len(ids) != manyMachines {
		t.Errorf("%d different machines are listed", len(ids))
	}
}

func failingPage(t *trial) {
	t.Many(ours, manyMachines)
	t.until("all machines are listed", func() bool { return len(t.inventory(ours).Machines) == manyMachines })
	t.FailPage(2)
	all, err := t.Provider.Inventory(t.Context(), ours)
	if t.clean(err) == nil {
		t.Errorf("it lists %d machines without an error", len(all.Machines))
	}
	if len(all.Machines) > 0 {
		t.Errorf("with its error it lists %d machines", len(all.Machines))
	}
}
