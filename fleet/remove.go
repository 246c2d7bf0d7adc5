package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The time that draining workers get for the jobs they have: the seed's five
// minutes, and for a worker that settings made surplus while it worked, an hour,
// as nothing presses.
const (
	drainTime   = 5 * time.Minute
	surplusTime = time.Hour
)

// remove drains workers that are more than the settings allow, then idle ones.
// It never touches a VPS worker. Without the database or a count of what waits
// it does nothing: unknown is not zero.
func (d *deciding) remove() {
	if d.away("database") {
		return
	}
	d.removeUnwanted()
	d.removeSurplus()
	if _, blind := d.blind(); !blind {
		d.removeIdle()
	}
}

// removeUnwanted drains what may not be there, whatever it does, and what an
// operator asked for until now.
func (d *deciding) removeUnwanted() {
	for _, w := range d.snap.Workers {
		if !d.removable(w) {
			continue
		}
		if rule, why, limit := d.unwanted(w); rule != "" {
			x := d.drain(w, rule, graceOf(rule))
			x.Sentence, x.Limit = fmt.Sprintf("Draining worker %s: %s", w.ID, why), limit
			d.add(x)
		}
	}
}

// graceOf is the time for jobs. Whose time is over without anybody minding that
// it goes on finishes them; what was switched off is to go.
func graceOf(rule string) time.Duration {
	switch rule {
	case "manual_end":
		return surplusTime
	case "max_life":
		return surplusTime - drainTime
	}
	return drainTime
}

func (d *deciding) unwanted(w Worker) (rule, why, limit string) {
	allowed := func(queue string) bool { q, known := d.cfg.Queues[queue]; return known && q.CloudEnabled }
	switch {
	case d.mode() == VPSOnly:
		b := d.barMode(view{}, want{})
		return "mode", b.why, b.limit
	case !w.KeepUntil.IsZero() && !d.now.Before(w.KeepUntil):
		return "manual_end", "the time that an operator asked for is over", ""
	case d.expired(w):
		return "max_life", "its machine ends itself soon", ""
	case !d.cfg.Providers[w.Provider].Enabled:
		return "provider_disabled", fmt.Sprintf("provider %s is not enabled", w.Provider), "enabled (false)"
	case w.Origin != OriginManual && !slices.ContainsFunc(w.Queues, allowed):
		return "cloud_disabled", fmt.Sprintf("cloud_enabled is false for %s", strings.Join(w.Queues, ", ")), "cloud_enabled (false)"
	}
	return "", "", ""
}

// expired is true when a machine's own end comes so near that its jobs would
// not be waited for.
func (d *deciding) expired(w Worker) bool {
	life := w.Request.MaxLife
	return life > 0 && !d.now.Before(started(w).Add(life-surplusTime))
}

// started is since when a machine is paid for, as far as is known.
func started(w Worker) time.Time {
	if !w.LaunchedAt.IsZero() {
		return w.LaunchedAt
	}
	return w.ProvisionedAt
}

// removable is true for machines that a removal may be about. A provider that
// could not be listed leaves unknown what it has, and what became of a launch
// without an answer is for repair to find out.
func (d *deciding) removable(w Worker) bool {
	_, failed := d.fault("provider:" + w.Provider)
	return w.Cloud() && !failed && !d.leaving[w.ID] && (w.Status == Active || w.Status == Provisioning && w.InstanceID != "")
}

// removeSurplus drains what is over max_workers and max_instances: those
// without a job first.
func (d *deciding) removeSurplus() {
	for _, name := range sortedKeys(d.cfg.Queues) {
		q := d.cfg.Queues[name]
		limit := fmt.Sprintf("max_workers (%d)", q.MaxWorkers)
		d.drainOver(q.MaxWorkers-q.BaselineWorkers, name, limit, func(w Worker) bool { return w.Serves(name) })
	}
	for _, name := range sortedKeys(d.cfg.Providers) {
		p := d.cfg.Providers[name]
		limit := fmt.Sprintf("max_instances (%d)", p.MaxInstances)
		d.drainOver(p.MaxInstances, "", limit, func(w Worker) bool { return w.Provider == name })
	}
}

func (d *deciding) drainOver(most int, queue, limit string, counts func(Worker) bool) {
	var over []Worker
	for _, w := range d.snap.Workers {
		if d.removable(w) && counts(w) {
			over = append(over, w)
		}
	}
	n := len(over) - max(most, 0)
	if n <= 0 {
		return
	}
	slices.SortStableFunc(over, d.leastMissed)
	rule, _, _ := strings.Cut(limit, " ")
	for _, w := range over[:n] {
		x := d.drain(w, rule, surplusTime)
		x.Queue = cmp.Or(queue, x.Queue)
		x.Wanted, x.Allowed, x.Limit = len(over), max(most, 0), limit
		x.Sentence = fmt.Sprintf("Draining worker %s: %s of %s that %s leaves", w.ID, "it is one more", workers(max(most, 0)), rule)
		d.add(x)
	}
}

// leastMissed puts workers without a job first, then parked ones, the idle
// longest, the dearest.
func (d *deciding) leastMissed(a, b Worker) int {
	return cmp.Or(cmp.Compare(a.Claimed, b.Claimed), cmp.Compare(btoi(b.Parked()), btoi(a.Parked())), cmp.Compare(d.idle(b), d.idle(a)), cmp.Compare(b.Rate, a.Rate), strings.Compare(a.ID, b.ID))
}

// drain is a decision to drain a worker, which leaves from now on.
func (d *deciding) drain(w Worker, rule string, within time.Duration) Decision {
	d.leaving[w.ID] = true
	x := Decision{Kind: KindDrain, WorkerID: w.ID, Provider: w.Provider, MachineID: w.InstanceID, Rule: rule, Within: within}
	if len(w.Queues) > 0 {
		x.Queue = w.Queues[0]
	}
	x.Inputs = []Fact{
		{"claimed_jobs", number(w.Claimed)},
		{"idle_seconds", seconds(d.idle(w))},
		{"rate_cents_per_hour", w.Rate.Number()},
	}
	return x
}
