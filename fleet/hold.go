package fleet

import (
	"fmt"
	"slices"
	"time"
)

// barrier is what keeps a queue from getting more: the rule of a hold, why in
// words, the limit with its value, and the candidates that it left out.
type barrier struct {
	rule, why, limit string
	rejected         []Rejected
}

// bar is the first thing in the way of more workers, before any is looked for.
func (d *deciding) bar(v view, w want) barrier {
	for _, check := range []func(view, want) barrier{
		d.barFault, d.barMode, d.barQueue, d.barPolicy, d.barCooldown, d.barInventory, d.barTaken,
	} {
		if b := check(v, w); b.rule != "" {
			return b
		}
	}
	return barrier{}
}

// heldTicks is for how many ticks nothing is decided without Redis; after them
// the database's count is good enough.
const heldTicks = 2

// fault is the failed observation of a source, if there is one.
func (d *deciding) fault(source string) (Fault, bool) {
	i := slices.IndexFunc(d.snap.Faults, func(f Fault) bool { return f.Source == source })
	if i < 0 {
		return Fault{}, false
	}
	return d.snap.Faults[i], true
}

// blind is the failed observation that makes depths unknown. Unknown is not
// zero: nothing is launched, and nothing removed.
func (d *deciding) blind() (Fault, bool) {
	if f, failed := d.fault("database"); failed {
		return f, true
	}
	f, failed := d.fault("redis")
	return f, failed && f.Times <= heldTicks
}

func (d *deciding) barFault(view, want) barrier {
	if f, blind := d.blind(); blind {
		return barrier{rule: "fault", why: fmt.Sprintf("%s cannot be observed", f.Source), limit: "fault (" + f.Source + ")"}
	}
	return barrier{}
}

func (d *deciding) barMode(view, want) barrier {
	if d.mode() != VPSOnly {
		return barrier{}
	}
	b := barrier{rule: "mode", why: "the mode is vps_only", limit: "mode (vps_only)"}
	if d.snap.Latch != nil {
		b.why = "the daily limit was reached, and the mode is vps_only until \"spillway schedule reset\""
		b.limit = fmt.Sprintf("max_daily_spend_cents (%s)", d.snap.Latch.Limit.Number())
	}
	return b
}

func (d *deciding) barQueue(v view, _ want) barrier {
	switch {
	case !v.cfg.CloudEnabled:
		return barrier{rule: "cloud_disabled", why: "cloud_enabled is false for it", limit: "cloud_enabled (false)"}
	case v.cfg.Batch != "":
		return barrier{rule: "batch", why: "batch is " + v.cfg.Batch + ", so no machine is launched for it", limit: "batch (" + v.cfg.Batch + ")"}
	}
	return barrier{}
}

func (d *deciding) barPolicy(v view, w want) barrier {
	switch {
	case w.workers > v.have:
		return barrier{}
	case w.rule == "":
		return barrier{rule: "below_thresholds", why: "nothing asks for more"}
	}
	return barrier{rule: "enough", why: fmt.Sprintf("%s are there or on their way, and %d wanted", workers(v.have), w.workers)}
}

func (d *deciding) barCooldown(v view, w want) barrier {
	cooldown := d.cfg.ScaleUp.Cooldown
	if w.patient && within(d.now, d.snap.Memory.LastUp[v.Name], cooldown) {
		return barrier{rule: "cooldown", limit: fmt.Sprintf("cooldown_seconds (%s)", seconds(cooldown)),
			why: fmt.Sprintf("the last launch was %ss ago", seconds(max(d.now.Sub(d.snap.Memory.LastUp[v.Name]), 0)))}
	}
	return barrier{}
}

// within is true less than d after then. A time far in the future comes of a
// clock that was put right, and holds up nothing.
func within(now, then time.Time, d time.Duration) bool {
	since := now.Sub(then)
	return !then.IsZero() && since < d && since > -d
}

func (d *deciding) barInventory(view, want) barrier {
	if d.snap.Memory.Inventoried {
		return barrier{}
	}
	return barrier{rule: "inventory", why: "not every provider has listed its machines yet", limit: "inventory (incomplete)"}
}

// barTaken holds while workers that could take what waits have not done so for
// longer than it waits: more of them would cost, and take it no more.
func (d *deciding) barTaken(v view, _ want) barrier {
	if v.Oldest <= d.cfg.EvaluationInterval {
		return barrier{}
	}
	fixed := v.Waits.Interactive+v.Waits.LongFixed > 0
	for _, w := range d.snap.Workers {
		able := w.Serves(v.Name) && d.removable(w) && ready(d.now, w) && (w.Market == OnDemand || !fixed)
		if able && d.readIdle(w) && d.idle(w) >= v.Oldest {
			return barrier{rule: "not_taken", limit: "idle worker (" + w.ID + ")",
				why: fmt.Sprintf("worker %s has been idle for longer than they wait, and takes none of its jobs", w.ID)}
		}
	}
	return barrier{}
}

func maxWorkers(v view) barrier {
	return barrier{rule: "max_workers", limit: fmt.Sprintf("max_workers (%d)", v.cfg.MaxWorkers),
		why: fmt.Sprintf("max_workers is %d, and %s count", v.cfg.MaxWorkers, workers(v.counted))}
}

// hold records why a queue got nothing.
func (d *deciding) hold(v view, w want, b barrier) {
	x := d.scaling(KindHold, v, w)
	x.Rule, x.Limit = b.rule, b.limit
	x.Wanted, x.Allowed = w.workers, v.have
	x.Rejected = slices.Concat(b.rejected, d.kept[v.Name])
	x.Sentence = fmt.Sprintf("Not scaling up %s: %s (depth=%d, oldest=%ds)", v.Name, b.why, v.Depth, v.Oldest/time.Second)
	d.add(x)
}

// inputs are the policy's, and what else bears on them.
func (d *deciding) inputs(v view, w want) []Fact {
	facts := append([]Fact{{"mode", string(d.mode())}, {"policy", string(d.cfg.Policy)}}, w.inputs...)
	if f, away := d.fault("redis"); away {
		facts = append(facts, Fact{"redis", fmt.Sprintf("away for %d ticks", f.Times)})
	}
	if n := d.snap.Memory.Flaps[v.Name]; n > 0 {
		facts = append(facts, Fact{"flaps", number(n)})
	}
	return facts
}

func workers(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}
