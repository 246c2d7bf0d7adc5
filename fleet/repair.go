package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What does not belong is acted on when it was seen in so many ticks before this
// one, and for as long as a list of machines may lag behind (unlisted).
const strayPasses = 2

// silent is how old the sign of life of a worker may be that speaks against its
// machine being gone.
const silent = 2 * time.Minute

// The rules of repair.
const (
	ruleAdopt   = "adopt"
	ruleGone    = "machine_gone"
	ruleNever   = "never_launched"
	ruleRetry   = "terminate_again"
	ruleStopped = "machine_stopped"
	ruleOrphan  = "orphan"
	ruleDisk    = "orphan_disk"
)

// repair puts together machines and rows that a crash, a lost answer or a list
// that lags behind took apart. What a source that failed would tell is left as
// it is.
func (d *deciding) repair() {
	if d.away(sourceDatabase) {
		return
	}
	for _, w := range d.snap.Workers {
		d.repairRow(w)
	}
	for _, m := range d.snap.strays() {
		d.repairMachine(m)
	}
	for _, provider := range sortedKeys(d.snap.Inventories) {
		for _, disk := range d.snap.Inventories[provider].Disks {
			d.sweep(provider, disk)
		}
	}
}

// repairRow compares a row with its machine.
func (d *deciding) repairRow(w Worker) {
	inventory, listed := d.snap.Inventories[w.Provider]
	if !listed {
		return
	}
	m, found := inventory.of(w)
	m.Provider = w.Provider
	switch {
	case found && m.State == MachineTerminated:
		d.forget(w, m, ruleGone, fmt.Sprintf("%s says that its machine %s has ended", w.Provider, m.ID))
	case w.InstanceID == "" && found:
		d.adopt(w, m, "the answer to its launch was lost")
	case found:
		d.repairMachineOf(w, m)
	case w.InstanceID == "":
		d.repairUnknown(w)
	case d.snap.gone(w) && !w.TerminateAt.IsZero():
		d.forget(w, Machine{}, ruleGone, fmt.Sprintf("%s does not list its machine %s any more", w.Provider, w.InstanceID))
	case d.snap.gone(w) && d.now.Sub(w.LastHeartbeat) >= silent && d.strayed("row/"+w.ID):
		d.forget(w, Machine{}, ruleGone, fmt.Sprintf("%s does not list its machine %s, and it gives no sign of life", w.Provider, w.InstanceID))
	}
}

// repairUnknown is for a row that was made for a machine of which nothing is known.
func (d *deciding) repairUnknown(w Worker) {
	alive := !w.RegisteredAt.IsZero() && d.now.Sub(w.LastHeartbeat) < silent
	if !alive && d.now.Sub(w.ProvisionedAt) >= unlisted && d.strayed("row/"+w.ID) {
		d.forget(w, Machine{}, ruleNever, w.Provider+" lists no machine for it")
	}
}

// repairMachineOf is for a row whose machine is there.
func (d *deciding) repairMachineOf(w Worker, m Machine) {
	if d.leaving[w.ID] || !w.Cloud() && w.TerminateAt.IsZero() {
		return
	}
	asked := d.now.Sub(w.TerminateAt)
	switch {
	case m.State == MachineStopped && w.TerminateAt.IsZero():
		d.endRow(w, m, ruleStopped, "it is stopped, and its disk is paid for")
	case !w.TerminateAt.IsZero() && (m.State != MachineStopping || asked >= 5*time.Minute):
		d.endRow(w, m, ruleRetry, fmt.Sprintf("it is still %s %d seconds after its end was asked for", m.State, int(asked.Seconds())))
	case d.unregistered(w):
		d.endRow(w, m, RuleRegistration, fmt.Sprintf("its worker has not registered within %d seconds", int(d.cfg.RegistrationTime.Seconds())))
	}
}

// unregistered is true for a machine whose worker should be there by now.
func (d *deciding) unregistered(w Worker) bool {
	return w.Status == Provisioning && w.RegisteredAt.IsZero() && w.TerminateAt.IsZero() && d.cfg.RegistrationTime > 0 &&
		d.now.Sub(later(w.ProvisionedAt, w.LaunchedAt)) >= d.cfg.RegistrationTime
}

// endRow terminates the machine of a row.
func (d *deciding) endRow(w Worker, m Machine, rule, why string) {
	d.leaving[w.ID] = true
	d.add(Decision{
		Kind: KindTerminate, Rule: rule, WorkerID: w.ID, Provider: m.Provider, MachineID: m.ID, Machine: &m, Queue: w.paidFor(),
		Inputs:   []Fact{{"state", string(m.State)}, {"age_seconds", seconds(d.now.Sub(w.ProvisionedAt))}, {"claimed", fmt.Sprint(w.Claimed)}},
		Sentence: fmt.Sprintf("Terminating machine %s of worker %s: %s", m.ID, w.ID, why),
	})
}

