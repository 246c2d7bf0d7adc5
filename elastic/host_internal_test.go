package elastic

import (
	"slices"
	"testing"
)

const stat = `cpu  600843 215033 166620 250350 2456 7 2068 849 11 12
cpu0 299261 109582 81954 126519 790 0 481 421 0 0
intr 1
`

func TestParseStat(t *testing.T) {
	cases := []struct {
		name, text string
		steal, all uint64
		ok         bool
	}{
		{"guest time is not counted twice", stat, 849, 600843 + 215033 + 166620 + 250350 + 2456 + 7 + 2068 + 849, true},
		{"an old kernel without steal is not told", "cpu 1 2 3 4 5 6 7\n", 0, 0, false},
		{"one CPU is not all", "cpu0 1 2 3 4 5 6 7 8\n", 0, 0, false},
		{"what is no number is not told", "cpu 1 2 3 x 5 6 7 8\n", 0, 0, false},
		{"an empty file is not told", "", 0, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if steal, all, ok := parseStat(c.text); steal != c.steal || all != c.all || ok != c.ok {
				t.Errorf("got %d of %d, %t", steal, all, ok)
			}
		})
	}
}

func TestParseThrottling(t *testing.T) {
	cases := []struct {
		name, text         string
		throttled, periods uint64
		ok                 bool
	}{
		{"version 2", "usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods 100\nnr_throttled 7\nthrottled_usec 1234\n", 7, 100, true},
		{"version 1", "nr_periods 3\nnr_throttled 1\nthrottled_time 99\n", 1, 3, true},
		{"without a quota there are no periods", "usage_usec 9\n", 0, 0, false},
		{"an empty file", "", 0, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if throttled, periods, ok := parseThrottling(c.text); throttled != c.throttled || periods != c.periods || ok != c.ok {
				t.Errorf("got %d of %d, %t", throttled, periods, ok)
			}
		})
	}
}

func TestParseMax(t *testing.T) {
	cases := []struct {
		text string
		cpus float64
		ok   bool
	}{
		{"150000 100000\n", 1.5, true},
		{"50000\n", 0.5, true},
		{"max 100000\n", 0, false},
		{"-1 100000", 0, false},
		{"100000 0", 0, false},
		{"", 0, false},
	}
	for _, c := range cases {
		t.Run("the text is "+c.text, func(t *testing.T) {
			if cpus, ok := parseMax(c.text); cpus != c.cpus || ok != c.ok {
				t.Errorf("got %g, %t", cpus, ok)
			}
		})
	}
}

const (
	mountsV2 = "31 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	mountsV1 = "25 1 0:20 / /sys rw - sysfs sysfs rw\n33 25 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n" +
		"34 25 0:29 /docker/abc /sys/fs/cgroup/cpu\\040x rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
)

func TestFoldersLeadUpToTheMount(t *testing.T) {
	m := mount{point: "/cg", root: "/docker"}
	want := []string{"/cg/a/b", "/cg/a", "/cg"}
	if got := m.folders(cgroup{path: "/docker/a/b"}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzHostParsers(f *testing.F) {
	for _, text := range []string{stat, mountsV1, mountsV2, "0::/../..\n", "4:cpu:/a\n", "150000 100000", "nr_periods 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parseStat(text)
		parseThrottling(text)
		if cpus, ok := parseMax(text); ok && !(cpus > 0) {
			t.Errorf("a quota of %g", cpus)
		}
		for _, v1 := range []bool{false, true} {
			m, ok := parseMounts(text, v1)
			if group, found := parseCgroup(text); found && ok && len(m.folders(group)) == 0 {
				t.Error("no folder to read")
			}
		}
	})
}
