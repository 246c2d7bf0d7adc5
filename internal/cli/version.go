package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/spillway-media/spillway/internal/app"
)

// versionCommand prints what was built from what.
type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// versionReport is the JSON of version.
type versionReport struct {
	app.Build
	Libvips string `json:"libvips"`
}

// versionFlag is the command as a flag, which people try first.
type versionFlag bool

// BeforeReset prints the version before anything else is read.
func (versionFlag) BeforeReset(command *kong.Context, s *session) error {
	err := (&versionCommand{}).Run(s)
	command.Exit(exitOK)
	return err
}

// Run prints the build.
func (c *versionCommand) Run(s *session) error {
	report := versionReport{app.ReadBuild(), app.CodecVersion()}
	if c.JSON {
		return writeJSON(s.Stdout, report)
	}
	_, err := fmt.Fprintf(s.Stdout, "spillway %s\nlibvips %s\n%s %s\n",
		report.Version, orDash(report.Libvips), report.Go, report.Platform)
	return err
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
