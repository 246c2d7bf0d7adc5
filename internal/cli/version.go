package cli

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
)

// versionCommand prints what was built from what.
type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// build is what the binary knows of itself. It holds no path of the machine
// it was built on.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.time":
			b.Time = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// Run prints the build.
func (c *versionCommand) Run(s *session) error {
	b := readBuild()
	if c.JSON {
		return writeJSON(s.Stdout, b)
	}
	_, err := fmt.Fprintf(s.Stdout, "spillway %s\n%s %s\n", b.Version, b.Go, b.Platform)
	return err
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
