package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/machine"
	"github.com/spillway-media/spillway/internal/media"
)

// doctorCommand tells what the program finds on this machine.
type doctorCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// diagnosis is everything doctor knows; it is the JSON as well.
type diagnosis struct {
	Build   app.Build     `json:"build"`
	Libvips libvips       `json:"libvips"`
	Tools   []tool        `json:"tools"`
	Machine machineReport `json:"machine"`
	Missing []missing     `json:"missing"`
}

type libvips struct {
	Version string        `json:"version,omitempty"`
	Fault   string        `json:"fault,omitempty"`
	Warning string        `json:"warning,omitempty"`
	Formats []formatState `json:"formats"`
}

type formatState struct {
	Format media.Format `json:"format"`
	Read   bool         `json:"read"`
	Write  bool         `json:"write"`
}

type machineReport struct {
	machine.Facts
	Cores        int    `json:"cores"`
	MemoryBudget int64  `json:"memory_budget"`
	Allocator    string `json:"allocator"`
}

// missing is one thing that is not there, and how to get it.
type missing struct {
	What    string `json:"what"`
	For     string `json:"for"`
	Install string `json:"install,omitempty"`
}

// libvipsPackages have the library with every loader the manager builds.
var libvipsPackages = map[string]string{"apt-get": "libvips42 libheif1", "brew": "vips", "dnf": "vips vips-heif vips-jxl", "apk": "vips vips-heif vips-jxl"}

// Run prints the diagnosis. It fails only when pictures cannot be served at
// all; tools that are not there are told, because not everybody needs them.
func (c *doctorCommand) Run(ctx context.Context, s *session) error {
	d := diagnose(ctx)
	show := d.show
	if c.JSON {
		show = func(w io.Writer) error { return writeJSON(w, d) }
	}
	if err := show(s.Stdout); err != nil {
		return err
	}
	if !d.Libvips.serves() {
		return errSilent
	}
	return nil
}

func diagnose(ctx context.Context) diagnosis {
	facts := machine.Seen()
	d := diagnosis{
		Build: app.ReadBuild(),
		Machine: machineReport{
			Facts: facts, Cores: facts.Cores(), Allocator: machine.Allocator(),
			MemoryBudget: settings.Defaults().MemoryBudget.Of(facts.Memory),
		},
	}
	d.Libvips = examine(app.Codecs())
	for _, t := range tools() {
		d.Tools = append(d.Tools, t.look(ctx))
	}
	d.Missing = d.findMissing()
	return d
}

func examine(codecs app.CodecFacts, err error) libvips {
	if err != nil {
		return libvips{Fault: err.Error()}
	}
	l := libvips{Version: codecs.Version}
	if !codecs.ThreadsAreSafe {
		l.Warning = "its idle threads can bring the server down: use 8.15.5 or newer"
	}
	for _, format := range append(media.OutputFormats(), media.HEIC, media.SVG, media.BMP, media.JP2, media.PDF) {
		l.Formats = append(l.Formats, formatState{format, codecs.Abilities.Read[format], codecs.Abilities.Write[format]})
	}
	return l
}

// serves tells whether the formats every browser has are there.
func (l libvips) serves() bool {
	return !slices.ContainsFunc([]media.Format{media.JPEG, media.PNG, media.WebP}, func(f media.Format) bool {
		return !slices.Contains(l.Formats, formatState{f, true, true})
	})
}

func (d diagnosis) findMissing() []missing {
	list := []missing{}
	if d.Libvips.Fault != "" {
		list = append(list, missing{"libvips", "pictures", installCommand(libvipsPackages)})
	}
	for _, f := range d.Libvips.Formats {
		if !f.Read || (f.Format.IsOutput() && !f.Write) {
			list = append(list, missing{"libvips with " + string(f.Format), string(f.Format) + " pictures", installCommand(libvipsPackages)})
		}
	}
	for _, t := range d.Tools {
		if !t.Found {
			list = append(list, missing{t.Name, t.For, t.Install})
		}
	}
	return list
}

func (d diagnosis) show(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "spillway\t%s\t%s\n", d.Build.Version, d.Build.Platform)
	_, _ = fmt.Fprintf(table, "libvips\t%s\n", d.Libvips.state())
	for _, t := range d.Tools {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", t.Name, t.state(), "for "+t.For)
	}
	_, _ = fmt.Fprintf(table, "cores\t%d\t%s\n", d.Machine.Cores, d.Machine.origin())
	_, _ = fmt.Fprintf(table, "memory\t%s\t%s\n", megabytes(d.Machine.Memory), d.Machine.memoryOrigin())
	_, _ = fmt.Fprintf(table, "memory-budget\t%s\tfor decoded pixels, by default\n", megabytes(d.Machine.MemoryBudget))
	_, _ = fmt.Fprintf(table, "allocator\t%s\n", d.Machine.Allocator)
	_, _ = fmt.Fprint(table, "\nformat\tread\twrite\n")
	for _, f := range d.Libvips.Formats {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.Format, yesNo(f.Read), yesNo(f.Write))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return d.showMissing(w)
}

func (d diagnosis) showMissing(w io.Writer) error {
	if len(d.Missing) == 0 {
		_, err := fmt.Fprintln(w, "\nnothing is missing")
		return err
	}
	_, _ = fmt.Fprintln(w, "\nmissing:")
	for _, m := range d.Missing {
		how := "no known package manager here"
		if m.Install != "" {
			how = m.Install
		}
		_, _ = fmt.Fprintf(w, "  %s (for %s): %s\n", m.What, m.For, how)
	}
	return nil
}

func (l libvips) state() string {
	if l.Warning != "" {
		return l.Version + "\t" + l.Warning
	}
	return orDash(l.Version + l.Fault)
}

func (t tool) state() string {
	switch {
	case !t.Found:
		return "missing"
	case t.Fault != "":
		return t.Fault
	}
	return strings.TrimSpace("found " + t.Version)
}

func (m machineReport) origin() string {
	if m.Quota > 0 {
		return fmt.Sprintf("%d processors, a quota of %g", m.CPUs, m.Quota)
	}
	return fmt.Sprintf("%d processors, no quota", m.CPUs)
}

func (m machineReport) memoryOrigin() string {
	if m.MemoryLimited {
		return "by a control group's limit"
	}
	return "of the whole machine"
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
