package vips_test

import (
	"encoding/json"
	"errors"
	"image"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

// corpusFile is an entry of the shared corpus' manifest.
type corpusFile struct {
	Path   string
	Expect string
	Truth  struct {
		Width     int         `json:"display_width"`
		Height    int         `json:"display_height"`
		Frames    int         `json:"frames"`
		Alpha     *bool       `json:"has_alpha"`
		Plays     any         `json:"plays_total"` // a number or "forever"
		Unmanaged *[3]float64 `json:"mean_rgb_unmanaged_on_white"`
		Managed   *[3]float64 `json:"mean_srgb_managed"`
		OfTwin    *[3]float64 `json:"mean_srgb_managed_of_same_picture_with_profile"`
		OfRGBTwin *[3]float64 `json:"mean_rgb_of_rgb_twin"`
	}
}

// corpus lists the pictures of the shared corpus. It is required when CI=true;
// elsewhere its absence is one line, because the files may not be shipped.
func corpus(t testing.TB) (dir string, files []corpusFile) {
	t.Helper()
	dir = os.Getenv("SPILLWAY_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Logf("the shared corpus is not here, only generated pictures are used: %v", err)
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

// Where the corpus' truth and ours differ, and why ours is right or cannot be
// helped.
var (
	unread = map[string]string{
		"images/ico-favicon.ico":     "icons are no format of ours",
		"images/jxl-animation.jxl":   "animated JPEG XL is refused, because libvips before 8.16 gives its last frame",
		"images/png-16384x16384.png": "above the pixel limit",
	}
	otherAlpha = map[string]string{
		"images/avif-12mp-display-p3.avif": "the file has one picture and no alpha beside it",
	}
	otherMean = map[string]string{
		"images/tiff-16bit-rgba.tif": "the managed truth was taken without alpha",
	}
)

func TestCorpus(t *testing.T) {
	dir, files := corpus(t)
	engine := start(t)
	for _, file := range files {
		if (file.Expect != "ok" && file.Expect != "ok-if-enabled") || unread[file.Path] != "" {
			continue
		}
		t.Run(file.Path, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join(dir, file.Path))
			if err != nil {
				t.Fatal(err)
			}
			info, err := engine.Probe(t.Context(), src, media.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			agreesWithHeader(t, file, info)
			small := picture(t, src, ask(400, 400))
			agreesWithPixels(t, file, small)
		})
	}
}

func agreesWithHeader(t *testing.T, file corpusFile, info media.Info) {
	t.Helper()
	truth := file.Truth
	if width, height := info.Upright(); truth.Width > 0 && (width != truth.Width || height != truth.Height) {
		t.Errorf("size is %dx%d, want %dx%d", width, height, truth.Width, truth.Height)
	}
	if truth.Alpha != nil && *truth.Alpha != info.Alpha && otherAlpha[file.Path] == "" {
		t.Errorf("alpha is %v, want %v", info.Alpha, *truth.Alpha)
	}
	if !info.Animated {
		return
	}
	if truth.Frames != info.Frames {
		t.Errorf("has %d frames, want %d", info.Frames, truth.Frames)
	}
	plays := 0 // for ever
	if number, ok := truth.Plays.(float64); ok {
		plays = int(number)
	}
	if truth.Plays != nil && plays != info.Plays {
		t.Errorf("plays %d times, want %v", info.Plays, truth.Plays)
	}
}

func agreesWithPixels(t *testing.T, file corpusFile, img image.Image) {
	t.Helper()
	want, tolerance := file.Truth.Unmanaged, 6.0
	for _, managed := range []*[3]float64{file.Truth.Managed, file.Truth.OfTwin, file.Truth.OfRGBTwin} {
		if managed != nil {
			want, tolerance = managed, 10
		}
	}
	if want == nil || otherMean[file.Path] != "" {
		return
	}
	var sum [3]float64
	size := img.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			for i, v := range onWhite(img, x, y) {
				sum[i] += v / float64(size.X*size.Y)
			}
		}
	}
	for i := range sum {
		if math.Abs(sum[i]-want[i]) > tolerance {
			t.Errorf("mean colour is %.0f, want %.0f", sum, *want)
			return
		}
	}
}

// TestHostileCorpus is about surviving: every file ends in a picture or in an
// error a client can be told, and a good one is served right after.
func TestHostileCorpus(t *testing.T) {
	dir, files := corpus(t)
	good := sceneSource()
	for _, file := range files {
		if !strings.HasPrefix(file.Path, "hostile/") {
			continue
		}
		t.Run(file.Path, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join(dir, file.Path))
			if err != nil {
				t.Fatal(err)
			}
			err = attempt(t, src)
			var told *media.Error
			switch {
			case err != nil && !errors.As(err, &told):
				t.Errorf("got %v", err)
			case err == nil && (file.Expect == "reject" || file.Expect == "limit"):
				t.Errorf("was served, though it should be refused by %s", file.Expect)
			case err != nil && file.Expect == "ok":
				t.Errorf("got %v", err)
			case err != nil && (told.Code == media.CodeEncodeFailed || told.Code == media.CodeTimeout):
				t.Errorf("got %v", err)
			}
			if err := attempt(t, good); err != nil {
				t.Errorf("a good picture after it: %v", err)
			}
		})
	}
}
