package fleet

import (
	"math"
	"testing"
	"time"
)

// listPriced is a provider whose prices are the file's.
func listPriced() Config {
	cfg := paying()
	cfg.Providers["google"] = ProviderConfig{
		Enabled: true, Zone: "b", Types: []string{"n2"}, MaxInstances: 5, Spot: true, Surcharge: Cents(1),
		Prices: map[string]Price{"n2": {OnDemand: Cents(20), Spot: Cents(6)}},
	}
	return cfg
}

func TestAMachineWithoutARowCountsAtThePriceOfTheFile(t *testing.T) {
	snap := seen()
	snap.Offers = []Offer{{Place: Place{"google", "n2", "b", OnDemand}}} // the provider knows no price
	snap.Inventories = map[string]Inventory{"google": {Machines: []Machine{
		{Place: Place{"google", "n2", "b", OnDemand}, ID: "m-1", State: MachineRunning, LaunchedAt: noon().Add(-time.Hour)},
	}}}
	if b := newBudget(noon(), listPriced(), snap); b.runRate != Cents(21) {
		t.Errorf("it counts %s an hour, not its price and disk", b.runRate)
	}
}

func TestARunningMachineIsCountedAndBookedAtAPriceThatHasRisen(t *testing.T) {
	w := machine("a", 20)
	w.AccruedUntil = noon().Add(-time.Hour)
	snap := seen(w)
	snap.Offers = []Offer{onDemand(30)}
	if b := newBudget(noon(), paying(), snap); b.runRate != Cents(30) {
		t.Errorf("it counts %s an hour", b.runRate)
	}
	if got := Accrue(noon(), snap.Workers, snap.Offers); len(got) != 1 || got[0].Amount != Cents(30) {
		t.Errorf("its last hour is booked as %+v", got)
	}
	for _, o := range []Offer{onDemand(10), onDemand(0)} { // cheaper for others, or not known
		if got := Accrue(noon(), snap.Workers, []Offer{o}); got[0].Amount != Cents(20) {
			t.Errorf("with an offer at %s its last hour is booked as %s", o.Price, got[0].Amount)
		}
	}
}

func TestASpotMachineWithoutABidCountsAtThePriceOnDemand(t *testing.T) {
	snap := seen()
	snap.Offers = []Offer{
		{Place: Place{"aws", "c6i.xlarge", "eu-west-3a", OnDemand}, Price: Cents(20)},
		{Place: Place{"aws", "c6i.xlarge", "eu-west-3b", Spot}, Price: Cents(5)},
	}
	got, _ := newDeciding(noon(), paying(), snap).candidates("media", []Market{Spot}, "")
	if len(got) != 1 || got[0].Rate() != Cents(20) {
		t.Errorf("the candidates are %+v", got)
	}
}

func TestAPriceThatIsNonsenseIsNoPrice(t *testing.T) {
	for _, change := range []func(*Offer){
		func(o *Offer) { o.Price = math.MaxInt64 },
		func(o *Offer) { o.Surcharge = math.MaxInt64 },
		func(o *Offer) { o.Ceiling = math.MaxInt64 },
		func(o *Offer) { o.Price = -1 },
		func(o *Offer) { o.Surcharge = -Cents(20) },
	} {
		o := onDemand(20)
		change(&o)
		snap := seen()
		snap.Offers = []Offer{o}
		got, rejected := newDeciding(noon(), paying(), snap).candidates("media", []Market{OnDemand}, "")
		if len(got) != 0 || obstacle(rejected).Rule != "no_price" {
			t.Errorf("%+v is a candidate, or rejected for %+v", o, rejected)
		}
	}
}

func TestAMachineWhosePriceWasNotKnownIsBookedOnceItIs(t *testing.T) {
	for _, market := range []Market{OnDemand, Spot} {
		w := machine("a", 0)
		w.Market, w.AccruedUntil = market, noon().Add(-time.Hour)
		o := onDemand(20)
		o.Market = market
		if got := Accrue(noon(), []Worker{w}, []Offer{o}); len(got) != 1 || got[0].Amount != Cents(20) {
			t.Errorf("an hour of a %s machine is booked as %+v", market, got)
		}
	}
}

