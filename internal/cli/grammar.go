package cli

import (
	"github.com/alecthomas/kong"

	"github.com/spillway-media/spillway/internal/app/settings"
)

const description = `Resizes, re-encodes and serves pictures.

Every flag below a group heading is also the environment variable SPILLWAY_NAME and a key of spillway.toml. Flags win over the environment, the environment over the file.`

// grammar is the whole command line.
type grammar struct {
	Config  configCommand  `cmd:"" help:"Work with settings."`
	Version versionCommand `cmd:"" help:"Print the version of the program and its codecs."`
}

// layers are the file and the environment below a command's flags.
type layers struct {
	ConfigFile string           `name:"config" placeholder:"FILE" help:"File of settings; otherwise SPILLWAY_CONFIG, ./spillway.toml or /etc/spillway/spillway.toml."`
	loaded     *settings.Loaded `kong:"-"`
}

// BeforeResolve reads the layers once kong knows the command and its flags,
// and before it fills in what the command line left open.
func (l *layers) BeforeResolve(command *kong.Context, s *session) error {
	path := ""
	for _, flag := range command.Flags() {
		if flag.Name == "config" {
			path, _ = command.FlagValue(flag).(string)
		}
	}
	loaded, err := settings.Load(s.Environ, path)
	if err != nil {
		return err
	}
	l.loaded = loaded
	command.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		return resolve(loaded, flag), nil
	}))
	return nil
}

// resolve gives kong the layers' value of a flag. A flag outside the groups
// of settings may share a setting's name but not its meaning (--format).
func resolve(loaded *settings.Loaded, flag *kong.Flag) any {
	text, ok := loaded.Value(flag.Name)
	switch {
	case !ok || flag.Group == nil:
		return nil
	case flag.IsSlice():
		list := make([]any, len(text))
		for i := range text {
			list[i] = text[i]
		}
		return list
	}
	return text[0]
}

func newParser(s *session, g *grammar, exit func(int)) (*kong.Kong, error) {
	return kong.New(g,
		kong.Name("spillway"),
		kong.Description(description),
		kong.Writers(s.Stdout, s.Stderr),
		kong.Exit(exit),
		kong.Bind(s),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, FlagsLast: true, WrapUpperBound: 100, ValueFormatter: helpText,
		}),
	)
}

// helpText adds the default to a flag's help. The placeholder shows the kind
// of value instead, which is what a reader looks for there.
func helpText(value *kong.Value) string {
	if value.Default == "" || value.Default == "false" {
		return value.Help
	}
	return value.Help + " Default: " + value.Default + "."
}
