package fleet

import "time"

// Decide says what is to be done, in the order in which it is to be done. It is
// pure: the same now, configuration and snapshot give the same decisions, but
// for their IDs, which the tick gives.
func Decide(now time.Time, cfg Config, snap Snapshot) []Decision {
	d := newDeciding(now, cfg, snap)
	d.capSpending()  // the daily limit comes before all else, and holds without a database
	d.repair()       // rows and machines that have lost each other, late registrations, disks
	d.answer()       // what operators asked for
	d.remove()       // surplus first, then the idle
	d.park()         // what is more than wanted, before it is idle for long enough
	d.baseline()     // the VPS worker
	d.grow()         // queue by queue
	d.finishDrains() // what has no job left, or no time, and was not taken back
	d.alert()
	return d.out
}

// deciding is one call of Decide. Steps read what earlier ones decided, through
// leaving, budget and workers.
type deciding struct {
	now    time.Time
	cfg    Config
	snap   Snapshot
	budget *budget
	out    []Decision
	// leaving are workers that this tick drains, terminates or forgets.
	leaving map[string]bool
	// launched are workers that this tick launches, so that they count from now
	// on; undrained are those that it takes back: see fleet.
	launched  []Worker
	undrained map[string]bool
	// ranks are the bounds that this tick sets for what cloud workers claim: one
	// that parks them, or none.
	ranks map[string]int
	// kept says, per queue, why idle workers stay.
	kept    map[string][]Rejected
	scratch []Worker // what fleet answers
	// ended counts terminations that max_terminations_per_tick bounds.
	ended int
}

func newDeciding(now time.Time, cfg Config, snap Snapshot) *deciding {
	return &deciding{now: now, cfg: cfg, snap: snap, budget: newBudget(now, cfg, snap), leaving: map[string]bool{}, undrained: map[string]bool{}, ranks: map[string]int{}, kept: map[string][]Rejected{}}
}

// fleet is the workers as they stand after what was decided so far: those that
// leave are draining, those taken back active, those launched provisioning. It is
// good until the next call: a replay asks some million times.
func (d *deciding) fleet() []Worker {
	all := d.scratch[:0]
	for _, w := range d.snap.Workers {
		switch {
		case d.leaving[w.ID]:
			w.Status = Draining
		case d.undrained[w.ID]:
			w.Status = Active
		}
		if rank, decided := d.ranks[w.ID]; decided {
			w.MaxRank = rank
		}
		all = append(all, w)
	}
	d.scratch = append(all, d.launched...)
	return d.scratch
}

// add gives a decision what all have in common.
func (d *deciding) add(x Decision) {
	x.At = d.now
	if x.Origin == "" {
		x.Origin = OriginTick
	}
	d.out = append(d.out, x)
}
