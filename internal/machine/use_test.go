package machine_test

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/machine"
)

// tree is a file system of a few files.
func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

const (
	ram     = "MemTotal:        8388608 kB\nMemFree:          100 kB\n"
	status  = "Name:\tspillway\nVmPeak:\t  900 kB\nVmRSS:\t    2048 kB\n"
	stat    = "7 (a ) name) S 1 7 7 0 -1 4194560 1 2 3 4 300 100 50 50 20 0 9 0 1 2 3\n"
	v2mount = "30 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	v1mount = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	hybrid = "40 31 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

func TestUseIsRead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		later map[string]string // what has changed ten seconds after
		want  machine.Use       // then, with two cores
	}{
		{
			"version 2, limited by a group above",
			map[string]string{
				"proc/self/cgroup": "0::/app.slice/worker\n", "proc/self/mountinfo": v2mount, "proc/meminfo": ram,
				"sys/fs/cgroup/app.slice/worker/memory.current": "5000\n",
				"sys/fs/cgroup/app.slice/worker/memory.stat":    "anon 1\ninactive_file 1500\n",
				"sys/fs/cgroup/app.slice/worker/memory.max":     "max\n",
				"sys/fs/cgroup/app.slice/memory.max":            "70000\n",
				"sys/fs/cgroup/app.slice/worker/cpu.stat":       "usage_usec 1000000\nuser_usec 1\n",
			},
			map[string]string{"sys/fs/cgroup/app.slice/worker/cpu.stat": "usage_usec 6000000\nuser_usec 1\n"},
			machine.Use{CPUPercent: 25, Memory: 3500, Limit: 70000},
		},
		{
			"version 2 in a container, whose own group is the root",
			map[string]string{
				"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2mount, "proc/meminfo": ram,
				"sys/fs/cgroup/memory.current": "5000\n", "sys/fs/cgroup/memory.max": "9000\n",
				"sys/fs/cgroup/cpu.stat": "usage_usec 1\n",
			},
			map[string]string{"sys/fs/cgroup/cpu.stat": "usage_usec 30000000\n"},
			machine.Use{CPUPercent: 100, Memory: 5000, Limit: 9000},
		},
		{
			"version 1, each controller in a hierarchy of its own",
			map[string]string{
				"proc/self/cgroup":    "9:name=systemd:/\n4:memory:/docker/abc/inner\n2:cpu,cpuacct:/docker/abc\n",
				"proc/self/mountinfo": v1mount, "proc/meminfo": ram,
				"sys/fs/cgroup/memory/inner/memory.usage_in_bytes":   "8000\n",
				"sys/fs/cgroup/memory/inner/memory.stat":             "inactive_file 1\ntotal_inactive_file 3000\n",
				"sys/fs/cgroup/memory/inner/memory.limit_in_bytes":   "9223372036854771712\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":         "1048576\n",
				"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpuacct.usage": "1000000000\n",
			},
			map[string]string{"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpuacct.usage": "2000000000\n"},
			machine.Use{CPUPercent: 5, Memory: 5000, Limit: 1048576},
		},
		{
			"hybrid, where version 1 counts",
			map[string]string{
				"proc/self/cgroup":    "4:memory:/docker/abc\n2:cpu,cpuacct:/\n0::/init.scope\n",
				"proc/self/mountinfo": v1mount + hybrid, "proc/meminfo": ram,
				"sys/fs/cgroup/memory/memory.usage_in_bytes":          "8000\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
				"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage":             "1\n",
				"sys/fs/cgroup/unified/init.scope/cpu.stat":           "usage_usec 1\n",
				"sys/fs/cgroup/unified/init.scope/memory.current":     "1\n",
				"sys/fs/cgroup/unified/init.scope/cgroup.controllers": "",
			},
			map[string]string{"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage": "10000000001\n"},
			machine.Use{CPUPercent: 50, Memory: 8000, Limit: 8 << 30},
		},
		{
			"no cgroup at all",
			map[string]string{"proc/self/stat": stat, "proc/self/status": status, "proc/meminfo": ram},
			map[string]string{"proc/self/stat": "7 (a ) name) S 1 7 7 0 -1 4194560 1 2 3 4 900 200 200 200 20 0 9 0 1 2 3\n"},
			machine.Use{CPUPercent: 50, Memory: 2 << 20, Limit: 8 << 30},
		},
		{
			"the root of version 2, which counts the machine and not the process",
			map[string]string{
				"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2mount, "proc/meminfo": ram,
				"proc/self/stat": stat, "proc/self/status": status, "sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
			},
			map[string]string{"sys/fs/cgroup/cpu.stat": "usage_usec 20000000\n"},
			machine.Use{Memory: 2 << 20, Limit: 8 << 30},
		},
		{"nothing that can be read", map[string]string{}, nil, machine.Use{}},
		{
			"a counter that ran backwards",
			map[string]string{"proc/self/stat": stat},
			map[string]string{"proc/self/stat": "7 (x) S 1 7 7 0 -1 4194560 1 2 3 4 1 1 0 0 20 0\n"},
			machine.Use{},
		},
		{
			"files that hold something else",
			map[string]string{
				"proc/self/cgroup": "0:/\n:::\n0::relative\n4:memory:/a\n", "proc/self/mountinfo": "- - -\nx - cgroup\n" + v1mount,
				"proc/self/stat": "7 (x", "proc/self/status": "VmRSS:\n", "proc/meminfo": "MemTotal: much kB\n",
				"sys/fs/cgroup/memory/memory.usage_in_bytes": "-1\n",
			},
			nil,
			machine.Use{},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := tree(tc.files)
			m := machine.NewMeter(files, machine.Facts{CPUs: 8, Quota: 2})
			at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
			if first := m.Read(at); first.CPUPercent != 0 {
				t.Errorf("the first reading has %v %% of CPU", first.CPUPercent)
			}
			for name, text := range tc.later {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if diff := cmp.Diff(tc.want, m.Read(at.Add(10*time.Second))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheUseOfThisMachineCanBeRead(t *testing.T) {
	m := machine.NewMeter(os.DirFS("/"), machine.Facts{CPUs: 1})
	r := m.Read(time.Now())
	if r.Memory <= 0 || r.Limit < r.Memory {
		t.Errorf("%+v", r)
	}
}

func FuzzUse(f *testing.F) {
	f.Add("0::/a\n", v2mount, stat)
	f.Add("4:memory:/docker/abc\n2:cpu,cpuacct:/../..\n", v1mount, status)
	f.Fuzz(func(t *testing.T, cgroup, mounts, stat string) {
		files := tree(map[string]string{"proc/self/cgroup": cgroup, "proc/self/mountinfo": mounts, "proc/self/stat": stat})
		m := machine.NewMeter(strict{files}, machine.Facts{})
		at := time.Unix(0, 0)
		m.Read(at)
		if r := m.Read(at.Add(time.Second)); r.CPUPercent < 0 || r.CPUPercent > 100 || r.Memory < 0 || r.Limit < 0 {
			t.Errorf("%+v", r)
		}
	})
}

// strict is a file system; it hides that a MapFS can more.
type strict struct{ fs.FS }
