package cli

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/spillway-media/spillway/internal/app/settings"
)

const description = `Resizes, re-encodes and serves pictures, by URL and as durable jobs.

Flags below a heading of their own, other than Picture, are settings: --source-root is also SPILLWAY_SOURCE_ROOT in the environment and source-root in spillway.toml. A flag wins over the environment, the environment over the file.`

// pictureGroup is the heading of flags that are parameters of a picture URL.
const pictureGroup = "Picture"

// grammar is the whole command line.
type grammar struct {
	Up    upCommand    `cmd:"" help:"Serve with a playground and demo pictures: everything in one command."`
	Serve serveCommand `cmd:"" help:"Serve pictures by URL."`
	Work  workCommand  `cmd:"" help:"Work on durable jobs, without serving anything."`

	Schedule scheduleCommand `cmd:"" help:"Start and end machines for workers as jobs need them, within limits of money."`
	Simulate simulateCommand `cmd:"" help:"Replay jobs against the scheduler's settings: what they would wait, and machines cost."`

	Convert convertCommand `cmd:"" help:"Convert files on disk, the way serve does."`
	Enqueue enqueueCommand `cmd:"" help:"Ask for a durable job; wait for it with --wait or --watch."`
	Jobs    jobsCommand    `cmd:"" help:"List, show, watch, cancel or retry durable jobs."`
	Queues  queuesCommand  `cmd:"" help:"Count what waits and what runs in each queue of jobs."`
	Workers workersCommand `cmd:"" help:"List the workers of jobs, drain one, or launch and end machines for them."`
	Migrate migrateCommand `cmd:"" help:"Bring a database of jobs to what this version needs."`
	Token   tokenCommand   `cmd:"" help:"Make a token for the jobs API."`
	Sign    signCommand    `cmd:"" help:"Sign the URL of a picture."`
	Config  configCommand  `cmd:"" help:"Work with settings."`
	Cache   cacheCommand   `cmd:"" help:"Count or purge what is kept on disk."`
	Doctor  doctorCommand  `cmd:"" help:"Tell what this machine has, codecs, tools, cores and memory, and what is missing."`
	Version versionCommand `cmd:"" help:"Print the version of the program and its codecs."`

	Helper helperCommand `cmd:"" name:"encode-helper" hidden:"" help:"Encode for a server that has started this process."`

	AskVersion versionFlag `name:"version" help:"Print the version, as the command does."`
}

// grammarFor is the part of the grammar that a command line needs: the command
// that it begins with, and all of it where that is none. To build what has every
// setting as a flag several times takes as long as all the rest of a start.
func grammarFor(args []string) any {
	whole := reflect.TypeFor[grammar]()
	for i := range whole.NumField() {
		command := whole.Field(i)
		name := cmp.Or(command.Tag.Get("name"), strings.ToLower(command.Name))
		if _, ok := command.Tag.Lookup("cmd"); !ok || len(args) == 0 || name != args[0] {
			continue
		}
		parts := []reflect.StructField{command}
		if version, ok := whole.FieldByName("AskVersion"); ok {
			parts = append(parts, version)
		}
		return reflect.New(reflect.StructOf(parts)).Interface()
	}
	return &grammar{}
}

// layers are the file and the environment below a command's flags.
type layers struct {
	ConfigFile string            `name:"config" placeholder:"FILE" help:"File of settings; otherwise SPILLWAY_CONFIG, ./spillway.toml or /etc/spillway/spillway.toml."`
	loaded     *settings.Loaded  `kong:"-"`
	given      map[string]string `kong:"-"` // origins of what the command line gives
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
	known := newKnownSettings()
	l.given = given(command, known)
	loaded, err := settings.Load(s.Environ, path)
	if loaded == nil {
		return err
	}
	l.loaded = loaded
	if err != nil {
		return l.locate(err)
	}
	command.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if _, ok := known.of(flag); !ok {
			return nil, nil
		}
		return resolve(loaded, flag), nil
	}))
	return nil
}

// locate tells of faults where the values come from. It is a mistake of use
// when one of them stands on the command line.
func (l *layers) locate(err error) error {
	located := l.loaded.Locate(err, l.given)
	for _, fault := range settings.Faults(located) {
		if l.given[fault.Key] != "" {
			return usageError{located}
		}
	}
	return located
}

// knownSettings tells flags that are settings from others. It is made once for
// all flags of a start, because to read the table takes as long as all the rest.
type knownSettings map[[2]string]settings.Setting

func newKnownSettings() knownSettings {
	known := knownSettings{}
	for _, s := range settings.All() {
		known[[2]string{s.Group, s.Key}] = s
	}
	return known
}

// of gives the setting that a flag is, by its heading: --queue of enqueue is
// none, though there is one of this name.
func (k knownSettings) of(flag *kong.Flag) (settings.Setting, bool) {
	if flag.Group == nil {
		return settings.Setting{}, false
	}
	s, ok := k[[2]string{flag.Group.Key, flag.Name}]
	return s, ok
}

// resolve gives kong the layers' value of a flag that is a setting.
func resolve(loaded *settings.Loaded, flag *kong.Flag) any {
	text, ok := loaded.Value(flag.Name)
	switch {
	case !ok:
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

func newParser(s *session, g any, exit func(int)) (*kong.Kong, error) {
	return kong.New(g,
		kong.Name("spillway"),
		kong.Description(description),
		kong.Writers(s.Stdout, s.Stderr),
		kong.Exit(exit),
		kong.Bind(s),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, FlagsLast: true, WrapUpperBound: 100,
		}),
		kong.ValueFormatter(helpText),
		kong.PostBuild(wordFlags),
		kong.ExplicitGroups(groupTitles()),
	)
}

// groupTitles makes the groups of settings look like kong's own headings.
func groupTitles() []kong.Group {
	titles := []kong.Group{{Key: pictureGroup, Title: pictureGroup + ":"}}
	for _, s := range settings.All() {
		if s.Group != titles[len(titles)-1].Key {
			titles = append(titles, kong.Group{Key: s.Group, Title: s.Group + ":"})
		}
	}
	return titles
}

// helpText adds the default to a flag's help. The placeholder shows the kind
// of value instead, which is what a reader looks for there.
func helpText(value *kong.Value) string {
	if value.Default == "" || value.Default == "0" {
		return value.Help
	}
	return value.Help + " Default: " + value.Default + "."
}
