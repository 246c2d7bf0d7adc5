package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// tree lists the files below folder.
func tree(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		found = append(found, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func assertTree(t *testing.T, folder string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, tree(t, folder)); diff != "" {
		t.Errorf("files in the results' folder differ (-want +got):\n%s", diff)
	}
}

func assertFile(t *testing.T, path string, width, height int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil || config.Width != width || config.Height != height {
		t.Errorf("%s is %dx%d (%v), want %dx%d", path, config.Width, config.Height, err, width, height)
	}
}

func jpeg(w, h int) []byte { return testpictures.JPEG(testpictures.Scene(w, h), 90) }

func TestConvertMakesEverySizeOfEveryFile(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "new", "out")
	a := put(t, in, "a.jpg", jpeg(90, 60))
	b := put(t, in, "b.png", testpictures.PalettePNG(60, 60))
	r := run(t, nil, "convert", a, b, "-o", out, "--sizes", "30x0,0x10", "--format", "jpeg")
	if r.code != 0 || !strings.Contains(r.stdout, "2 of 2 files converted, 0 failed: 4 results") || r.stderr != "" {
		t.Errorf("result = %+v", r)
	}
	assertTree(t, out, "a-0x10.jpg", "a-30x0.jpg", "b-0x10.jpg", "b-30x0.jpg")
	assertFile(t, filepath.Join(out, "a-30x0.jpg"), 30, 20)
	assertFile(t, filepath.Join(out, "b-0x10.jpg"), 10, 10)
}

func TestConvertGoesOnPastBadFiles(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	put(t, in, "good.jpg", jpeg(90, 60))
	put(t, in, "cut.jpg", testpictures.Truncate(jpeg(900, 600), 0.3))
	put(t, in, "words.jpg", []byte("these are no pixels"))
	put(t, in, "empty.jpg", nil)
	put(t, in, "last.jpg", jpeg(60, 90))
	names := []string{"good.jpg", "cut.jpg", "words.jpg", "empty.jpg", "none.jpg", "last.jpg"}
	args := []string{"convert", "-o", out, "--sizes", "30x0"}
	for _, name := range names {
		args = append(args, filepath.Join(in, name))
	}
	r := run(t, nil, append(args, in)...)
	if r.code != 1 || !strings.Contains(r.stdout, "2 of 7 files converted, 5 failed: 2 results") {
		t.Errorf("result = %+v, want exit code 1 and a summary", r)
	}
	for _, name := range []string{"cut.jpg: ", "words.jpg: ", "empty.jpg: ", "none.jpg: ", in + ": is a folder"} {
		if !strings.Contains(r.stderr, name) {
			t.Errorf("faults do not name %s:\n%s", name, r.stderr)
		}
	}
	assertTree(t, out, "good-30x0.jpg", "last-30x0.jpg")
}

func TestConvertTellsJSON(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	good, bad := put(t, in, "good.jpg", jpeg(90, 60)), put(t, in, "bad.jpg", []byte("no"))
	r := run(t, nil, "convert", "--json", good, bad, "-o", out, "--sizes", "30x0", "--jobs", "1")
	type file struct {
		Path          string
		Format        string
		Width, Height int
		Bytes         int64
	}
	type line struct {
		Input   string
		OK      bool
		Code    string
		Error   string
		Outputs []file
		Summary *struct{ Files, OK, Failed, Results int }
	}
	lines := map[string]line{}
	decoder := json.NewDecoder(strings.NewReader(r.stdout))
	for decoder.More() {
		var l line
		if err := decoder.Decode(&l); err != nil {
			t.Fatal(err)
		}
		lines[l.Input] = l
	}
	if r.code != 1 || len(lines) != 3 {
		t.Fatalf("result = %+v", r)
	}
	want := file{filepath.Join(out, "good-30x0.jpg"), "jpeg", 30, 20, lines[good].Outputs[0].Bytes}
	if got := lines[good]; !got.OK || got.Outputs[0] != want || want.Bytes == 0 {
		t.Errorf("good file = %+v", got)
	}
	if got := lines[bad]; got.OK || got.Code != "unsupported-format" || got.Error == "" {
		t.Errorf("bad file = %+v", got)
	}
	if got := lines[""].Summary; got == nil || got.Files != 2 || got.OK != 1 || got.Failed != 1 || got.Results != 1 {
		t.Errorf("summary = %+v", got)
	}
}

func TestConvertKeepsTheFormatAndTheName(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	a, b := put(t, in, "a.jpg", jpeg(90, 60)), put(t, in, "b.png", testpictures.PalettePNG(60, 60))
	c := put(t, in, "c.svg", testpictures.SVG(60, 60))
	if r := run(t, nil, "convert", a, b, c, "-o", out); r.code != 0 {
		t.Errorf("result = %+v", r)
	}
	assertTree(t, out, "a.jpg", "b.png", "c.png")
	assertFile(t, filepath.Join(out, "a.jpg"), 90, 60)
}

func TestConvertNeverWritesOverAnOriginal(t *testing.T) {
	in := t.TempDir()
	original := jpeg(90, 60)
	a := put(t, in, "a.jpg", original)
	r := run(t, nil, "convert", a, "-o", in)
	if r.code != 1 || !strings.Contains(r.stderr, "would lie over an original") {
		t.Errorf("result = %+v, want a refusal", r)
	}
	if content, err := os.ReadFile(a); err != nil || !bytes.Equal(content, original) {
		t.Errorf("the original was changed: %v", err)
	}
	assertTree(t, in, "a.jpg")
	if r := run(t, nil, "convert", a, "-o", in, "--sizes", "30x0"); r.code != 0 {
		t.Errorf("results beside the original = %+v", r)
	}
}

