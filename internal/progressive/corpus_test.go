package progressive_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/progressive"
)

// corpusFile is an entry of the shared corpus' manifest.
type corpusFile struct {
	Path    string
	Content string `json:"format_by_content"`
}

// corpus lists the images of the shared corpus. It is required when CI=true;
// elsewhere its absence is one line, because the files may not be shipped.
func corpus(t *testing.T) (dir string, files []corpusFile) {
	t.Helper()
	dir = os.Getenv("SPILLWAY_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Logf("the shared corpus is not here, only made files are used: %v", err)
		return "", nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Files []corpusFile }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	for _, file := range manifest.Files {
		if strings.HasPrefix(file.Path, "images/") || strings.HasPrefix(file.Path, "hostile/") {
			files = append(files, file)
		}
	}
	return dir, files
}

// TestRealFilesKeepTheirBytesAndOrder: also hostile ones, in random pieces, and
// taken for what they are not.
func TestRealFilesKeepTheirBytesAndOrder(t *testing.T) {
	dir, files := corpus(t)
	random := rand.New(rand.NewPCG(7, 7))
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file.Path))
		if err != nil {
			t.Fatal(err)
		}
		data = data[:min(len(data), 1<<17)] // markers, and some of what is between them
		for _, format := range []string{file.Content, "jpeg", "gif"} {
			want := phases(t, format, int64(len(data)), data, whole(data))
			got := phases(t, format, int64(len(data)), data, func() int { return random.IntN(9000) })
			if len(want) != len(data) || !slices.Equal(want, got) {
				t.Errorf("%s as %s: phases depend on how it is split", file.Path, format)
			}
			if err := inOrder(want); err != nil {
				t.Errorf("%s as %s: %v", file.Path, format, err)
			}
			var counted progressive.Sizes
			for _, phase := range want {
				counted[phase]++
			}
			sizes := progressive.Measure(format, data)
			if diff := cmp.Diff(counted, sizes); diff != "" {
				t.Errorf("%s as %s: %s", file.Path, format, diff)
			}
			read, err := progressive.MeasureReader(format, strings.NewReader(string(data)), int64(len(data)))
			if err != nil || !cmp.Equal(sizes, read) {
				t.Errorf("%s as %s: read, it is measured as %v, %v", file.Path, format, read, err)
			}
		}
		if file.Content == "jpeg" {
			if diff := cmp.Diff(reference(data, int64(len(data))), progressive.Measure("jpeg", data)); diff != "" {
				t.Errorf("%s: %s", file.Path, diff)
			}
		}
	}
	t.Logf("%d files", len(files))
}

func TestAFileThatIsShorterThanToldIsNotMeasured(t *testing.T) {
	data := turboJPEG()
	if _, err := progressive.MeasureReader("jpeg", strings.NewReader(string(data[:200])), int64(len(data))); err == nil {
		t.Error("it is")
	}
}
