package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// candidates lists the ways to launch one machine for a queue, best first and
// within the budget, and why others are not among them. The markets are in the
// order in which they are wanted; provider "" is any that the queue allows.
func (d *deciding) candidates(queue string, markets []Market, provider string) ([]Candidate, []Rejected) {
	var out []Candidate
	var rejected []Rejected
	for _, name := range sortedKeys(d.cfg.Providers) {
		if r := d.unusable(queue, name, provider); r != (refusal{}) {
			rejected = append(rejected, Rejected{What: name, Rule: r.rule, Reason: r.limit})
			continue
		}
		for _, o := range d.offersOf(name) {
			if r := d.unfit(o, markets); r != (refusal{}) {
				rejected = append(rejected, Rejected{What: o.String(), Rule: r.rule, Reason: r.limit})
				continue
			}
			out = append(out, d.candidate(o))
		}
	}
	d.order(out, queue, markets)
	return out, append(rejected, dearer(out)...)
}

// unusable says why no machine of a provider may be launched for the queue.
func (d *deciding) unusable(queue, name, asked string) refusal {
	p := d.cfg.Providers[name]
	only := cmp.Or(asked, d.cfg.Queues[queue].CloudProvider)
	switch {
	case only != "" && only != name:
		return refusal{"provider", "only " + only + " is asked for"}
	case !p.Enabled:
		return refusal{"provider", "not enabled"}
	case !d.snap.Memory.Inventoried:
		return refusal{"inventory", "not every provider has been listed yet, so what runs there is not known"}
	}
	for _, f := range d.snap.Faults {
		if f.Source == "provider:"+name {
			return refusal{"fault", "it could not be asked: " + f.Reason}
		}
	}
	if c, ok := d.snap.Memory.cooling(d.now, Place{Provider: name}); ok {
		return c.refusal()
	}
	return refusal{}
}

// unfit says why an offer of a usable provider is not taken.
func (d *deciding) unfit(o Offer, markets []Market) refusal {
	p := d.cfg.Providers[o.Provider]
	switch {
	case len(p.Types) > 0 && !slices.Contains(p.Types, o.Type):
		return refusal{"type", "its type is not in the configuration"}
	case p.Zone != "" && o.Zone != "" && o.Zone != p.Zone:
		return refusal{"zone", "zone is " + p.Zone}
	case p.Region != "" && !strings.HasPrefix(o.Zone, p.Region) && o.Zone != "":
		return refusal{"zone", "region is " + p.Region}
	case !slices.Contains(markets, o.Market):
		return refusal{"market", either(markets) + " is wanted"}
	case o.Market == Spot && !p.Spot:
		return refusal{"spot_enabled", "spot is not enabled for " + o.Provider}
	case o.Market == Spot && p.SpotMaxPrice > 0 && o.Price > p.SpotMaxPrice:
		return refusal{"spot_max_price", fmt.Sprintf("spot_max_price (%s) is under its price of %s", p.SpotMaxPrice, o.Price)}
	}
	if c, ok := d.snap.Memory.cooling(d.now, o.Place); ok {
		return c.refusal()
	}
	return d.budget.refusal(o)
}

// offersOf are a provider's offers, completed from its configuration. One that
// nobody can ask here offers what the file has prices for.
func (d *deciding) offersOf(name string) []Offer {
	p := d.cfg.Providers[name]
	var out []Offer
	for _, o := range d.snap.Offers {
		if o.Provider == name {
			out = append(out, o)
		}
	}
	p.completeAll(out)
	if len(out) > 0 || !slices.Contains(d.snap.Unasked, name) {
		return out
	}
	for _, t := range p.Types {
		for _, market := range []Market{OnDemand, Spot} {
			place := Place{Provider: name, Type: t, Zone: cmp.Or(p.Zone, p.Region, p.Datacenter), Market: market}
			if market == OnDemand || p.Prices[t].Spot > 0 {
				out = append(out, p.complete(Offer{Place: place, Source: "config"}))
			}
		}
	}
	return out
}

