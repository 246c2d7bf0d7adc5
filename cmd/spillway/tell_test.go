package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	if r.code != 1 || !strings.Contains(r.stderr, "queue: -4") || !strings.Contains(r.stderr, "source-root: ") {
		t.Errorf("flags out of range = %+v", r)
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
		{"a flag of the wrong kind names itself", []string{"serve", "--queue", "many"}, "--queue"},
		{"a flag outside its choice names the choice", []string{"serve", "--log-format", "xml"}, "auto"},
		{"no command at all tells the commands", nil, "serve"},
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
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"convert", "--help"}, {"config", "check", "--help"}} {
		t.Run("help of "+strings.Join(args, " "), func(t *testing.T) {
			if r := run(t, nil, args...); r.code != 0 || !strings.Contains(r.stdout, "Usage: spillway") || r.stderr != "" {
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
	if r := run(t, nil, "version"); !strings.Contains(r.stdout, "libvips "+v.Libvips) {
		t.Errorf("version = %+v", r)
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
		{"a path has a slash", []string{"--key-file", keys, "resize?x=1"}, "slash"},
		{"a space would be encoded on the way", []string{"--key-file", keys, "/assets/a b.jpg"}, "percent-encode"},
		{"a letter beyond ASCII would be encoded on the way", []string{"--key-file", keys, "/assets/ä.jpg"}, "percent-encode"},
		{"a signed path is not signed again", []string{"--key-file", keys, "/a?signature=x"}, "signature already"},
		{"an expiry is not set twice", []string{"--key-file", keys, "--expires", "1h", "/a?expires=1"}, "expiry already"},
		{"an expiry lies ahead", []string{"--key-file", keys, "--expires=-1h", "/a"}, "--expires"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r := run(t, nil, append([]string{"sign"}, test.args...)...); r.code != 1 || !strings.Contains(r.stderr, test.want) || r.stdout != "" {
				t.Errorf("result = %+v, want exit code 1 and %q", r, test.want)
			}
		})
	}
	whole := run(t, nil, "sign", "--key-file", keys, "https://img.example.com/assets/a.jpg?sizes=3x2")
	path := run(t, []string{"SPILLWAY_SIGNATURE_KEY_FILE=" + keys}, "sign", "/assets/a.jpg?sizes=3x2")
	if whole.stdout != "https://img.example.com"+path.stdout || path.code != 0 {
		t.Errorf("whole URL = %+v, its path = %+v; want the same signature", whole, path)
	}
}
