package fleetfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app/fleetfile"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// place is a folder that only this user can write, below the one with the
// sticky bit that tests are given.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	chmod(t, dir, 0o700)
	return dir
}

func TestReadTakesAFileThatOnlyItsOwnerCanWrite(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"its owner reads": 0o600, "everybody reads": 0o644, "nobody writes": 0o444} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(place(t), "scheduler.json")
			write(t, path, `{"policy": "steps"}`)
			chmod(t, path, mode)
			s, err := fleetfile.Read(path)
			if err != nil || s.Policy != fleet.PolicySteps || s.Mode != fleet.VPSOnly {
				t.Errorf("got %+v, %v", s.Config, err)
			}
		})
	}
}

func TestReadRefusesWhatOthersCouldChange(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string) (path string)
		want    string
	}{
		"a file that its group can write": {func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "a.json")
			write(t, path, `{}`)
			chmod(t, path, 0o660)
			return path
		}, "a.json can be written by others (mode 0660); take that away with chmod go-w"},
		"a file that all can write": {func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "a.json")
			write(t, path, `{}`)
			chmod(t, path, 0o602)
			return path
		}, "a.json can be written by others (mode 0602)"},
		"a folder in which all can swap it": {func(t *testing.T, dir string) string {
			open := filepath.Join(dir, "open")
			_ = os.Mkdir(open, 0o700)
			write(t, filepath.Join(open, "a.json"), `{}`)
			chmod(t, open, 0o777)
			return filepath.Join(open, "a.json")
		}, "open can be written by others (mode 0777)"},
		"a folder further up": {func(t *testing.T, dir string) string {
			_ = os.MkdirAll(filepath.Join(dir, "open", "etc"), 0o700)
			write(t, filepath.Join(dir, "open", "etc", "a.json"), `{}`)
			chmod(t, filepath.Join(dir, "open"), 0o770)
			return filepath.Join(dir, "open", "etc", "a.json")
		}, "open can be written by others (mode 0770)"},
		"a link into such a folder": {func(t *testing.T, dir string) string {
			open := filepath.Join(dir, "open")
			_ = os.Mkdir(open, 0o700)
			write(t, filepath.Join(open, "a.json"), `{}`)
			chmod(t, open, 0o777)
			_ = os.Symlink("open/a.json", filepath.Join(dir, "link.json"))
			return filepath.Join(dir, "link.json")
		}, "open can be written by others (mode 0777)"},
		"a link that lies in such a folder": {func(t *testing.T, dir string) string {
			open := filepath.Join(dir, "open")
			_ = os.Mkdir(open, 0o700)
			write(t, filepath.Join(dir, "a.json"), `{}`)
			_ = os.Symlink("../a.json", filepath.Join(open, "link.json"))
			chmod(t, open, 0o777)
			return filepath.Join(open, "link.json")
		}, "open can be written by others (mode 0777)"},
		"a link to itself": {func(t *testing.T, dir string) string {
			_ = os.Symlink("a.json", filepath.Join(dir, "a.json"))
			return filepath.Join(dir, "a.json")
		}, "too many links"},
		"a link to the root": {func(t *testing.T, dir string) string {
			_ = os.Symlink("/", filepath.Join(dir, "a.json"))
			return filepath.Join(dir, "a.json")
		}, "is no file"},
		"a folder": {func(_ *testing.T, dir string) string { return dir }, "is no file"},
		"nothing":  {func(_ *testing.T, dir string) string { return filepath.Join(dir, "a.json") }, "a.json: no such file or directory"},
		"something below a file": {func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "a"), "")
			return filepath.Join(dir, "a", "b")
		}, "a is no folder"},
		"a file of no end in size": {func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "a.json"), "{}"+strings.Repeat(" ", 1<<20))
			return filepath.Join(dir, "a.json")
		}, "it has more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fleetfile.Read(c.prepare(t, place(t)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestReadFollowsLinksThatNobodyElseCanTurn(t *testing.T) {
	// The way in which orchestrators put a new version in place of an old one.
	dir := place(t)
	_ = os.MkdirAll(filepath.Join(dir, "..2026_12_01"), 0o755)
	write(t, filepath.Join(dir, "..2026_12_01", "scheduler.json"), `{"policy": "backlog"}`)
	_ = os.Symlink("..2026_12_01", filepath.Join(dir, "..data"))
	_ = os.Symlink("..data/scheduler.json", filepath.Join(dir, "scheduler.json"))
	s, err := fleetfile.Read(filepath.Join(dir, "scheduler.json"))
	if err != nil || s.Policy != fleet.PolicyBacklog {
		t.Errorf("got %v, %v", s.Policy, err)
	}
}

func TestReadTakesKeysAndTemplatesOfChannels(t *testing.T) {
	dir := place(t)
	write(t, filepath.Join(dir, "key"), "0123456789abcdef\n")
	path := filepath.Join(dir, "scheduler.json")
	write(t, path, `{"alerts": {"channels": [{"kind": "webhook", "url": "https://example.com/hook", "key_file": "`+dir+`/key", "template": "{\"text\": {{json .Sentence}}}"}, {"kind": "log"}]}}`)
	s, err := fleetfile.Read(path)
	if err != nil || len(s.Channels) != 2 || string(s.Channels[0].Key) != "0123456789abcdef" || s.Channels[0].Kind != "webhook" {
		t.Errorf("got %+v, %v", s.Channels, err)
	}
}

func TestReadTellsFaultsOfChannelsByTheirPath(t *testing.T) {
	dir := place(t)
	write(t, filepath.Join(dir, "short"), "hunter2\n")
	write(t, filepath.Join(dir, "open"), "0123456789abcdef")
	chmod(t, filepath.Join(dir, "open"), 0o666)
	for name, c := range map[string]struct{ channel, want string }{
		"a key that is missing":         {`"key_file": "` + dir + `/none"`, "alerts.channels[0].key_file: cannot be taken: find " + dir + "/none: no such file or directory"},
		"a key that is too short":       {`"key_file": "` + dir + `/short"`, "alerts.channels[0].key_file: holds 7 bytes; it must hold 16 or more"},
		"a key that all can write":      {`"key_file": "` + dir + `/open"`, "alerts.channels[0].key_file: cannot be taken: " + dir + "/open can be written by others (mode 0666); take that away with chmod go-w"},
		"a template that makes no JSON": {`"template": "hunter2 {{.Sentence}}"`, "alerts.channels[0].template: it does not make JSON; write values as {{json .Sentence}}"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "scheduler.json")
			write(t, path, `{"alerts": {"channels": [{"kind": "webhook", "url": "https://example.com/hook", `+c.channel+`}]}}`)
			if _, err := fleetfile.Read(path); err == nil || err.Error() != c.want {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
