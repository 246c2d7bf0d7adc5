package fleet

import (
	"fmt"
	"slices"
	"time"
)

// The rules of removals that demand may take back.
const (
	ruleIdle  = "scale_down.idle_minutes"
	ruleClear = "steps.terminate_all"
)

// idleReadings in a row must have found no claimed job: one may have fallen
// between two jobs.
const idleReadings = 2

// removeIdle drains workers that have had nothing to do for idle_minutes, the
// idle longest first, as long as what is left is what the policies want.
func (d *deciding) removeIdle() {
	idle := slices.Clone(d.snap.Workers)
	idle = slices.DeleteFunc(idle, func(w Worker) bool { return !d.removable(w) || w.Status != Active || !d.readIdle(w) })
	slices.SortStableFunc(idle, d.leastMissed)
	views := map[string]view{}
	for _, w := range idle {
		why, rule, asked := d.keeps(w, views)
		if why != "" {
			d.keep(w, why)
			continue
		}
		for _, queue := range w.Queues {
			views[queue] = views[queue].without(w)
		}
		x := d.drain(w, rule, drainTime)
		x.Wanted, x.Allowed = asked.keep, asked.left
		x.Inputs = append(x.Inputs, Fact{"idle_minutes", number(int64(d.cfg.ScaleDown.Idle / time.Minute))},
			Fact{"idle_readings", number(d.readings(w))})
		x.Sentence = fmt.Sprintf("Scaling down worker %s: idle for %d minutes", w.ID, d.idle(w)/time.Minute)
		d.add(x)
	}
}

// readIdle is true when no job was claimed now and in the readings before.
func (d *deciding) readIdle(w Worker) bool {
	return w.Claimed == 0 && !w.RegisteredAt.IsZero() && d.readings(w) >= idleReadings
}

// readings in a row, this one included, that found the worker idle.
func (d *deciding) readings(w Worker) int { return d.snap.Memory.Idle[w.ID] + 1 }

// idle is how long a worker has had no job. One that never had any is idle since
// it registered; a time in the future comes of a clock that is wrong.
func (d *deciding) idle(w Worker) time.Duration {
	since := w.RegisteredAt
	if w.LastJobCompletedAt.After(since) {
		since = w.LastJobCompletedAt
	}
	if w.Claimed > 0 || since.IsZero() {
		return 0
	}
	return max(d.now.Sub(since), 0)
}

// less is what a queue wants at least, and what it has without a worker.
type less struct{ keep, left int }

// keeps says why an idle worker stays; "" it goes, by the rule. The policies are
// asked as if it had gone, so that no removal brings about the launch that undoes
// it.
func (d *deciding) keeps(w Worker, views map[string]view) (why, rule string, l less) {
	if d.cfg.Policy != PolicySteps && d.idle(w) <= d.cfg.ScaleDown.Idle {
		return d.keptByRules(w), ruleIdle, l // only steps lets go of what has just become idle
	}
	cleared := true
	for _, name := range w.Queues {
		v, seen := d.viewIn(views, name)
		if !seen {
			return "queue " + name + " was not observed", "", l
		}
		v = v.without(w)
		asked := wantOf(d.now, d.cfg, d.snap, d.mode(), v)
		cleared = cleared && asked.clear
		if why := d.keptFor(v, asked); why != "" {
			return why, "", l
		}
		l = less{max(asked.workers, asked.keep), v.have}
	}
	if why := d.keptByAge(w); why != "" {
		return why, "", l
	}
	if cleared && len(w.Queues) > 0 {
		return "", ruleClear, l
	}
	return d.keptByRules(w), ruleIdle, l
}

// viewIn is a queue as it stands, worked out once: a fleet may have many that are idle.
func (d *deciding) viewIn(views map[string]view, queue string) (view, bool) {
	v, known := views[queue]
	if known {
		return v, true
	}
	i := slices.IndexFunc(d.snap.Queues, func(q QueueState) bool { return q.Name == queue })
	if i < 0 {
		return view{}, false
	}
	v = viewOf(d.cfg, d.snap, d.fleet(), d.snap.Queues[i])
	views[queue] = v
	return v, true
}

// keptFor is what a queue that has one worker less has against it.
func (d *deciding) keptFor(v view, asked want) string {
	switch {
	case v.have < max(asked.workers, asked.keep):
		return fmt.Sprintf("the policy wants %s", workers(max(asked.workers, asked.keep)))
	case !asked.clear && d.cfg.Policy != PolicyBacklog && v.Depth >= int64(d.cfg.ScaleDown.QueueBelow):
		return fmt.Sprintf("queue_depth_below is %d, and depth %d", d.cfg.ScaleDown.QueueBelow, v.Depth)
	}
	return ""
}

// keptByAge holds machines that are too young, or paid for anyway.
func (d *deciding) keptByAge(w Worker) string {
	age := d.now.Sub(started(w))
	switch {
	case d.now.Before(w.KeepUntil):
		return "an operator asked for it until " + w.KeepUntil.UTC().Format(time.RFC3339)
	case age < d.cfg.MinLifetime:
		return fmt.Sprintf("min_lifetime_minutes is %d", d.cfg.MinLifetime/time.Minute)
	case age+d.cfg.EvaluationInterval < w.Granularity:
		return fmt.Sprintf("it is paid for until its first %s are over", w.Granularity)
	}
	return ""
}

// keptByRules are the rules of scale_down. The last row of steps ends all at
// once, whatever they say.
func (d *deciding) keptByRules(w Worker) string {
	if d.idle(w) <= d.cfg.ScaleDown.Idle {
		return fmt.Sprintf("idle for %d of idle_minutes (%d)", d.idle(w)/time.Minute, d.cfg.ScaleDown.Idle/time.Minute)
	}
	for _, queue := range w.Queues {
		if within(d.now, d.snap.Memory.LastDown[queue], d.cfg.ScaleDown.Cooldown) {
			return fmt.Sprintf("cooldown_seconds of scale_down is %s", seconds(d.cfg.ScaleDown.Cooldown))
		}
	}
	if d.ended >= d.cfg.MaxTerminations {
		return fmt.Sprintf("max_terminations_per_tick is %d", d.cfg.MaxTerminations)
	}
	d.ended++
	return ""
}

// keep notes why an idle worker stays, for the hold of its queue.
func (d *deciding) keep(w Worker, why string) {
	if len(w.Queues) == 0 {
		return
	}
	queue := w.Queues[0]
	d.kept[queue] = append(d.kept[queue], Rejected{What: "scale down worker " + w.ID, Reason: why})
}
