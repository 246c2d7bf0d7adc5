package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func offer(provider, kind, zone string, m Market, cents int64) Offer {
	return Offer{Place: Place{provider, kind, zone, m}, Price: Cents(cents), Ceiling: Cents(cents), Source: "live"}
}

// twoClouds is a configuration and a snapshot in which either could be used.
func twoClouds() (Config, Snapshot) {
	cfg := paying()
	cfg.Providers["google"] = ProviderConfig{Enabled: true, Zone: "europe-west1-b", Types: []string{"c2-standard-4"},
		Image: "worker", MaxInstances: 5, Spot: true, Prices: map[string]Price{"c2-standard-4": {OnDemand: Cents(23), Spot: Cents(6)}}}
	snap := seen()
	snap.Offers = []Offer{
		offer("aws", "c6i.xlarge", "eu-west-3a", OnDemand, 20),
		offer("aws", "c6i.xlarge", "eu-west-3a", Spot, 7),
		offer("aws", "c5.xlarge", "eu-west-3b", Spot, 8),
		offer("google", "c2-standard-4", "europe-west1-b", OnDemand, 23),
		offer("google", "c2-standard-4", "europe-west1-b", Spot, 6),
	}
	return cfg, snap
}

func TestCandidatesAreTheCheapestThatFit(t *testing.T) {
	const (
		awsOnDemand    = "aws c6i.xlarge in eu-west-3a, on_demand"
		awsSpot        = "aws c6i.xlarge in eu-west-3a, spot"
		awsOther       = "aws c5.xlarge in eu-west-3b, spot"
		googleOnDemand = "google c2-standard-4 in europe-west1-b, on_demand"
		googleSpot     = "google c2-standard-4 in europe-west1-b, spot"
	)
	provider := func(name string, change func(*ProviderConfig)) func(*Config, *Snapshot) {
		return func(c *Config, _ *Snapshot) {
			p := c.Providers[name]
			change(&p)
			c.Providers[name] = p
		}
	}
	cool := func(p Place) func(*Config, *Snapshot) {
		return func(_ *Config, s *Snapshot) {
			s.Memory.CoolOffs = []CoolOff{{Place: p, Until: s.At.Add(time.Minute), Outcome: NoCapacity, Times: 1}}
		}
	}
	tests := []struct {
		name     string
		change   func(*Config, *Snapshot)
		markets  []Market
		provider string
		want     []string
		rejected map[string]string // what > rule, of those that matter
	}{
		{"spot first, on-demand last", nil, []Market{Spot, OnDemand}, "", []string{googleSpot, awsSpot, awsOther, awsOnDemand, googleOnDemand}, nil},
		{"on demand only", nil, []Market{OnDemand}, "", []string{awsOnDemand, googleOnDemand}, map[string]string{awsSpot: "market"}},
		{"the provider that an operator asks for", nil, []Market{OnDemand}, "google", []string{googleOnDemand}, map[string]string{"aws": "provider"}},
		{"the queue's provider", func(c *Config, _ *Snapshot) { c.Queues["media"] = Queue{CloudProvider: "google"} }, []Market{OnDemand}, "", []string{googleOnDemand}, map[string]string{"aws": "provider"}},
		{"a preference beats the price", func(c *Config, _ *Snapshot) { c.ProviderPreference = []string{"google"} }, []Market{OnDemand}, "", []string{googleOnDemand, awsOnDemand}, nil},
		{"a provider that is not enabled", provider("aws", func(p *ProviderConfig) { p.Enabled = false }), []Market{OnDemand}, "", []string{googleOnDemand}, map[string]string{"aws": "provider"}},
		{"another region", provider("aws", func(p *ProviderConfig) { p.Region = "us-east-1" }), []Market{OnDemand}, "", []string{googleOnDemand}, map[string]string{awsOnDemand: "zone"}},
		{"another zone", provider("google", func(p *ProviderConfig) { p.Zone = "europe-west1-c" }), []Market{OnDemand}, "", []string{awsOnDemand}, map[string]string{googleOnDemand: "zone"}},
		{"a type that is not configured", provider("aws", func(p *ProviderConfig) { p.Types = []string{"c5.xlarge"} }), []Market{Spot}, "aws", []string{awsOther}, map[string]string{awsSpot: "type"}},
		{"spot is not enabled", provider("google", func(p *ProviderConfig) { p.Spot = false }), []Market{Spot}, "google", nil, map[string]string{googleSpot: "spot_enabled"}},
		{"a price at the bid", provider("aws", func(p *ProviderConfig) { p.SpotMaxPrice = Cents(7) }), []Market{Spot}, "aws", []string{awsSpot}, map[string]string{awsOther: "spot_max_price"}},
		{"max_instances is reached", provider("aws", func(p *ProviderConfig) { p.MaxInstances = 0 }), []Market{OnDemand}, "", []string{googleOnDemand}, map[string]string{awsOnDemand: "max_instances"}},
		{"Complaint18: one pool without capacity", cool(Place{"aws", "c6i.xlarge", "eu-west-3a", Spot}), []Market{Spot}, "aws", []string{awsOther}, map[string]string{awsSpot: "cool_off"}},
		{"a provider over its quota", cool(Place{Provider: "aws"}), []Market{OnDemand}, "", []string{googleOnDemand}, map[string]string{"aws": "cool_off"}},
		{"a cool-off that is over", func(_ *Config, s *Snapshot) {
			s.Memory.CoolOffs = []CoolOff{{Place: Place{Provider: "aws"}, Until: s.At}}
		}, []Market{OnDemand}, "aws", []string{awsOnDemand}, nil},
		{"Complaint12: a provider that could not be asked", func(_ *Config, s *Snapshot) { s.Faults = []Fault{{Source: "provider:aws", Reason: "timeout"}} }, []Market{OnDemand}, "", []string{googleOnDemand}, map[string]string{"aws": "fault"}},
		{"not every provider was listed yet", func(_ *Config, s *Snapshot) { s.Memory.Inventoried = false }, []Market{OnDemand}, "", nil, map[string]string{"aws": "inventory"}},
		{"a price that nobody knows", func(_ *Config, s *Snapshot) { s.Offers[0].Price = 0 }, []Market{OnDemand}, "aws", nil, map[string]string{awsOnDemand: "no_price"}},
		{"a price that the file knows", func(_ *Config, s *Snapshot) { s.Offers[3].Price = 0 }, []Market{OnDemand}, "google", []string{googleOnDemand}, nil},
		{"a provider that nobody can ask here, by the prices of the file", func(_ *Config, s *Snapshot) { s.Offers, s.Unasked = nil, []string{"google"} }, []Market{Spot, OnDemand}, "google", []string{googleSpot, googleOnDemand}, nil},
		{"a pool that holds half of the queue's spot machines gives way", func(_ *Config, s *Snapshot) {
			s.Workers = []Worker{{ID: "w", Place: s.Offers[1].Place, Queues: []string{"media"}}}
		}, []Market{Spot}, "aws", []string{awsOther, awsSpot}, nil},
		{"but not to a much dearer one", func(_ *Config, s *Snapshot) {
			s.Workers = []Worker{{ID: "w", Place: s.Offers[1].Place, Queues: []string{"media"}}}
			s.Offers[2].Price = Cents(11)
		}, []Market{Spot}, "aws", []string{awsSpot, awsOther}, nil},
		{"nothing in vps_only", func(c *Config, _ *Snapshot) { c.Mode = VPSOnly }, []Market{OnDemand}, "", nil, map[string]string{awsOnDemand: "mode", googleOnDemand: "mode"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg, snap := twoClouds()
			if test.change != nil {
				test.change(&cfg, &snap)
			}
			got, rejected := newDeciding(noon(), cfg, snap).candidates("media", test.markets, test.provider)
			var places []string
			for _, c := range got {
				places = append(places, c.String())
			}
			if d := cmp.Diff(test.want, places); d != "" {
				t.Errorf("candidates (-want +got):\n%s", d)
			}
			rules := map[string]string{}
			for _, r := range rejected {
				rules[r.What] = r.Rule
			}
			for what, rule := range test.rejected {
				if rules[what] != rule {
					t.Errorf("%s is rejected by %q, want %q", what, rules[what], rule)
				}
			}
		})
	}
}

