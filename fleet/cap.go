package fleet

import "strconv"

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
		if w.Cloud() && !d.snap.gone(w) {
			d.capWorker(w)
		}
	}
	for _, m := range d.snap.strays() {
		d.capMachine(Worker{ID: m.WorkerID, Place: m.Place}, m)
	}
}

// capWorker gives a worker two minutes to finish. One that has not registered
// has nothing to finish, and while there is no database nobody can be asked to.
func (d *deciding) capWorker(w Worker) {
	m, known := d.snap.machineOf(w)
	switch {
	case known && (d.away("database") || w.Status == Provisioning && w.RegisteredAt.IsZero()):
		d.capMachine(w, m)
	case w.Status == Provisioning && !known:
		return // there may be no machine: repair finds that out, and it counts until then
	case !w.TerminateAt.IsZero(), w.Status == Draining && !w.DrainDeadline.After(d.now.Add(capDrain)):
		return // on its way
	default:
		d.leaving[w.ID] = true
		d.add(Decision{Kind: KindDrain, Rule: ruleDaily, WorkerID: w.ID, Provider: w.Provider, MachineID: w.InstanceID,
			Queue: w.paidFor(), Within: capDrain, Limit: d.dailyLimit(), Inputs: d.spending(),
			Sentence: "Draining worker " + w.ID + " within 2 minutes: the daily limit is reached"})
	}
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
