package fleet

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// Validate joins every fault of settings by the path of its key in the file.
func (c Config) Validate() error {
	f := &faults{}
	c.check(f)
	return f.join()
}

func (c Config) check(f *faults) {
	checkKeys(&c, "", fileKeys(), f)
	checkKeys(&c.ScaleUp, "scaling_rules.scale_up", upKeys(), f)
	checkKeys(&c.ScaleDown, "scaling_rules.scale_down", downKeys(), f)
	checkKeys(&c.Limits, "cost_limits", limitKeys(), f)
	checkKeys(&c.Alerts, "alerts", alertKeys(), f)
	if c.Location == nil { // the file's default is UTC
		f.add("timezone", "must be there")
	}
	checkTwice(c.ProviderPreference, "provider_preference", f)
	for _, name := range slices.Sorted(maps.Keys(c.Queues)) {
		c.checkQueue(name, f)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		c.checkProvider(name, f)
	}
	for i := range c.Alerts.Channels {
		c.Alerts.Channels[i].check(fmt.Sprintf("alerts.channels[%d]", i), f)
	}
}

// checkKeys holds the values of an object against the table of its keys.
func checkKeys[T any](from *T, path string, keys []key[T], f *faults) {
	for _, k := range keys {
		if k.at != nil {
			checkValue(k.at(from), k.spec, join(path, k.name), f)
		}
	}
}

func checkTwice(list []string, path string, f *faults) {
	for i, text := range list {
		if slices.Contains(list[:i], text) {
			f.add(fmt.Sprintf("%s[%d]", path, i), "%q stands twice", text)
		}
	}
}

func (c Config) checkQueue(name string, f *faults) {
	path, q := join("queues", name), c.Queues[name]
	checkKeys(&q, path, queueKeys(), f)
	if q.MaxWorkers < q.BaselineWorkers {
		f.add(join(path, "max_workers"), "must be at least baseline_workers (%d), which it counts, not %d", q.BaselineWorkers, q.MaxWorkers)
	}
	c.checkNamed(q.CloudProvider, join(path, "cloud_provider"), f)
	c.checkNamed(q.Batch, join(path, "batch"), f)
}

// checkNamed holds that a provider which is known by name is in the file.
func (c Config) checkNamed(provider, path string, f *faults) {
	if _, ok := c.Providers[provider]; !ok && slices.Contains(providerNames, provider) {
		f.add(path, "%q is not among cloud_providers", provider)
	}
}

func (c Config) checkProvider(name string, f *faults) {
	path, p := join("cloud_providers", name), providerFile{ProviderConfig: c.Providers[name]}
	if len(p.Types) > 0 {
		p.first, p.more = p.Types[0], p.Types[1:]
	}
	checkKeys(&p, path, providerKeys(name), f)
	for _, kind := range slices.Sorted(maps.Keys(p.Prices)) {
		price := p.Prices[kind]
		checkKeys(&price, join(join(path, "prices"), kind), priceKeys(), f)
	}
	if (p.Cores == 0) != (p.RAMMB == 0) {
		f.add(path, "cores and ram_mb must be given together")
	}
	if name == "ionos" && p.RAMMB%256 != 0 {
		f.add(join(path, "ram_mb"), "must be a multiple of 256, not %d", p.RAMMB)
	}
	// EC2 refuses a bid of a tenth of a cent or less.
	if p.SpotMaxPrice > 0 && p.SpotMaxPrice <= Cent/10 {
		f.add(join(path, "spot_max_price"), `must be above "0.001", or "0" for none`)
	}
	if p.Enabled {
		p.checkComplete(wordsOf(name), path, f)
	}
}

// checkComplete asks for what nothing can be launched without.
func (p *providerFile) checkComplete(w words, path string, f *faults) {
	if w.command && len(p.Command) == 0 {
		f.add(join(path, "command"), "must be there when the provider is enabled")
	}
	if !w.cloud() {
		return
	}
	for _, need := range [][2]string{{w.place, *p.place(w.place)}, {w.kind, p.first}, {w.image, p.Image}} {
		if need[1] == "" {
			f.add(join(path, need[0]), "must be there when the provider is enabled")
		}
	}
}

// check says nothing of what an address is: it may have a password in it.
func (c *Channel) check(path string, f *faults) {
	checkKeys(c, path, channelKeys(), f)
	if c.Kind == "log" {
		if c.URL != "" || c.KeyFile != "" {
			f.add(path, "a log has neither url nor key_file")
		}
		return
	}
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		f.add(join(path, "url"), "must be an address that begins with https:// or http://")
	}
}
