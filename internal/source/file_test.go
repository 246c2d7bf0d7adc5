package source_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// folderWith makes a root with files and a folder beside it that no key may
// reach.
func folderWith(t *testing.T, files ...string) (root, outside string) {
	t.Helper()
	top := t.TempDir()
	root, outside = filepath.Join(top, "root"), filepath.Join(top, "outside")
	for _, path := range append([]string{filepath.Join("..", "outside", "secret.jpg")}, files...) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content of "+filepath.Base(path)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, outside
}

func TestFilesAreOpenedByKey(t *testing.T) {
	names := []string{"a.jpg", "b/c d.jpg", "100%.jpg", "a%20b.jpg", "grün+é.jpg", "a..b.jpg", "..a.jpg", "data:x"}
	root, _ := folderWith(t, names...)
	if err := os.Symlink("a.jpg", filepath.Join(root, "link.jpg")); err != nil {
		t.Fatal(err)
	}
	router := newRouter(t, source.Config{Root: root})
	for _, name := range names {
		for _, key := range []string{name, "/" + name} {
			meta, content, err := read(t, router, key)
			want := "content of " + filepath.Base(name)
			if err != nil || content != want || meta.Size != int64(len(want)) {
				t.Errorf("%s: %q, size %d, %v", key, content, meta.Size, err)
			}
			if meta.Kind != source.KindFile || meta.Name != filepath.Base(name) || meta.Host != "" || meta.MaxAge != -1 || meta.LastModified.IsZero() {
				t.Errorf("%s: meta = %+v", key, meta)
			}
		}
	}
	if _, content, err := read(t, router, "link.jpg"); err != nil || content != "content of a.jpg" {
		t.Errorf("a link inside the root: %q, %v", content, err)
	}
}

func TestKeysCannotLeaveTheRoot(t *testing.T) {
	root, outside := folderWith(t, "dir/a.jpg")
	secret := filepath.Join(outside, "secret.jpg")
	for name, target := range map[string]string{
		"absolute.jpg": secret, "relative.jpg": "../outside/secret.jpg", "folder": outside,
		"dir/up.jpg": "../../outside/secret.jpg", "passwd": "/etc/passwd", "chain": "absolute.jpg",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	router := newRouter(t, source.Config{Root: root})
	for _, key := range []string{
		"../outside/secret.jpg", "dir/../../outside/secret.jpg", "/../outside/secret.jpg", "..", ".", "dir/..", "dir/./a.jpg",
		"dir//a.jpg", "//etc/passwd", "", "/", "dir/", "dir/a.jpg/", "a\x00.jpg",
		"absolute.jpg", "relative.jpg", "folder/secret.jpg", "dir/up.jpg", "passwd", "chain",
	} {
		_, content, err := read(t, router, key)
		if err == nil {
			t.Errorf("%q was opened: %q", key, content)
			continue
		}
		want := media.CodeSourceForbidden
		if key == "" {
			want = media.CodeInvalidParameter
		}
		wantCode(t, err, want)
		if strings.Contains(err.Error(), filepath.Dir(root)) {
			t.Errorf("%q: the error holds a local path: %v", key, err)
		}
	}
	for _, key := range []string{secret, "file://" + secret} {
		if _, content, err := read(t, router, key); err == nil {
			t.Errorf("%q was opened: %q", key, content)
		}
	}
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	root, _ := folderWith(t, "dir/a.jpg")
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(root, "loop")); err != nil {
		t.Fatal(err)
	}
	router := newRouter(t, source.Config{Root: root})
	for name, key := range map[string]string{
		"a folder": "dir", "a pipe nobody writes to": "pipe", "a missing file": "none.jpg", "a file below a file": "dir/a.jpg/b.jpg",
		"a link to itself": "loop", "a name that is too long": strings.Repeat("x", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := read(t, router, key)
			wantCode(t, err, media.CodeSourceNotFound)
		})
	}
}

