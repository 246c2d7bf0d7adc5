package machine

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Use is what is taken of the machine at one moment.
type Use struct {
	// CPUPercent is the share of the cores that was in use since the reading
	// before, 0 to 100; 0 in the first.
	CPUPercent float64
	// Memory is what the control group holds, less file cache that goes as
	// soon as memory is wanted; without a group, this process alone.
	Memory int64
	// Limit is the least of the machine's memory and every limit; 0 is unknown.
	Limit int64
}

// Meter turns the kernel's counters into Use: those of the control group where
// one counts, so that child processes are in it. It is safe for concurrent use.
type Meter struct {
	root  fs.FS
	cores float64

	mu   sync.Mutex
	at   time.Time
	used time.Duration
}

// NewMeter reads from a file system laid out like Linux's. facts are what Read
// found there.
func NewMeter(root fs.FS, facts Facts) *Meter {
	cores := float64(max(facts.CPUs, 1))
	if facts.Quota > 0 {
		cores = min(cores, facts.Quota)
	}
	return &Meter{root: root, cores: cores}
}

// Read takes a reading at now.
func (m *Meter) Read(now time.Time) Use {
	groups := findGroups(m.root)
	facts := Read(m.root, 1)
	memory, ok := groups.held()
	if !ok {
		memory = m.resident()
	}
	used, ok := groups.spent()
	if !ok {
		used = m.processCPU()
	}
	return Use{CPUPercent: m.since(now, used), Memory: memory, Limit: facts.Memory}
}

// since is the use of CPU from the reading before until now. A counter that ran
// backwards, as after a move to another group, begins anew.
func (m *Meter) since(now time.Time, used time.Duration) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	over, spent, first := now.Sub(m.at), used-m.used, m.at.IsZero()
	m.at, m.used = now, used
	if first || over <= 0 || spent < 0 {
		return 0
	}
	return min(100, 100*spent.Seconds()/(over.Seconds()*m.cores))
}

// own is the folder of the process's own group, the last one.
func (g group) own() string { return g.folders[len(g.folders)-1] }

// held is the memory of the group, from the first hierarchy that counts it.
func (g groups) held() (bytes int64, ok bool) {
	for _, hierarchy := range g.ram {
		usage, idle := "memory.current", "inactive_file"
		if hierarchy.version == 1 {
			usage, idle = "memory.usage_in_bytes", "total_inactive_file"
		}
		if used := g.number(hierarchy.own(), usage, 0); used > 0 {
			return max(0, used-g.field(hierarchy.own(), "memory.stat", idle)), true
		}
	}
	return 0, false
}

// spent is the CPU time of the group since it was made. Version 2 has that in
// its root, too, where it is the whole machine's; there no memory is counted,
// by which it is told. Where version 1 counts CPU time, that comes first.
func (g groups) spent() (time.Duration, bool) {
	for _, folder := range g.accounts() {
		if used := g.number(folder, "cpuacct.usage", 0); used > 0 {
			return time.Duration(used), true
		}
	}
	for _, hierarchy := range g.cpu {
		counts := hierarchy.version == 2 && g.number(hierarchy.own(), "memory.current", 0) > 0
		if used := g.field(hierarchy.own(), "cpu.stat", "usage_usec"); counts && used > 0 {
			return time.Duration(used) * time.Microsecond, true
		}
	}
	return 0, false
}

// accounts are the folders of version 1's cpuacct, which may be mounted apart
// from cpu.
func (g groups) accounts() []string {
	memberships := readMemberships(g.root)
	var all []string
	for _, m := range readMounts(g.root) {
		if m.version == 1 && slices.Contains(m.controllers, "cpuacct") {
			all = append(all, group{1, m.folders(memberships["cpuacct"])}.own())
		}
	}
	return all
}

// field reads the number after a key in a file of one a line, 0 without.
func (g groups) field(folder, name, key string) int64 {
	for _, line := range readLines(g.root, path.Join(folder, name)) {
		if found, value, _ := strings.Cut(line, " "); found == key {
			return whole(value)
		}
	}
	return 0
}

// tick is the unit of times in /proc/self/stat: USER_HZ, which is 100 on every
// architecture that Go runs on with Linux.
const tick = 10 * time.Millisecond

// processCPU is what this process and its children that have ended have used,
// see proc_pid_stat(5): utime, stime, cutime and cstime are fields 14 to 17. The
// name in field 2 may hold spaces and parentheses, so fields count from its end.
func (m *Meter) processCPU() time.Duration {
	text := strings.Join(readLines(m.root, "proc/self/stat"), " ")
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const utime, after = 14 - 3, 18 - 3
	if len(fields) < after {
		return 0
	}
	var ticks int64
	for _, field := range fields[utime:after] {
		ticks += whole(field)
	}
	return time.Duration(ticks) * tick
}

// resident is the memory of this process alone.
func (m *Meter) resident() int64 {
	for _, line := range readLines(m.root, "proc/self/status") {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "VmRSS:" {
			return whole(fields[1]) << 10
		}
	}
	return 0
}

// whole reads a number that is not negative, 0 for anything else; one that is
// too large to be true is none either.
func whole(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 || n >= unlimited {
		return 0
	}
	return n
}
