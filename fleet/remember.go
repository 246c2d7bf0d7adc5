package fleet

import "time"

// Remember makes the next memory of what was seen, decided and came of it.
func Remember(now time.Time, cfg Config, snap Snapshot, done []Decision) Memory {
	m := snap.Memory.clone()
	m.rememberGrowth(now, cfg, snap, done) // cooldowns, wants, flaps
	m.rememberIdle(now, cfg, snap)         // readings of idle workers
	m.rememberCoolOffs(now, done)          // of attempts that failed
	m.rememberStrays(now, snap)            // what does not belong
	m.rememberFaults(now, snap)            // what failed, and where counts differ
	m.rememberAlerts(now, cfg, snap, done) // conditions
	return m
}

func (m Memory) clone() Memory { return m }

func (m *Memory) rememberGrowth(time.Time, Config, Snapshot, []Decision) {}
func (m *Memory) rememberIdle(time.Time, Config, Snapshot)               {}
func (m *Memory) rememberCoolOffs(time.Time, []Decision)                 {}
func (m *Memory) rememberStrays(time.Time, Snapshot)                     {}
func (m *Memory) rememberFaults(time.Time, Snapshot)                     {}
func (m *Memory) rememberAlerts(time.Time, Config, Snapshot, []Decision) {}
