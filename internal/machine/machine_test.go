package machine_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/machine"
)

const (
	meminfo = "MemTotal:       8388608 kB\nMemFree:  100 kB\n"

	mountsV2     = "30 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	mountsV1     = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	mountsHybrid = mountsV1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	mountsDocker = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n36 31 0:33 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
)

func files(contents map[string]string) fstest.MapFS {
	root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
	for name, content := range contents {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return root
}

func TestRead(t *testing.T) {
	const gibibyte = 1 << 30
	tests := []struct {
		name  string
		files map[string]string
		want  machine.Facts
	}{
		{
			"a machine without control groups gives its own memory",
			nil,
			machine.Facts{CPUs: 4, Memory: 8 * gibibyte},
		},
		{
			"version 2 limits of the process's own group hold",
			map[string]string{
				"proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/service\n",
				"sys/fs/cgroup/service/cpu.max":    "150000 100000\n",
				"sys/fs/cgroup/service/memory.max": "1073741824\n",
			},
			machine.Facts{CPUs: 4, Quota: 1.5, Memory: gibibyte, MemoryLimited: true},
		},
		{
			"a tighter limit of a version 2 parent wins",
			map[string]string{
				"proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/slice/service\n",
				"sys/fs/cgroup/slice/cpu.max":            "50000 100000\n",
				"sys/fs/cgroup/slice/memory.max":         "536870912\n",
				"sys/fs/cgroup/slice/service/cpu.max":    "max 100000\n",
				"sys/fs/cgroup/slice/service/memory.max": "max\n",
			},
			machine.Facts{CPUs: 4, Quota: 0.5, Memory: gibibyte / 2, MemoryLimited: true},
		},
		{
			"a version 2 container sees its limits at the mount itself",
			map[string]string{
				"proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/\n",
				"sys/fs/cgroup/cpu.max":    "300000 100000\n",
				"sys/fs/cgroup/memory.max": "2147483648\n",
			},
			machine.Facts{CPUs: 4, Quota: 3, Memory: 2 * gibibyte, MemoryLimited: true},
		},
		{
			"version 1 limits of joined controllers hold",
			map[string]string{
				"proc/self/mountinfo": mountsV1,
				"proc/self/cgroup":    "5:cpu,cpuacct:/jobs\n4:memory:/jobs\n",
				"sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us":  "200000\n",
				"sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/memory/jobs/memory.limit_in_bytes":  "1073741824\n",
			},
			machine.Facts{CPUs: 4, Quota: 2, Memory: gibibyte, MemoryLimited: true},
		},
		{
			"version 1 writes no limit as -1 and as a huge number",
			map[string]string{
				"proc/self/mountinfo":                         mountsV1,
				"proc/self/cgroup":                            "5:cpu,cpuacct:/\n4:memory:/\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "-1\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":  "9223372036854771712\n",
			},
			machine.Facts{CPUs: 4, Memory: 8 * gibibyte},
		},
		{
			"a mixture takes each controller where it lives",
			map[string]string{
				"proc/self/mountinfo":                           mountsHybrid,
				"proc/self/cgroup":                              "5:cpu,cpuacct:/a\n4:memory:/b\n0::/c\n",
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":  "100000\n",
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/memory/b/memory.limit_in_bytes":  "2147483648\n",
				"sys/fs/cgroup/unified/c/cgroup.procs":          "1\n",
			},
			machine.Facts{CPUs: 4, Quota: 1, Memory: 2 * gibibyte, MemoryLimited: true},
		},
		{
			"a mixture whose memory controller is version 2 is read there",
			map[string]string{
				"proc/self/mountinfo":                          mountsHybrid,
				"proc/self/cgroup":                             "5:cpu,cpuacct:/a\n0::/c\n",
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "-1\n",
				"sys/fs/cgroup/unified/c/memory.max":           "3221225472\n",
			},
			machine.Facts{CPUs: 4, Memory: 3 * gibibyte, MemoryLimited: true},
		},
		{
			"a version 1 container whose membership names the host's path is read at the mount",
			map[string]string{
				"proc/self/mountinfo":                        mountsDocker,
				"proc/self/cgroup":                           "4:memory:/docker/abc\n5:cpu:/docker/abc\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "25000\n",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us":        "100000\n",
			},
			machine.Facts{CPUs: 4, Quota: 0.25, Memory: gibibyte / 4, MemoryLimited: true},
		},
		{
			"a limit above the machine's memory is not a limit",
			map[string]string{
				"proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/\n",
				"sys/fs/cgroup/memory.max": "17179869184\n",
			},
			machine.Facts{CPUs: 4, Memory: 8 * gibibyte},
		},
		{
			"files that make no sense are passed over",
			map[string]string{
				"proc/self/mountinfo": mountsV2 + "broken\n", "proc/self/cgroup": "nonsense\n0::/\n",
				"sys/fs/cgroup/cpu.max": "\n", "sys/fs/cgroup/memory.max": "many\n",
			},
			machine.Facts{CPUs: 4, Memory: 8 * gibibyte},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, machine.Read(files(test.files), 4)); diff != "" {
				t.Errorf("facts differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCores(t *testing.T) {
	tests := []struct {
		name  string
		facts machine.Facts
		want  int
	}{
		{"no quota gives every processor", machine.Facts{CPUs: 8}, 8},
		{"half a processor is still one core", machine.Facts{CPUs: 8, Quota: 0.5}, 1},
		{"a broken quota is rounded up", machine.Facts{CPUs: 8, Quota: 2.2}, 3},
		{"a quota above the processors adds none", machine.Facts{CPUs: 2, Quota: 6}, 2},
		{"nothing known is one core", machine.Facts{}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.facts.Cores(); got != test.want {
				t.Errorf("cores = %d, want %d", got, test.want)
			}
		})
	}
}

func TestSeenIsPlausible(t *testing.T) {
	facts := machine.Seen()
	if facts.CPUs < 1 || facts.Cores() < 1 || facts.Memory < 64<<20 {
		t.Errorf("facts of this machine = %+v; want at least one core and 64 MiB", facts)
	}
}
