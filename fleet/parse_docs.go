package fleet

// Key describes a key of the scheduler's file, for whoever documents it.
type Key struct {
	Path    string // with * for a name and [] for each of a list
	Default string // as it would stand in the file; "" none
	Unit    string // "" none
	Help    string
}

// Keys lists every key that Parse knows.
func Keys() []Key {
	var all []Key
	add := func(path string, s spec) {
		all = append(all, Key{Path: join(path, s.name), Default: s.def, Unit: s.unit, Help: s.help})
	}
	list(fileKeys(), "", add)
	list(ruleKeys(), "scaling_rules", add)
	list(upKeys(), "scaling_rules.scale_up", add)
	list(downKeys(), "scaling_rules.scale_down", add)
	list(limitKeys(), "cost_limits", add)
	list(queueKeys(), "queues.*", add)
	for _, name := range providerNames {
		list(providerKeys(name), "cloud_providers."+name, add)
		list(priceKeys(), "cloud_providers."+name+".prices.*", add)
	}
	list(alertKeys(), "alerts", add)
	list(channelKeys(), "alerts.channels[]", add)
	return all
}

func list[T any](keys []key[T], path string, add func(string, spec)) {
	for _, k := range keys {
		add(path, k.spec)
	}
}