// completeAll fills in what a provider left to the file, and up to what a spot
// machine without a bid may rise: what its type costs on demand.
func (p ProviderConfig) completeAll(offers []Offer) {
	onDemand := map[string]Money{}
	for i, o := range offers {
		offers[i] = p.complete(o)
		if o.Market == OnDemand {
			onDemand[o.Type] = max(onDemand[o.Type], offers[i].Price)
		}
	}
	for i := range offers {
		if o := &offers[i]; o.Market == Spot && o.Ceiling == 0 && o.Price > 0 {
			o.Ceiling = onDemand[o.Type]
		}
	}
}

// complete fills in what a provider left to the file: a price it does not know,
// the surcharge, and the bid, up to which a spot machine may cost.
func (p ProviderConfig) complete(o Offer) Offer {
	if min(o.Price, o.Ceiling, o.Surcharge) < 0 || max(o.Price, o.Ceiling, o.Surcharge) > maxMoney {
		o.Price, o.Ceiling, o.Surcharge = 0, 0, 0 // sums of it would be nonsense
		return o
	}
	price := p.Prices[o.Type]
	listed := price.OnDemand
	if o.Market == Spot {
		listed = price.Spot
	}
	if o.Price == 0 && listed > 0 {
		o.Price, o.Source = listed, "config"
	}
	if o.Market == Spot && p.SpotMaxPrice > 0 {
		o.Ceiling = p.SpotMaxPrice
	} else if o.Market == Spot && o.Ceiling == 0 {
		o.Ceiling = price.OnDemand
	}
	o.Surcharge = max(o.Surcharge, p.Surcharge)
	o.Slots = cmp.Or(o.Slots, p.Slots)
	return o
}

func (d *deciding) candidate(o Offer) Candidate {
	c := Candidate{Offer: o, Image: d.cfg.Providers[o.Provider].Image}
	if o.Market == Spot {
		c.Bid = d.cfg.Providers[o.Provider].SpotMaxPrice
	}
	return c
}

// order sorts candidates: the markets as they are wanted with on-demand after
// spot, spot pools that hold their share of the queue already after others, the
// preferred provider, then the price.
func (d *deciding) order(cs []Candidate, queue string, markets []Market) {
	full := d.fullPools(cs, queue)
	slices.SortStableFunc(cs, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(slices.Index(markets, a.Market), slices.Index(markets, b.Market)),
			cmp.Compare(d.preference(a.Provider), d.preference(b.Provider)),
			cmp.Compare(btoi(full[a.Place]), btoi(full[b.Place])),
			cmp.Compare(a.Price+a.Surcharge, b.Price+b.Surcharge),
			cmp.Compare(a.Provider, b.Provider),
			cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Zone, b.Zone),
		)
	})
}

func (d *deciding) preference(provider string) int {
	if i := slices.Index(d.cfg.ProviderPreference, provider); i >= 0 {
		return i
	}
	return len(d.cfg.ProviderPreference)
}

// fullPools are spot pools (type and zone) that already hold half of a queue's
// spot machines: one interruption should not take all of them. A pool that costs
// half as much again as the cheapest is no alternative.
func (d *deciding) fullPools(cs []Candidate, queue string) map[Place]bool {
	held, all := map[Place]int{}, 0
	for _, ws := range [][]Worker{d.snap.Workers, d.launched} {
		for _, w := range ws {
			if w.Market == Spot && w.Serves(queue) && !d.leaving[w.ID] {
				held[w.Place]++
				all++
			}
		}
	}
	var cheapest Money
	for _, c := range cs {
		if p := c.Price + c.Surcharge; c.Market == Spot && (cheapest == 0 || p < cheapest) {
			cheapest = p
		}
	}
	full := map[Place]bool{}
	for _, c := range cs {
		if c.Market == Spot {
			full[c.Place] = held[c.Place]+1 > (all+2)/2 || c.Price+c.Surcharge > cheapest+cheapest/2
		}
	}
	return full
}

