package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/app/settings"
)

// parse reads a command line without running it.
func parse(t *testing.T, environ []string, args ...string) (*grammar, *kong.Kong) {
	t.Helper()
	s := &session{System{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), Environ: environ}}
	g := &grammar{}
	parser, err := newParser(s, g, func(int) { t.Error("the parser wants to exit") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return g, parser
}

// file makes a file of settings.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spillway.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The three layers say the same settings differently; each test has those it
// names.
var (
	inFile = "queue = 1\nlisten = \"file:1\"\nallow-pdf = true\nallow-source = [\"file.example\"]\nqueue-wait = \"1s\"\nmemory-budget = \"10%\"\nmax-source-bytes = \"1MiB\"\n"
	inEnv  = []string{
		"SPILLWAY_QUEUE=2", "SPILLWAY_LISTEN=env:2", "SPILLWAY_ALLOW_PDF=false", "SPILLWAY_ALLOW_SOURCE=env.example",
		"SPILLWAY_QUEUE_WAIT=2s", "SPILLWAY_MEMORY_BUDGET=20%", "SPILLWAY_MAX_SOURCE_BYTES=2MiB",
	}
	inFlags = []string{
		"--queue=3", "--listen=flag:3", "--allow-pdf", "--allow-source=flag.example",
		"--queue-wait=3s", "--memory-budget=30%", "--max-source-bytes=3MiB",
	}
)

// layer is what one of them gives.
func layer(queue int, listen string, pdf bool, source string) settings.Config {
	c := settings.Defaults()
	c.Queue, c.Listen, c.AllowPDF, c.AllowSource = queue, listen, pdf, []string{source}
	c.QueueWait = time.Duration(queue) * time.Second
	c.MemoryBudget = settings.Share{Percent: float64(queue * 10)}
	c.MaxSourceBytes = settings.Bytes(queue << 20)
	return c
}

func TestPrecedence(t *testing.T) {
	fromFile, fromEnv, fromFlags := layer(1, "file:1", true, "file.example"), layer(2, "env:2", false, "env.example"), layer(3, "flag:3", true, "flag.example")
	tests := []struct {
		name             string
		file, env, flags bool
		want             settings.Config
	}{
		{"nothing given leaves the defaults", false, false, false, settings.Defaults()},
		{"the file wins over the defaults", true, false, false, fromFile},
		{"the environment wins over the defaults", false, true, false, fromEnv},
		{"the environment wins over the file", true, true, false, fromEnv},
		{"flags win over the defaults", false, false, true, fromFlags},
		{"flags win over the file", true, false, true, fromFlags},
		{"flags win over the environment", false, true, true, fromFlags},
		{"flags win over everything", true, true, true, fromFlags},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			content, environ, args := "", []string(nil), []string{"serve"}
			if test.file {
				content = inFile
			}
			if test.env {
				environ = inEnv
			}
			if test.flags {
				args = append(args, inFlags...)
			}
			g, _ := parse(t, environ, append(args, "--config", file(t, content))...)
			if diff := cmp.Diff(test.want.Groups, g.Serve.Settings); diff != "" {
				t.Errorf("settings differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEverySettingBehavesTheSameInServeAndUp(t *testing.T) {
	g, _ := parse(t, inEnv, "up", "--queue=9")
	want := layer(2, "env:2", false, "env.example")
	want.Queue = 9
	if diff := cmp.Diff(want.Groups, g.Up.Settings); diff != "" {
		t.Errorf("settings of up differ (-want +got):\n%s", diff)
	}
}

func TestConvertTakesItsSettingsFromAllLayers(t *testing.T) {
	g, _ := parse(t, []string{"SPILLWAY_JOBS=5"}, "convert", "a.jpg", "-o", "out", "--config", file(t, "max-pixels = 7\nlisten = \"x:1\"\n"), "--max-frames=3")
	c, err := g.Convert.config()
	if err != nil || c.Jobs != 5 || c.MaxPixels != 7 || c.MaxFrames != 3 {
		t.Errorf("config = %+v, %v", c, err)
	}
}

func TestFlagsAreTheSettings(t *testing.T) {
	_, parser := parse(t, nil, "version")
	for _, command := range []string{"up", "serve", "work"} {
		t.Run(command+" has every setting as a flag, and no other flag", func(t *testing.T) {
			var want []string
			for _, s := range settings.All() {
				if s.Flag {
					want = append(want, s.Key)
				}
			}
			if diff := cmp.Diff(append([]string{"config"}, want...), flagNames(parser, command)); diff != "" {
				t.Errorf("flags differ (-want +got):\n%s", diff)
			}
		})
	}
}

// sameNames are flags that have the name of a setting and are none. A layer
// must not give them a value.
var sameNames = map[string]bool{
	"enqueue --queue": true, "jobs list --queue": true, "workers launch --queue": true, "schedule decisions --queue": true,
	"simulate --queue": true, "simulate --jobs": true,
	"config check --scheduler-config": true, // checks the layers, so that it takes nothing from them
}

func TestNoOtherFlagHasTheNameOfASetting(t *testing.T) {
	_, parser := parse(t, nil, "version")
	groups := map[string]bool{}
	keys := map[string]bool{}
	for _, s := range settings.All() {
		groups[s.Group], keys[s.Key] = true, true
	}
	for _, command := range parser.Model.Leaves(false) {
		for _, flag := range command.Flags {
			name := strings.TrimPrefix(command.FullPath(), "spillway ") + " --" + flag.Name
			inSettings := flag.Group != nil && groups[flag.Group.Key]
			if keys[flag.Name] != inSettings && !sameNames[name] {
				t.Errorf("%s: setting %v, in a group of settings %v", name, keys[flag.Name], inSettings)
			}
		}
	}
}

func TestALayerGivesNothingToAFlagThatOnlySharesTheName(t *testing.T) {
	environ := []string{"SPILLWAY_QUEUE=7", "SPILLWAY_DATABASE=sqlite:///env.db"}
	g, _ := parse(t, environ, "enqueue", "image.derive", "--config", file(t, ""))
	if g.Enqueue.Queue != "" || g.Enqueue.Durable.Database != "sqlite:///env.db" {
		t.Errorf("queue %q, database %q", g.Enqueue.Queue, g.Enqueue.Durable.Database)
	}
	g, _ = parse(t, environ, "enqueue", "image.derive", "--queue", "own", "--config", file(t, ""))
	if g.Enqueue.Queue != "own" {
		t.Errorf("queue %q", g.Enqueue.Queue)
	}
}

func TestParamsAreTypedAsTheyAreWritten(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"nothing is an empty object", nil, `{}`},
		{"numbers of the picture are numbers", []string{"--quality", "60", "--dpr", "1.5"}, `{"dpr":1.5,"quality":60}`},
		{"a colour is a text, whatever its digits", []string{"--background", "112233"}, `{"background":"112233"}`},
		{"sizes and formats are texts", []string{"--sizes", "300x0,1200x0", "--format", "webp,avif"}, `{"format":"webp,avif","sizes":"300x0,1200x0"}`},
		{"a switch is true", []string{"--lossless"}, `{"lossless":true}`},
		{"JSON of --param is JSON", []string{"--param", `inputs=["a.jpg","b.jpg"]`, "--param", "max_failures=3"}, `{"inputs":["a.jpg","b.jpg"],"max_failures":3}`},
		{"what is no JSON is text", []string{"--param", "prefix=summer/2026"}, `{"prefix":"summer/2026"}`},
		{"an equals sign may stand in a value", []string{"--param", "prefix=a=b,c"}, `{"prefix":"a=b,c"}`},
		{"--param wins over a flag", []string{"--quality", "60", "--param", "quality=70"}, `{"quality":70}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, _ := parse(t, nil, append([]string{"enqueue", "image.derive", "--config", file(t, "")}, test.args...)...)
			spec, err := g.Enqueue.spec()
			if err != nil || string(spec.Params) != test.want {
				t.Errorf("params = %s, %v; want %s", spec.Params, err, test.want)
			}
		})
	}
}

func TestEveryFlagAndCommandIsExplained(t *testing.T) {
	_, parser := parse(t, nil, "version")
	for _, command := range parser.Model.Leaves(false) {
		if command.Help == "" {
			t.Errorf("%s has no help", command.Path())
		}
		for _, flag := range command.Flags {
			if flag.Help == "" || !strings.HasSuffix(flag.Help, ".") {
				t.Errorf("%s --%s: help %q is no sentence", command.Path(), flag.Name, flag.Help)
			}
		}
	}
}

func flagNames(parser *kong.Kong, command string) []string {
	var names []string
	for _, node := range parser.Model.Leaves(false) {
		if node.Name == command {
			for _, flag := range node.Flags {
				names = append(names, flag.Name)
			}
		}
	}
	return names
}

func TestACommandLineIsReadByItsOwnPartOfTheGrammar(t *testing.T) {
	whole := reflect.TypeFor[grammar]()
	for i := range whole.NumField() {
		field := whole.Field(i)
		if _, command := field.Tag.Lookup("cmd"); !command {
			continue
		}
		name := strings.ToLower(field.Name)
		if other := field.Tag.Get("name"); other != "" {
			name = other
		}
		part := reflect.TypeOf(grammarFor([]string{name, "--help"})).Elem()
		if part.NumField() != 2 || part.Field(0).Type != field.Type {
			t.Errorf("%s is read by %v", name, part)
		}
	}
	for _, args := range [][]string{nil, {"--help"}, {"scheduel"}, {"ask-version"}} {
		if got := reflect.TypeOf(grammarFor(args)).Elem(); got != whole {
			t.Errorf("%v is read by %v, want all of the grammar", args, got)
		}
	}
}