func TestFilesThatChangeWhileTheyAreRead(t *testing.T) {
	content := strings.Repeat("x", 100_000)
	cases := []struct {
		name   string
		change func(path string) error
		want   media.Code
	}{
		{"a file that shrinks is an error", func(path string) error { return os.Truncate(path, 50_000) }, media.CodeSourceFailed},
		{"a file that grows is an error", func(path string) error { return os.Truncate(path, 200_000) }, media.CodeSourceFailed},
		{"a file that is replaced is read to the end of the old one", func(path string) error {
			if err := os.WriteFile(path+".new", []byte("new"), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}, ""},
		{"a file that is removed is read to its end", os.Remove, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "a.jpg")
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			object, err := newRouter(t, source.Config{Root: root}).Open(t.Context(), "a.jpg")
			if err != nil {
				t.Fatal(err)
			}
			defer object.Body.Close()
			if _, err := io.ReadFull(object.Body, make([]byte, 60_000)); err != nil {
				t.Fatal(err)
			}
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(object.Body)
			if c.want != "" {
				wantCode(t, err, c.want)
			} else if err != nil || len(rest) != 40_000 {
				t.Errorf("%d bytes, %v", len(rest), err)
			}
		})
	}
}

func TestETagsOfFilesFollowTheirContent(t *testing.T) {
	root, _ := folderWith(t, "a.jpg", "b.jpg")
	router := newRouter(t, source.Config{Root: root})
	tag := func(key string) string {
		meta, _, err := read(t, router, key)
		if err != nil {
			t.Fatal(err)
		}
		return meta.Validator()
	}
	first := tag("a.jpg")
	if first == "" || first != tag("a.jpg") || first == tag("b.jpg") {
		t.Errorf("validators: %s, %s, other file %s", first, tag("a.jpg"), tag("b.jpg"))
	}
	if err := os.WriteFile(filepath.Join(root, "new"), []byte("content of a.jpg"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "new"), filepath.Join(root, "a.jpg")); err != nil {
		t.Fatal(err)
	}
	if tag("a.jpg") == first {
		t.Error("a replaced file of equal size kept its validator")
	}
}

func TestFileLimitsAndCancel(t *testing.T) {
	root, _ := folderWith(t, "a.jpg")
	_, _, err := read(t, newRouter(t, source.Config{Root: root, MaxBytes: 3}), "a.jpg")
	wantCode(t, err, media.CodeSourceTooLarge)

	ctx, cancel := context.WithCancel(t.Context())
	object, err := newRouter(t, source.Config{Root: root}).Open(ctx, "a.jpg")
	if err != nil {
		t.Fatal(err)
	}
	defer object.Body.Close()
	cancel()
	_, err = io.ReadAll(object.Body)
	wantCode(t, err, media.CodeCancelled)
}

func TestNothingIsOpenByDefault(t *testing.T) {
	router := newRouter(t, source.Config{})
	for ref, want := range map[string]media.Code{
		"a.jpg": media.CodeSourceForbidden, "/etc/passwd": media.CodeSourceForbidden,
		"http://example.com/a.jpg": media.CodeSourceForbidden, "HTTPS://example.com/a.jpg": media.CodeSourceForbidden,
		"s3://bucket/a.jpg":       media.CodeSourceForbidden,
		"ftp://example.com/a.jpg": media.CodeInvalidParameter, "file:///etc/passwd": media.CodeInvalidParameter, "": media.CodeInvalidParameter,
	} {
		_, _, err := read(t, router, ref)
		wantCode(t, err, want)
	}
	if stats := router.Stats(); stats.Opened != 0 || stats.Failed[media.CodeSourceForbidden] != 5 {
		t.Errorf("stats = %+v", stats)
	}
}

func TestAMissingRootIsAnErrorAtTheStart(t *testing.T) {
	if _, err := source.New(t.Context(), source.Config{Root: filepath.Join(t.TempDir(), "missing")}, discardLog()); err == nil {
		t.Error("a missing root was accepted")
	}
}

func TestStatsCountBytesAndFailures(t *testing.T) {
	root, _ := folderWith(t, "a.jpg")
	router := newRouter(t, source.Config{Root: root})
	for _, key := range []string{"a.jpg", "a.jpg", "none.jpg"} {
		_, _, _ = read(t, router, key)
	}
	stats := router.Stats()
	if stats.Opened != 2 || stats.Bytes != 2*int64(len("content of a.jpg")) || stats.Failed[media.CodeSourceNotFound] != 1 || stats.Open != 0 {
		t.Errorf("stats = %+v", stats)
	}
}
