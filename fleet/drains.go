package fleet

import (
	"fmt"
	"time"
)

// The rules of machines that have drained.
const (
	ruleDrained  = "drained"
	ruleDeadline = "drain_deadline"
	ruleLeft     = "worker_left"
)

// finishDrains ends draining workers that have no job left, or no time. It comes
// after grow, so that one that is needed again is taken back rather than ended
// and replaced. Deadlines are absolute and stored: a restart changes nothing.
func (d *deciding) finishDrains() {
	if d.away(sourceDatabase) {
		return
	}
	for _, w := range d.snap.Workers {
		if !w.Cloud() && w.LeftAt.IsZero() || w.Status != Draining || !w.TerminateAt.IsZero() || d.leaving[w.ID] || d.undrained[w.ID] {
			continue
		}
		if w.InstanceID == "" || d.away(sourceProvider+w.Provider) || d.snap.ended(w) {
			continue // repair finds its machine first; what a provider did not tell is left alone
		}
		d.finishDrain(w)
	}
}

func (d *deciding) finishDrain(w Worker) {
	idle := d.now.Sub(later(later(w.ProvisionedAt, w.RegisteredAt), w.LastJobCompletedAt))
	x := Decision{
		Kind: KindTerminate, WorkerID: w.ID, Provider: w.Provider, MachineID: w.InstanceID, Queue: w.paidFor(),
		Inputs: []Fact{{"claimed", fmt.Sprint(w.Claimed)}, {"idle_seconds", seconds(idle)}, {"deadline", w.DrainDeadline.UTC().Format(time.RFC3339)}},
	}
	_, idled := d.snap.Memory.Drained[w.ID]
	switch {
	case idled && w.Claimed == 0:
		x.Rule = ruleDrained
		x.Sentence = fmt.Sprintf("Scaling down worker %s: idle for %d minutes", w.ID, int(idle.Minutes()))
	case !w.LeftAt.IsZero():
		x.Rule = ruleLeft
		x.Sentence = fmt.Sprintf("Terminating machine %s: worker %s has left it", w.InstanceID, w.ID)
	case w.Claimed == 0:
		x.Rule = ruleDrained
		x.Sentence = fmt.Sprintf("Terminating worker %s: it has drained", w.ID)
	case !w.DrainDeadline.IsZero() && !d.now.Before(w.DrainDeadline):
		x.Rule = ruleDeadline
		x.Sentence = fmt.Sprintf("Terminating worker %s: its time is over, and its %d jobs are queued again", w.ID, w.Claimed)
	default:
		return
	}
	d.leaving[w.ID] = true
	d.add(x)
}
