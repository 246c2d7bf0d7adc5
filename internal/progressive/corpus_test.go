package progressive_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/progressive"
	"github.com/spillway-media/spillway/internal/testcorpus"
)

// TestRealFilesKeepTheirBytesAndOrder: also hostile ones, in random pieces, and
// taken for what they are not.
func TestRealFilesKeepTheirBytesAndOrder(t *testing.T) {
	corpus := testcorpus.Open[struct{}](t)
	files := corpus.Images()
	random := rand.New(rand.NewPCG(7, 7))
	for _, file := range files {
		data := corpus.Read(t, file.Path)
		data = data[:min(len(data), 1<<17)] // markers, and some of what is between them
		for _, format := range []string{file.Format, "jpeg", "gif"} {
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
		if file.Format == "jpeg" {
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

// An io.Reader may tell the end together with the last bytes.
func TestAFileWhoseEndIsToldAtOnceIsMeasured(t *testing.T) {
	data := turboJPEG()[:100] // within the header, so that all of it is read
	got, err := progressive.MeasureReader("jpeg", iotest.DataErrReader(bytes.NewReader(data)), int64(len(data)))
	if want := progressive.Measure("jpeg", data); err != nil || got != want {
		t.Errorf("measured as %v, %v; want %v", got, err, want)
	}
}
