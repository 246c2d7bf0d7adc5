package fleet_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTheSchedulersCoreNeedsTheStandardLibraryOnly asks the compiler, with cgo
// off: what decides about money and what replays it can be read to the ground.
func TestTheSchedulersCoreNeedsTheStandardLibraryOnly(t *testing.T) {
	const own = "github.com/spillway-media/spillway/"
	for pkg, allowed := range map[string][]string{"fleet": {"fleet"}, "fleet/simulate": {"fleet", "fleet/simulate"}} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", own+pkg)
		list.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, path := range strings.Fields(string(out)) {
			seen[path] = true
		}
		for _, path := range allowed {
			if !seen[own+path] {
				t.Errorf("%s is not in the list of %s", path, pkg)
			}
			delete(seen, own+path)
		}
		for path := range seen {
			t.Errorf("%s needs %s", pkg, path)
		}
	}
}