// dearer are the candidates that were not the first, as rejected alternatives.
func dearer(cs []Candidate) []Rejected {
	var out []Rejected
	for i, c := range cs {
		if i > 0 {
			out = append(out, Rejected{What: c.String(), Rule: "order",
				Reason: fmt.Sprintf("%s an hour, after %s at %s", c.Price+c.Surcharge, cs[0].Place, cs[0].Price+cs[0].Surcharge)})
		}
	}
	return out
}

// obstacles are the rules that candidates were rejected for, from the one that
// says most to an operator to the one that says least.
var obstacles = []string{"mode", "fault", "inventory", "hourly_limit", "daily_limit", "max_instances",
	"cool_off", "no_price", "spot_max_price", "spot_enabled", "zone", "type", "market", "provider"}

// obstacle is why there is no candidate.
func obstacle(rejected []Rejected) Rejected {
	for _, rule := range obstacles {
		for _, r := range rejected {
			if r.Rule == rule {
				return r
			}
		}
	}
	return Rejected{Rule: "no_offer", Reason: "no provider offers a machine"}
}

// limit is the reason as a decision's sentence has it, which is told over HTTP:
// without what only the file, the provider or its errors say of a machine.
func (r Rejected) limit() string {
	switch r.Rule {
	case "fault":
		return "it could not be asked"
	case "spot_max_price":
		return "spot_max_price is under the price"
	case "zone":
		return "nothing is offered where machines are to be"
	}
	return r.Reason
}

// why is the limit, with the provider that it is about.
func (r Rejected) why() string {
	provider, _, _ := strings.Cut(r.What, " ")
	return strings.TrimPrefix(provider+": "+r.limit(), ": ")
}

// marketsFor says in which market each of n more workers of a queue belongs, by
// the routing rows of the jobs that wait and the workers that are there.
func marketsFor(q QueueState, cfg Queue, have map[Market]int, n int) []Market {
	w := q.Waits
	steady, spot := float64(w.Interactive+w.LongFixed), float64(w.Bulk+w.LongResumes)
	fixed := steady > 0
	if cfg.SpotPreferred {
		spot += float64(w.Standard)
	} else { // mixed: half of them each
		steady, spot = steady+float64(w.Standard)/2, spot+float64(w.Standard)/2
	}
	if steady+spot == 0 {
		steady, spot = float64(1-btoi(cfg.SpotPreferred)), float64(btoi(cfg.SpotPreferred))
	}
	steadyHave, spotHave := float64(have[OnDemand]+have[VPS]), float64(have[Spot])
	share := steady / (steady + spot)
	var out []Market
	for range max(n, 0) {
		all := steadyHave + spotHave + 1
		// Jobs that may not run on spot need one worker at least; otherwise the
		// market that lacks more of its share is next.
		if fixed && steadyHave == 0 || share*all-steadyHave >= (1-share)*all-spotHave {
			out, steadyHave = append(out, OnDemand), steadyHave+1
			continue
		}
		out, spotHave = append(out, Spot), spotHave+1
	}
	return out
}

// orderOf are the markets to try for a worker that belongs in one of them. What
// belongs on demand may be a job that spot machines must not take; what belongs
// on spot can run anywhere, with on demand last.
func orderOf(m Market) []Market {
	if m == Spot {
		return []Market{Spot, OnDemand}
	}
	return []Market{OnDemand}
}

func either(ms []Market) string {
	var out []string
	for _, m := range ms {
		out = append(out, string(m))
	}
	return strings.Join(out, " or ")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// cooling is the cool-off that keeps a place from being tried: its own, or its
// whole provider's.
func (m Memory) cooling(now time.Time, p Place) (CoolOff, bool) {
	for _, c := range m.CoolOffs {
		if c.Until.After(now) && (c.Place == p || c.Place == Place{Provider: p.Provider}) {
			return c, true
		}
	}
	return CoolOff{}, false
}

func (c CoolOff) refusal() refusal {
	return refusal{"cool_off", fmt.Sprintf("cooling off until %s after %s", c.Until.UTC().Format(time.TimeOnly), c.Outcome)}
}
