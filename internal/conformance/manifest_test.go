package conformance_test

import (
	"testing"

	"github.com/spillway-media/spillway/internal/testcorpus"
)

// manifest is the corpus's list of files with what is true of each. It was
// established with tools other than libvips.
type manifest = testcorpus.Corpus[truth]

type entry = testcorpus.File[truth]

type truth struct {
	DisplayWidth    int        `json:"display_width"`
	DisplayHeight   int        `json:"display_height"`
	LenientDisplay  []int      `json:"lenient_display"`
	HasAlpha        *bool      `json:"has_alpha"`
	Frames          int        `json:"frames"`
	Pages           int        `json:"pages"`
	Delays          []*float64 `json:"delays_ms"`
	Plays           any        `json:"plays_total"`
	MeanUnmanaged   []float64  `json:"mean_rgb_unmanaged_on_white"`
	MeanManaged     []float64  `json:"mean_srgb_managed"`
	MeanWithProfile []float64  `json:"mean_srgb_managed_of_same_picture_with_profile"`
	MeanOfTwin      []float64  `json:"mean_rgb_of_rgb_twin"`
	ICC             string     `json:"icc"`
	Colourspace     string     `json:"colourspace"`
	SameAs          string     `json:"same_picture_as_after_orientation"`
}

// openCorpus reads the manifest, nil where there is no corpus.
func openCorpus(t testing.TB) *manifest {
	t.Helper()
	m := testcorpus.Open[truth](t)
	if m.Folder == "" {
		return nil
	}
	for i := range m.Files {
		if wrongAlpha[m.Files[i].Path] != "" {
			m.Files[i].Truth.HasAlpha = nil
		}
	}
	return &m
}

// wrongAlpha names the files whose has_alpha the manifest gets wrong, and why;
// it is not used for them.
var wrongAlpha = map[string]string{
	"images/avif-12mp-display-p3.avif": "its boxes list one picture and its EXIF, and no auxiliary picture",
}

// plays is how often an animation plays, 0 for ever, and whether it is told.
func (t truth) plays() (n int, known bool) {
	switch v := t.Plays.(type) {
	case string:
		return 0, v == "forever"
	case float64:
		return int(v), true
	}
	return 0, false
}

// mean is the right average colour over white of an sRGB answer and how far
// off it may be, by the rules of the manifest's truth_notes.
func (t truth) mean() (want [3]float64, levels float64, known bool) {
	pick := func(v []float64, levels float64) ([3]float64, float64, bool) {
		return [3]float64{v[0], v[1], v[2]}, levels, true
	}
	transparent := t.HasAlpha != nil && *t.HasAlpha
	switch {
	// The managed averages were taken without regard to transparency.
	case len(t.MeanManaged) == 3 && !transparent:
		return pick(t.MeanManaged, 10)
	case len(t.MeanWithProfile) == 3:
		return pick(t.MeanWithProfile, 10)
	case len(t.MeanOfTwin) == 3:
		return pick(t.MeanOfTwin, 10)
	case len(t.MeanUnmanaged) == 3:
		return pick(t.MeanUnmanaged, 6)
	}
	return want, 0, false
}
