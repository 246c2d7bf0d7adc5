package fleet

import (
	"maps"
	"slices"
	"time"
)

// unlisted is how long a machine that was just launched may be missing in its
// provider's inventory.
const unlisted = 2 * time.Minute

// processProvider starts workers as processes of this computer, which cost
// nothing unless the file says so.
const processProvider = "process"

// gone is true once the provider's own inventory says that the machine of a row
// has ended. A provider that did not answer, and a row whose machine is not
// known yet, prove nothing.
func (s Snapshot) gone(w Worker) bool {
	inventory, listed := s.Inventories[w.Provider]
	if !listed || w.InstanceID == "" {
		return false
	}
	for _, m := range inventory.Machines {
		if m.ID == w.InstanceID {
			return m.State == MachineTerminated
		}
	}
	return s.At.Sub(later(w.ProvisionedAt, earlier(w.LaunchedAt, s.At))) >= unlisted
}

// ended is gone without a doubt: a machine that is missing in a list, and whose
// worker has just been heard of, goes on costing.
func (s Snapshot) ended(w Worker) bool {
	if !s.gone(w) {
		return false
	}
	_, found := s.Inventories[w.Provider].of(w)
	return found || !w.TerminateAt.IsZero() || s.At.Sub(w.LastHeartbeat) >= silent
}

// strays are machines that are paid for and that no row stands for.
func (s Snapshot) strays() []Machine {
	known := map[[2]string]bool{}
	for _, w := range s.Workers {
		known[[2]string{w.Provider, "id " + w.InstanceID}] = true
		if w.InstanceID == "" { // the answer to its launch was lost
			known[[2]string{w.Provider, "row " + w.ID}] = true
		}
	}
	var out []Machine
	for _, name := range sortedKeys(s.Inventories) {
		for _, m := range s.Inventories[name].Machines {
			if m.State == MachineTerminated || m.Market == VPS ||
				known[[2]string{name, "id " + m.ID}] || known[[2]string{name, "row " + m.WorkerID}] {
				continue
			}
			m.Provider = name
			out = append(out, m)
		}
	}
	return out
}

// rateOf is what limits count for a machine of which only the place is known:
// the offer for it, the file's price, or the dearest there is at its provider.
func (s Snapshot) rateOf(cfg Config, p Place) Money {
	var same, dearest Money
	provider := cfg.Providers[p.Provider]
	for _, o := range s.Offers {
		if o.Provider != p.Provider {
			continue
		}
		rate := provider.complete(o).Rate()
		if o.Type == p.Type && o.Market == p.Market {
			same = max(same, rate)
		}
		dearest = max(dearest, rate)
	}
	if same > 0 {
		return same
	}
	if price := provider.Prices[p.Type]; price != (Price{}) {
		return max(price.OnDemand, price.Spot) + provider.Surcharge
	}
	for _, price := range provider.Prices {
		dearest = max(dearest, price.OnDemand+provider.Surcharge)
	}
	return dearest
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
