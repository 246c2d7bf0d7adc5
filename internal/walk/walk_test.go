package walk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/walk"
)

func rootWith(t *testing.T, names ...string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// all lists everything in pages.
func all(t *testing.T, root *os.Root, r walk.Request) (keys []string) {
	t.Helper()
	for {
		page, err := walk.Files(t.Context(), root, r)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > r.Limit {
			t.Fatalf("%d files were given, more than %d", len(page), r.Limit)
		}
		for _, file := range page {
			keys = append(keys, file.Key)
			r.After = file.Key
			if file.Info.Size() != int64(len(file.Key)) {
				t.Errorf("%s has %d bytes", file.Key, file.Info.Size())
			}
		}
		if len(page) < r.Limit {
			return keys
		}
	}
}

func TestFilesComeInTheOrderOfTheirKeys(t *testing.T) {
	names := []string{"a-b", "a.b", "a/x", "a/y/z", "a0", "b", "c/1", "c/2", "c/22", "d d/ä"}
	root := rootWith(t, names...)
	for _, c := range []struct {
		name, prefix string
		want         []string
	}{
		{"all of them", "", names},
		{"those of a folder", "a/", names[2:4]},
		{"those whose path begins so", "a", names[:5]},
		{"those whose name begins so", "c/2", names[7:9]},
		{"none below a file", "b/", nil},
		{"none where nothing is", "nowhere/x", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for limit := 1; limit <= len(names)+1; limit++ {
				if diff := cmp.Diff(c.want, all(t, root, walk.Request{Prefix: c.prefix, Limit: limit})); diff != "" {
					t.Errorf("in pages of %d:\n%s", limit, diff)
				}
			}
		})
	}
}

func TestManyFilesAndEmptyFoldersArePassedThrough(t *testing.T) {
	var names []string
	for i := range 700 {
		names = append(names, fmt.Sprintf("many/%05d", i))
	}
	root := rootWith(t, names...)
	for i := range 300 {
		if err := root.MkdirAll(fmt.Sprintf("many/00000.%d/empty", i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(names, all(t, root, walk.Request{Limit: 100})); diff != "" {
		t.Error(diff)
	}
}

func TestLinksAndSkippedNames(t *testing.T) {
	root := rootWith(t, "folder/file", ".hidden/file", "file")
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": outside, "loop": "folder/..", "nowhere": "missing"} {
		if err := os.Symlink(to, filepath.Join(root.Name(), link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("file", filepath.Join(root.Name(), "same")); err != nil {
		t.Fatal(err)
	}
	hidden := func(name string) bool { return strings.HasPrefix(name, ".") }
	if diff := cmp.Diff([]string{"file", "folder/file", "same"}, all(t, root, walk.Request{Limit: 10, Skip: hidden})); diff != "" {
		t.Error("only files within the root are given:", diff)
	}
}
