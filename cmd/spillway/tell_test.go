package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigCheckNamesTheNearestKey(t *testing.T) {
	path := put(t, t.TempDir(), "bad.toml", []byte("jobs = 1\nlitsen = \"127.0.0.1:0\"\nqueue = \"x\"\n"))
	r := run(t, []string{"SPILLWAY_DRAIN_TIMEOUT=soon"}, "config", "check", path)
	if r.code != 1 || r.stdout != "" {
		t.Errorf("result = %+v, want exit code 1 and nothing on stdout", r)
	}
	for _, want := range []string{"litsen: no such setting; the nearest is listen", "line 2", `queue: "x"`, "SPILLWAY_DRAIN_TIMEOUT"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("faults do not say %q:\n%s", want, r.stderr)
		}
	}
}

func TestConfigCheckFindsWhatOnlyThePartsKnow(t *testing.T) {
	path := put(t, t.TempDir(), "bad.toml", []byte("queue = -1\nallow-source = [\"no host/at all\"]\n[presets.card]\nsizes = \"huge\"\n"))
	r := run(t, nil, "config", "check", path)
	for _, want := range []string{"queue: -1", "allow-source", "card"} {
		if r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("faults do not name %q:\n%s", want, r.stderr)
		}
	}
	if strings.Count(r.stderr, "queue:") != 1 {
		t.Errorf("one fault is told twice:\n%s", r.stderr)
	}
}

func TestConfigCheckTellsAllFaultsAndWhereTheyStand(t *testing.T) {
	path := put(t, t.TempDir(), "bad.toml", []byte(`listen = "8080"
signature-key-file = "/no/such/keys"

[presets.card]
sizs = "300x200"
fit = "cvoer"
quality = 600
image_url = "a.jpg"
`))
	r := run(t, []string{"SPILLWAY_MAX_FRAMES=-1"}, "config", "check", path)
	want := strings.NewReplacer("FILE", path).Replace(`spillway: listen: "8080" is not an address; write HOST:PORT such as 127.0.0.1:8080 or :8080 (FILE line 1)
spillway: max-frames: -1 is not within 1 to 1048576 (environment SPILLWAY_MAX_FRAMES)
spillway: signature-key-file: "/no/such/keys" does not exist (FILE line 2)
spillway: presets.card.image_url: stands in the URL, never in a preset (FILE line 8)
spillway: presets.card.sizs: "sizs" is not a known parameter; the nearest one is sizes (FILE line 5)
spillway: presets.card.fit: "cvoer" is none of inside, cover, contain, fill, outside (FILE line 6)
spillway: presets.card.quality: "600" is not a whole number from 1 to 100 (FILE line 7)
`)
	if diff := cmp.Diff(want, r.stderr); diff != "" || r.code != 1 {
		t.Errorf("exit code %d, faults differ (-want +got):\n%s", r.code, diff)
	}
}

func TestConfigCheckPrintsWhatHoldsAndWhy(t *testing.T) {
	path := put(t, t.TempDir(), "good.toml", []byte("queue = 7\ns3-access-key = \"id-word\"\ns3-secret-key = \"secret-word\"\n[presets.card]\nsizes = \"3x2\"\n"))
	r := run(t, []string{"SPILLWAY_JOBS=3"}, "config", "check", path)
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("result = %+v, want exit code 0", r)
	}
	rows := map[string]string{}
	for line := range strings.Lines(r.stdout) {
		key, rest, _ := strings.Cut(line, " ")
		rows[key] = strings.Join(strings.Fields(rest), " ")
	}
	for key, want := range map[string]string{
		"queue": "7 " + path + " line 1", "jobs": "3 environment SPILLWAY_JOBS", "listen": "127.0.0.1:8080 default",
		"s3-secret-key": "(set, not shown) " + path + " line 3", "presets.card": "sizes=3x2 " + path,
	} {
		if rows[key] != want {
			t.Errorf("%s = %q, want %q", key, rows[key], want)
		}
	}
	asJSON := run(t, nil, "config", "check", "--json", path)
	if strings.Contains(r.stdout+asJSON.stdout, "-word") {
		t.Error("a secret is printed")
	}
	if !json.Valid([]byte(asJSON.stdout)) {
		t.Errorf("not JSON: %s", asJSON.stdout)
	}
}

