package simulate

import (
	"maps"
	"slices"

	"github.com/spillway-media/spillway/fleet"
)

// offersOf is what could be launched, at the prices of the settings.
func offersOf(cfg fleet.Config, slots int) []fleet.Offer {
	var offers []fleet.Offer
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		p := cfg.Providers[name]
		if !p.Enabled {
			continue
		}
		for _, kind := range p.Types {
			offers = append(offers, offersFor(name, kind, p, slots)...)
		}
	}
	return offers
}

func offersFor(name, kind string, p fleet.ProviderConfig, slots int) []fleet.Offer {
	price := p.Prices[kind]
	place := fleet.Place{Provider: name, Type: kind, Zone: p.Region + p.Zone + p.Datacenter, Market: fleet.OnDemand}
	offer := fleet.Offer{
		Place: place, Price: price.OnDemand, Ceiling: price.OnDemand, Surcharge: p.Surcharge, Slots: orElse(p.Slots, orElse(p.Cores, slots)), Source: "config",
	}
	if name == "process" {
		return []fleet.Offer{offer} // its machines cost nothing unless the settings say so
	}
	var offers []fleet.Offer
	if price.OnDemand > 0 {
		offers = append(offers, offer)
	}
	if p.Spot && price.Spot > 0 {
		offer.Market, offer.Price, offer.Ceiling = fleet.Spot, price.Spot, max(price.Spot, orElse(p.SpotMaxPrice, price.OnDemand))
		offers = append(offers, offer)
	}
	return offers
}
