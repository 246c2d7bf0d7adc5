package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
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
	endpoint := startStore(t)
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
