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
