package fleet

import (
	"testing"
	"time"
)

// noon is when all tests of money happen.
func noon() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

// paying is a configuration in which 5 dollars an hour and 50 a day may be spent.
func paying() Config {
	return Config{
		Mode: Hybrid, EvaluationInterval: time.Minute, Location: time.UTC,
		Limits: Limits{Hourly: Cents(500), Daily: Cents(5000), Alert: Cents(3000)},
		Queues: map[string]Queue{"media": {MaxWorkers: 10, CloudEnabled: true}},
		Providers: map[string]ProviderConfig{
			"aws": {Enabled: true, Region: "eu-west-3", Types: []string{"c6i.xlarge", "c5.xlarge"}, Image: "ami-1", MaxInstances: 5, Spot: true},
		},
	}
}

func onDemand(cents int64) Offer {
	return Offer{Place: Place{"aws", "c6i.xlarge", "eu-west-3a", OnDemand}, Price: Cents(cents), Ceiling: Cents(cents), Source: "live"}
}

// machine is a row whose machine runs since a while and is booked up to now.
func machine(id string, cents int64) Worker {
	return Worker{
		ID: id, Place: onDemand(cents).Place, InstanceID: "i-" + id, Queues: []string{"media"}, Status: Active,
		ProvisionedAt: noon().Add(-time.Hour), LaunchedAt: noon().Add(-time.Hour), RegisteredAt: noon().Add(-50 * time.Minute),
		AccruedUntil: noon(), Rate: Cents(cents), Ceiling: Cents(cents), Origin: OriginTick,
	}
}

func seen(workers ...Worker) Snapshot {
	return Snapshot{At: noon(), Workers: workers, Memory: Memory{Inventoried: true}}
}

func TestALaunchIsRefusedByTheLimitThatItWouldBreak(t *testing.T) {
	fleet := func(n int, cents int64) Snapshot {
		s := seen()
		for i := range n {
			s.Workers = append(s.Workers, machine(string(rune('a'+i)), cents))
		}
		return s
	}
	spent := func(s Snapshot, hour, day int64) Snapshot {
		s.Spend = Spend{Hour: Cents(hour), Day: Cents(day)}
		return s
	}
	spot := Offer{Place: Place{"aws", "c6i.xlarge", "eu-west-3a", Spot}, Price: Cents(5), Ceiling: Cents(20)}
	disk := onDemand(20)
	disk.Surcharge = Cents(1)
	hourly := onDemand(60)
	hourly.Granularity = time.Hour
	tests := []struct {
		name  string
		snap  Snapshot
		offer Offer
		cfg   func(*Config)
		want  string
	}{
		{"the run rate with it is just at the hourly limit", fleet(4, 100), onDemand(100), nil, ""},
		{"the run rate with it is a cent over", fleet(4, 100), onDemand(101), nil, "max_hourly_spend_cents (500)"},
		{"a spot machine counts up to its bid", fleet(4, 121), spot, nil, "max_hourly_spend_cents (500)"},
		{"a spot machine whose bid fits", fleet(4, 120), spot, nil, ""},
		{"a disk counts", fleet(4, 120), disk, nil, "max_hourly_spend_cents (500)"},
		{"what was spent in the hour counts, with one more minute of the fleet", spent(fleet(1, 60), 498, 498), onDemand(60), nil, ""},
		{"what was spent in the hour is a little too much", spent(fleet(1, 60), 499, 499), onDemand(60), nil, "max_hourly_spend_cents (500)"},
		{"an hour that is paid in any case counts whole", spent(fleet(1, 60), 440, 440), hourly, nil, "max_hourly_spend_cents (500)"},
		{"the day has room until the fleet could be ended", spent(fleet(1, 60), 0, 4989), onDemand(60), nil, ""},
		{"the day has none", spent(fleet(1, 60), 0, 4990), onDemand(60), nil, "max_daily_spend_cents (5000)"},
		{"no price is known", seen(), onDemand(0), nil, "price (not known)"},
		{"a local process costs nothing", seen(), Offer{Place: Place{Provider: "process", Market: OnDemand}},
			func(c *Config) {
				c.Providers["process"] = ProviderConfig{Enabled: true, MaxInstances: 1}
				c.Limits = Limits{}
			}, ""},
		{"nothing may be spent", seen(), onDemand(1), func(c *Config) { c.Limits = Limits{} }, "max_hourly_spend_cents (0)"},
		{"max_instances is just reached", fleet(4, 1), onDemand(1), nil, ""},
		{"max_instances would be passed", fleet(5, 1), onDemand(1), nil, "max_instances of aws (5)"},
		{"the mode is vps_only", seen(), onDemand(1), func(c *Config) { c.Mode = "" }, "mode (vps_only)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := paying()
			if test.cfg != nil {
				test.cfg(&cfg)
			}
			if got := Refuses(noon(), cfg, test.snap, test.offer); got != test.want {
				t.Errorf("refused by %q, want %q", got, test.want)
			}
		})
	}
}

