package simulate

import (
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// remembered is how long inventories still list a machine that has ended.
const remembered = time.Hour

// observe is the snapshot that a scheduler would take now.
func (w *world) observe() fleet.Snapshot {
	s := fleet.Snapshot{
		At: w.time(), FleetID: "replay", Offers: w.offers, Latch: w.latch, Memory: w.memory,
		Spend:       w.ledger.spend(w.time()),
		Queues:      make([]fleet.QueueState, len(w.queues)),
		Workers:     make([]fleet.Worker, 0, len(w.live)),
		Inventories: w.inventories(),
	}
	s.Memory.Inventoried = true
	for i := range w.queues {
		s.Queues[i] = w.queues[i].state(w.now)
	}
	for _, m := range w.live {
		s.Workers = append(s.Workers, w.rowOf(m))
	}
	return s
}

// rowOf is the machine's row with what its worker last wrote.
func (w *world) rowOf(m *machine) fleet.Worker {
	row := m.row
	row.Claimed, row.CurrentJobs = m.busy, m.busy
	if m.jobDone > 0 {
		row.LastJobCompletedAt = w.start.Add(m.jobDone)
	}
	if m.state == fleet.MachineRunning {
		row.LastHeartbeat, row.CPUAt = w.time(), w.time()
		row.CPUPercent = 100 * float64(m.busy) / float64(len(m.slots))
	}
	return row
}

// inventories lists the machines of every enabled provider.
func (w *world) inventories() map[string]fleet.Inventory {
	all := map[string]fleet.Inventory{}
	for name, p := range w.cfg.Providers {
		if p.Enabled {
			all[name] = fleet.Inventory{}
		}
	}
	kept := w.lost[:0]
	for _, m := range w.lost {
		if w.now-m.endedAt < remembered {
			kept = append(kept, m)
		}
	}
	clear(w.lost[len(kept):])
	w.lost = kept
	for _, list := range [][]*machine{w.live, w.lost} {
		for _, m := range list {
			if inv, ok := all[m.row.Provider]; ok {
				inv.Machines = append(inv.Machines, w.machineOf(m))
				all[m.row.Provider] = inv
			}
		}
	}
	return all
}

func (w *world) machineOf(m *machine) fleet.Machine {
	x := fleet.Machine{
		Place: m.row.Place, ID: m.row.InstanceID, WorkerID: m.row.ID, Token: m.row.Request.Token,
		State: m.state, LaunchedAt: m.row.LaunchedAt,
	}
	if m.state == fleet.MachineTerminated {
		x.TerminatedAt = w.start.Add(m.endedAt)
	}
	return x
}
