//go:build linux

package elastic

import (
	"os"
	"path/filepath"
	"testing"
)

// tree writes files below a folder that stands for the root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestQuota(t *testing.T) {
	cases := []struct {
		name    string
		files   map[string]string
		cpus    float64
		limited bool
	}{
		{"version 2: its own limit", map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": mountsV2,
			"sys/fs/cgroup/app/cpu.max": "150000 100000\n"}, 1.5, true},
		{"version 2: a tighter limit above counts", map[string]string{
			"proc/self/cgroup": "0::/pod/app\n", "proc/self/mountinfo": mountsV2,
			"sys/fs/cgroup/pod/app/cpu.max": "max 100000\n", "sys/fs/cgroup/pod/cpu.max": "50000 100000\n"}, 0.5, true},
		{"version 2: in a container its group is the root", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountsV2,
			"sys/fs/cgroup/cpu.max": "100000 100000\n"}, 1, true},
		{"version 1: below the mounted group", map[string]string{
			"proc/self/cgroup":    "4:cpuacct,cpu:/docker/abc\n0::/\n",
			"proc/self/mountinfo": mountsV1, "sys/fs/cgroup/cpu x/cpu.cfs_quota_us": "200000\n",
			"sys/fs/cgroup/cpu x/cpu.cfs_period_us": "100000\n"}, 2, true},
		{"version 1: minus one is no limit", map[string]string{
			"proc/self/cgroup":    "4:cpu:/docker/abc\n",
			"proc/self/mountinfo": mountsV1, "sys/fs/cgroup/cpu x/cpu.cfs_quota_us": "-1\n",
			"sys/fs/cgroup/cpu x/cpu.cfs_period_us": "100000\n"}, 8, false},
		{"a limit above the number of CPUs limits nothing", map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": mountsV2,
			"sys/fs/cgroup/app/cpu.max": "1600000 100000\n"}, 8, false},
		{"without cgroups there is none", nil, 8, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cpus, limited := quotaFrom(tree(t, c.files), 8)
			if cpus != c.cpus || limited != c.limited {
				t.Errorf("got %g, %t; want %g, %t", cpus, limited, c.cpus, c.limited)
			}
		})
	}
	t.Run("counters come from the process's own group", func(t *testing.T) {
		root := tree(t, map[string]string{
			"proc/stat": stat, "proc/self/cgroup": "0::/pod/app\n", "proc/self/mountinfo": mountsV2,
			"sys/fs/cgroup/pod/app/cpu.stat": "nr_periods 100\nnr_throttled 7\n",
			"sys/fs/cgroup/pod/cpu.stat":     "nr_periods 1\nnr_throttled 1\n"})
		if got := readHostFrom(root); got.steal != 849 || got.throttled != 7 || got.periods != 100 {
			t.Errorf("got %+v", got)
		}
	})
}