func TestServeRefusesBadSettings(t *testing.T) {
	r := run(t, []string{"SPILLWAY_QUEUE=x"}, "serve", "--listen", "127.0.0.1:0")
	if r.code != 1 || !strings.Contains(r.stderr, `queue: "x" is not allowed`) {
		t.Errorf("a bad variable = %+v", r)
	}
	r = run(t, nil, "serve", "--listen", "127.0.0.1:0", "--queue=-4", "--source-root", "/no/such/folder")
	if r.code != 2 || !strings.Contains(r.stderr, "queue: -4 is not within 0 to 100000 (flag --queue)") ||
		!strings.Contains(r.stderr, `source-root: "/no/such/folder" does not exist (flag --source-root)`) {
		t.Errorf("flags out of range = %+v", r)
	}
}

// One rule: what stands on the command line is a mistake of use, what a file
// or the environment holds is not.
func TestTheExitCodeTellsWhereAWrongValueStands(t *testing.T) {
	folder := t.TempDir()
	missing := filepath.Join(folder, "none.toml")
	file := put(t, folder, "bad.toml", []byte("listen = \"8080\"\n"))
	tests := []struct {
		name    string
		environ []string
		args    []string
		code    int
		want    string
	}{
		{"a flag of the wrong kind", nil, []string{"serve", "--log-level", "loud"}, 2, `--log-level: "loud" is not allowed; it must be one of debug, info, warn, error`},
		{"a flag that is no address", nil, []string{"serve", "--listen", "8080"}, 2, "(flag --listen)"},
		{"a flag out of range", nil, []string{"convert", "a.jpg", "-o", folder, "--jobs", "-1"}, 2, "(flag --jobs)"},
		{"the same in the file", nil, []string{"serve", "--config", file}, 1, "(" + file + " line 1)"},
		{"the same in the environment", []string{"SPILLWAY_LISTEN=8080"}, []string{"serve"}, 1, "(environment SPILLWAY_LISTEN)"},
		{"a file named by a flag", nil, []string{"serve", "--config", missing}, 2, "does not exist (flag --config)"},
		{"a file named by an argument", nil, []string{"config", "check", missing}, 2, "does not exist (argument PATH)"},
		{"a file named by the environment", []string{"SPILLWAY_CONFIG=" + missing}, []string{"serve"}, 1, "does not exist (environment SPILLWAY_CONFIG)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r := run(t, test.environ, test.args...); r.code != test.code || !strings.Contains(r.stderr, test.want) {
				t.Errorf("result = %+v, want exit code %d and %q", r, test.code, test.want)
			}
		})
	}
}

func TestMistakesOfUseExitWithTwo(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown command names the nearest", []string{"sevre"}, "serve"},
		{"an unknown flag names the nearest", []string{"serve", "--litsen", "x"}, "--listen"},
		{"a flag of the wrong kind names itself", []string{"serve", "--queue", "many"}, `--queue: "many" is not allowed; it must be a whole number`},
		{"a size says what a size is", []string{"serve", "--spool-disk", "5 apples"}, `--spool-disk: "5 apples" is not allowed; it must be a size such as 64MiB`},
		{"a time says what a time is", []string{"sign", "--expires", "1", "/assets/a"}, `--expires: "1" is not allowed; it must be a time such as 1h or 30m`},
		{"a switch says what a switch is", []string{"serve", "--allow-pdf=maybe"}, `--allow-pdf: "maybe" is not allowed; it must be true or false`},
		{"a flag outside its choice names the choice", []string{"serve", "--log-format", "xml"}, "auto"},
		{"a flag without its value says so", []string{"serve", "--jobs", "--queue", "3"}, "--jobs: needs a value; it must be a whole number\n"},
		{"no command at all is shown the help", nil, "Usage: spillway <command>"},
		{"half a command is shown its help", []string{"config"}, "Usage: spillway config <command>"},
		{"convert asks for no URL", []string{"convert", "a", "-o", "b", "--max-url-bytes", "9"}, "unknown flag"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, nil, test.args...)
			if r.code != 2 || !strings.Contains(r.stderr, test.want) {
				t.Errorf("result = %+v, want exit code 2 and %q", r, test.want)
			}
		})
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"convert", "--help"}, {"cache", "purge", "--help"}, {"config", "check", "--help"}} {
		t.Run("help of "+strings.Join(args, " "), func(t *testing.T) {
			r := run(t, nil, args...)
			if r.code != 0 || !strings.Contains(r.stdout, "Usage: spillway") || !strings.Contains(r.stdout, "Show this help.") || r.stderr != "" {
				t.Errorf("result = %+v", r)
			}
		})
	}
}

