package simulate

import (
	"fmt"

	"github.com/spillway-media/spillway/fleet"
)

// tick is one round of the scheduler: observe, decide, act, record.
func (w *world) tick() {
	w.ticks++
	snap := w.observe()
	decisions := fleet.Decide(snap.At, w.cfg, snap)
	for i := range decisions {
		d := &decisions[i]
		d.Tick = fmt.Sprintf("%08d", w.ticks)
		d.ID = fmt.Sprintf("%s-%03d", d.Tick, i+1)
		w.act(d)
		w.result.note(*d)
	}
	w.memory = fleet.Remember(snap.At, w.cfg, snap, decisions)
	w.book(snap)
	w.sample(snap)
}

// book writes what machines have cost since the last tick into the ledger, and
// every 15 minutes what their providers say otherwise.
func (w *world) book(snap fleet.Snapshot) {
	w.write(fleet.Accrue(snap.At, snap.Workers, snap.Offers))
	if _, due := fleet.ReconcileDue(snap.At, snap); due {
		w.write(fleet.Reconcile(snap.At, w.cfg, snap, w.bills()))
		w.memory.Reconciled = snap.At
	}
	spend := w.ledger.spend(snap.At)
	w.result.Money.MaxHour = max(w.result.Money.MaxHour, spend.Hour)
	w.result.Money.MaxDay = max(w.result.Money.MaxDay, spend.Day)
}

func (w *world) write(entries []fleet.SpendEntry) {
	for _, e := range entries {
		w.ledger.add(e)
		w.result.Money.Booked += e.Amount
		m := w.known(e.WorkerID)
		if m == nil {
			continue
		}
		m.booked += e.Amount
		if e.Kind == fleet.SpendCorrection {
			m.corrected += e.Amount
		}
		if e.Kind != fleet.SpendCorrection && e.Until.After(m.row.AccruedUntil) {
			m.row.AccruedUntil = e.Until
		}
	}
}

// known is a machine of the inventories.
func (w *world) known(id string) *machine {
	if m := w.worker(id); m != nil {
		return m
	}
	for _, m := range w.lost {
		if m.row.ID == id {
			return m
		}
	}
	return nil
}

// bills is what was booked for machines that inventories still list.
func (w *world) bills() []fleet.Bill {
	var bills []fleet.Bill
	for _, m := range w.live {
		bills = append(bills, fleet.Bill{Worker: m.row, Booked: m.booked, Corrected: m.corrected})
	}
	for _, m := range w.lost {
		bills = append(bills, fleet.Bill{Worker: m.row, Booked: m.booked, Corrected: m.corrected, TerminatedAt: m.forgotten})
	}
	return bills
}
