package testcorpus

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Corpus is the files of the corpus. One that is not here has none.
type Corpus[Truth any] struct {
	Folder string // absolute, "" where there is no corpus
	Files  []File[Truth]
}

// File is an entry of the manifest.
type File[Truth any] struct {
	Path   string // in the folder, with slashes
	Bytes  int
	Format string `json:"format_by_content"`
	Expect string // ok, ok-if-enabled, limit, reject and others
	Weight string // light or heavy
	Truth  Truth  // what is true of it, as far as the test wants to know
}

func (f File[Truth]) String() string { return fmt.Sprintf("%s (%s, %s)", f.Path, f.Format, f.Expect) }

// Open reads the manifest. The folder is that of SPILLWAY_CORPUS, else
// shared/corpus beside the repository, seen from a package two folders deep.
// The corpus is required where it is named and when CI=true; elsewhere its
// absence is one line, because the files may not be shipped.
func Open[Truth any](t testing.TB) Corpus[Truth] {
	t.Helper()
	named := os.Getenv("SPILLWAY_CORPUS")
	folder := cmp.Or(named, filepath.Join("..", "..", "..", "shared", "corpus"))
	text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if errors.Is(err, os.ErrNotExist) && named == "" && os.Getenv("CI") != "true" {
		t.Logf("the shared corpus is not here, only files made by the tests are used: %v", err)
		return Corpus[Truth]{}
	}
	if err != nil {
		t.Fatalf("the corpus is required here: %v", err)
	}
	c := Corpus[Truth]{}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("read the corpus's manifest: %v", err)
	}
	if c.Folder, err = filepath.Abs(folder); err != nil {
		t.Fatal(err)
	}
	return c
}

// Images are the files that are pictures, hostile ones too.
func (c Corpus[Truth]) Images() []File[Truth] {
	return slices.DeleteFunc(slices.Clone(c.Files), func(f File[Truth]) bool {
		return !strings.HasPrefix(f.Path, "images/") && !strings.HasPrefix(f.Path, "hostile/")
	})
}

// Read is the bytes of a file.
func (c Corpus[Truth]) Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Folder, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
