package machine

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// unlimited is where version 1 stops meaning a number: it writes "no limit"
// as the largest multiple of a page.
const unlimited = 1 << 60

// group is one hierarchy as the process sees it: every folder from the
// process's own group up to where the hierarchy is mounted. A limit holds
// when any of them sets it, so all are read.
type group struct {
	version int
	folders []string
}

// groups are the hierarchies that can limit cores and memory. A mixed machine
// has both versions; a controller lives in one of them, the other's files are
// absent there and count as no limit.
type groups struct {
	root fs.FS
	cpu  []group
	ram  []group
}

// mount is one line of mountinfo that matters here.
type mount struct {
	version     int
	controllers []string
	source      string // path within the hierarchy that is mounted
	point       string // where, without the leading slash
}

func findGroups(root fs.FS) groups {
	found := groups{root: root}
	memberships := readMemberships(root)
	for _, m := range readMounts(root) {
		if m.version == 2 {
			g := group{2, m.folders(memberships[""])}
			found.cpu = append(found.cpu, g)
			found.ram = append(found.ram, g)
			continue
		}
		if slices.Contains(m.controllers, "cpu") {
			found.cpu = append(found.cpu, group{1, m.folders(memberships["cpu"])})
		}
		if slices.Contains(m.controllers, "memory") {
			found.ram = append(found.ram, group{1, m.folders(memberships["memory"])})
		}
	}
	return found
}

// readMemberships maps a controller to the process's group in it; the empty
// name is version 2's only hierarchy (proc(5), /proc/pid/cgroup).
func readMemberships(root fs.FS) map[string]string {
	memberships := map[string]string{}
	for _, line := range readLines(root, "proc/self/cgroup") {
		fields := strings.SplitN(line, ":", 3)
		if len(fields) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			memberships[controller] = fields[2]
		}
	}
	return memberships
}

// readMounts reads the control group mounts from mountinfo, whose fields are
// "id parent device source point options… - type device superoptions".
func readMounts(root fs.FS) []mount {
	var mounts []mount
	for _, line := range readLines(root, "proc/self/mountinfo") {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		m := mount{source: left[3], point: strings.TrimPrefix(left[4], "/")}
		switch right[0] {
		case "cgroup2":
			m.version = 2
		case "cgroup":
			m.version, m.controllers = 1, strings.Split(right[2], ",")
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// folders lists the group's folder and all above it within the mount. In a
// container the membership may name a path of the host that is not mounted;
// the mount itself is then the group.
func (m mount) folders(membership string) []string {
	inside := membership
	if m.source != "/" {
		rest, ok := strings.CutPrefix(membership, m.source)
		if !ok {
			rest = "/"
		}
		inside = rest
	}
	inside = strings.Trim(path.Clean("/"+inside), "/")
	folders := []string{m.point}
	for _, name := range strings.FieldsFunc(inside, func(r rune) bool { return r == '/' }) {
		folders = append(folders, path.Join(folders[len(folders)-1], name))
	}
	return folders
}

// quota is the smallest CPU share any group sets; 0 is none.
func (g groups) quota() float64 {
	least := 0.0
	for _, hierarchy := range g.cpu {
		for _, folder := range hierarchy.folders {
			quota, period := g.cpuFiles(hierarchy.version, folder)
			if quota > 0 && period > 0 && (least == 0 || float64(quota)/float64(period) < least) {
				least = float64(quota) / float64(period)
			}
		}
	}
	return least
}

func (g groups) cpuFiles(version int, folder string) (quota, period int64) {
	if version == 1 {
		return g.number(folder, "cpu.cfs_quota_us", 0), g.number(folder, "cpu.cfs_period_us", 0)
	}
	return g.number(folder, "cpu.max", 0), g.number(folder, "cpu.max", 1)
}

// memory is the smallest limit any group sets; 0 is none.
func (g groups) memory() int64 {
	least := int64(0)
	for _, hierarchy := range g.ram {
		name := "memory.max"
		if hierarchy.version == 1 {
			name = "memory.limit_in_bytes"
		}
		for _, folder := range hierarchy.folders {
			limit := g.number(folder, name, 0)
			if limit > 0 && limit < unlimited && (least == 0 || limit < least) {
				least = limit
			}
		}
	}
	return least
}

// number reads one of a file's numbers; "max", a missing file and anything
// else that is no number are 0, which means no limit everywhere here.
func (g groups) number(folder, name string, field int) int64 {
	content, err := fs.ReadFile(g.root, path.Join(folder, name))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(content))
	if field >= len(fields) {
		return 0
	}
	value, err := strconv.ParseInt(fields[field], 10, 64)
	if err != nil {
		return 0
	}
	return value
}

func readLines(root fs.FS, name string) []string {
	content, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}
