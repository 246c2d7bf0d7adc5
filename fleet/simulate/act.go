package simulate

import (
	"fmt"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// act carries a decision out, and notes in it what came of that.
func (w *world) act(d *fleet.Decision) {
	m := w.worker(d.WorkerID)
	switch d.Kind {
	case fleet.KindLaunch:
		w.launch(d)
		return
	case fleet.KindRevert:
		w.latch = d.Latch
	case fleet.KindUndrain:
		w.undrain(m)
	case fleet.KindDrain:
		if m != nil {
			w.drain(m, d.Within)
		}
	case fleet.KindTerminate:
		w.terminate(m)
	case fleet.KindForget, fleet.KindRequeue:
		w.forget(m)
	case fleet.KindRestrict:
		w.restrict(m, d.MaxRank)
	}
	d.Outcome = fleet.OutcomeDone
}

// worker is a row that is not terminated; nil: there is none.
func (w *world) worker(id string) *machine {
	for _, m := range w.live {
		if m.row.ID == id {
			return m
		}
	}
	return nil
}

// launch tries the candidates in turn.
func (w *world) launch(d *fleet.Decision) {
	for i, c := range d.Launch.Candidates {
		attempt := fleet.Attempt{Place: c.Place, Token: fmt.Sprintf("%s-1-%d", d.ID, i+1), Outcome: fleet.OutcomeDone}
		if c.Market == fleet.Spot && w.o.Shortage > 0 && w.dice.Float64() < w.o.Shortage {
			attempt.Outcome, attempt.Reason = string(fleet.NoCapacity), "the replay's shortage on spot"
			d.Attempts = append(d.Attempts, attempt)
			w.result.Machines.Refused++
			continue
		}
		d.Attempts = append(d.Attempts, attempt)
		d.Outcome, d.WorkerID, d.Provider = fleet.OutcomeDone, "w-"+d.ID, c.Provider
		w.create(d, c, attempt.Token)
		return
	}
	d.Failed, d.Outcome = true, "no candidate had capacity"
}

// create is a machine that a provider has agreed to.
func (w *world) create(d *fleet.Decision, c fleet.Candidate, token string) {
	slots := orElse(d.Launch.Slots, orElse(c.Slots, w.o.Slots))
	row := fleet.Worker{
		ID: d.WorkerID, Place: c.Place, InstanceID: "i-" + d.ID, Queues: d.Launch.Queues, Slots: slots,
		Status: fleet.Provisioning, ProvisionedAt: w.time(), LaunchedAt: w.time(),
		Origin: d.Origin, Rate: c.Price + c.Surcharge, Ceiling: c.Rate(), Granularity: c.Granularity,
		Request: fleet.LaunchRequest{
			Candidate: c, Token: token, FleetID: "replay", WorkerID: d.WorkerID, Queues: d.Launch.Queues, Slots: slots,
			MaxLife: d.Launch.MaxLife,
		},
	}
	if d.Launch.KeepFor > 0 {
		row.KeepUntil = w.time().Add(d.Launch.KeepFor)
	}
	m := w.add(row, d.Launch.Reserve)
	w.result.Machines.Launches++
	boot := w.o.Boot
	if w.o.BootSpread > 0 {
		boot += time.Duration(w.dice.Int64N(int64(w.o.BootSpread)))
	}
	w.agenda.add(event{at: w.now + boot, kind: machineReady, machine: m.index})
	if c.Market == fleet.Spot && w.o.Interruptions > 0 {
		after := time.Duration(w.dice.ExpFloat64() / w.o.Interruptions * float64(time.Hour))
		w.agenda.add(event{at: w.now + after, kind: machineWarned, machine: m.index})
	}
}

// undrain lets a worker claim again, unless its machine is being taken away.
func (w *world) undrain(m *machine) {
	if m == nil || m.warned || !m.row.TerminateAt.IsZero() {
		return
	}
	m.row.DrainDeadline = time.Time{}
	m.row.Status = fleet.Active
	if m.row.RegisteredAt.IsZero() {
		m.row.Status = fleet.Provisioning
	}
	w.offerWork(m)
}

// terminate asks the provider for the machine's end.
func (w *world) terminate(m *machine) {
	if m == nil || !m.row.TerminateAt.IsZero() {
		return
	}
	w.giveBack(m)
	w.idle.remove(m)
	m.row.Status, m.row.TerminateAt = fleet.Draining, w.time()
	if m.state != fleet.MachineTerminated {
		m.state = fleet.MachineStopping
		w.agenda.add(event{at: w.now + stopping, kind: machineStopped, machine: m.index})
	}
}

// forget marks the row of a machine that is gone as terminated.
func (w *world) forget(m *machine) {
	if m == nil {
		return
	}
	w.end(m)
	for i, x := range w.live {
		if x == m {
			w.live = append(w.live[:i], w.live[i+1:]...)
			break
		}
	}
	m.forgotten = w.time()
	w.lost = append(w.lost, m)
}

// restrict bounds what a worker claims.
func (w *world) restrict(m *machine, maxRank int) {
	if m == nil || m.row.MaxRank == maxRank {
		return
	}
	m.row.MaxRank = maxRank
	w.bound(m)
	w.idle.remove(m) // it waits anew, behind the others, unless it is parked
	w.offerWork(m)
}
