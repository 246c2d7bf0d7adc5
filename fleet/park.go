package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Jobs go to the worker that has waited for one the longest. So under a steady
// trickle every worker gets one now and then, none is ever idle for idle_minutes,
// and a fleet that grew for a peak would stay. That is why what is more than the
// policy backlog wants is parked: told to claim nothing. A parked worker finishes
// what it has and stays; taking it back costs nothing and works at once; and when
// it has had no job for idle_minutes, the rule for idle workers ends it. The other
// policies park none: the seed's rule is literal, and the rows of steps say what
// to start at a depth, not how many to keep while that many hold it down.

// The rules of parking, beside a policy's own.
const (
	ruleSurplus  = "backlog.surplus"
	ruleUnparked = "policy"              // it is one that parks none
	ruleStranded = "backlog.not_on_spot" // only a parked worker may run what waits
)

// parkedRank is the highest rank of a worker that is to claim nothing.
const parkedRank = -1

// Parked is true for a cloud worker that is told to claim nothing. It is no
// capacity, and counts in caps and in money like any other.
func (w Worker) Parked() bool { return w.Cloud() && w.MaxRank < 0 }

// park parks what is more than wanted: workers without a job first, the idle
// longest first. While demand is not known it does nothing.
func (d *deciding) park() {
	if d.away(sourceDatabase) {
		return
	}
	if d.cfg.Policy != PolicyBacklog {
		d.unparkAll()
		return
	}
	if _, blind := d.blind(); blind || !slices.ContainsFunc(d.snap.Workers, d.parkable) {
		return
	}
	crews := d.crews()
	able := slices.DeleteFunc(slices.Clone(d.snap.Workers), func(w Worker) bool { return !d.parkable(w) || !crews.spare(w) })
	slices.SortStableFunc(able, d.leastMissed)
	for _, w := range able {
		if crews.spare(w) { // still, after those before it
			d.add(d.parking(w, crews))
			crews.without(w)
		}
	}
}

// parkable is true for a worker that claims now, and that no operator asked for
// until a time that has not come yet.
func (d *deciding) parkable(w Worker) bool {
	return d.removable(w) && ready(d.now, w) && len(w.Queues) > 0 && !d.now.Before(w.KeepUntil)
}

func (d *deciding) parking(w Worker, crews crews) Decision {
	d.ranks[w.ID] = parkedRank
	c := crews[w.Queues[0]]
	return Decision{
		Kind: KindRestrict, WorkerID: w.ID, Provider: w.Provider, MachineID: w.InstanceID, Queue: c.Name,
		Rule: ruleSurplus, MaxRank: parkedRank, Wanted: c.wanted, Allowed: c.have(),
		Inputs: []Fact{{"claimed_jobs", number(w.Claimed)}, {"idle_seconds", seconds(d.idle(w))}, {"ready_workers", number(c.ready)}},
		Sentence: fmt.Sprintf("Parking worker %s: %s wants %s, and %d claim; it is taken back before any is launched, or ended when idle",
			w.ID, c.Name, workers(c.wanted), c.have()),
	}
}

// crew is the workers of a queue that claim now.
type crew struct {
	Name                    string
	baseline, wanted        int
	ready, onDemand         int
	anyWaits, onDemandWaits bool // what may run anywhere, and what may not run on spot
}

// have is how many claim, the baseline included. Those that launch are not
// among them: nobody is parked because somebody will come.
func (c *crew) have() int { return c.baseline + c.ready }

// last is true for the last one that may run what waits.
func (c *crew) last(w Worker) bool {
	return c.anyWaits && c.ready == 1 || c.onDemandWaits && w.Market == OnDemand && c.onDemand == 1
}

// crews are those of queues that have more than they want.
type crews map[string]*crew

func (d *deciding) crews() crews {
	all, fleet := crews{}, d.fleet()
	for _, q := range d.snap.Queues {
		_, known := d.cfg.Queues[q.Name]
		if !known || q.Service <= 0 || !d.settled(q.Name) {
			continue // without a service time the policy does not know how many it wants
		}
		all[q.Name] = d.crewOf(q, fleet)
	}
	return all
}

// settled is true when the policy has looked at a queue for as long as its wants
// count, and nothing came or came back in that time.
func (d *deciding) settled(queue string) bool {
	window := d.cfg.ScaleDown.Cooldown
	looked := slices.ContainsFunc(d.snap.Memory.Wants[queue], func(w Want) bool {
		age := d.now.Sub(w.At)
		return age <= window && age >= window-d.cfg.EvaluationInterval
	})
	return looked && !within(d.now, d.snap.Memory.LastUp[queue], window)
}

