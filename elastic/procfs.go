package elastic

import (
	"path"
	"strconv"
	"strings"
)

// Parsers of what Linux tells about CPU time. They are pure, take the text of a
// file, and answer "not told" to whatever they do not understand.

// parseStat reads the first line of /proc/stat, see proc_stat(5): user nice
// system idle iowait irq softirq steal; guest time is part of user.
func parseStat(text string) (steal, all uint64, ok bool) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, false
	}
	for i, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, 0, false
		}
		all += n
		if i == 7 {
			steal = n
		}
	}
	return steal, all, true
}

// parseThrottling reads a cgroup's cpu.stat, which has the same two keys in
// both versions.
func parseThrottling(text string) (throttled, periods uint64, ok bool) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "nr_periods":
			periods, ok = n, true
		case "nr_throttled":
			throttled = n
		}
	}
	return throttled, periods, ok
}

// parseMax reads cpu.max of version 2: "150000 100000", or "max 100000".
func parseMax(text string) (cpus float64, ok bool) {
	quota, period, _ := strings.Cut(strings.TrimSpace(text), " ")
	return ratio(quota, or(period, "100000"))
}

// ratio divides a quota by its period; -1, which is none in version 1, and
// "max" are not told.
func ratio(quota, period string) (float64, bool) {
	q, err := strconv.ParseInt(strings.TrimSpace(quota), 10, 64)
	if err != nil || q <= 0 {
		return 0, false
	}
	d, err := strconv.ParseInt(strings.TrimSpace(period), 10, 64)
	if err != nil || d <= 0 {
		return 0, false
	}
	return float64(q) / float64(d), true
}

// cgroup is where a process stands in the hierarchy that limits its CPU.
type cgroup struct {
	path string // from that hierarchy's root, "/" at least
	v1   bool
}

// parseCgroup reads /proc/self/cgroup: "0::/path" is version 2, "4:cpu,cpuacct:/path"
// version 1. Where both exist, version 1 holds the cpu controller.
func parseCgroup(text string) (group cgroup, ok bool) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			if controller == "cpu" {
				return cgroup{path: path.Clean(parts[2]), v1: true}, true
			}
		}
		if parts[0] == "0" && parts[1] == "" {
			group, ok = cgroup{path: path.Clean(parts[2])}, true
		}
	}
	return group, ok
}

// mount is where a cgroup hierarchy can be read, and which of its groups is
// seen there as the root: inside a container that is the container's own.
type mount struct{ point, root string }

// parseMounts reads /proc/self/mountinfo, see proc_pid_mountinfo(5), for the
// hierarchy with the cpu controller.
func parseMounts(text string, v1 bool) (m mount, ok bool) {
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 5 || len(right) < 3 {
			continue
		}
		hasCPU := strings.Contains(","+right[2]+",", ",cpu,")
		if v1 && right[0] == "cgroup" && hasCPU || !v1 && right[0] == "cgroup2" {
			return mount{point: unescape(left[4]), root: unescape(left[3])}, true
		}
	}
	return mount{}, false
}

// unescape undoes the octal escapes of mountinfo, of which only the space is
// likely in a path.
func unescape(s string) string { return strings.ReplaceAll(s, `\040`, " ") }

// folders lists the group's folder and those of every group above it that can
// be seen, because each may have a limit of its own.
func (m mount) folders(group cgroup) []string {
	rel := strings.TrimPrefix(group.path, strings.TrimSuffix(m.root, "/"))
	if !strings.HasPrefix(rel, "/") {
		rel = "/"
	}
	var all []string
	for {
		all = append(all, path.Join(m.point, rel))
		if rel == "/" {
			return all
		}
		rel = path.Dir(rel)
	}
}
