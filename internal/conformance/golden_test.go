package conformance_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// updateGolden writes testdata/golden.json anew. Look at the pictures first:
// with -golden-dir they are written to a folder.
var (
	updateGolden = flag.Bool("update-golden", false, "write testdata/golden.json from what the server answers now")
	goldenDir    = flag.String("golden-dir", "", "folder to write the answers of the golden tests to, for a look at them")
)

const goldenFile = "testdata/golden.json"

// How far an answer may be from the stored one. Another libvips or encoder
// moves single bits of the fingerprint and a level of colour; a wrong step
// moves a dozen bits or the colour.
const (
	goldenBits   = 5
	goldenLevels = 4.0
)

// golden is what is stored of a picture. Bytes is a ceiling: a quarter above
// what came out when it was written.
type golden struct {
	Format string     `json:"format"`
	Size   string     `json:"size"`
	Frames int        `json:"frames"`
	Hash   string     `json:"hash"`
	Mean   [3]float64 `json:"mean"`
	Bytes  int        `json:"bytes"`
}

// goldenCase is one request.
type goldenCase struct{ name, target string }

// goldenCases has every step, every fit in every format, and how they meet.
func goldenCases() []goldenCase {
	cases := []goldenCase{
		{"step crop", "/assets/photo.jpg?format=png&crop=100,50,200,150"},
		{"step crop and size", "/assets/photo.jpg?format=png&crop=100,50,200,150&sizes=80x0"},
		{"step rotate 90", "/assets/photo.jpg?format=png&rotate=90&sizes=150x0"},
		{"step rotate 270", "/assets/photo.jpg?format=png&rotate=270&sizes=150x0"},
		{"step flip", "/assets/photo.jpg?format=png&flip=true&sizes=150x0"},
		{"step flop", "/assets/photo.jpg?format=png&flop=true&sizes=150x0"},
		{"step trim", "/assets/framed.png?format=png&trim=10"},
		{"step trim and size", "/assets/framed.png?format=png&trim=10&sizes=60x0"},
		{"step blur", "/assets/photo.jpg?format=png&blur=8&sizes=150x0"},
		{"step sharpen", "/assets/photo.jpg?format=png&sharpen=2&sizes=150x0"},
		{"step grayscale", "/assets/scene.png?format=png&grayscale=true&sizes=150x0"},
		{"step background", "/assets/alpha.png?format=jpeg&background=00a0ff&sizes=150x0"},
		{"step background default", "/assets/alpha.png?format=jpeg&sizes=150x0"},
		{"step dpr", "/assets/photo.jpg?format=png&dpr=1.5&sizes=100x0"},
		{"step watermark", "/assets/photo.jpg?format=png&sizes=150x0&watermark=mark.png&watermark_gravity=southeast"},
		{"gravity attention", "/assets/photo.jpg?format=png&sizes=100x100&fit=cover&gravity=attention"},
		{"gravity entropy", "/assets/photo.jpg?format=png&sizes=100x100&fit=cover&gravity=entropy"},
		{"all steps together", "/assets/alpha.png?format=webp&crop=10,10,300,200&rotate=90&flop=true&sizes=90x90&fit=contain&background=204060&blur=1&sharpen=1&grayscale=true"},
		{"quality 20", "/assets/photo.jpg?format=jpeg&quality=20&sizes=300x0"},
		{"max_bytes", "/assets/photo.jpg?format=webp&max_bytes=6000&sizes=300x0"},
		{"ssim", "/assets/photo.jpg?format=webp&ssim=0.97&sizes=300x0"},
		{"step linear", "/assets/alpha.png?format=png&linear=true&sizes=90x0"},
		{"step linear of cmyk", "/assets/cmyk.jpg?format=png&linear=true&sizes=100x0"},
		{"step linear of wide gamut", "/assets/wide.png?format=png&linear=true&sizes=100x0"},
		{"step linear of 16 bit", "/assets/deep.png?format=png&linear=true&sizes=100x0"},
		{"step linear of an animation", "/assets/anim.gif?format=webp&linear=true&sizes=60x0"},
		{"shrink fast", "/assets/photo.jpg?format=png&shrink=fast&sizes=70x0"},
		{"lossless webp", "/assets/alpha.png?format=webp&lossless=true&sizes=100x0"},
		{"progressive jpeg", "/assets/photo.jpg?format=jpeg&progressive=true&sizes=300x0"},
		{"animation as gif", "/assets/anim.gif?format=gif&sizes=60x0"},
		{"animation as webp", "/assets/anim.gif?format=webp&sizes=60x0"},
		{"animation as still", "/assets/anim.gif?format=jpeg&sizes=60x0"},
		{"second page of a tiff", "/assets/pages.tif?format=png&page=2"},
		{"drawing", "/assets/draw.svg?format=png&sizes=120x0"},
		{"cmyk", "/assets/cmyk.jpg?format=png&sizes=100x0"},
		{"wide gamut", "/assets/wide.png?format=png&sizes=100x0"},
		{"16 bit", "/assets/deep.png?format=webp&sizes=100x0"},
	}
	for _, fit := range []string{"inside", "cover", "contain", "fill", "outside"} {
		for _, format := range []string{"jpeg", "png", "webp", "gif", "tiff", "avif"} {
			cases = append(cases, goldenCase{"fit " + fit + " as " + format, "/assets/alpha.png?sizes=120x120&fit=" + fit + "&format=" + format})
		}
	}
	return cases
}

