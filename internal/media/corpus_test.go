package media_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

// corpusFile is an entry of the shared corpus' manifest.
type corpusFile struct {
	Path    string
	Bytes   int
	Expect  string
	Content string `json:"format_by_content"`
	Truth   struct {
		Width  int `json:"stored_width"`
		Height int `json:"stored_height"`
		Frames int
	}
}

// corpus lists the images of the shared corpus. It is required when CI=true;
// elsewhere its absence is one line, because the files may not be shipped.
func corpus(t testing.TB) (dir string, files []corpusFile) {
	t.Helper()
	dir = os.Getenv("SPILLWAY_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Logf("the shared corpus is not here, only generated inputs are used: %v", err)
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

// TestInspectAgreesWithTheCorpus holds the structural check against real and
// hostile files: it refuses no good one, and finds in the header what may be
// found there.
func TestInspectAgreesWithTheCorpus(t *testing.T) {
	// These give themselves away only to a decoder: the sizes in them are
	// small, or stand where no cheap walk comes.
	decoders := map[string]bool{
		"hostile/pdf-page-1e6pt.pdf": true, "hostile/pdf-20000-pages.pdf": true, "hostile/pdf-flate-bomb-300mib.pdf": true,
	}
	dir, files := corpus(t)
	counts := map[string]int{}
	for _, file := range files {
		src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file.Path)))
		if err != nil {
			t.Fatal(err)
		}
		format := media.Sniff(src[:min(len(src), media.SniffLength)])
		if want, known := sniffed[file.Content]; known && format != want {
			t.Errorf("%s: sniffed as %q, want %q", file.Path, format, want)
		}
		if format == media.Unknown {
			continue
		}
		counts[file.Expect]++
		found, err := media.Examine(src, format, media.DefaultLimits())
		var refused *media.Error
		switch {
		case file.Expect == "ok-if-enabled" && errors.As(err, &refused) && refused.Code == media.CodeUnsupported:
			// A clean answer that this is not read.
		case strings.HasPrefix(file.Expect, "ok") && err != nil:
			t.Errorf("%s: refused: %v", file.Path, err)
		case (file.Expect == "limit" || file.Expect == "reject") && err == nil && !decoders[file.Path]:
			t.Errorf("%s: accepted, should be %s", file.Path, file.Expect)
		case err == nil && found.Width > 0 && file.Truth.Width > 0 && (found.Width < file.Truth.Width || found.Height < file.Truth.Height):
			t.Errorf("%s: found %dx%d, it is %dx%d", file.Path, found.Width, found.Height, file.Truth.Width, file.Truth.Height)
		case err == nil && found.Frames > 1 && file.Truth.Frames > 1 && found.Frames != file.Truth.Frames:
			t.Errorf("%s: found %d frames, it has %d", file.Path, found.Frames, file.Truth.Frames)
		}
	}
	t.Logf("inspected by expectation: %v", counts)
}

// sniffed is what the corpus' own names of formats are to us.
var sniffed = map[string]media.Format{
	"jpeg": media.JPEG, "png": media.PNG, "gif": media.GIF, "webp": media.WebP, "avif": media.AVIF, "heif": media.HEIC,
	"tiff": media.TIFF, "bigtiff": media.TIFF, "bmp": media.BMP, "svg": media.SVG, "gzip": media.SVG, "jxl": media.JXL,
	"jp2": media.JP2, "pdf": media.PDF,
	"html": media.Unknown, "text": media.Unknown, "unknown": media.Unknown, "empty": media.Unknown, "ico": media.Unknown,
	"psd": media.Unknown, "postscript": media.Unknown, "avi": media.Unknown, "mp4": media.Unknown, "mov": media.Unknown,
	"hls-playlist": media.Unknown, "dash-manifest": media.Unknown, "docx": media.Unknown, "xlsx": media.Unknown,
}
