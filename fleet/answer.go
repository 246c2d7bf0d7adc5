package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// ruleManual is the rule of what an operator asked for.
const ruleManual = "manual"

// RequestLife is how long a launch that was asked for, and that no scheduler has
// answered, may still be carried out: nobody waits for it any more.
const RequestLife = time.Hour

// mostRequested bounds the machines of one request; the limits bound them too.
const mostRequested = 100

// answer decides on what operators asked for in the shell, under the same
// limits as everything else. Only cloud_enabled, which is about launching by
// itself, does not count: a mode that may use clouds, and commands, are stage
// two of a deployment.
func (d *deciding) answer() {
	if d.away(sourceDatabase) {
		return
	}
	for _, r := range d.snap.Requests {
		switch r.Do {
		case KindLaunch:
			d.answerLaunch(r)
		case KindDrain, KindTerminate:
			d.answerEnd(r)
		default:
			d.refuse(r, "request", fmt.Sprintf("there is no request to %s", r.Do), nil)
		}
	}
}

// refuse is the answer no.
func (d *deciding) refuse(r Request, rule, why string, rejected []Rejected) {
	subject := cmp.Or(r.WorkerID, r.Queue)
	x := Decision{
		Kind: KindHold, Origin: OriginManual, Request: r.ID, Queue: r.Queue, WorkerID: r.WorkerID, Provider: r.Provider,
		Rule: rule, Rejected: rejected, Failed: true, Outcome: "refused",
		Sentence: fmt.Sprintf("Refused to %s %s: %s", r.Do, subject, why),
	}
	if _, known := d.cfg.Queues[r.Queue]; r.Do == KindLaunch && known {
		have := viewOf(d.cfg, d.snap, d.fleet(), d.stateOf(r.Queue)).have
		x.Wanted, x.Allowed, x.Limit = have+1, have, why
	}
	d.add(x)
}

// answerLaunch launches as many as were asked for, or as the limits allow.
func (d *deciding) answerLaunch(r Request) {
	if _, known := d.cfg.Queues[r.Queue]; !known {
		d.refuse(r, "queue", fmt.Sprintf("the scheduler's file has no queue %q", r.Queue), nil)
		return
	}
	if p, known := d.cfg.Providers[r.Provider]; r.Provider != "" && !p.Enabled {
		why := fmt.Sprintf("provider %s is not enabled", r.Provider)
		if !known {
			why = fmt.Sprintf("the scheduler's file has no provider %q", r.Provider)
		}
		d.refuse(r, "provider", why, nil)
		return
	}
	if ago := d.now.Sub(r.At); !r.At.IsZero() && ago > RequestLife+d.cfg.EvaluationInterval {
		d.refuse(r, "request", fmt.Sprintf("it was asked for %d minutes ago, and nobody waits for it any more", ago/time.Minute), nil)
		return
	}
	for n := range min(max(1, r.Count), mostRequested) {
		id := launchOf(r.ID, n+1)
		begun := func(w Worker) bool { return w.ID == workerOf(id) }
		if slices.ContainsFunc(d.snap.Workers, begun) {
			d.add(Decision{
				ID: id + "-again", Kind: KindHold, Origin: OriginManual, Request: r.ID, Queue: r.Queue, WorkerID: workerOf(id), Rule: ruleManual,
				Sentence: fmt.Sprintf("Launching worker %s was begun for this request before; the inventory tells whether there is a machine", workerOf(id)),
			})
			continue
		}
		if !d.answerOne(r, id) {
			return
		}
	}
}

// answerOne launches one machine, and answers false where no more can be.
func (d *deciding) answerOne(r Request, id string) bool {
	v := viewOf(d.cfg, d.snap, d.fleet(), d.stateOf(r.Queue))
	if d.mode() == VPSOnly {
		b := d.barMode(v, want{})
		d.refuse(r, b.rule, b.why, nil)
		return false
	}
	if v.counted >= v.cfg.MaxWorkers {
		b := maxWorkers(v)
		d.refuse(r, b.rule, b.limit, nil)
		return false
	}
	markets := []Market{OnDemand}
	if r.Spot {
		markets = []Market{Spot}
	}
	candidates, rejected := d.candidates(r.Queue, markets, r.Provider)
	if len(candidates) == 0 {
		b := obstacle(rejected)
		d.refuse(r, b.Rule, b.why(), rejected)
		return false
	}
	d.answerWith(r, id, v, candidates, rejected)
	return true
}

func (d *deciding) stateOf(queue string) QueueState {
	for _, q := range d.snap.Queues {
		if q.Name == queue {
			return q
		}
	}
	return QueueState{Name: queue}
}

func (d *deciding) answerWith(r Request, id string, v view, candidates []Candidate, rejected []Rejected) {
	c := candidates[0]
	l := Launch{Candidates: candidates, Queues: []string{r.Queue}, Slots: c.Slots, KeepFor: r.For, MaxLife: max(maxLife, r.For+surplusTime)}
	d.reserve(l)
	d.add(Decision{
		ID: id, Kind: KindLaunch, Origin: OriginManual, Request: r.ID, Queue: r.Queue, Provider: c.Provider, Rule: ruleManual,
		Sentence: fmt.Sprintf("Scaling up %s: depth=%d, oldest=%ds", r.Queue, v.Depth, v.Oldest/time.Second),
		Inputs:   []Fact{{"asked", number(max(1, r.Count))}, {"price_cents", c.Price.Number()}, {"offer", c.String()}},
		Wanted:   v.have + 1, Allowed: v.have + 1, Rejected: rejected, Launch: &l,
	})
}

// answerEnd drains a worker, and terminates it when it is done: within the
// usual time or that of the request, or within that of the daily limit when it
// is to be terminated.
func (d *deciding) answerEnd(r Request) {
	i := slices.IndexFunc(d.snap.Workers, func(w Worker) bool { return w.ID == r.WorkerID })
	if i < 0 {
		d.refuse(r, "worker", "there is no such worker, or it is terminated", nil)
		return
	}
	w, within := d.snap.Workers[i], drainTime
	switch {
	case !w.Cloud():
		d.refuse(r, "vps", "it is a VPS worker, which no decision drains or ends", nil)
		return
	case d.leaving[w.ID] || !w.TerminateAt.IsZero():
		d.refuse(r, "leaving", "it is being ended already", nil)
		return
	case r.Do == KindTerminate:
		within = capDrain
	case r.For > 0:
		within = r.For
	}
	d.leaving[w.ID] = true
	x := Decision{
		Kind: KindDrain, Origin: OriginManual, Request: r.ID, WorkerID: w.ID, Provider: w.Provider, MachineID: w.InstanceID,
		Queue: w.paidFor(), Rule: ruleManual, Within: within, Inputs: []Fact{{"claimed", fmt.Sprint(w.Claimed)}},
		Sentence: fmt.Sprintf("Draining worker %s within %d seconds: an operator asked for it", w.ID, int(within.Seconds())),
	}
	d.add(x)
	if r.Do == KindTerminate && w.Claimed == 0 && w.InstanceID != "" {
		x.Kind, x.Within = KindTerminate, 0
		x.Sentence = fmt.Sprintf("Terminating worker %s: an operator asked for it, and it has no job", w.ID)
		d.add(x)
	}
}
