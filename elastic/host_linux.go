package elastic

import (
	"os"
	"path/filepath"
	"runtime"
)

// readHost reads the counters; what cannot be read stays zero.
func readHost() hostTicks { return readHostFrom("/") }

func readHostFrom(root string) hostTicks {
	var t hostTicks
	t.steal, t.all, _ = parseStat(read(root, "proc/stat"))
	if folders, _ := cpuFolders(root); len(folders) > 0 {
		t.throttled, t.periods, _ = parseThrottling(read(root, folders[0], "cpu.stat"))
	}
	return t
}

// CPUQuota is how many CPUs this process may use: the tightest limit of its
// cgroup and of those above, version 1 or 2, and never more than there are.
// limited tells whether a cgroup says so.
func CPUQuota() (cpus float64, limited bool) {
	return quotaFrom("/", float64(runtime.NumCPU()))
}

func quotaFrom(root string, cpus float64) (float64, bool) {
	limited := false
	folders, v1 := cpuFolders(root)
	for _, folder := range folders {
		quota, ok := parseMax(read(root, folder, "cpu.max"))
		if v1 {
			quota, ok = ratio(read(root, folder, "cpu.cfs_quota_us"), read(root, folder, "cpu.cfs_period_us"))
		}
		if ok && quota < cpus {
			cpus, limited = quota, true
		}
	}
	return cpus, limited
}

func cpuFolders(root string) (folders []string, v1 bool) {
	group, ok := parseCgroup(read(root, "proc/self/cgroup"))
	if !ok {
		return nil, false
	}
	m, ok := parseMounts(read(root, "proc/self/mountinfo"), group.v1)
	if !ok {
		return nil, false
	}
	return m.folders(group), group.v1
}

func read(parts ...string) string {
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		return ""
	}
	return string(text)
}
