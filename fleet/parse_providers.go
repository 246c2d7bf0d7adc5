package fleet

import (
	"slices"
)

// providerFile is a provider as the file has it: the types in two keys.
type providerFile struct {
	ProviderConfig
	first string
	more  []string
}

// words are what the keys of a provider are called, "" for one that it lacks.
type words struct {
	place, kind, image, spot string
	bid, size, command       bool
}

// cloud is true where machines have a place, a type and an image.
func (w words) cloud() bool { return w.place != "" && w.image != "" }

func wordsOf(provider string) words {
	switch provider {
	case "aws":
		return words{place: "region", kind: "instance_type", image: "ami_id", spot: "spot_enabled", bid: true}
	case "google":
		return words{place: "zone", kind: "machine_type", image: "image", spot: "preemptible"}
	case "ionos":
		return words{place: "datacenter", kind: "server_type", image: "image", size: true}
	case "hook":
		return words{kind: "instance_type", spot: "spot_enabled", command: true}
	}
	return words{}
}

func readProviders(c *Config, n *node, path string, f *faults) {
	c.Providers = map[string]ProviderConfig{}
	given := named(n, path, providerNames, "provider", f)
	for _, name := range providerNames {
		if given[name] == nil {
			continue
		}
		var p providerFile
		readKeys(given[name], join(path, name), providerKeys(name), &p, f)
		c.Providers[name] = p.config(name)
	}
}

// config puts the types together: the one of its own key comes first.
func (p *providerFile) config(name string) ProviderConfig {
	if p.first != "" {
		p.Types = append(p.Types, p.first)
	}
	for _, t := range p.more {
		if !slices.Contains(p.Types, t) {
			p.Types = append(p.Types, t)
		}
	}
	if len(p.Types) == 0 && (name == "process" || name == "hook") {
		p.Types = []string{name}
	}
	return p.ProviderConfig
}

// providerKeys are the keys of one provider, under its own names for them.
func providerKeys(provider string) []key[providerFile] {
	w := wordsOf(provider)
	keys := []key[providerFile]{
		{spec: spec{name: "enabled", def: "false", help: "Let machines be launched there."}, at: func(p *providerFile) any { return &p.Enabled }},
		{spec: spec{name: "max_instances", def: "1", low: 0, high: 10_000, help: "Machines there at most, launching and draining ones included."}, at: func(p *providerFile) any { return &p.MaxInstances }},
		{spec: spec{name: "slots", def: "0", low: 0, high: 1024, help: "Jobs that a worker there runs at once; 0 leaves it to the worker, which takes twice its cores."}, at: func(p *providerFile) any { return &p.Slots }},
		{spec: spec{name: "prices", help: "Prices by type of machine, where the provider cannot be asked."}, sub: readPrices},
		{spec: spec{name: "surcharge_cents_per_hour", def: "0", unit: "cents an hour", low: 0, high: mostCents, help: "What the disk and address of a machine cost."}, at: func(p *providerFile) any { return &p.Surcharge }},
	}
	return append(keys, w.keys()...)
}

func (w words) keys() []key[providerFile] {
	var keys []key[providerFile]
	add := func(s spec, at func(*providerFile) any) {
		if s.name != "" {
			keys = append(keys, key[providerFile]{spec: s, at: at})
		}
	}
	add(spec{name: w.place, help: "Where machines are launched."}, func(p *providerFile) any { return p.place(w.place) })
	add(spec{name: w.kind, help: "Type of machine."}, func(p *providerFile) any { return &p.first })
	if w.kind != "" {
		add(spec{name: "instance_types", help: "Further types that may be taken, so that one that is used up does not stop everything."}, func(p *providerFile) any { return &p.more })
	}
	add(spec{name: w.image, help: "Image that machines boot from."}, func(p *providerFile) any { return &p.Image })
	add(spec{name: w.spot, def: "false", help: "Let machines be taken that the provider can take back."}, func(p *providerFile) any { return &p.Spot })
	if w.bid {
		add(spec{name: "spot_max_price", def: `"0"`, unit: perUnit, high: mostCents, help: "What is paid for a spot machine an hour at most, in units of the currency; 0 the price on demand."}, func(p *providerFile) any { return &p.SpotMaxPrice })
	}
	if w.command {
		add(spec{name: "command", help: "Program, with its arguments, that starts, ends and lists machines."}, func(p *providerFile) any { return &p.Command })
	}
	if w.size {
		add(spec{name: "cores", def: "0", low: 0, high: 1024, help: "Cores of a machine; 0 as its type says."}, func(p *providerFile) any { return &p.Cores })
		add(spec{name: "ram_mb", def: "0", unit: "MiB", low: 0, high: 1 << 24, help: "Memory of a machine; 0 as its type says."}, func(p *providerFile) any { return &p.RAMMB })
	}
	return keys
}

func (p *providerFile) place(word string) *string {
	switch word {
	case "zone":
		return &p.Zone
	case "datacenter":
		return &p.Datacenter
	}
	return &p.Region
}

func priceKeys() []key[Price] {
	return []key[Price]{
		{spec: spec{name: "on_demand_cents_per_hour", def: "0", unit: "cents an hour", low: 0, high: mostCents, help: "Price on demand; 0 is not known."}, at: func(p *Price) any { return &p.OnDemand }},
		{spec: spec{name: "spot_cents_per_hour", def: "0", unit: "cents an hour", low: 0, high: mostCents, help: "Price on spot; 0 is not known."}, at: func(p *Price) any { return &p.Spot }},
	}
}

func readPrices(p *providerFile, n *node, path string, f *faults) {
	if n == nil {
		return
	}
	if n.kind != anObject {
		f.add(path, "must be an object, not %s", n.kind)
		return
	}
	p.Prices = map[string]Price{}
	for _, kind := range n.keys {
		var price Price
		readKeys(n.fields[kind], join(path, kind), priceKeys(), &price, f)
		p.Prices[kind] = price
	}
}