func goldenRoot(t *testing.T) string {
	root := t.TempDir()
	photo := testpictures.Photo(600, 400)
	clear := testpictures.SceneAlpha(360, 240)
	framed := testpictures.Stored(testpictures.Scene(200, 140), 1)
	for y := range 140 {
		for x := range 200 {
			if x < 20 || x >= 170 || y < 15 || y >= 120 {
				c := framed.NRGBAAt(0, 0)
				c.R, c.G, c.B = 250, 250, 250
				framed.SetNRGBA(x, y, c)
			}
		}
	}
	for name, file := range map[string][]byte{
		"photo.jpg":  testpictures.JPEG(photo, 92),
		"scene.png":  testpictures.PNGOf(testpictures.Scene(360, 240), 8, testpictures.PNGRGB, false),
		"alpha.png":  testpictures.PNGOf(clear, 8, testpictures.PNGRGBA, false),
		"framed.png": testpictures.PNGOf(framed, 8, testpictures.PNGRGB, false),
		"mark.png":   testpictures.PNGOf(testpictures.SceneAlpha(50, 40), 8, testpictures.PNGRGBA, false),
		"anim.gif":   testpictures.Disposals(120, 120)["mixed"].Bytes(),
		"pages.tif":  testpictures.TIFF(120, 80, 6, 3),
		"draw.svg":   testpictures.SVG(60, 40),
		"cmyk.jpg":   testpictures.CMYKJPEG(testpictures.CMYK(200, 130), testpictures.AdobeYCCK),
		"wide.png":   testpictures.PNGOf(testpictures.Scene(200, 130), 8, testpictures.PNGRGB, false, testpictures.ICCChunk(testpictures.WideGamutProfile())),
		"deep.png":   testpictures.PNGOf(testpictures.Scene(200, 130), 16, testpictures.PNGRGB, true),
	} {
		put(t, root, name, file)
	}
	return root
}

func TestGolden(t *testing.T) {
	stored := map[string]golden{}
	if data, err := os.ReadFile(goldenFile); err == nil {
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
	} else if !*updateGolden {
		t.Fatal(err)
	}
	s := start(t, withRoot(goldenRoot(t)))
	fresh := map[string]golden{}
	for _, c := range goldenCases() {
		t.Run(c.name, func(t *testing.T) {
			got := s.good(t, c.target)
			p := s.open(t, got)
			fresh[c.name] = goldenOf(p, len(got.body))
			if *goldenDir != "" {
				put(t, *goldenDir, strings.ReplaceAll(c.name, " ", "-")+"."+p.format, got.body)
			}
			if !*updateGolden {
				compareGolden(t, p, len(got.body), stored[c.name])
			}
		})
	}
	if *updateGolden {
		data, err := json.MarshalIndent(fresh, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		put(t, ".", goldenFile, append(data, '\n'))
	} else if len(stored) != len(goldenCases()) {
		t.Errorf("%d pictures are stored, there are %d cases; run again with -update-golden and look at the difference", len(stored), len(goldenCases()))
	}
}

// open decodes an answer. Go has no decoder for AVIF, so the server turns its
// own into PNG.
func (s *server) open(t *testing.T, a answer) *picture {
	t.Helper()
	if a.header.Get("Content-Type") != "image/avif" {
		return mustDecode(t, a.body)
	}
	s.origin.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(a.body) })
	p := mustDecode(t, s.good(t, fmt.Sprintf("/resize?format=png&image_url=%s/%d.avif", s.origin.url, len(a.body))).body)
	p.format = "avif"
	return p
}

func goldenOf(p *picture, bytes int) golden {
	g := golden{Format: p.format, Size: p.size(), Frames: len(p.frames), Bytes: bytes + bytes/4}
	g.Hash = strconv.FormatUint(fingerprint(p.first()), 16)
	for i, v := range meanOnWhite(p.first()) {
		g.Mean[i] = math.Round(v)
	}
	return g
}

func compareGolden(t *testing.T, p *picture, bytes int, want golden) {
	t.Helper()
	got := goldenOf(p, bytes)
	if got.Format != want.Format || got.Size != want.Size || got.Frames != want.Frames {
		t.Errorf("%s %s of %d frames, want %s %s of %d", got.Format, got.Size, got.Frames, want.Format, want.Size, want.Frames)
	}
	hash, err := strconv.ParseUint(want.Hash, 16, 64)
	if err != nil {
		t.Fatalf("stored fingerprint %q: %v", want.Hash, err)
	}
	if d := distance(fingerprint(p.first()), hash); d > goldenBits {
		t.Errorf("the fingerprint is off by %d bits, more than %d", d, goldenBits)
	}
	near(t, "mean colour", got.Mean, want.Mean, goldenLevels)
	if bytes > want.Bytes {
		t.Errorf("%d bytes, more than the ceiling of %d", bytes, want.Bytes)
	}
}

// TestEqualRequestsGiveEqualBytes asks two servers without caches.
func TestEqualRequestsGiveEqualBytes(t *testing.T) {
	root := goldenRoot(t)
	first, second := start(t, withRoot(root)), start(t, withRoot(root))
	for _, c := range goldenCases() {
		a, b := first.good(t, c.target), second.good(t, c.target)
		if string(a.body) != string(b.body) {
			t.Errorf("%s: %d and %d bytes that differ", c.name, len(a.body), len(b.body))
		}
		if a.header.Get("ETag") != b.header.Get("ETag") || a.header.Get("ETag") == "" {
			t.Errorf("%s: tags %q and %q", c.name, a.header.Get("ETag"), b.header.Get("ETag"))
		}
	}
}