func TestDoctorListsFormatsToolsAndTheMachine(t *testing.T) {
	r := run(t, nil, "doctor")
	rows := map[string]bool{}
	for line := range strings.Lines(r.stdout) {
		rows[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range []string{"format read write", "jpeg yes yes", "png yes yes", "webp yes yes", "gif yes yes", "svg yes no"} {
		if r.code != 0 || !rows[want] {
			t.Errorf("doctor (exit code %d) has no line %q:\n%s", r.code, want, r.stdout)
		}
	}
	for _, want := range []string{"libvips", "ffmpeg", "ffprobe", "pdftoppm", "tesseract", "cores", "memory", "allocator"} {
		if !strings.Contains(r.stdout, want+" ") {
			t.Errorf("doctor does not tell of %s:\n%s", want, r.stdout)
		}
	}
}

func TestDoctorSaysHowToInstallWhatIsMissing(t *testing.T) {
	// Only a package manager is on the path, so every tool is missing.
	folder := t.TempDir()
	put(t, folder, "apt-get", []byte("#!/bin/sh\n"))
	if err := os.Chmod(filepath.Join(folder, "apt-get"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := run(t, []string{"PATH=" + folder}, "doctor", "--json")
	var d struct {
		Libvips struct{ Version string }
		Tools   []struct {
			Name, Install string
			Found         bool
		}
		Machine struct{ Cores, Memory int64 }
		Missing []struct{ What, Install string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil || r.code != 0 {
		t.Fatalf("result = %+v, %v", r, err)
	}
	if len(d.Tools) < 4 || d.Machine.Cores < 1 || d.Machine.Memory < 1 || d.Libvips.Version == "" {
		t.Errorf("diagnosis = %+v", d)
	}
	for _, tool := range d.Tools {
		if tool.Found || !strings.HasPrefix(tool.Install, "sudo apt-get install -y ") {
			t.Errorf("tool = %+v, want it missing and a command", tool)
		}
	}
	if len(d.Missing) < len(d.Tools) {
		t.Errorf("missing = %+v, want every tool", d.Missing)
	}
}

func TestVersionTellsTheBuildAndItsCodecs(t *testing.T) {
	var v struct{ Version, Go, Platform, Libvips string }
	r := run(t, nil, "version", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || r.code != 0 || v.Version == "" || v.Go == "" || v.Platform == "" || v.Libvips == "" {
		t.Errorf("version = %+v, %v, %+v", r, err, v)
	}
	for _, word := range []string{"version", "--version"} {
		if r := run(t, nil, word); r.code != 0 || !strings.Contains(r.stdout, "libvips "+v.Libvips) || r.stderr != "" {
			t.Errorf("%s = %+v", word, r)
		}
	}
}

func TestSignFaults(t *testing.T) {
	keys := put(t, t.TempDir(), "keys", []byte("0123456789abcdef0123456789abcdef\n"))
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no key is told", []string{"/resize?image_url=a"}, "--key-file"},
		{"a missing file of keys is the flag's", []string{"--key-file", keys + "?", "/resize?image_url=a"}, `--key-file: "` + keys + `?" does not exist`},
		{"a path has a slash", []string{"--key-file", keys, "resize?x=1"}, "slash; what is signed is /resize?image_url="},
		{"a path without signatures is not signed", []string{"--key-file", keys, "/metrics"}, "needs no signature"},
		{"no file is no asset", []string{"--key-file", keys, "/assets/"}, "/assets/KEY"},
		{"a host alone is not signed", []string{"--key-file", keys, "https://img.example.com/"}, "needs no signature"},
		{"a space would be encoded on the way", []string{"--key-file", keys, "/assets/a b.jpg"}, "percent-encode"},
		{"a letter beyond ASCII would be encoded on the way", []string{"--key-file", keys, "/assets/ä.jpg"}, "percent-encode"},
		{"a signed path is not signed again", []string{"--key-file", keys, "/assets/a?signature=x"}, "signature already"},
		{"an expiry is not set twice", []string{"--key-file", keys, "--expires", "1h", "/assets/a?expires=1"}, "expiry already"},
		{"an expiry lies ahead", []string{"--key-file", keys, "--expires", "-1h", "/assets/a"}, "--expires: -1h"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r := run(t, nil, append([]string{"sign"}, test.args...)...); r.code != 2 || !strings.Contains(r.stderr, test.want) || r.stdout != "" {
				t.Errorf("result = %+v, want exit code 2 and %q", r, test.want)
			}
		})
	}
	whole := run(t, nil, "sign", "--key-file", keys, "https://img.example.com/assets/a.jpg?sizes=3x2")
	path := run(t, []string{"SPILLWAY_SIGNATURE_KEY_FILE=" + keys}, "sign", "/assets/a.jpg?sizes=3x2")
	if whole.stdout != "https://img.example.com"+path.stdout || path.code != 0 {
		t.Errorf("whole URL = %+v, its path = %+v; want the same signature", whole, path)
	}
}
