package fleet

import (
	"math/big"
	"time"
)

// ReconcileEvery is how often bookings are compared with what the providers
// know. Billing interfaces lag by hours, so it is their inventory that is asked.
const ReconcileEvery = 15 * time.Minute

// billedFor is how long after its end a machine's bill can still be corrected:
// providers forget an ended machine within hours.
const billedFor = 48 * time.Hour

// Bill is what was booked for a machine so far.
type Bill struct {
	// Worker is its row; only ID and Place are set where there is no row.
	Worker
	TerminatedAt time.Time // of the row; zero while it counts
	Booked       Money
	Corrected    Money // the corrections in Booked
}

// Bills asks for the bills of all workers that are not terminated, or were since
// a time, and for those of further ids, some of which only entries may know.
type Bills struct {
	Since time.Time
	IDs   []string
}

// ReconcileDue says whether it is time, and for which bills to ask the ledger.
// Once entries of Reconcile are recorded, Memory.Reconciled becomes now.
func ReconcileDue(now time.Time, snap Snapshot) (Bills, bool) {
	if now.Sub(snap.Memory.Reconciled) < ReconcileEvery || len(snap.Inventories) == 0 {
		return Bills{}, false
	}
	ask := Bills{Since: now.Add(-billedFor)}
	for _, name := range sortedKeys(snap.Inventories) {
		for _, m := range snap.Inventories[name].Machines {
			ask.IDs = append(ask.IDs, ghostID(name, m))
			if m.WorkerID != "" {
				ask.IDs = append(ask.IDs, m.WorkerID)
			}
		}
	}
	return ask, true
}

// Reconcile books the difference between what was booked and what the providers'
// inventories say: start and stop as they know them, machines that went on after
// their row ended, machines that no row knows. Booked again, it finds nothing.
func Reconcile(now time.Time, cfg Config, snap Snapshot, bills []Bill) []SpendEntry {
	now = now.Truncate(time.Millisecond)
	byID := map[string]Bill{}
	for _, b := range bills {
		byID[b.ID] = b
	}
	var out []SpendEntry
	matched := map[[2]string]bool{}
	for _, b := range bills {
		inventory, listed := snap.Inventories[b.Provider]
		if !listed || !b.Cloud() || b.ProvisionedAt.IsZero() {
			continue
		}
		m, found := inventory.of(b.Worker)
		if found {
			matched[[2]string{b.Provider, m.ID}] = true
		}
		if b.TerminatedAt.IsZero() {
			continue // it goes on accruing; its start is corrected at its end
		}
		if from, until, ok := b.paid(now, m, found); ok {
			out = b.correct(out, now, from, until)
		}
	}
	for _, name := range sortedKeys(snap.Inventories) {
		for _, m := range snap.Inventories[name].Machines {
			if !matched[[2]string{name, m.ID}] && m.Market != VPS {
				out = ghost(out, now, cfg, snap, name, m, byID)
			}
		}
	}
	return out
}

// of finds the machine of a row: by its id, which beats the tag, because a lost
// answer can leave two machines with one tag.
func (i Inventory) of(w Worker) (Machine, bool) {
	for _, m := range i.Machines {
		if w.InstanceID == m.ID || w.InstanceID == "" && m.WorkerID == w.ID {
			return m, true
		}
	}
	return Machine{}, false
}

// paid is the time that an ended row's machine is charged for, if that can be
// told better than it was booked.
func (b Bill) paid(now time.Time, m Machine, found bool) (from, until time.Time, ok bool) {
	start := b.paidFrom(now)
	switch {
	case found && m.State != MachineTerminated:
		return start, now, true // the row ended, the machine did not
	case found && !m.TerminatedAt.IsZero() && !m.LaunchedAt.IsZero():
		// Both times are of one clock, so what lies between is exact whatever
		// that clock shows; it is set down where our clock saw it.
		return start, start.Add(max(m.TerminatedAt.Sub(m.LaunchedAt), b.Granularity)), true
	case b.InstanceID == "":
		return start, start, true // it never was
	default:
		// The provider has forgotten it: what is missing up to the row's end is
		// booked, what may be too much stays.
		until = later(b.TerminatedAt, start.Add(b.Granularity))
		return start, until, until.After(b.AccruedUntil)
	}
}

// correct appends the difference for a bill that should say from, until.
func (b Bill) correct(out []SpendEntry, now, from, until time.Time) []SpendEntry {
	difference := b.due(from, until) - b.Booked
	if difference == 0 {
		return out
	}
	e := b.entry(now, SpendCorrection, earlier(until, b.AccruedUntil), later(until, b.AccruedUntil))
	if b.AccruedUntil.IsZero() || e.From.Equal(e.Until) {
		e.From, e.Until = from, later(until, b.AccruedUntil)
	}
	e.Amount, e.Note = difference, "the provider's inventory says "+until.Sub(from).Round(time.Second).String()
	return append(out, e)
}

// due is what a machine costs for its time: at what it was booked for on
// average, as a spot price changes, and without a booking at its own price.
func (b Bill) due(from, until time.Time) Money {
	accrued, over := b.Booked-b.Corrected, b.AccruedUntil.Sub(from)
	if over <= 0 || accrued <= 0 {
		return b.Rate.between(from, until)
	}
	p := new(big.Int).Mul(big.NewInt(int64(accrued)), big.NewInt(int64(until.Sub(from))))
	return Money(p.Div(p, big.NewInt(int64(over))).Int64())
}

// ghost books a machine that no row stands for.
func ghost(out []SpendEntry, now time.Time, cfg Config, snap Snapshot, provider string, m Machine, byID map[string]Bill) []SpendEntry {
	m.Provider = provider
	end := now
	if !m.TerminatedAt.IsZero() {
		end = earlier(m.TerminatedAt, now)
	}
	booked := byID[ghostID(provider, m)].Booked
	rate := snap.rateOf(cfg, m.Place)
	difference := rate.between(m.LaunchedAt, end) - booked
	if m.LaunchedAt.IsZero() || !end.After(m.LaunchedAt) || difference <= 0 {
		return out
	}
	return append(out, SpendEntry{At: now, WorkerID: ghostID(provider, m), Place: m.Place, Kind: SpendCorrection,
		From: m.LaunchedAt, Until: end, Amount: difference, Note: "a machine that no row stands for"})
}

// ghostID is what entries call a machine without a row.
func ghostID(provider string, m Machine) string { return provider + "/" + m.ID }
