package conformance_test

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"testing"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// The source of the fit tests, upright.
const sceneWidth, sceneHeight = 240, 160

// fit is one way of asking and what has to come of it, worked out by hand
// from the meaning of the parameters: the part of the scene that stays, the
// size of the answer, and where in it the picture lies.
type fit struct {
	name           string
	query          string
	u0, v0, u1, v1 float64
	w, h           int
	at             image.Rectangle // zero: all of it
}

func whole(name, query string, w, h int) fit {
	return fit{name, query, 0, 0, 1, 1, w, h, image.Rectangle{}}
}

func part(name, query string, u0, v0, u1, v1 float64, w, h int) fit {
	return fit{name, query, u0, v0, u1, v1, w, h, image.Rectangle{}}
}

var fits = []fit{
	whole("no size keeps the picture", "", 240, 160),
	whole("inside keeps the whole picture", "sizes=120x120", 120, 80),
	whole("a width alone keeps the ratio", "sizes=120x0", 120, 80),
	whole("a height alone keeps the ratio", "sizes=0x80", 120, 80),
	whole("the pixel ratio multiplies", "sizes=60x0&dpr=2", 120, 80),
	whole("inside does not enlarge", "sizes=500x500", 240, 160),
	whole("inside enlarges when asked", "sizes=480x480&enlarge=true", 480, 320),
	whole("outside covers the box without a crop", "sizes=60x60&fit=outside", 90, 60),
	whole("outside does not enlarge", "sizes=600x600&fit=outside", 240, 160),
	whole("fill stretches", "sizes=120x120&fit=fill", 120, 120),
	part("cover crops around the middle", "sizes=100x100&fit=cover", 1.0/6, 0, 5.0/6, 1, 100, 100),
	part("cover keeps the north", "sizes=120x40&fit=cover&gravity=north", 0, 0, 1, 0.5, 120, 40),
	part("cover keeps the south", "sizes=120x40&fit=cover&gravity=south", 0, 0.5, 1, 1, 120, 40),
	part("cover keeps the west", "sizes=60x80&fit=cover&gravity=west", 0, 0, 0.5, 1, 60, 80),
	part("cover keeps the east", "sizes=60x80&fit=cover&gravity=east", 0.5, 0, 1, 1, 60, 80),
	part("cover keeps the southeast", "sizes=60x80&fit=cover&gravity=southeast", 0.5, 0, 1, 1, 60, 80),
	part("cover keeps a focal point", "sizes=60x80&fit=cover&gravity=0.7,0.4", 0.45, 0, 0.95, 1, 60, 80),
	part("cover of a larger box keeps its shape", "sizes=320x320&fit=cover", 1.0/6, 0, 5.0/6, 1, 160, 160),
	part("cover of a wider box keeps its shape", "sizes=300x100&fit=cover", 0, 0.25, 1, 0.75, 240, 80),
	part("cover enlarges when asked", "sizes=320x320&fit=cover&enlarge=true", 1.0/6, 0, 5.0/6, 1, 320, 320),
	{"contain pads", "sizes=120x120&fit=contain&background=ffffff", 0, 0, 1, 1, 120, 120, image.Rect(0, 20, 120, 100)},
	{"contain leans north", "sizes=120x120&fit=contain&gravity=north&background=ffffff", 0, 0, 1, 1, 120, 120, image.Rect(0, 0, 120, 80)},
	{"contain pads without enlarging", "sizes=300x200&fit=contain&background=ffffff", 0, 0, 1, 1, 300, 200, image.Rect(30, 20, 270, 180)},
	part("crop counts in upright pixels", "crop=120,40,120,80", 0.5, 0.25, 1, 0.75, 120, 80),
	part("crop comes before the size", "crop=120,0,120,160&sizes=60x0", 0.5, 0, 1, 1, 60, 80),
}

// want is the picture that has to come out.
func (f fit) want() *image.NRGBA {
	if f.at.Empty() {
		return testpictures.SceneView(f.u0, f.v0, f.u1, f.v1, f.w, f.h)
	}
	out := image.NewNRGBA(image.Rect(0, 0, f.w, f.h))
	draw.Draw(out, out.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	inner := testpictures.SceneView(f.u0, f.v0, f.u1, f.v1, f.at.Dx(), f.at.Dy())
	draw.Draw(out, f.at, inner, image.Point{}, draw.Src)
	return out
}

// TestEveryOrientationInEveryFit asks for each fit of all eight ways to store
// the scene, in both byte orders: the answers are the same upright picture.
func TestEveryOrientationInEveryFit(t *testing.T) {
	root := t.TempDir()
	for o := 1; o <= 8; o++ {
		put(t, root, fmt.Sprintf("o%d.jpg", o), testpictures.Oriented(sceneWidth, sceneHeight, o, o%2 == 0))
	}
	s := start(t, withRoot(root))
	for _, f := range fits {
		t.Run(f.name, func(t *testing.T) {
			want := f.want()
			for o := 1; o <= 8; o++ {
				got := s.good(t, fmt.Sprintf("/assets/o%d.jpg?format=png&%s", o, f.query))
				alike(t, fmt.Sprintf("orientation %d", o), mustDecode(t, got.body).first(), want, 3.5)
			}
		})
	}
}

// TestOrientationInOtherFormats covers what can carry it besides JPEG.
func TestOrientationInOtherFormats(t *testing.T) {
	root := t.TempDir()
	for o := 1; o <= 8; o++ {
		block := testpictures.EXIF{Orientation: o}.Bytes()
		stored := testpictures.Stored(testpictures.Scene(sceneWidth, sceneHeight), o)
		put(t, root, fmt.Sprintf("o%d.tif", o), testpictures.TIFF(sceneWidth, sceneHeight, o, 1))
		put(t, root, fmt.Sprintf("o%d.png", o), testpictures.PNGOf(stored, 8, testpictures.PNGRGB, false, testpictures.Chunk{Name: "eXIf", Data: block}))
	}
	s := start(t, withRoot(root))
	want := testpictures.Scene(120, 80)
	for _, format := range []string{"tif", "png"} {
		for o := 1; o <= 8; o++ {
			t.Run(fmt.Sprintf("%s with orientation %d is upright", format, o), func(t *testing.T) {
				got := s.good(t, fmt.Sprintf("/assets/o%d.%s?format=png&sizes=120x0", o, format))
				alike(t, "upright", mustDecode(t, got.body).first(), want, 3.5)
			})
		}
	}
}

// TestTurnsAndMirrors checks the turns a client asks for.
func TestTurnsAndMirrors(t *testing.T) {
	root := t.TempDir()
	put(t, root, "o6.jpg", testpictures.Oriented(sceneWidth, sceneHeight, 6, false))
	s := start(t, withRoot(root))
	for _, tt := range []struct {
		name, query string
		want        int // the scene as stored for this orientation looks like the answer
	}{
		{"rotate=90 turns clockwise", "rotate=90", 8},
		{"rotate=180 stands on its head", "rotate=180", 3},
		{"rotate=270 turns the other way", "rotate=270", 6},
		{"flip exchanges top and bottom", "flip=true", 4},
		{"flop exchanges left and right", "flop=true", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.good(t, "/assets/o6.jpg?format=png&"+tt.query)
			want := testpictures.Stored(testpictures.Scene(sceneWidth, sceneHeight), tt.want)
			alike(t, tt.query, mustDecode(t, got.body).first(), want, 3.5)
		})
	}
}
