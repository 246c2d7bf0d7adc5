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

// book writes what machines have cost since the last tick into the ledger.
func (w *world) book(snap fleet.Snapshot) {
	for _, e := range fleet.Accrue(snap.At, snap.Workers) {
		w.ledger.add(e)
		w.result.Money.Booked += e.Amount
		if m := w.worker(e.WorkerID); m != nil && e.Until.After(m.row.AccruedUntil) {
			m.row.AccruedUntil = e.Until
		}
	}
	spend := w.ledger.spend(snap.At)
	w.result.Money.MaxHour = max(w.result.Money.MaxHour, spend.Hour)
	w.result.Money.MaxDay = max(w.result.Money.MaxDay, spend.Day)
}
