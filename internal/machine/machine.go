package machine

import (
	"bufio"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// Facts are what the process may use of the machine it runs on.
type Facts struct {
	// CPUs counts the processors the process may be scheduled on.
	CPUs int `json:"cpus"`
	// Quota is the CPU time a control group allows per second of wall time;
	// 0 is no quota.
	Quota float64 `json:"quota,omitempty"`
	// Memory is the least of the machine's memory and every limit on the
	// way, in bytes; 0 is unknown.
	Memory int64 `json:"memory"`
	// MemoryLimited is true when a control group, not the machine, sets it.
	MemoryLimited bool `json:"memory_limited"`
}

// Cores is how many threads of pure computing are worth running: the quota
// rounded up, but no more than there are processors, and at least one.
func (f Facts) Cores() int {
	cores := f.CPUs
	if f.Quota > 0 {
		cores = min(cores, int(math.Ceil(f.Quota)))
	}
	return max(cores, 1)
}

// Read gathers Facts from a file system laid out like Linux's. cpus is what
// the scheduler's affinity mask allows.
func Read(root fs.FS, cpus int) Facts {
	facts := Facts{CPUs: cpus, Memory: totalMemory(root)}
	groups := findGroups(root)
	facts.Quota = groups.quota()
	if limit := groups.memory(); limit > 0 && (facts.Memory == 0 || limit < facts.Memory) {
		facts.Memory, facts.MemoryLimited = limit, true
	}
	return facts
}

// totalMemory is MemTotal, 0 when it cannot be read.
func totalMemory(root fs.FS) int64 {
	file, err := root.Open("proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		fields := strings.Fields(scanner.Text())
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kibibytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return kibibytes << 10
		}
	}
	return 0
}
