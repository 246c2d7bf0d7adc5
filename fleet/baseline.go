package fleet

import (
	"fmt"
	"slices"
)

// interactiveRank is the highest priority number of interactive jobs.
const interactiveRank = 3

// baseline sees to it that there is a VPS worker, and that it claims what the
// mode leaves to it.
func (d *deciding) baseline() {
	if d.away("database") {
		return
	}
	for _, w := range d.snap.Workers {
		if !w.Cloud() && w.Status == Active && !d.leaving[w.ID] {
			d.restrict(w)
		}
	}
	if d.cfg.Providers[processProvider].Enabled && !d.hasVPS() {
		d.launchVPS()
	}
}

// restrict leaves a VPS worker the interactive jobs in cloud_first once cloud
// workers are there for the others, and everything otherwise.
func (d *deciding) restrict(w Worker) {
	rank, rule, why := 0, "mode", "it claims jobs of every priority"
	if d.mode() == CloudFirst && d.relieved(w) {
		rank, rule, why = interactiveRank, "cloud_first.vps_interactive", "cloud workers are ready for priorities 4 to 10"
	}
	if rank == w.MaxRank {
		return
	}
	d.add(Decision{
		Kind: KindRestrict, WorkerID: w.ID, Provider: w.Provider, Rule: rule, MaxRank: rank,
		Sentence: fmt.Sprintf("VPS worker %s: %s", w.ID, why),
		Inputs:   []Fact{{"mode", string(d.mode())}, {"max_rank", number(w.MaxRank)}},
	})
}

// relieved is true when no job that the VPS worker then leaves alone would be
// left to nobody: each of its queues may have cloud workers, those with such
// jobs have one that is ready and may run them, and there is one at all.
func (d *deciding) relieved(w Worker) bool {
	served := false
	for _, name := range w.Queues {
		if q := d.cfg.Queues[name]; !q.CloudEnabled || q.Batch != "" {
			return false
		}
		markets := d.readyMarkets(name)
		served = served || len(markets) > 0
		i := slices.IndexFunc(d.snap.Queues, func(q QueueState) bool { return q.Name == name })
		if i >= 0 && !covers(markets, d.snap.Queues[i]) {
			return false
		}
	}
	return served
}

// readyMarkets are those of the cloud workers that take jobs of a queue now.
func (d *deciding) readyMarkets(queue string) []Market {
	var markets []Market
	for _, w := range d.fleet() {
		if w.Cloud() && w.Serves(queue) && ready(d.now, w) {
			markets = append(markets, w.Market)
		}
	}
	return markets
}

// covers is true when what waits below interactive may run in one of the markets.
func covers(markets []Market, q QueueState) bool {
	if q.Bands[Standard].Depth+q.Bands[Bulk].Depth == 0 || slices.Contains(markets, OnDemand) {
		return true
	}
	return q.Waits.LongFixed == 0 && slices.Contains(markets, Spot)
}

// hasVPS is true while a VPS worker is there or on its way. One that has gone
// silent still counts while its process is listed: two would share the machine.
func (d *deciding) hasVPS() bool {
	for _, w := range d.snap.Workers {
		if w.Cloud() || w.Status == Draining || w.Status == Terminated || d.leaving[w.ID] {
			continue
		}
		if w.Status == Provisioning || ready(d.now, w) || d.listed(w) {
			return true
		}
	}
	return false
}

func (d *deciding) listed(w Worker) bool {
	return w.InstanceID != "" && slices.ContainsFunc(d.snap.Inventories[w.Provider].Machines, func(m Machine) bool {
		return m.ID == w.InstanceID && m.State != MachineTerminated
	})
}

func (d *deciding) launchVPS() {
	x := Decision{Kind: KindLaunch, Provider: processProvider, Rule: "baseline", Wanted: 1,
		Sentence: "Starting the VPS worker: none is there", Inputs: []Fact{{"mode", string(d.mode())}}}
	if b := d.barBaseline(); b.rule != "" {
		x.Kind, x.Rule, x.Limit = KindHold, b.rule, b.limit
		x.Sentence = "Not starting the VPS worker: " + b.why
		d.add(x)
		return
	}
	p := d.cfg.Providers[processProvider]
	l := Launch{Candidates: []Candidate{d.vpsCandidate()}, Queues: sortedKeys(d.cfg.Queues), Reserve: map[string]int{}}
	for name, q := range d.cfg.Queues {
		if q.BaselineWorkers > 0 {
			l.Reserve[name] = q.BaselineWorkers
			l.Slots += q.BaselineWorkers
		}
	}
	// One slot more than is kept, so that no queue is left out.
	l.Slots = max(l.Slots+1, p.Slots)
	x.Allowed, x.Launch = 1, &l
	d.reserve(l)
	d.add(x)
}

func (d *deciding) barBaseline() barrier {
	if f, failed := d.fault("provider:" + processProvider); failed {
		return barrier{rule: "fault", why: f.Source + " cannot be observed", limit: "fault (" + f.Source + ")"}
	}
	if c, cooling := d.snap.Memory.cooling(d.now, d.vpsCandidate().Place); cooling {
		return barrier{rule: "cool_off", why: c.refusal().limit, limit: c.refusal().limit}
	}
	return d.barInventory(view{}, want{})
}

// vpsCandidate is what provider process offers for the VPS market, and without
// an offer one that costs nothing: the VPS is paid for anyway.
func (d *deciding) vpsCandidate() Candidate {
	p := d.cfg.Providers[processProvider]
	for _, o := range d.snap.Offers {
		if o.Provider == processProvider && o.Market == VPS {
			return Candidate{Offer: o, Image: p.Image}
		}
	}
	o := Offer{Place: Place{Provider: processProvider, Market: VPS}, Slots: p.Slots, Source: "config"}
	if len(p.Types) > 0 {
		o.Type = p.Types[0]
	}
	return Candidate{Offer: o, Image: p.Image}
}