// TestAMachineThatAListLeavesOutCountsWhileItsWorkerIsHeardOf is about lists that
// lag behind: nothing is launched in its place, and the daily limit ends it.
func TestAMachineThatAListLeavesOutCountsWhileItsWorkerIsHeardOf(t *testing.T) {
	for _, c := range []struct {
		name   string
		heard  time.Duration
		change func(*Worker, *Snapshot)
		want   Money
	}{
		{"heard of a minute ago", time.Minute, func(*Worker, *Snapshot) {}, Cents(20)},
		{"silent for two minutes", 2 * time.Minute, func(*Worker, *Snapshot) {}, 0},
		{"its end was asked for", time.Minute, func(w *Worker, _ *Snapshot) { w.TerminateAt = noon().Add(-time.Minute) }, 0},
		{"it is listed as ended", time.Minute, func(w *Worker, s *Snapshot) {
			s.Inventories["aws"] = Inventory{Machines: []Machine{{Place: w.Place, ID: w.InstanceID, State: MachineTerminated}}}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, snap := machine("a", 20), seen()
			w.LastHeartbeat = noon().Add(-c.heard)
			snap.Inventories = map[string]Inventory{"aws": {}}
			c.change(&w, &snap)
			snap.Workers, snap.Spend.Day = []Worker{w}, Cents(4999)
			if b := newBudget(noon(), paying(), snap); b.runRate != c.want {
				t.Errorf("it counts %s an hour", b.runRate)
			}
			drained := false
			for _, x := range Decide(noon(), paying(), snap) {
				drained = drained || x.Kind == KindDrain && x.Rule == ruleDaily && x.WorkerID == w.ID
			}
			if drained != (c.want > 0) {
				t.Errorf("at the daily limit it is drained: %t", drained)
			}
		})
	}
}

func TestAMachineWithoutARowCostsTheDayNoMoreThanItsPartOfIt(t *testing.T) {
	snap := seen()
	place := onDemand(20).Place
	snap.Offers = []Offer{onDemand(20)}
	snap.Inventories = map[string]Inventory{"aws": {Machines: []Machine{{Place: place, ID: "m-1", State: MachineRunning, LaunchedAt: noon().Add(-300 * time.Hour)}}}}
	b := newBudget(noon(), paying(), snap)
	if latch, trips := b.trips(); trips || b.owed != Cents(240) {
		t.Errorf("twelve hours of it are counted as %s, and the limit trips: %t %s", b.owed, trips, latch.Reason)
	}
	if limit := b.refuses(onDemand(20)); limit != "" {
		t.Errorf("another one is refused: %s", limit)
	}
}

func TestAWorkerThatDrainsWithoutADeadlineGetsOneAtTheDailyLimit(t *testing.T) {
	w := machine("a", 20)
	w.Status, w.Claimed, w.LastHeartbeat = Draining, 1, noon()
	snap := seen(w)
	snap.Spend.Day = Cents(4999)
	snap.Inventories = map[string]Inventory{"aws": {Machines: []Machine{{Place: w.Place, ID: w.InstanceID, State: MachineRunning, LaunchedAt: w.LaunchedAt}}}}
	for _, x := range Decide(noon(), paying(), snap) {
		if x.Kind == KindDrain && x.WorkerID == "a" && x.Within <= capDrain {
			return
		}
	}
	t.Error("it goes on without a deadline")
}

func TestAClockOfAProviderThatRunsAheadShortensNoBill(t *testing.T) {
	snap := seen()
	snap.Inventories = map[string]Inventory{"aws": {Machines: []Machine{
		{ID: "m-1", State: MachineTerminated, LaunchedAt: noon().Add(30 * time.Minute), TerminatedAt: noon().Add(time.Hour)},
	}}}
	clampTimes(&snap)
	if m := snap.Inventories["aws"].Machines[0]; m.TerminatedAt.Sub(m.LaunchedAt) != 30*time.Minute || m.TerminatedAt.After(noon()) {
		t.Errorf("it ran from %s to %s", m.LaunchedAt, m.TerminatedAt)
	}
}
