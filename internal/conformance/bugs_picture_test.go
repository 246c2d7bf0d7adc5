package conformance_test

import (
	"fmt"
	"image"
	"image/color"
	"net/http"
	"testing"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// Bug reports 1 to 8 are about pictures; each test bears the number of the
// report whose kind of fault it looks for.

func TestBugReport01_CMYKLooksRightWithAndWithoutProfile(t *testing.T) {
	const w, h = 120, 80
	inks := testpictures.CMYK(w, h)
	scene := testpictures.Scene(w, h)
	inverted := mapped(scene, func(c color.NRGBA) color.NRGBA { return color.NRGBA{255 - c.R, 255 - c.G, 255 - c.B, 255} })
	var pictures []*image.NRGBA
	for name, kind := range map[string]testpictures.CMYKKind{"plain": testpictures.PlainCMYK, "Adobe CMYK": testpictures.AdobeCMYK, "Adobe YCCK": testpictures.AdobeYCCK} {
		t.Run(name+" without a profile is near the scene", func(t *testing.T) {
			s := start(t, withFile(t, "in.jpg", testpictures.CMYKJPEG(inks, kind)))
			got := mustDecode(t, s.good(t, "/assets/in.jpg?format=png").body).first()
			pictures = append(pictures, got)
			// Real inks are duller than the formula that made these, so the
			// distance is large; the inverse is several times further off.
			right, err := difference(got, scene)
			if err != nil {
				t.Fatal(err)
			}
			wrong, _ := difference(got, inverted)
			if right > 40 || wrong < 2*right {
				t.Errorf("the picture differs from the scene by %.0f levels and from its inverse by %.0f", right, wrong)
			}
		})
		t.Run(name+" with a profile follows it", func(t *testing.T) {
			profile := testpictures.ICCSegments(testpictures.OddInkProfile(), 0)
			s := start(t, withFile(t, "in.jpg", testpictures.CMYKJPEG(inks, kind, profile...)))
			got := mustDecode(t, s.good(t, "/assets/in.jpg?format=png").body).first()
			want := image.NewNRGBA(image.Rect(0, 0, w, h))
			for y := range h {
				for x := range w {
					want.SetNRGBA(x, y, testpictures.OddInk(inks.CMYKAt(x, y)))
				}
			}
			alike(t, "printed with the profile's inks", got, want, 7)
		})
	}
	for _, other := range pictures[1:] {
		alike(t, "all ways of storing the same inks", other, pictures[0], 4)
	}
	compareCorpus(t, "images/jpeg-ycck-no-profile.jpg", "images/jpeg-ycck-with-profile.jpg", 8)
}

func TestBugReport02_OrientationIsAppliedWhenNothingIsResized(t *testing.T) {
	root := t.TempDir()
	for o := 1; o <= 8; o++ {
		put(t, root, fmt.Sprintf("%d.jpg", o), testpictures.Oriented(60, 40, o, false))
	}
	s := start(t, withRoot(root))
	for _, query := range []string{"sizes=500x500", "sizes=60x40", "sizes=0x0", "", "sizes=500x500&fit=cover&gravity=north", "keep=exif"} {
		for o := 1; o <= 8; o++ {
			for _, format := range []string{"png", "jpeg", "webp"} {
				got := s.good(t, fmt.Sprintf("/assets/%d.jpg?quality=95&format=%s&%s", o, format, query))
				if query == "sizes=500x500&fit=cover&gravity=north" {
					if size := mustDecode(t, got.body).size(); size != "40x40" {
						t.Errorf("orientation %d, %s: %s, want 40x40", o, query, size)
					}
					continue
				}
				alike(t, fmt.Sprintf("orientation %d as %s with %q", o, format, query), mustDecode(t, got.body).first(), testpictures.Scene(60, 40), 6)
				if format == "jpeg" && orientationTag(got.body) > 1 {
					t.Errorf("orientation %d, %q: the answer is turned and still says orientation %d", o, query, orientationTag(got.body))
				}
			}
		}
	}
}

func TestBugReport03_SizeRulesWorkOnTheUprightPicture(t *testing.T) {
	root := t.TempDir()
	for o := 1; o <= 8; o++ {
		put(t, root, fmt.Sprintf("%d.jpg", o), testpictures.Oriented(100, 200, o, true))
	}
	s := start(t, withRoot(root))
	for _, tt := range []struct{ query, want string }{
		{"sizes=300x600&fit=cover", "100x200"},
		{"sizes=300x600", "100x200"},
		{"sizes=300x600&fit=fill", "100x200"},
		{"sizes=150x0", "100x200"},
		{"sizes=0x100", "50x100"},
		{"sizes=100x200&fit=cover", "100x200"},
		{"sizes=300x300&fit=cover", "100x100"},
	} {
		for o := 1; o <= 8; o++ {
			got := s.good(t, fmt.Sprintf("/assets/%d.jpg?format=png&%s", o, tt.query))
			if size := mustDecode(t, got.body).size(); size != tt.want {
				t.Errorf("a portrait stored with orientation %d, asked with %s, is %s, want %s", o, tt.query, size, tt.want)
			}
		}
	}
}

func TestBugReport04_AllEightOrientationsGiveTheSamePicture(t *testing.T) {
	root := t.TempDir()
	for o := 1; o <= 8; o++ {
		put(t, root, fmt.Sprintf("%d.jpg", o), testpictures.Oriented(320, 200, o, o > 4))
	}
	s := start(t, withRoot(root))
	for o := 1; o <= 8; o++ {
		for _, format := range []string{"png", "webp", "gif", "tiff"} {
			got := mustDecode(t, s.good(t, fmt.Sprintf("/assets/%d.jpg?sizes=160x0&format=%s", o, format)).body)
			want := testpictures.Scene(160, 100)
			alike(t, fmt.Sprintf("orientation %d as %s", o, format), got.first(), want, 6)
			if d := distance(fingerprint(got.first()), fingerprint(want)); d > 3 {
				t.Errorf("orientation %d as %s: fingerprints differ in %d bits", o, format, d)
			}
		}
	}
	for o := 2; o <= 8; o++ {
		compareCorpus(t, fmt.Sprintf("images/exif-landscape-%d.jpg", o), "images/exif-landscape-1.jpg", 4)
	}
}

func TestBugReport05_TheAskedSizeIsWhatTheViewerSees(t *testing.T) {
	s := start(t, withFile(t, "phone.jpg", testpictures.Oriented(300, 400, 6, true)))
	for _, fit := range []string{"cover", "contain", "fill"} {
		got := mustDecode(t, s.good(t, "/assets/phone.jpg?format=png&sizes=300x200&fit="+fit).body)
		if got.size() != "300x200" {
			t.Errorf("a vertical phone picture in 300x200 with fit=%s is %s", fit, got.size())
		}
	}
	got := mustDecode(t, s.good(t, "/assets/phone.jpg?format=png&sizes=300x200&fit=cover").body)
	alike(t, "the middle of the picture", got.first(), testpictures.SceneView(0, 0.25, 1, 0.75, 300, 200), 3.5)
}

func TestBugReport06_CropOfAPictureSmallerThanItsBox(t *testing.T) {
	s := start(t, withFile(t, "small.png", testpictures.PNGOf(testpictures.Scene(50, 200), 8, testpictures.PNGRGB, false)))
	for _, tt := range []struct{ query, want string }{
		{"sizes=100x100&fit=cover", "50x50"},
		{"sizes=100x300&fit=cover", "50x150"},
		{"sizes=400x100&fit=cover&gravity=attention", "50x13"},
		{"sizes=100x100&fit=cover&gravity=entropy", "50x50"},
		{"sizes=1x1&fit=cover", "1x1"},
		{"sizes=1x9000&fit=cover", "1x200"},
		{"crop=40,150,500,500", "10x50"},
	} {
		got := s.good(t, "/assets/small.png?format=png&"+tt.query)
		if size := mustDecode(t, got.body).size(); size != tt.want {
			t.Errorf("%s gives %s, want %s", tt.query, size, tt.want)
		}
	}
	outside := s.get(t, "/assets/small.png?crop=60,0,10,10")
	if outside.status != http.StatusBadRequest || outside.code() != "invalid-parameter" {
		t.Errorf("a crop outside the picture answers %d %s", outside.status, outside.excerpt())
	}
}

func TestBugReport07_FramesAreComposedBeforeTheyAreScaled(t *testing.T) {
	for name, animation := range testpictures.Disposals(128, 128) {
		s := start(t, withFile(t, "in.gif", animation.Bytes()))
		composed := animation.Composed()
		for _, format := range []string{"gif", "webp"} {
			t.Run(name+" as "+format, func(t *testing.T) {
				got := mustDecode(t, s.good(t, "/assets/in.gif?sizes=64x0&lossless=true&format="+format).body)
				if len(got.frames) != len(composed) {
					t.Fatalf("%d frames, want %d", len(got.frames), len(composed))
				}
				for i, want := range composed {
					alike(t, fmt.Sprintf("frame %d", i), got.frames[i], halved(want), 6)
					if got.delays[i] != animation.Frames[i].Delay {
						t.Errorf("frame %d stands %d ms, want %d", i, got.delays[i], animation.Frames[i].Delay)
					}
				}
				if got.plays != animation.Plays {
					t.Errorf("plays %d times, want %d", got.plays, animation.Plays)
				}
			})
		}
	}
}

func TestBugReport08_TooManyFramesAreRefusedOrCutWhole(t *testing.T) {
	s := start(t, withFile(t, "in.gif", testpictures.ManyFrames(40, 30, 300)), withFrames(256))
	t.Run("above the limit the answer is a clear refusal", func(t *testing.T) {
		got := s.get(t, "/assets/in.gif?format=gif")
		if got.status != http.StatusUnprocessableEntity || got.code() != "limit-frames" {
			t.Errorf("status %d %s", got.status, got.excerpt())
		}
		got.isProblem(t)
	})
	// The limit holds for the file, whatever part of it is wanted; or it holds
	// for what is loaded, and then whole frames come.
	for _, query := range []string{"format=gif&frames=200", "format=webp&frames=200", "format=png"} {
		t.Run("asked for fewer, whole frames come or none, with "+query, func(t *testing.T) {
			got := s.get(t, "/assets/in.gif?sizes=20x0&"+query)
			if got.code() == "limit-frames" {
				return
			}
			want := 200
			if query == "format=png" {
				want = 1
			}
			if p := mustDecode(t, got.body); len(p.frames) != want || p.size() != "20x15" {
				t.Errorf("%d frames of %s, want %d of 20x15", len(p.frames), p.size(), want)
			}
		})
	}
	t.Run("below the limit all frames come", func(t *testing.T) {
		s := start(t, withFile(t, "in.gif", testpictures.ManyFrames(40, 30, 300)))
		for _, format := range []string{"gif", "webp"} {
			p := mustDecode(t, s.good(t, "/assets/in.gif?sizes=20x0&format="+format).body)
			if len(p.frames) != 300 || p.size() != "20x15" {
				t.Errorf("%s: %d frames of %s, want 300 of 20x15", format, len(p.frames), p.size())
			}
			p = mustDecode(t, s.good(t, "/assets/in.gif?sizes=20x0&frames=120&format="+format).body)
			if len(p.frames) != 120 || p.size() != "20x15" {
				t.Errorf("%s: %d frames of %s, want 120 of 20x15", format, len(p.frames), p.size())
			}
		}
	})
}

// compareCorpus holds two files of the corpus to one another, where it is.
func compareCorpus(t *testing.T, one, other string, levels float64) {
	t.Helper()
	m := openCorpus(t)
	if m == nil {
		return
	}
	s := start(t, withRoot(m.Folder))
	a := mustDecode(t, s.good(t, "/assets/"+one+"?format=png&sizes=500x0").body)
	b := mustDecode(t, s.good(t, "/assets/"+other+"?format=png&sizes=500x0").body)
	alike(t, one, a.first(), b.first(), levels)
}
