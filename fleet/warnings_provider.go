package fleet

import (
	"slices"
	"strings"
)

// ionosTypes are what IONOS calls its servers.
var ionosTypes = []string{"ENTERPRISE", "VCPU", "CUBE", "GPU"}

func (w *warnings) provider(name string, p ProviderConfig) {
	path := join("cloud_providers", name)
	if p.Enabled && p.MaxInstances == 0 {
		w.add(join(path, "max_instances"), "is 0: nothing will be launched there")
	}
	if p.Enabled && strings.Contains(p.Image, "...") {
		w.add(join(path, wordsOf(name).image), "is an example: nothing can boot from it")
	}
	if name == "ionos" {
		w.ionos(path, p)
	}
	w.prices(name, path, p)
	w.bid(name, path, p)
}

// ionos tells of words that are another cloud's.
func (w *warnings) ionos(path string, p ProviderConfig) {
	if strings.Contains(p.Datacenter, "/") {
		w.add(join(path, "datacenter"), "is %q, a location: machines go to the one data center that is found there; its id says which", p.Datacenter)
	}
	for _, kind := range p.Types {
		if !slices.Contains(ionosTypes, strings.ToUpper(kind)) && p.Cores == 0 {
			w.add(join(path, "server_type"), "is %q, which IONOS does not have (%s): cores and ram_mb say what a machine is", kind, strings.Join(ionosTypes, ", "))
		}
	}
}

// prices tells of types that will never be launched for want of one.
func (w *warnings) prices(name, path string, p ProviderConfig) {
	for _, kind := range sortedKeys(p.Prices) {
		if !slices.Contains(p.Types, kind) {
			w.add(join(join(path, "prices"), kind), "is no type that is launched there")
		}
	}
	if !p.Enabled || name == processProvider {
		return
	}
	for _, kind := range p.Types {
		if p.Prices[kind].OnDemand == 0 && !w.offered(name, kind, OnDemand) {
			w.add(join(join(path, "prices"), kind), "has no price on demand: unless the provider tells one, it is not launched so")
		}
		if p.Spot && p.Prices[kind].Spot == 0 && !w.offered(name, kind, Spot) {
			w.add(join(join(path, "prices"), kind), "has no price on spot: unless the provider tells one, it is not launched so")
		}
	}
}

func (w *warnings) offered(name, kind string, market Market) bool {
	return slices.ContainsFunc(w.live, func(o Offer) bool {
		return o.Provider == name && o.Type == kind && o.Market == market && o.Price > 0
	})
}

// bid compares spot_max_price with what spot machines cost now.
func (w *warnings) bid(name, path string, p ProviderConfig) {
	if !p.Spot || p.SpotMaxPrice == 0 {
		return
	}
	for _, kind := range p.Types {
		floor, source := w.floor(name, kind)
		if floor > p.SpotMaxPrice {
			w.add(join(path, "spot_max_price"), "is %s an hour, and %s costs %s or more on spot (%s): none will be launched", p.SpotMaxPrice, kind, floor, source)
		}
	}
}

// floor is the least that a type costs on spot in any zone; 0 not known.
func (w *warnings) floor(name, kind string) (least Money, source string) {
	for _, o := range w.live {
		if o.Provider == name && o.Type == kind && o.Market == Spot && o.Source == "live" && o.Price > 0 && (least == 0 || o.Price < least) {
			least, source = o.Price, "price of now"
		}
	}
	if least == 0 {
		return w.cfg.Providers[name].Prices[kind].Spot, "price of the file"
	}
	return least, source
}
