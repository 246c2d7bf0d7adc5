package fleet

import (
	"maps"
	"slices"
	"time"
)

// Remember makes the next memory of what was seen, decided and came of it.
func Remember(now time.Time, cfg Config, snap Snapshot, done []Decision) Memory {
	m := snap.Memory.clone()
	m.rememberGrowth(now, cfg, snap, done) // cooldowns, wants, flaps
	m.rememberIdle(now, cfg, snap)         // readings of idle workers
	m.rememberCoolOffs(now, snap, done)    // of attempts that failed
	m.rememberStrays(now, snap)            // what does not belong
	m.rememberFaults(now, snap)            // what failed, and where counts differ
	m.rememberAlerts(now, cfg, snap, done) // conditions
	return m
}

// clone shares no map with m, so that what is remembered next changes nothing
// that a snapshot still holds.
func (m Memory) clone() Memory {
	m.LastUp, m.LastDown = copied(m.LastUp), copied(m.LastDown)
	m.CoolOffs = slices.Clone(m.CoolOffs)
	m.Wants = copied(m.Wants)
	for queue, wants := range m.Wants {
		m.Wants[queue] = slices.Clone(wants)
	}
	m.Drained, m.Empty, m.Idle = copied(m.Drained), copied(m.Empty), copied(m.Idle)
	m.Strays, m.Faults, m.Drift = copied(m.Strays), copied(m.Faults), copied(m.Drift)
	m.Alerts, m.Flaps = copied(m.Alerts), copied(m.Flaps)
	return m
}

// copied is never nil, so that steps write into it without asking.
func copied[V any](from map[string]V) map[string]V {
	to := make(map[string]V, len(from))
	maps.Copy(to, from)
	return to
}
