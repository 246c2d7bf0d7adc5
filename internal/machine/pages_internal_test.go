package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCleanMappingsAreFilesAsTheyLieOnDisk(t *testing.T) {
	entry := func(header string, resident, own string) string {
		return header + "\nSize: 64 kB\nRss: " + resident + " kB\nAnonymous: " + own + " kB\nVmFlags: rd mr\n"
	}
	cases := map[string]struct {
		smaps string
		want  []string // files
	}{
		"code":                                  {entry("1000-2000 r-xp 00000000 fe:00 7 /lib/a.so", "64", "0"), []string{"/lib/a.so"}},
		"constants":                             {entry("1000-2000 r--p 00000000 fe:00 7 /lib/a.so", "64", "0"), []string{"/lib/a.so"}},
		"not what was relocated":                {entry("1000-2000 r--p 00000000 fe:00 7 /lib/a.so", "64", "4"), nil},
		"not what can be written to":            {entry("1000-2000 rw-p 00000000 fe:00 7 /lib/a.so", "64", "0"), nil},
		"not what others see changes of":        {entry("1000-2000 r--s 00000000 fe:00 7 /tmp/spool", "64", "0"), nil},
		"not what is not there":                 {entry("1000-2000 r-xp 00000000 fe:00 7 /lib/a.so", "0", "0"), nil},
		"not memory without a file":             {entry("1000-2000 r--p 00000000 00:00 0", "64", "0"), nil},
		"not the kernel's page":                 {entry("1000-2000 r-xp 00000000 00:00 0 [vdso]", "64", "0"), nil},
		"not what the kernel does not tell all": {"1000-2000 r-xp 00000000 fe:00 7 /lib/a.so\nRss: 64 kB\n", nil},
		"not what cannot be read":               {entry("1000-2000 r-xp 00000000 fe:00 7 /lib/a.so", "64", "?"), nil},
		"each for itself": {
			entry("1000-2000 r--p 0 fe:00 7 /lib/a.so", "64", "4") + entry("2000-3000 r--p 0 fe:00 7 /lib/b.so", "8", "0"),
			[]string{"/lib/b.so"},
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			list, err := cleanMappings(strings.NewReader(tt.smaps))
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for _, m := range list {
				files = append(files, m.file)
			}
			if diff := cmp.Diff(tt.want, files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForgetLoadingLeavesTheProcessAsItWas(t *testing.T) {
	before := slices.Clone(allocators)
	if _, err := ForgetLoading(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, allocators, cmp.AllowUnexported(struct{ file, name string }{})); diff != "" {
		t.Error(diff)
	}
}
