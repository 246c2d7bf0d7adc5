package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// grow asks the policy how many workers each queue wants, and takes back parked
// ones, un-drains or launches as many of them as the limits allow.
func (d *deciding) grow() {
	for _, name := range sortedKeys(d.cfg.Queues) {
		if !slices.ContainsFunc(d.snap.Queues, func(q QueueState) bool { return q.Name == name }) {
			v := view{QueueState: QueueState{Name: name}, cfg: d.cfg.Queues[name]}
			d.hold(v, want{}, barrier{rule: "fault", why: "it was not observed", limit: "fault (queue)"})
		}
	}
	for _, q := range d.byUrgency() {
		v := viewOf(d.cfg, d.snap, d.fleet(), q)
		w := wantOf(d.now, d.cfg, d.snap, d.mode(), v)
		back := d.unpark(&v, w)
		if back > 0 && w.workers <= v.have {
			continue
		}
		if b := d.bar(v, w); b.rule != "" {
			d.hold(v, w, b)
			continue
		}
		d.more(v, w)
	}
}

// byUrgency puts queues first whose most urgent jobs are interactive, and among
// equals those that wait longest: the last money is for them.
func (d *deciding) byUrgency() []QueueState {
	queues := slices.Clone(d.snap.Queues)
	queues = slices.DeleteFunc(queues, func(q QueueState) bool { _, known := d.cfg.Queues[q.Name]; return !known })
	slices.SortStableFunc(queues, func(a, b QueueState) int {
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(b.Oldest, a.Oldest), strings.Compare(a.Name, b.Name))
	})
	return queues
}

func urgency(q QueueState) int {
	for band := range bands {
		if q.Bands[band].Depth > 0 {
			return band
		}
	}
	return bands
}

// more un-drains first, then launches, until the queue has what it wants or a
// limit is in the way.
func (d *deciding) more(v view, w want) {
	first, got := len(d.out), 0
	n := min(w.workers-v.have, max(v.cfg.MaxWorkers-v.have, 0))
	limit := barrier{}
	if n < w.workers-v.have {
		limit = maxWorkers(v)
	}
	blocked := map[Market]bool{} // money only gets less, so once is enough
	for _, market := range marketsFor(v.QueueState, v.cfg, v.markets, n) {
		if d.takeBack(v, w, market) {
			got++
			continue
		}
		if v.counted >= v.cfg.MaxWorkers {
			limit = maxWorkers(v)
			continue // a draining one of another market may still be taken back
		}
		if blocked[market] {
			continue
		}
		if b := d.launch(v, w, market); b.rule != "" {
			limit, blocked[market] = b, true
			continue
		}
		v.counted++
		got++
	}
	if got == 0 {
		d.hold(v, w, limit)
		return
	}
	for i := first; i < len(d.out); i++ {
		d.out[i].Wanted, d.out[i].Allowed, d.out[i].Limit = w.workers, v.have+got, limit.limit
	}
}

// launch decides on one machine, or answers what is in the way.
func (d *deciding) launch(v view, w want, market Market) barrier {
	candidates, rejected := d.candidates(v.Name, orderOf(market), "")
	if len(candidates) == 0 {
		b := obstacle(rejected)
		return barrier{rule: b.Rule, why: b.why(), limit: b.limit(), rejected: rejected}
	}
	x := d.scaling(KindLaunch, v, w)
	x.Sentence = fmt.Sprintf("Scaling up %s: depth=%d, oldest=%ds", v.Name, v.Depth, v.Oldest/time.Second)
	x.Provider, x.Rejected = candidates[0].Provider, rejected
	x.Launch = &Launch{Candidates: candidates, Queues: []string{v.Name}, MaxLife: maxLife}
	d.reserve(*x.Launch)
	d.add(x)
	return barrier{}
}

// maxLife is after what time a machine ends itself where its provider can do
// that: nobody may be left to end it.
const maxLife = 24 * time.Hour

// reserve makes a machine that is going to be launched count, in money and in
// caps.
func (d *deciding) reserve(l Launch) {
	o := l.Candidates[0].Offer
	d.budget.take(o)
	d.launched = append(d.launched, Worker{
		Place: o.Place, Queues: l.Queues, Slots: cmp.Or(l.Slots, o.Slots), Status: Provisioning, ProvisionedAt: d.now,
		Rate: o.Price + o.Surcharge, Ceiling: o.Rate(), Granularity: o.Granularity,
	})
}

// takeBack un-drains a worker that was drained for being idle and may run what
// waits, rather than to launch another beside it.
func (d *deciding) takeBack(v view, w want, market Market) bool {
	i := slices.IndexFunc(d.snap.Workers, func(o Worker) bool { return d.returns(v, o, market) })
	if i < 0 {
		return false
	}
	o := d.snap.Workers[i]
	d.undrained[o.ID] = true
	x := d.scaling(KindUndrain, v, w)
	x.WorkerID, x.Provider, x.MachineID = o.ID, o.Provider, o.InstanceID
	x.Sentence = fmt.Sprintf("Taking worker %s back for %s: depth=%d, oldest=%ds", o.ID, v.Name, v.Depth, v.Oldest/time.Second)
	d.add(x)
	if o.Parked() {
		x := d.unparked(o, w.rule, "it is taken back for "+v.Name)
		x.Queue = v.Name
		d.add(x)
	}
	return true
}

func (d *deciding) returns(v view, o Worker, market Market) bool {
	_, idled := d.snap.Memory.Drained[o.ID]
	return idled && o.Cloud() && o.Serves(v.Name) && o.Status == Draining && o.TerminateAt.IsZero() &&
		!d.leaving[o.ID] && !d.undrained[o.ID] && o.DrainDeadline.After(d.now) && !d.expired(o) &&
		o.LeftAt.IsZero() && (market != OnDemand || o.Market == OnDemand)
}

// scaling is what decisions for more of a queue have in common.
func (d *deciding) scaling(kind Kind, v view, w want) Decision {
	return Decision{Kind: kind, Queue: v.Name, Rule: w.rule, Inputs: d.inputs(v, w)}
}
