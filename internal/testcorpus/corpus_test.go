package testcorpus_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/testcorpus"
)

type width struct {
	Width int `json:"stored_width"`
}

const manifest = `{"count": 3, "files": [
	{"path": "images/a.jpg", "bytes": 3, "format_by_content": "jpeg", "expect": "ok", "weight": "light", "truth": {"stored_width": 4, "frames": 1}},
	{"path": "video/b.mp4", "format_by_content": "mp4", "expect": "reject"},
	{"path": "hostile/c.png", "format_by_content": "png", "expect": "limit", "weight": "heavy"}]}`

func TestTheManifestIsReadAsFarAsATestWantsToKnow(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"manifest.json": manifest, "images/a.jpg": "abc"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SPILLWAY_CORPUS", folder)
	c := testcorpus.Open[width](t)
	want := []testcorpus.File[width]{
		{Path: "images/a.jpg", Bytes: 3, Format: "jpeg", Expect: "ok", Weight: "light", Truth: width{4}},
		{Path: "hostile/c.png", Format: "png", Expect: "limit", Weight: "heavy"},
	}
	if diff := cmp.Diff(want, c.Images()); diff != "" || c.Folder != folder || len(c.Files) != 3 {
		t.Errorf("%d files in %s; images (-want +got):\n%s", len(c.Files), c.Folder, diff)
	}
	if got := string(c.Read(t, "images/a.jpg")); got != "abc" {
		t.Errorf("read %q", got)
	}
}

func TestWhereThereIsNoCorpusThereAreNoFiles(t *testing.T) {
	t.Setenv("SPILLWAY_CORPUS", "")
	t.Setenv("CI", "")
	t.Chdir(t.TempDir())
	if c := testcorpus.Open[width](t); c.Folder != "" || len(c.Images()) != 0 {
		t.Errorf("found %+v", c)
	}
}