func (d *deciding) adopt(w Worker, m Machine, why string) {
	d.add(Decision{
		Kind: KindAdopt, Rule: ruleAdopt, WorkerID: w.ID, Provider: m.Provider, MachineID: m.ID, Machine: &m, Queue: w.paidFor(),
		Inputs:   []Fact{{"state", string(m.State)}, {"token", m.Token}},
		Sentence: fmt.Sprintf("Machine %s of %s belongs to worker %s: %s", m.ID, m.Provider, w.ID, why),
	})
}

// forget ends a row, and gives its jobs back.
func (d *deciding) forget(w Worker, m Machine, rule, why string) {
	d.leaving[w.ID] = true
	kind, jobs := KindForget, ""
	if w.Claimed > 0 {
		kind, jobs = KindRequeue, fmt.Sprintf("; its %d jobs are queued again", w.Claimed)
	}
	x := Decision{
		Kind: kind, Rule: rule, WorkerID: w.ID, Provider: w.Provider, MachineID: w.InstanceID, Queue: w.paidFor(),
		Inputs:   []Fact{{"claimed", fmt.Sprint(w.Claimed)}, {"passes", fmt.Sprint(d.snap.Memory.Strays["row/"+w.ID].Passes)}},
		Sentence: fmt.Sprintf("Worker %s is gone: %s%s", w.ID, why, jobs),
	}
	if m.ID != "" {
		x.Machine = &m
	}
	d.add(x)
}

// repairMachine is for a machine that no row stands for: one whose tag names a
// living worker that lost its own machine is that worker's; others are ended.
func (d *deciding) repairMachine(m Machine) {
	for _, w := range d.snap.Workers {
		if w.ID == m.WorkerID && d.snap.gone(w) && d.now.Sub(w.LastHeartbeat) < silent {
			d.adopt(w, m, "its row names a machine that is gone, and it is alive")
			return
		}
	}
	if m.State == MachineStopping || !d.strayed(m.Provider+"/"+m.ID) || d.ending(m) {
		return
	}
	if d.ended >= d.cfg.MaxTerminations {
		return // the next tick goes on
	}
	d.ended++
	d.add(Decision{
		Kind: KindTerminate, Rule: ruleOrphan, WorkerID: m.WorkerID, Provider: m.Provider, MachineID: m.ID, Machine: &m,
		Inputs:   []Fact{{"state", string(m.State)}, {"passes", fmt.Sprint(d.snap.Memory.Strays[m.Provider+"/"+m.ID].Passes)}},
		Sentence: fmt.Sprintf("Terminating machine %s of %s: it has the tag of this fleet, and no worker's row stands for it", m.ID, m.Provider),
	})
}

// ending is true for a machine that this tick ends already.
func (d *deciding) ending(m Machine) bool {
	return slices.ContainsFunc(d.out, func(x Decision) bool {
		return x.Kind == KindTerminate && x.MachineID == m.ID && x.Provider == m.Provider
	})
}

// sweep deletes a disk that has outlived its machine.
func (d *deciding) sweep(provider string, disk Disk) {
	if !d.strayed(provider + "/" + disk.ID) {
		return
	}
	booting := func(w Worker) bool { return w.ID == disk.WorkerID && w.Status == Provisioning }
	if disk.WorkerID != "" && slices.ContainsFunc(d.snap.Workers, booting) {
		return
	}
	d.add(Decision{
		Kind: KindSweep, Rule: ruleDisk, WorkerID: disk.WorkerID, Provider: provider, MachineID: disk.ID,
		Sentence: fmt.Sprintf("Deleting disk %s of %s: it belongs to no machine", disk.ID, provider),
	})
}

// strayed is true for what was seen astray for long enough.
func (d *deciding) strayed(key string) bool {
	s := d.snap.Memory.Strays[key]
	return s.Passes >= strayPasses && d.now.Sub(s.Since) >= unlisted
}

// rememberStrays counts in how many ticks something was seen that does not
// belong. What could not be looked at stays as it was.
func (m *Memory) rememberStrays(now time.Time, snap Snapshot) {
	if snap.Fault(sourceDatabase) != nil {
		return
	}
	was := m.Strays
	m.Strays = map[string]Sighting{}
	for key, s := range was {
		if provider, _, _ := strings.Cut(key, "/"); snap.Fault(sourceProvider+provider) != nil {
			m.Strays[key] = s
		}
	}
	see := func(key string) {
		s, before := was[key]
		if !before {
			s.Since = now
		}
		s.Passes++
		m.Strays[key] = s
	}
	for _, x := range snap.strays() {
		see(x.Provider + "/" + x.ID)
	}
	for _, provider := range sortedKeys(snap.Inventories) {
		for _, disk := range snap.Inventories[provider].Disks {
			see(provider + "/" + disk.ID)
		}
	}
	for _, w := range snap.Workers {
		inventory, listed := snap.Inventories[w.Provider]
		_, found := inventory.of(w)
		switch s, before := was["row/"+w.ID]; {
		case listed && !found:
			see("row/" + w.ID)
		case !listed && before:
			m.Strays["row/"+w.ID] = s
		}
	}
}