func TestEveryMachineThatIsPaidForCounts(t *testing.T) {
	at := noon()
	listed := func(ms ...Machine) map[string]Inventory { return map[string]Inventory{"aws": {Machines: ms}} }
	place := onDemand(0).Place
	with := func(change func(*Worker)) Worker {
		w := machine("a", 100)
		change(&w)
		return w
	}
	tests := []struct {
		name        string
		workers     []Worker
		inventories map[string]Inventory
		want        Money
	}{
		{"a machine that runs", []Worker{machine("a", 100)}, listed(Machine{ID: "i-a", State: MachineRunning}), Cents(100)},
		{"one that is launching, of which only the row is known", []Worker{with(func(w *Worker) { w.Status, w.InstanceID = Provisioning, "" })}, listed(), Cents(100)},
		{"one that drains", []Worker{with(func(w *Worker) { w.Status = Draining })}, nil, Cents(100)},
		{"one that is being terminated", []Worker{with(func(w *Worker) { w.Status, w.TerminateAt = Draining, at })}, listed(Machine{ID: "i-a", State: MachineStopping}), Cents(100)},
		{"one that has ended by its provider's word", []Worker{machine("a", 100)}, listed(Machine{ID: "i-a", State: MachineTerminated}), 0},
		{"one that its provider does not list any more", []Worker{machine("a", 100)}, listed(), 0},
		{"one that was launched a minute ago and is not listed yet", []Worker{with(func(w *Worker) { w.ProvisionedAt, w.LaunchedAt = at.Add(-time.Minute), at.Add(-time.Minute) })}, listed(), Cents(100)},
		{"one whose provider could not be asked", []Worker{machine("a", 100)}, nil, Cents(100)},
		{"a machine without a row, at the price of its offer", nil, listed(Machine{ID: "i-x", Place: place, State: MachineRunning}), Cents(30)},
		{"a second machine with the tag of a row", []Worker{machine("a", 100)}, listed(Machine{ID: "i-a", State: MachineRunning}, Machine{ID: "i-b", WorkerID: "a", Place: place}), Cents(130)},
		{"a machine of an unknown type, as the dearest there is", nil, listed(Machine{ID: "i-x", Place: Place{Type: "huge"}}), Cents(40)},
		{"a VPS worker costs nothing by the hour", []Worker{{ID: "v", Place: Place{Provider: "vps", Market: VPS}, Rate: Cents(3)}}, nil, 0},
		{"one whose spot price has passed its bid", []Worker{with(func(w *Worker) { w.Rate = Cents(120) })}, nil, Cents(120)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			snap := seen(test.workers...)
			snap.Inventories = test.inventories
			dear := onDemand(40)
			dear.Type = "c5.xlarge"
			snap.Offers = []Offer{onDemand(30), dear}
			if got := newBudget(at, paying(), snap).runRate; got != test.want {
				t.Errorf("%s an hour count, want %s", got, test.want)
			}
		})
	}
}

func TestDecisionsOfOneTickUseUpTheSameMoney(t *testing.T) {
	b := newBudget(noon(), paying(), seen())
	n := 0
	for b.refuses(onDemand(120)) == "" {
		b.take(onDemand(120))
		n++
	}
	if n != 4 {
		t.Errorf("%d machines of 120 cents were launched under a limit of 500 cents", n)
	}
	if got := b.refuses(onDemand(20)); got != "" {
		t.Errorf("what is left is refused: %s", got)
	}
}

func TestTheDailyLimitTripsWhileMachinesCanStillBeEnded(t *testing.T) {
	// One tick, two minutes of draining and two of ending: 60 cents an hour come
	// to five cents.
	tests := []struct {
		name     string
		interval time.Duration
		change   func(*Worker)
		day      Money
		want     bool
	}{
		{"just under", time.Minute, nil, Cents(4995) - 1, false},
		{"just at", time.Minute, nil, Cents(4995), true},
		{"a slower tick sees deadlines later", 5 * time.Minute, nil, Cents(4988), true},
		{"a slower tick has room before that", 5 * time.Minute, nil, Cents(4988) - 1, false},
		{"time that is not booked yet counts", time.Minute, func(w *Worker) { w.AccruedUntil = noon().Add(-3 * time.Minute) }, Cents(4992), true},
		{"an hour that is paid in any case counts", time.Minute, func(w *Worker) { w.Granularity, w.ProvisionedAt = time.Hour, noon() }, Cents(4940), true},
		{"no machine, and something left", time.Minute, func(w *Worker) { w.Market = VPS }, Cents(5000) - 1, false},
		{"no machine, and nothing left", time.Minute, func(w *Worker) { w.Market = VPS }, Cents(5000), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := machine("a", 60)
			if test.change != nil {
				test.change(&w)
			}
			cfg, snap := paying(), seen(w)
			cfg.EvaluationInterval = test.interval
			snap.Spend.Day = test.day
			if latch, got := newBudget(noon(), cfg, snap).trips(); got != test.want {
				t.Errorf("trips: %v, want %v (%s)", got, test.want, latch.Reason)
			}
		})
	}
	t.Run("free machines under a limit of zero", func(t *testing.T) {
		cfg := paying()
		cfg.Limits = Limits{}
		if _, trips := newBudget(noon(), cfg, seen(machine("a", 0))).trips(); trips {
			t.Error("the limit trips although nothing costs anything")
		}
	})
}
