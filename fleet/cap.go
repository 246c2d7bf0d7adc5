package fleet

import (
	"fmt"
	"strconv"
	"time"
)

// ruleDaily is the rule of all that the daily limit leads to.
const ruleDaily = "max_daily_spend"

// capSpending drains and ends all machines once the daily limit would be
// reached, reverts to vps_only, and goes on ending what is left while the latch
// is set. Neither max_terminations_per_tick nor a wish to keep a machine holds
// it up.
func (d *deciding) capSpending() {
	if d.snap.Latch == nil {
		latch, trips := d.budget.trips()
		if !trips {
			return
		}
		d.add(Decision{Kind: KindRevert, Rule: ruleDaily, Latch: &latch, Limit: d.dailyLimit(), Inputs: d.spending(),
			Sentence: "Reverting to vps_only until schedule reset and ending all cloud machines: " + latch.Reason})
		d.snap.Latch, d.budget.snap.Latch = &latch, &latch
	}
	for _, w := range d.snap.Workers {
		if w.Cloud() && !d.snap.ended(w) {
			d.capWorker(w)
		}
	}
	for _, m := range d.snap.strays() {
		if d.away(sourceDatabase) && d.capWaits() {
			continue
		}
		d.capMachine(Worker{ID: m.WorkerID, Place: m.Place}, m)
	}
}

// capTime is how long workers may go on with their jobs: two minutes, or less
// when a fault has used up the time that the limit allows for. Deadlines are seen
// at ticks. Where the limit was lowered under what is spent, haste saves nothing.
func (d *deciding) capTime() time.Duration {
	if d.snap.Spend.Day >= d.cfg.Limits.Daily {
		return capDrain
	}
	left := d.budget.remaining() - endAllowance
	return min(max(left.Truncate(max(d.cfg.EvaluationInterval, time.Second)), 0), capDrain)
}

// capWaits is true while the database is away, so that no worker can be asked to
// finish, and may be back in the next tick before the limit is reached.
func (d *deciding) capWaits() bool {
	return d.budget.remaining() >= d.cfg.EvaluationInterval+endAllowance
}

// capWorker gives a worker time to finish. One that has not registered has
// nothing to finish, and without a database nobody can be asked to.
func (d *deciding) capWorker(w Worker) {
	m, known := d.snap.machineOf(w)
	within := d.capTime()
	switch {
	case d.away(sourceDatabase):
		if known && !d.capWaits() {
			d.capMachine(w, m)
		}
	case w.Status == Provisioning && w.RegisteredAt.IsZero():
		if known { // or there may be no machine: repair finds that out, and it counts until then
			d.capMachine(w, m)
		}
	case w.Status == Draining && d.away(sourceProvider+w.Provider):
		d.capUnlisted(w, m, within)
	case !w.TerminateAt.IsZero(), w.Status == Draining && !w.DrainDeadline.IsZero() && !w.DrainDeadline.After(d.now.Add(within)):
		return // on its way
	default:
		d.capDrain(w, within)
	}
}

// capUnlisted goes on with a draining worker whose provider cannot list its
// machines: others are left alone then, but money is not.
func (d *deciding) capUnlisted(w Worker, m Machine, within time.Duration) {
	over := w.Claimed == 0 || !w.LeftAt.IsZero() || !w.DrainDeadline.IsZero() && !w.DrainDeadline.After(d.now)
	switch {
	case m.ID != "" && (over || !w.TerminateAt.IsZero()):
		d.capMachine(w, m)
	case w.DrainDeadline.After(d.now.Add(within)):
		d.capDrain(w, within)
	}
}

func (d *deciding) capDrain(w Worker, within time.Duration) {
	d.leaving[w.ID] = true
	d.add(Decision{Kind: KindDrain, Rule: ruleDaily, WorkerID: w.ID, Provider: w.Provider, MachineID: w.InstanceID,
		Queue: w.paidFor(), Within: within, Limit: d.dailyLimit(), Inputs: d.spending(),
		Sentence: fmt.Sprintf("Draining worker %s within %s seconds: the daily limit is reached", w.ID, seconds(within))})
}

func (d *deciding) capMachine(w Worker, m Machine) {
	d.leaving[w.ID] = true
	d.add(Decision{Kind: KindTerminate, Rule: ruleDaily, WorkerID: w.ID, Provider: m.Provider, MachineID: m.ID, Machine: &m,
		Queue: w.paidFor(), Limit: d.dailyLimit(), Inputs: d.spending(),
		Sentence: "Terminating machine " + m.ID + " of " + m.Provider + ": the daily limit is reached"})
}

// machineOf is what a provider knows of a worker's machine, or what the row
// does when the provider could not be asked.
func (s Snapshot) machineOf(w Worker) (Machine, bool) {
	if m, ok := s.Inventories[w.Provider].of(w); ok {
		m.Provider = w.Provider
		return m, true
	}
	return Machine{Place: w.Place, ID: w.InstanceID, WorkerID: w.ID, State: MachineRunning, LaunchedAt: w.LaunchedAt}, w.InstanceID != ""
}

// away is true when a source could not be observed.
func (d *deciding) away(source string) bool {
	for _, f := range d.snap.Faults {
		if f.Source == source {
			return true
		}
	}
	return false
}

func (d *deciding) dailyLimit() string {
	return "max_daily_spend_cents (" + d.cfg.Limits.Daily.Number() + ")"
}

// spending is what the daily limit is held against.
func (d *deciding) spending() []Fact {
	return []Fact{
		{"spent_today_cents", d.snap.Spend.Day.Number()},
		{"ending_may_cost_cents", d.budget.rest.Number()},
		{"machines", strconv.Itoa(d.budget.total())},
		{"extrapolated", strconv.FormatBool(d.snap.Spend.Extrapolated)},
	}
}
