package source_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/testservices"
)

func listAll(t *testing.T, r *source.Router, prefix string, limit int) (keys []string) {
	t.Helper()
	after := ""
	for {
		page, err := r.List(t.Context(), prefix, after, limit)
		if err != nil {
			t.Fatalf("list %q: %v", prefix, err)
		}
		keys = append(keys, page...)
		if len(page) < limit {
			return keys
		}
		after = page[len(page)-1]
	}
}

func TestListGivesTheKeysOfTheRoot(t *testing.T) {
	names := []string{"photos-old/a.jpg", "photos/a.jpg", "photos/b/1.jpg", "photos/b/10.jpg", "photos/b/2.jpg", "photos/ü ?.jpg"}
	endpoint := testservices.S3(t)
	objects, folder := map[string]string{}, t.TempDir()
	for _, name := range names {
		objects["root/"+name] = "x"
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	objects["rootless/a.jpg"] = "x"
	fill(t, endpoint, "pictures", objects)
	for name, cfg := range map[string]source.Config{
		"a folder":                   {Root: folder},
		"a bucket, below its prefix": {Root: "s3://pictures/root", S3: storeConfig(endpoint)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRouter(t, cfg)
			for _, limit := range []int{1, 2, 1000} {
				for prefix, want := range map[string][]string{
					"": names, "photos": names, "photos/": names[1:], "/photos/b/": names[2:5], "photos/b/1": names[2:4], "nowhere/": nil,
				} {
					if diff := cmp.Diff(want, listAll(t, r, prefix, limit)); diff != "" {
						t.Errorf("prefix %q in pages of %d:\n%s", prefix, limit, diff)
					}
				}
			}
			for _, prefix := range []string{"..", "../x", "a/../", "a//", "a/.", "a\x00"} {
				_, err := r.List(t.Context(), prefix, "", 10)
				wantCode(t, err, media.CodeSourceForbidden)
			}
		})
	}
	t.Run("without a root there is nothing to list", func(t *testing.T) {
		_, err := newRouter(t, source.Config{Allow: []string{"s3://pictures/root"}, S3: storeConfig(endpoint)}).List(t.Context(), "", "", 10)
		wantCode(t, err, media.CodeSourceForbidden)
	})
}

// A list that is not whole must not look as if it were.
func TestAListTellsWhatItMayNotRead(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{"open", "shut", "blind"} {
		if err := os.Mkdir(filepath.Join(folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, dir, "a.jpg"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out": outside, "loop": "loop", "self": ".", "away": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := newRouter(t, source.Config{Root: folder})
	if diff := cmp.Diff([]string{"blind/a.jpg", "open/a.jpg", "shut/a.jpg"}, listAll(t, r, "", 10)); diff != "" {
		t.Error("links to folders are followed:", diff)
	}
	if diff := cmp.Diff([]string(nil), listAll(t, r, "open/a.jpg/", 10)); diff != "" {
		t.Error("below a file:", diff)
	}
	for dir, mode := range map[string]os.FileMode{"shut": 0, "blind": 0o644} {
		if err := os.Chmod(filepath.Join(folder, dir), mode); err != nil {
			t.Fatal(err)
		}
	}
	asNobody(t)
	for prefix, code := range map[string]media.Code{
		"": media.CodeSourceForbidden, "shut/": media.CodeSourceForbidden, "blind/": media.CodeSourceForbidden,
		"out/": media.CodeSourceForbidden, "loop/": media.CodeSourceNotFound,
	} {
		_, err := r.List(t.Context(), prefix, "", 10)
		wantCode(t, err, code)
	}
	for _, prefix := range []string{"open/", "away/", "self/open/"} {
		if _, err := r.List(t.Context(), prefix, "", 10); err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
	}
}

// asNobody takes from the goroutine of a test, for what it does with files, the
// right to read what it may not, which root has.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	runtime.LockOSThread()
	_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0) // it has no error
	t.Cleanup(func() {
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
		runtime.UnlockOSThread()
	})
}
