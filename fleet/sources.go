package fleet

import (
	"slices"
	"time"
)

// What is observed, as Fault.Source and Memory.Faults name it. A provider's
// inventory is "provider:" and its name, its prices "prices:" and its name.
const (
	sourceDatabase = "database"
	sourceRedis    = "redis"
	sourceProvider = "provider:"
	sourcePrices   = "prices:"
)

// Fault is what failed of a source, nil when nothing did.
func (s Snapshot) Fault(source string) *Fault {
	i := slices.IndexFunc(s.Faults, func(f Fault) bool { return f.Source == source })
	if i < 0 {
		return nil
	}
	return &s.Faults[i]
}

// rememberFaults counts for how many ticks in a row each source has failed, and
// for how many LLEN and SQL have differed by more than their being read one
// after the other explains.
func (m *Memory) rememberFaults(_ time.Time, snap Snapshot) {
	m.Faults = map[string]int{}
	for _, f := range snap.Faults {
		m.Faults[f.Source] = f.Times
	}
	drift := map[string]int{}
	for _, q := range snap.Queues {
		if q.Source == sourceRedis && differ(q.Depth, q.Rows) {
			drift[q.Name] = m.Drift[q.Name] + 1
		}
	}
	m.Drift = drift
}

// differ allows two jobs, or a tenth, to come and go between two readings.
func differ(a, b int64) bool {
	return max(a, b)-min(a, b) > max(2, max(a, b)/10)
}
