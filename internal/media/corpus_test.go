package media_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testcorpus"
)

// truth is what the structural check may find.
type truth struct {
	Width  int `json:"stored_width"`
	Height int `json:"stored_height"`
	Frames int
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
	corpus := testcorpus.Open[truth](t)
	counts := map[string]int{}
	for _, file := range corpus.Images() {
		src := corpus.Read(t, file.Path)
		format := media.Sniff(src[:min(len(src), media.SniffLength)])
		if want, known := sniffed[file.Format]; known && format != want {
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
