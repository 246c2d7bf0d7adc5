package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
)

// Loaded is what the file and the environment say, before any flag.
type Loaded struct {
	// Path is the file that was read, empty when there is none.
	Path string
	// Warnings are full sentences about likely slips that are no faults.
	Warnings []string
	values   map[string]layered
	presets  map[string]string
	at       place // of the file's keys
}

// layered is the winning text of one setting and where it stands.
type layered struct {
	text   []string
	origin string
}

// Load reads the file (the one named by path, by SPILLWAY_CONFIG, or the
// first of the usual places that exists) and lays environ over it. All faults
// come joined, each naming its key, value, place and what is allowed.
func Load(environ []string, path string) (*Loaded, error) {
	variables := environment(environ)
	loaded := &Loaded{values: map[string]layered{}, presets: map[string]string{}}
	file, err := findFile(path, variables[envPrefix+"CONFIG"])
	if err != nil {
		return nil, err
	}
	var faults []error
	if file != "" {
		loaded.Path = file
		origin := ""
		if path == "" && file == variables[envPrefix+"CONFIG"] {
			origin = "environment " + envPrefix + "CONFIG"
		}
		faults = append(faults, loaded.readFile(file, origin)...)
	}
	faults = append(faults, loaded.readEnvironment(variables)...)
	return loaded, errors.Join(faults...)
}

// Environment is the process's own. It is read here and nowhere else, and
// handed down as a value, so that no setting hides in the middle of the code.
func Environment() []string { return os.Environ() }

// environment keeps the variables of the program; the last of two wins, as
// it does for os.Getenv on the systems we run on.
func environment(environ []string) map[string]string {
	variables := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, envPrefix) {
			variables[name] = value
		}
	}
	return variables
}

func (l *Loaded) readEnvironment(variables map[string]string) []error {
	var faults []error
	known := []string{envPrefix + "CONFIG"}
	for _, s := range All() {
		known = append(known, s.Env())
		value, ok := variables[s.Env()]
		if !ok {
			continue
		}
		text := []string{value}
		if s.List {
			text = splitList(value)
		}
		origin := "environment " + s.Env()
		if fault := s.set(&Config{}, text); fault != nil {
			fault.Origin = origin
			faults = append(faults, fault)
			continue
		}
		l.values[s.Key] = layered{text, origin}
	}
	l.warnUnknown(variables, known)
	return faults
}

// warnUnknown only warns, because an orchestrator may set variables that
// begin the same for reasons of its own (Kubernetes does for services).
func (l *Loaded) warnUnknown(variables map[string]string, known []string) {
	for name := range variables {
		if !slices.Contains(known, name) {
			l.Warnings = append(l.Warnings, fmt.Sprintf("environment variable %s is not a setting%s", name, nearest(name, known)))
		}
	}
	slices.Sort(l.Warnings)
}

// nearest ends the sentence about a name that is none of those known. What all
// names begin with does not make two of them alike.
func nearest(name string, known []string) string {
	bare := make([]string, len(known))
	for i := range known {
		bare[i] = strings.TrimPrefix(known[i], envPrefix)
	}
	near := media.Nearest(strings.TrimPrefix(name, envPrefix), bare)
	if near == "" {
		return ""
	}
	return "; the nearest is " + known[slices.Index(bare, near)]
}

func splitList(value string) []string {
	var list []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// Value is the text the layers hold for key; ok is false when only the
// default is left.
func (l *Loaded) Value(key string) (text []string, ok bool) {
	value, ok := l.values[key]
	return value.text, ok
}

// Origin says where the value of key comes from.
func (l *Loaded) Origin(key string) string {
	if value, ok := l.values[key]; ok {
		return value.origin
	}
	return "default"
}

// Config is the settings as the layers give them, without flags.
func (l *Loaded) Config() Config {
	config := Defaults()
	for _, s := range All() {
		if text, ok := l.Value(s.Key); ok {
			// Load has read the same text before, so it cannot fail here.
			_ = s.set(&config, text)
		}
	}
	l.Complete(&config)
	return config
}

// Complete adds what no flag can give: presets and secrets.
func (l *Loaded) Complete(c *Config) {
	c.Presets, c.File = l.presets, l.Path
	for _, s := range All() {
		if text, ok := l.Value(s.Key); ok && !s.Flag {
			_ = s.set(c, text)
		}
	}
}

// Defaults is a Config with every default in place.
func Defaults() Config {
	var config Config
	for _, s := range All() {
		if s.Default != "" {
			// A test reads every default, so a bad one cannot be released.
			_ = s.set(&config, []string{s.Default})
		}
	}
	return config
}