func TestConvertRefusesTwoResultsOfOneName(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	first, second := put(t, in, "a.jpg", jpeg(90, 60)), put(t, in, "x/a.jpg", jpeg(60, 60))
	r := run(t, nil, "convert", first, second, "-o", out, "--format", "jpeg")
	if r.code != 1 || !strings.Contains(r.stderr, second+": its results would have the names of those of "+first) {
		t.Errorf("result = %+v, want the second refused", r)
	}
	assertTree(t, out, "a.jpg")
	assertFile(t, filepath.Join(out, "a.jpg"), 90, 60)
}

func TestConvertKeepsEndingsThatTellOriginalsApart(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	put(t, in, "a.jpg", jpeg(90, 60))
	put(t, in, "a.png", testpictures.PalettePNG(60, 60))
	put(t, in, "b.png", testpictures.PalettePNG(60, 60))
	if r := run(t, nil, "convert", "-r", in, "-o", out, "--sizes", "30x0", "--format", "webp"); r.code != 0 {
		t.Errorf("result = %+v", r)
	}
	assertTree(t, out, "a.jpg-30x0.webp", "a.png-30x0.webp", "b-30x0.webp")
}

func TestASignalEndsConvertWithoutRemains(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	for i := range 20 {
		put(t, in, fmt.Sprintf("%02d.jpg", i), jpeg(1500, 1000))
	}
	command := exec.Command(binary, "convert", "-r", in, "-o", out, "--format", "webp", "--effort", "9", "--jobs", "1", "--json")
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	output := bufio.NewReader(stdout)
	if _, err := output.ReadString('\n'); err != nil { // the first file is done
		t.Fatal(err)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(output)
	if err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != 130 || !strings.Contains(string(rest), `"summary"`) {
		t.Errorf("exit code = %d, want 130, and a summary: %s", code, rest)
	}
	for _, name := range tree(t, out) {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s was left behind", name)
		}
	}
}

func TestConvertGoesIntoFolders(t *testing.T) {
	in := t.TempDir()
	put(t, in, "a.jpg", jpeg(90, 60))
	put(t, in, "sub/deep/b.JPG", jpeg(90, 60))
	put(t, in, "notes.txt", []byte("not a picture, and not tried"))
	put(t, in, "out/old.jpg", jpeg(90, 60))
	out := filepath.Join(in, "out")
	if r := run(t, nil, "convert", "-r", in, "-o", out, "--sizes", "30x0"); r.code != 0 || !strings.Contains(r.stdout, "2 of 2") {
		t.Errorf("result = %+v", r)
	}
	assertTree(t, out, "a-30x0.jpg", "old.jpg", "sub/deep/b-30x0.jpg")
}

func TestConvertTakesPresetsLimitsAndOtherParameters(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	a := put(t, in, "a.jpg", jpeg(90, 60))
	settings := put(t, in, "my.toml", []byte("[presets.small]\nsizes = \"30x0\"\n"))
	if r := run(t, nil, "convert", "--config", settings, "--preset", "small", "--set", "rotate=90", a, "-o", out); r.code != 0 {
		t.Errorf("result = %+v", r)
	}
	assertFile(t, filepath.Join(out, "a-30x0.jpg"), 30, 45)
	r := run(t, []string{"SPILLWAY_MAX_PIXELS=100"}, "convert", a, "-o", out)
	if r.code != 1 || !strings.Contains(r.stderr, "100") {
		t.Errorf("above the limit = %+v", r)
	}
}

func TestConvertRefusesAPresetWithFaults(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	settings := put(t, in, "my.toml", []byte("[presets.small]\nsizes = \"30\"\n"))
	r := run(t, nil, "convert", "--config", settings, "--preset", "small", put(t, in, "a.jpg", jpeg(90, 60)), "-o", out)
	if r.code != 1 || !strings.Contains(r.stderr, `presets.small.sizes: "30" is not a size`) || !strings.Contains(r.stderr, "("+settings+" line 2)") {
		t.Errorf("result = %+v, want exit code 1 and the line", r)
	}
}

func TestConvertFaultsOfTheCommandLine(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	a := put(t, in, "a.jpg", jpeg(90, 60))
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no file is a mistake of use", []string{"-o", out}, 2, "<in>"},
		{"no folder for results is a mistake of use", []string{a}, 2, "--out"},
		{"a parameter out of range names itself", []string{a, "-o", out, "--quality", "900"}, 2, `--quality: "900" is not a whole number from 1 to 100`},
		{"all parameters at fault are told", []string{a, "-o", out, "--quality", "900", "--format", "wepb"}, 2, `--format: "wepb" is none of`},
		{"an unknown parameter names the nearest", []string{a, "-o", out, "--set", "qualiti=1"}, 2, `--set qualiti: "qualiti" is not a known parameter; the nearest one is quality`},
		{"a pair without a value is refused", []string{a, "-o", out, "--set", "quality"}, 2, "KEY=VALUE"},
		{"a size given twice is refused", []string{a, "-o", out, "--sizes", "30x0,30x0"}, 2, "twice"},
		{"a preset that is not there is refused", []string{a, "-o", out, "--preset", "x"}, 2, "no preset"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, nil, append([]string{"convert"}, test.args...)...)
			if r.code != test.code || !strings.Contains(r.stderr, test.want) {
				t.Errorf("result = %+v, want exit code %d and %q", r, test.code, test.want)
			}
		})
	}
	assertTree(t, out)
}
