package fleet

import (
	"maps"
	"sync"
	"time"
)

// Stats is what a scheduler tells of itself, for metrics.
type Stats struct {
	Leader bool // it is the one that acts
	// Ticks counts rounds, Unrecorded those that could not be written down at once.
	Ticks, Unrecorded uint64
	Decisions         map[Kind]uint64 // of all rounds
	Failed            uint64          // those of them that could not be carried out
	// What follows is of the latest round; At is zero before the first.
	At       time.Time // by the scheduler's own clock
	Took     time.Duration
	Mode     Mode // the one in force
	Latched  bool
	Spend    Spend
	Rate     Money // of all machines, an hour
	Counted  Money // what limits count for them
	Limits   Limits
	Machines []MachineCount
	Faults   map[string]int // ticks in a row, by source
}

// MachineCount is how many workers of a kind there are.
type MachineCount struct {
	Provider string
	Market   Market
	Status   WorkerStatus // or "parked", for those that are active and claim nothing
	Count    int
}

// tally is what Stats reads while a tick goes on.
type tally struct {
	mu    sync.Mutex
	stats Stats // guarded by mu
}

// Stats may be called at any time.
func (s *Scheduler) Stats() Stats {
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	stats := s.tally.stats
	stats.Decisions, stats.Faults = maps.Clone(stats.Decisions), maps.Clone(stats.Faults)
	return stats
}

func (t *tally) leads(is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Leader = is
}

// count notes a round that began at a time of the scheduler's own clock.
func (t *tally) count(began, now time.Time, cfg Config, r Report, recorded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &t.stats
	n.Ticks++
	if !recorded {
		n.Unrecorded++
	}
	if n.Decisions == nil {
		n.Decisions = map[Kind]uint64{}
	}
	for _, d := range r.Decisions {
		n.Decisions[d.Kind]++
		if d.Failed {
			n.Failed++
		}
	}
	n.At, n.Took = began, now.Sub(began)
	n.Mode, n.Latched, n.Limits = ModeOf(cfg, r.Snapshot), r.Snapshot.Latch != nil, cfg.Limits
	n.Spend, n.Rate, n.Counted = r.Snapshot.Spend, 0, 0
	n.Machines = countMachines(r.Snapshot.Workers)
	for _, w := range r.Snapshot.Workers {
		n.Rate += w.Rate
		n.Counted += max(w.Rate, w.Ceiling)
	}
	n.Faults = map[string]int{}
	for _, f := range r.Snapshot.Faults {
		n.Faults[f.Source] = f.Times
	}
}

func countMachines(workers []Worker) []MachineCount {
	var all []MachineCount
	at := map[MachineCount]int{}
	for _, w := range workers {
		kind := MachineCount{Provider: w.Provider, Market: w.Market, Status: w.Status}
		if w.Status == Active && w.Parked() {
			kind.Status = "parked"
		}
		i, known := at[kind]
		if !known {
			i = len(all)
			at[kind] = i
			all = append(all, kind)
		}
		all[i].Count++
	}
	return all
}
