package elastic

import (
	"fmt"
	"time"
)

// HostCPU is CPU time that was taken from this process and that no number of
// workers brings back. Linux only; zero elsewhere and where it is not told.
type HostCPU struct {
	// Steal is the share of CPU time the hypervisor gave to others, 0 to 1.
	Steal float64
	// Throttled is the share of periods in which the cgroup's quota ran out.
	Throttled float64
	// Quota is how many CPUs the cgroup may use; 0: no limit is set.
	Quota float64
}

// hostMeter turns the system's counters into shares. It belongs to the loop.
type hostMeter struct {
	at     int64
	last   hostTicks
	shares HostCPU
}

// hostTicks is the counters at one moment.
type hostTicks struct {
	steal, all         uint64 // of CPU time
	throttled, periods uint64 // of the cgroup's quota
}

func newHostMeter() hostMeter {
	m := hostMeter{last: readHost()}
	if quota, limited := CPUQuota(); limited {
		m.shares.Quota = quota
	}
	return m
}

const hostEvery = int64(time.Second)

// measureHost reads the counters once a second.
func (p *DynamicScaler[T]) measureHost(now int64) {
	if now-p.host.at < hostEvery {
		return
	}
	p.host.at = now
	p.host.update(readHost())
	p.mu.Lock()
	p.hostCPU = p.host.shares
	p.mu.Unlock()
}

func (m *hostMeter) update(t hostTicks) {
	m.shares.Steal = share(t.steal, m.last.steal, t.all, m.last.all)
	m.shares.Throttled = share(t.throttled, m.last.throttled, t.periods, m.last.periods)
	m.last = t
}

func share(part, partBefore, whole, wholeBefore uint64) float64 {
	if whole <= wholeBefore || part < partBefore {
		return 0
	}
	return float64(part-partBefore) / float64(whole-wholeBefore)
}

// excuse names what the machine takes away, when it is enough to matter.
func (m *hostMeter) excuse() string {
	text := ""
	if m.shares.Steal >= 0.01 {
		text += fmt.Sprintf("; the hypervisor steals %.1f %% of the CPU", 100*m.shares.Steal)
	}
	if m.shares.Throttled >= 0.01 {
		text += fmt.Sprintf("; the CPU quota of %.2g ran out in %.0f %% of periods", m.shares.Quota, 100*m.shares.Throttled)
	}
	return text
}
