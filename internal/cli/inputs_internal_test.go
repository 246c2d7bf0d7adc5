package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tooDeep makes folders whose path no open call takes, which cannot be read by
// root either.
func tooDeep(t *testing.T, folder string) {
	t.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(strings.Repeat(strings.Repeat("d", 250)+"/", 20), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderThatCannotBeReadStopsNothing(t *testing.T) {
	folder := t.TempDir()
	tooDeep(t, folder)
	touch(t, filepath.Join(folder, "z.jpg"))
	work, faults := findInputs([]string{folder}, t.TempDir(), true)
	if len(work) != 1 || filepath.Base(work[0].path) != "z.jpg" {
		t.Errorf("found %v, want z.jpg", work)
	}
	if len(faults) != 1 || !strings.Contains(faults[0].Input, "ddd") {
		t.Errorf("faults %.300v, want the folder's", faults)
	}
}

func TestTheResultsFolderIsNoInput(t *testing.T) {
	folder := t.TempDir()
	touch(t, filepath.Join(folder, "a.jpg"))
	t.Run("below an input it is passed over", func(t *testing.T) {
		out := filepath.Join(folder, "out")
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		touch(t, filepath.Join(out, "a-10x0.jpg"))
		if work, faults := findInputs([]string{folder}, out, true); len(work) != 1 || len(faults) != 0 {
			t.Errorf("found %v, %v", work, faults)
		}
	})
	t.Run("as an input it is a fault and not silence", func(t *testing.T) {
		if work, faults := findInputs([]string{folder + "/."}, folder, true); len(work) != 0 || len(faults) != 1 {
			t.Errorf("found %v, %v", work, faults)
		}
	})
}

func TestALinkToAFolderIsThatFolder(t *testing.T) {
	folder, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	touch(t, filepath.Join(folder, "a.jpg"))
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	work, faults := findInputs([]string{link}, t.TempDir(), true)
	if len(work) != 1 || len(faults) != 0 || work[0].path != filepath.Join(link, "a.jpg") || work[0].folder != "." {
		t.Errorf("found %+v, %v", work, faults)
	}
}

// A name of a file may hold what a terminal obeys.
func TestNamesAreShownWithoutControlCharacters(t *testing.T) {
	var told strings.Builder
	r := &report{out: io.Discard, faults: &told}
	r.add(failed("a\x1b]0;owned\x07\nb.jpg", errors.New("cannot be read")))
	r.add(failed("grün \"1\".jpg", errors.New("cannot be read")))
	want := `"a\x1b]0;owned\a\nb.jpg": cannot be read` + "\n" + `grün "1".jpg: cannot be read` + "\n"
	if told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
}