func (d *deciding) crewOf(q QueueState, fleet []Worker) *crew {
	v := viewOf(d.cfg, d.snap, fleet, q)
	w := wantOf(d.now, d.cfg, d.snap, d.mode(), v)
	fixed := q.Waits.Interactive + q.Waits.LongFixed
	c := &crew{Name: q.Name, baseline: v.cfg.BaselineWorkers, wanted: max(w.workers, w.keep), anyWaits: q.Depth > fixed, onDemandWaits: fixed > 0}
	for _, o := range fleet {
		if o.Cloud() && o.Serves(q.Name) && ready(d.now, o) {
			c.ready++
			c.onDemand += btoi(o.Market == OnDemand)
		}
	}
	return c
}

// spare is true when every queue of a worker can do without it.
func (all crews) spare(w Worker) bool {
	return !slices.ContainsFunc(w.Queues, func(queue string) bool {
		c := all[queue]
		return c == nil || c.have() <= c.wanted || c.last(w)
	})
}

func (all crews) without(w Worker) {
	for _, queue := range w.Queues {
		all[queue].ready--
		all[queue].onDemand -= btoi(w.Market == OnDemand)
	}
}

// unparkAll lets all go on under a policy that parks none.
func (d *deciding) unparkAll() {
	for _, w := range d.snap.Workers {
		if d.isParked(w) {
			d.add(d.unparked(w, ruleUnparked, "the policy is "+string(cmp.Or(d.cfg.Policy, PolicySeed))+", which parks none"))
		}
	}
}

// isParked is true for one that can be taken back. It drains no more than others do.
func (d *deciding) isParked(w Worker) bool {
	_, decided := d.ranks[w.ID]
	return w.Parked() && !decided && !d.leaving[w.ID] && w.Status == Active
}

func (d *deciding) unparked(w Worker, rule, why string) Decision {
	d.ranks[w.ID] = 0
	x := Decision{Kind: KindRestrict, WorkerID: w.ID, Provider: w.Provider, MachineID: w.InstanceID, Rule: rule,
		Sentence: fmt.Sprintf("Letting parked worker %s claim again: %s", w.ID, why)}
	if len(w.Queues) > 0 {
		x.Queue = w.Queues[0]
	}
	return x
}

// unpark takes parked workers back for a queue that wants more, and answers how
// many. It costs nothing, so it waits for no cooldown, and comes before anything
// that does cost.
func (d *deciding) unpark(v *view, w want) int {
	parked := d.parkedFor(v.Name)
	if len(parked) == 0 || d.barFault(*v, w).rule+d.barMode(*v, w).rule != "" {
		return 0
	}
	first := len(d.out)
	fixed := v.Waits.Interactive+v.Waits.LongFixed > 0
	for _, market := range marketsFor(v.QueueState, v.cfg, v.markets, min(w.workers, v.cfg.MaxWorkers)-v.have) {
		parked = d.unparkOne(v, w, parked, w.rule, func(o Worker) bool { return market != OnDemand || !fixed || o.Market == OnDemand })
	}
	if *v = viewOf(d.cfg, d.snap, d.fleet(), v.QueueState); fixed && v.markets[OnDemand] == 0 {
		d.unparkOne(v, w, parked, ruleStranded, func(o Worker) bool { return o.Market == OnDemand })
		*v = viewOf(d.cfg, d.snap, d.fleet(), v.QueueState)
	}
	for i := first; i < len(d.out); i++ {
		d.out[i].Wanted, d.out[i].Allowed = w.workers, v.have
	}
	return len(d.out) - first
}

// parkedFor are a queue's, those with the most room first, and among them those
// that had a job the last: the others have waited longer for their end.
func (d *deciding) parkedFor(queue string) []Worker {
	var parked []Worker
	for _, w := range d.snap.Workers {
		if w.Serves(queue) && d.isParked(w) && d.now.Sub(w.LastHeartbeat) <= freshHeartbeat {
			parked = append(parked, w)
		}
	}
	slices.SortStableFunc(parked, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(a.Claimed, b.Claimed), cmp.Compare(d.idle(a), d.idle(b)), cmp.Compare(a.Rate, b.Rate))
	})
	return parked
}

// unparkOne takes back the first that fits, and answers the others.
func (d *deciding) unparkOne(v *view, w want, parked []Worker, rule string, fits func(Worker) bool) []Worker {
	i := slices.IndexFunc(parked, fits)
	if i < 0 {
		return parked
	}
	x := d.unparked(parked[i], rule, fmt.Sprintf("depth=%d, oldest=%ds in %s", v.Depth, v.Oldest/time.Second, v.Name))
	x.Queue, x.Inputs = v.Name, d.inputs(*v, w)
	d.add(x)
	return slices.Delete(parked, i, i+1)
}
