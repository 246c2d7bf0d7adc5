package vips_test

import (
	"errors"
	"image"
	"math"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testcorpus"
)

// truth is what a decoder has to find.
type truth struct {
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

type corpusFile = testcorpus.File[truth]

// corpusPictures are those of the corpus, where it is, whose files have the
// names, by name.
func corpusPictures(t testing.TB, names ...string) map[string][]byte {
	t.Helper()
	corpus, pictures := testcorpus.Open[truth](t), map[string][]byte{}
	for _, file := range corpus.Images() {
		if name := path.Base(file.Path); slices.Contains(names, name) {
			pictures[name] = corpus.Read(t, file.Path)
		}
	}
	return pictures
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
	corpus := testcorpus.Open[truth](t)
	engine := start(t)
	for _, file := range corpus.Images() {
		if (file.Expect != "ok" && file.Expect != "ok-if-enabled") || unread[file.Path] != "" {
			continue
		}
		t.Run(file.Path, func(t *testing.T) {
			src := corpus.Read(t, file.Path)
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
	corpus := testcorpus.Open[truth](t)
	good := sceneSource()
	for _, file := range corpus.Images() {
		if !strings.HasPrefix(file.Path, "hostile/") {
			continue
		}
		t.Run(file.Path, func(t *testing.T) {
			src := corpus.Read(t, file.Path)
			err := attempt(t, src)
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
