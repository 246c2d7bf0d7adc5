package fleettest

import (
	"fmt"
	"sync"

	"github.com/spillway-media/spillway/fleet"
)

func launchRules() []rule {
	return []rule{
		{name: "what is offered has a place, a price and a source", hold: offersAreWhole},
		{name: "what is offered can be launched", hold: offersCanBeLaunched},
		{name: "a machine is listed with its place, its tags and its time", hold: machineIsListed},
		{name: "the same token asks for the same machine", hold: sameTokenSameMachine},
		{name: "the same token at the same time makes one machine", hold: sameTokenAtOnce},
		{name: "a token makes no second machine for another launch", hold: tokenOfAnotherLaunch},
		{name: "a token makes no second machine when the first has ended", hold: tokenOfTheDead},
		{name: "another token is another machine", hold: anotherToken},
		{name: "a token of 64 characters is taken", hold: longToken},
		{name: "another fleet's machines are not listed", hold: otherFleet},
		{name: "a launch whose time is over fails, and may be asked for again", hold: launchInNoTime},
		{name: "many calls may be made at once", hold: manyAtOnce},
	}
}

func offersAreWhole(t *trial) {
	offers, err := t.Provider.Offers(t.Context())
	if t.clean(err) != nil {
		t.Fatalf("Offers: %v", err)
	}
	if len(offers) == 0 {
		t.Fatal("nothing is offered")
	}
	places := map[fleet.Place]bool{}
	for _, o := range offers {
		switch {
		case o.Provider != t.Candidate.Provider || o.Type == "":
			t.Errorf("an offer has the place %+v", o.Place)
		case o.Market != fleet.OnDemand && o.Market != fleet.Spot && o.Market != fleet.VPS:
			t.Errorf("%s has the market %q", o.Place, o.Market)
		case o.Source != "live" && o.Source != "config":
			t.Errorf("%s has the source %q", o.Place, o.Source)
		case o.Price < 0 || o.Ceiling < 0 || o.Surcharge < 0 || o.Granularity < 0 || o.Slots < 0:
			t.Errorf("%s has a figure below 0: %+v", o.Place, o)
		case places[o.Place]:
			t.Errorf("%s is offered twice", o.Place)
		}
		places[o.Place] = true
	}
}

func offersCanBeLaunched(t *trial) {
	offers, err := t.Provider.Offers(t.Context())
	if t.clean(err) != nil {
		t.Fatalf("Offers: %v", err)
	}
	for _, o := range offers[:min(4, len(offers))] {
		r := t.request()
		r.Offer = o
		if m := t.launch(r); m.Market != o.Market || m.Type != o.Type {
			t.Errorf("%s was asked for, and %s is there", o.Place, m.Place)
		}
	}
}

func machineIsListed(t *trial) {
	r := t.request()
	m := t.launch(r)
	if m.State != fleet.MachinePending && m.State != fleet.MachineRunning {
		t.Errorf("a machine just launched is %s", m.State)
	}
	got := t.listed(m.ID)
	if got.Provider != r.Provider || got.Type != r.Type || got.Market != r.Market || got.Zone != m.Zone {
		t.Errorf("it is listed in %s, and was asked for in %s", got.Place, r.Place)
	}
	if got.WorkerID != r.WorkerID {
		t.Errorf("it is listed for worker %q, want %q", got.WorkerID, r.WorkerID)
	}
	if got.Token != "" && got.Token != r.Token {
		t.Errorf("it is listed with token %q, want %q", got.Token, r.Token)
	}
	if got.LaunchedAt.IsZero() || !got.TerminatedAt.IsZero() {
		t.Errorf("it is listed with the times %s and %s", got.LaunchedAt, got.TerminatedAt)
	}
}

func sameTokenSameMachine(t *trial) {
	r := t.request()
	first, second := t.launch(r), t.launch(r)
	t.listed(first.ID)
	third := t.launch(r)
	if second.ID != first.ID || third.ID != first.ID {
		t.Errorf("one token gave the machines %s, %s and %s", first.ID, second.ID, third.ID)
	}
	t.one("three launches had one token")
}

func sameTokenAtOnce(t *trial) {
	r := t.request()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			// A call may be refused while another with its token is under way.
			_ = t.clean(second(t.Provider.Launch(t.Context(), r)))
		})
	}
	all.Wait()
	t.one("eight launches at once had one token")
}

func second[A any](_ A, err error) error { return err }

func tokenOfAnotherLaunch(t *trial) {
	r := t.request()
	m := t.launch(r)
	t.listed(m.ID)
	other := r
	other.WorkerID, other.Slots = t.request().WorkerID, r.Slots+1
	got, err := t.Provider.Launch(t.Context(), other)
	if t.clean(err) == nil && got.ID != m.ID {
		t.Errorf("it gave machine %s, and %s before", got.ID, m.ID)
	}
	t.one("two launches had one token")
}

func tokenOfTheDead(t *trial) {
	r := t.request()
	m := t.launch(r)
	t.listed(m.ID)
	if err := t.clean(t.Provider.Terminate(t.Context(), m.ID)); err != nil {
		t.Fatalf("Terminate: %v", err)
	}
	t.gone(m.ID)
	got, err := t.Provider.Launch(t.Context(), r)
	if t.clean(err) == nil && (got.ID != m.ID || got.State != fleet.MachineTerminated) {
		t.Errorf("it gave machine %s, which is %s; %s has ended", got.ID, got.State, m.ID)
	}
	for range 20 {
		t.Settle()
	}
	if list := t.machines(); len(list) != 0 {
		t.Errorf("there are %+v", list)
	}
}

func anotherToken(t *trial) {
	first, second := t.launch(t.request()), t.launch(t.request())
	if first.ID == second.ID {
		t.Errorf("two tokens gave machine %s", first.ID)
	}
	t.listed(first.ID)
	t.listed(second.ID)
}

func longToken(t *trial) {
	r := t.request()
	r.Token = fmt.Sprintf("%064d", 7)
	t.launch(r)
}

func otherFleet(t *trial) {
	r := t.request()
	r.FleetID = theirs
	m := t.launch(r)
	t.until("the other fleet lists its machine", func() bool { return len(t.inventory(theirs).Machines) == 1 })
	if found, ok := t.find(m.ID); ok {
		t.Errorf("our fleet lists %+v", found)
	}
}

func launchInNoTime(t *trial) {
	r := t.request()
	m, err := t.Provider.Launch(t.over(), r)
	t.fails("a launch whose time is over", err, fleet.Unknown)
	if m.ID != "" {
		t.Errorf("it gave machine %s all the same", m.ID)
	}
	t.launch(r)
	t.one("a launch was asked for again")
}

func manyAtOnce(t *trial) {
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			m, err := t.Provider.Launch(t.Context(), t.request())
			if t.clean(err) != nil {
				t.Errorf("Launch: %v", err)
				return
			}
			if _, err := t.Provider.Inventory(t.Context(), ours); t.clean(err) != nil {
				t.Errorf("Inventory: %v", err)
			}
			if err := t.Provider.Terminate(t.Context(), m.ID); t.clean(err) != nil && fleet.OutcomeOf(err) != fleet.NotFound {
				t.Errorf("Terminate: %v", err)
			}
		})
	}
	all.Wait()
	t.until("six machines are gone", func() bool { // one that was not to be seen yet is ended now
		for _, m := range t.machines() {
			_ = t.clean(t.Provider.Terminate(t.Context(), m.ID))
		}
		return len(t.machines()) == 0
	})
}
