package app

import (
	"os"
	"runtime"
	"strings"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/vips"
)

// Helper is how this program is started once more, with word as its only
// argument, to encode for a server.
func Helper(word string) settings.Helper {
	program, err := os.Executable()
	if runtime.GOOS == "linux" {
		// The very program that runs, also when its file has been replaced.
		program, err = "/proc/self/exe", nil
	}
	if err != nil {
		return settings.Helper{}
	}
	return settings.Helper{Command: []string{program, word}, Env: libraryVariables(os.Environ())}
}

// libraryVariables are those that say which libraries a program gets, and how
// they allocate: a helper must have the same. It has no use for others, and
// secrets are among them.
func libraryVariables(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		for _, prefix := range []string{"LD_", "DYLD_", "MALLOC_", "GLIBC_TUNABLES=", "JEMALLOC_", "VIPSHOME=", "LIBHEIF_"} {
			if strings.HasPrefix(variable, prefix) {
				kept = append(kept, variable)
			}
		}
	}
	return kept
}

// Help makes this process a helper until its server has no more use for it.
func Help() error { return vips.Work() }
