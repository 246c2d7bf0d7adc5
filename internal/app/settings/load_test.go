package settings_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/media"
)

// write makes a file of settings and gives its path.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spillway.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultsAreValid(t *testing.T) {
	if err := settings.Defaults().Validate(); err != nil {
		t.Errorf("defaults have faults: %v", err)
	}
}

func TestDefaultLimitsAreThoseOfTheImagePath(t *testing.T) {
	if diff := cmp.Diff(media.DefaultLimits(), settings.Defaults().Media()); diff != "" {
		t.Errorf("limits differ (-media +settings):\n%s", diff)
	}
}

func TestEveryDefaultIsReadBackAsWritten(t *testing.T) {
	defaults := settings.Defaults()
	for _, s := range settings.All() {
		t.Run("default of "+s.Key, func(t *testing.T) {
			want := s.Default
			if want == "" && s.Allowed == "true or false" {
				want = "false"
			}
			if got := s.Text(defaults); got != want {
				t.Errorf("default %q is written %q", want, got)
			}
			if s.Help == "" || s.Group == "" || s.Key == "" {
				t.Errorf("setting %+v is not described", s)
			}
		})
	}
}

func TestLoadReadsEveryKindFromAFile(t *testing.T) {
	path := write(t, `
listen = "0.0.0.0:9000"            # a text
jobs = 3                           # a number
allow-pdf = true
drain-timeout = "1m30s"
max-source-bytes = "10MB"
max-output-bytes = 4096
memory-budget = "25%"
allow-source = ["example.com", "https://a.example/b"]
s3-access-key = "id"
s3-secret-key = "word"

[presets.card]
sizes = "300x200,600x400"
quality = 60
enlarge = true
`)
	loaded, err := settings.Load(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	got, want := loaded.Config(), settings.Defaults()
	want.Listen, want.Jobs, want.AllowPDF, want.DrainTimeout = "0.0.0.0:9000", 3, true, 90*time.Second
	want.MaxSourceBytes, want.MaxOutputBytes = 10_000_000, 4096
	want.MemoryBudget = settings.Share{Percent: 25}
	want.AllowSource = []string{"example.com", "https://a.example/b"}
	want.S3AccessKey, want.S3SecretKey = "id", "word"
	want.File = path
	want.Presets = map[string]string{"card": "enlarge=true&quality=60&sizes=300x200%2C600x400"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config differs (-want +got):\n%s", diff)
	}
	if got := loaded.Origin("jobs"); got != path+" line 3" {
		t.Errorf("origin of jobs = %q", got)
	}
}

func TestTheEnvironmentWinsOverTheFile(t *testing.T) {
	path := write(t, "listen = \"127.0.0.1:1\"\nqueue = 5\nallow-source = [\"a.example\"]\n")
	loaded, err := settings.Load([]string{
		"SPILLWAY_QUEUE=7", "SPILLWAY_ALLOW_SOURCE=b.example, c.example", "SPILLWAY_CLIENT_HINTS=true", "OTHER=1",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	got := loaded.Config()
	if got.Listen != "127.0.0.1:1" || got.Queue != 7 || !got.ClientHints ||
		!slices.Equal(got.AllowSource, []string{"b.example", "c.example"}) {
		t.Errorf("config = %+v", got)
	}
	if got := loaded.Origin("queue"); got != "environment SPILLWAY_QUEUE" {
		t.Errorf("origin of queue = %q", got)
	}
	if got := loaded.Origin("queue-wait"); got != "default" {
		t.Errorf("origin of queue-wait = %q", got)
	}
}

func TestEverySettingHasAnEnvironmentVariable(t *testing.T) {
	samples := map[string]string{
		"true or false": "true", "a whole number": "2", "a text": "word", "a list of texts": "word",
	}
	for _, s := range settings.All() {
		t.Run(s.Env()+" sets "+s.Key, func(t *testing.T) {
			sample := samples[s.Allowed]
			switch {
			case strings.HasPrefix(s.Allowed, "a time"):
				sample = "3s"
			case strings.HasPrefix(s.Allowed, "a s"):
				sample = "5MiB"
			case strings.HasPrefix(s.Allowed, "one of"):
				sample = s.Allowed[strings.LastIndex(s.Allowed, " ")+1:]
			}
			loaded, err := settings.Load([]string{s.Env() + "=" + sample}, os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Text(loaded.Config()); got != sample {
				t.Errorf("%s=%s gave %q", s.Env(), sample, got)
			}
		})
	}
}

func TestTheFileIsFoundByTheEnvironment(t *testing.T) {
	path := write(t, "jobs = 9\n")
	loaded, err := settings.Load([]string{"SPILLWAY_CONFIG=" + path}, "")
	if err != nil || loaded.Config().Jobs != 9 || loaded.Path != path {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
}

func TestTheFileIsFoundInTheWorkingFolder(t *testing.T) {
	t.Chdir(filepath.Dir(write(t, "jobs = 9\n")))
	loaded, err := settings.Load(nil, "")
	if err != nil || loaded.Config().Jobs != 9 || loaded.Path != "spillway.toml" {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
}

func TestANamedFileMustExist(t *testing.T) {
	if _, err := settings.Load(nil, filepath.Join(t.TempDir(), "none.toml")); err == nil {
		t.Error("a missing file passed")
	}
}

func TestLoadFaults(t *testing.T) {
	tests := []struct {
		name, file string
		environ    []string
		want       []string // every one must be in the text of the fault
	}{
		{"an unknown key names the nearest and the line", "jobs = 1\n\nlitsen = \"x\"\n", nil, []string{"litsen", "listen", "line 3"}},
		{"a key far from all others names none", "quality = 60\n", nil, []string{"quality: no such setting (", "line 1"}},
		{"an underscore is an unknown key too", "source_root = \"x\"\n", nil, []string{"source_root", "nearest is source-root"}},
		{"a text for a number is refused", "jobs = \"4\"\n", nil, []string{`jobs: "4" is not allowed`, "a whole number", "line 1"}},
		{"a number for a text is refused", "listen = 8080\n", nil, []string{"listen: 8080", "a text"}},
		{"a number for a switch is refused", "allow-pdf = 1\n", nil, []string{"allow-pdf: 1", "true or false"}},
		{"a bare text for a list is refused", "allow-source = \"a\"\n", nil, []string{`allow-source: "a"`, "a list of texts"}},
		{"a list of numbers is refused", "allow-source = [1]\n", nil, []string{"allow-source: [1]", "a list of texts"}},
		{"a time without a unit is refused", "queue-wait = 5\n", nil, []string{"queue-wait: 5", "a time such as"}},
		{"a size with an unknown unit is refused", "max-source-bytes = \"5 apples\"\n", nil, []string{`max-source-bytes: "5 apples"`, "64MiB"}},
		{"a word outside a choice is refused", "log-format = \"xml\"\n", nil, []string{`log-format: "xml"`, "one of auto, text, json"}},
		{"a fraction for a number is refused", "jobs = 1.5\n", nil, []string{"jobs: 1.5"}},
		{"broken TOML names its line", "jobs = 1\nlisten = \n", nil, []string{"line 2", "not valid TOML"}},
		{"a preset must be a table", "[presets]\ncard = \"x\"\n", nil, []string{"presets.card", "a table of parameters", "line 2"}},
		{"a preset's parameter must be plain", "[presets.card]\nsizes = [1]\n", nil, []string{"presets.card.sizes", "line 2"}},
		{"a table that is no setting is refused", "[limit]\nx = 1\n", nil, []string{"limit: no such setting", "line 1"}},
		{"a wrong variable names itself", "", []string{"SPILLWAY_JOBS=lots"}, []string{`jobs: "lots"`, "environment SPILLWAY_JOBS"}},
		{
			"all faults come at once", "litsen = 1\njobs = \"x\"\n", []string{"SPILLWAY_QUEUE=x"},
			[]string{"litsen", `jobs: "x"`, `queue: "x"`},
		},
		{"a secret of the wrong kind is not repeated", "s3-secret-key = 12345\n", nil, []string{"s3-secret-key: its value is not allowed"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := settings.Load(test.environ, write(t, test.file))
			if err == nil {
				t.Fatal("no fault was found")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("fault %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "12345") {
				t.Errorf("fault %q tells a secret", err)
			}
		})
	}
}

func TestAnUnknownVariableIsAWarning(t *testing.T) {
	loaded, err := settings.Load([]string{"SPILLWAY_LITSEN=1", "SPILLWAY_PORT_8080_TCP=x", "SPILLWAY_CONFIG="}, os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"environment variable SPILLWAY_LITSEN is not a setting; the nearest is SPILLWAY_LISTEN",
		"environment variable SPILLWAY_PORT_8080_TCP is not a setting",
	}
	if diff := cmp.Diff(want, loaded.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

func FuzzLoadNeverPanics(f *testing.F) {
	for _, seed := range []string{"jobs = 1\n", "[presets.a]\nsizes = \"1x1\"\n", "[[listen]]\n", "a.b.c = 1\n", "\"\" = 1\n", "[\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		path := filepath.Join(t.TempDir(), "spillway.toml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if loaded, err := settings.Load(nil, path); err == nil {
			_ = loaded.Config().Validate()
		}
	})
}