func TestACandidateCarriesWhatTheFileSays(t *testing.T) {
	cfg, snap := twoClouds()
	p := cfg.Providers["aws"]
	p.SpotMaxPrice, p.Surcharge, p.Slots = Cents(9), Cents(1), 3
	cfg.Providers["aws"] = p
	got, _ := newDeciding(noon(), cfg, snap).candidates("media", []Market{Spot}, "aws")
	want := Candidate{Offer: snap.Offers[1], Image: "ami-1", Bid: Cents(9)}
	want.Ceiling, want.Surcharge, want.Slots = Cents(9), Cents(1), 3
	if d := cmp.Diff(want, got[0]); d != "" {
		t.Errorf("candidate (-want +got):\n%s", d)
	}
}

func TestTheObstacleIsTheOneThatSaysMost(t *testing.T) {
	got := obstacle([]Rejected{{Rule: "market"}, {Rule: "provider"}, {Rule: "hourly_limit"}, {Rule: "cool_off"}})
	if got.Rule != "hourly_limit" {
		t.Errorf("obstacle is %q", got.Rule)
	}
	if got := obstacle(nil); got.Rule != "no_offer" {
		t.Errorf("without any offer it is %q", got.Rule)
	}
}

func TestMarketsFollowTheRoutingOfWhatWaits(t *testing.T) {
	od, sp := OnDemand, Spot
	tests := []struct {
		name  string
		waits Waits
		spot  bool
		have  map[Market]int
		n     int
		want  []Market
	}{
		{"interactive jobs run on demand", Waits{Interactive: 9}, true, nil, 2, []Market{od, od}},
		{"bulk prefers spot", Waits{Bulk: 9}, false, nil, 2, []Market{sp, sp}},
		{"long jobs with checkpoints go to spot", Waits{LongResumes: 9}, false, nil, 1, []Market{sp}},
		{"long jobs without go on demand", Waits{LongFixed: 9}, true, nil, 1, []Market{od}},
		{"standard jobs are mixed", Waits{Standard: 9}, false, nil, 4, []Market{od, sp, od, sp}},
		{"spot_preferred moves them to spot", Waits{Standard: 9}, true, nil, 2, []Market{sp, sp}},
		{"one interactive job among many needs one on demand", Waits{Interactive: 1, Bulk: 999}, false, nil, 3, []Market{od, sp, sp}},
		{"which the VPS worker is already", Waits{Interactive: 1, Bulk: 999}, false, map[Market]int{VPS: 1}, 2, []Market{sp, sp}},
		{"what is there counts", Waits{Interactive: 5, Bulk: 5}, false, map[Market]int{Spot: 2}, 2, []Market{od, od}},
		{"nothing waits", Waits{}, false, nil, 1, []Market{od}},
		{"nothing waits where spot is preferred", Waits{}, true, nil, 1, []Market{sp}},
		{"none are wanted", Waits{Bulk: 1}, false, nil, 0, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := marketsFor(QueueState{Waits: test.waits}, Queue{SpotPreferred: test.spot}, test.have, test.n)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("markets (-want +got):\n%s", d)
			}
		})
	}
}
