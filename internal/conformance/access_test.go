package conformance_test

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// TestNothingOutsideIsReached tries to leave the root and the allowed hosts.
func TestNothingOutsideIsReached(t *testing.T) {
	folder := t.TempDir()
	root := filepath.Join(folder, "root")
	good := testpictures.JPEG(testpictures.Scene(60, 40), 90)
	put(t, root, "in.jpg", good)
	put(t, folder, "outside.jpg", good)
	if err := os.Symlink(filepath.Join(folder, "outside.jpg"), filepath.Join(root, "link.jpg")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, filepath.Join(root, "folder")); err != nil {
		t.Fatal(err)
	}
	s := start(t, withRoot(root))
	s.good(t, "/assets/in.jpg?format=png")
	for _, target := range []string{
		"/assets/link.jpg", "/assets/folder/outside.jpg", "/assets/../outside.jpg", "/assets/..%2foutside.jpg", "/assets/%2e%2e/outside.jpg",
		"/assets/%2fetc/passwd", "/assets//etc/passwd", "/assets/in.jpg%00.png", "/assets/.", "/assets/folder",
	} {
		if got := s.rawGet(t, target); got.status < 400 || got.status >= 500 {
			t.Errorf("%s answers %d", target, got.status)
		}
	}
	for _, ref := range []string{
		"../outside.jpg", filepath.Join(folder, "outside.jpg"), "file://" + filepath.Join(folder, "outside.jpg"), "/etc/passwd", "file:///etc/passwd",
		"data:image/png;base64,AAAA", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "http://169.254.169.254/latest/meta-data/", "http://localhost:1/x",
		"http://[::1]:1/x", "http://0x7f000001/x", "http://127.1/x", "http://user:pass@127.0.0.1/x", "s3://bucket/key",
	} {
		got := s.get(t, "/resize?image_url="+url.QueryEscape(ref))
		if got.status < 400 || got.status >= 500 {
			t.Errorf("image_url=%s answers %d %s", ref, got.status, got.excerpt())
		}
		if bytes.Contains(got.body, []byte("root:")) {
			t.Errorf("image_url=%s shows a local file", ref)
		}
	}
}

// TestPrivateNetworksAreRefusedByDefault names an allowed host that lies in
// one, by itself and at the end of a redirect.
func TestPrivateNetworksAreRefusedByDefault(t *testing.T) {
	var port string
	s := start(t, func(c *app.Config) {
		c.AllowPrivateSources = false
		_, port, _ = strings.Cut(strings.TrimPrefix(c.AllowSource[0], "http://"), ":")
		c.AllowSource = []string{"127.0.0.1:" + port, "localhost:" + port}
	})
	for _, host := range []string{"127.0.0.1", "localhost"} {
		got := s.get(t, "/resize?image_url=http://"+host+":"+port+"/good/a.jpg")
		if got.status != http.StatusForbidden || got.code() != "source-forbidden" {
			t.Errorf("%s: status %d %s", host, got.status, got.excerpt())
		}
		got.isProblem(t)
	}
}

// TestRedirectsAreCheckedAgain follows an allowed host to one that is not.
func TestRedirectsAreCheckedAgain(t *testing.T) {
	canary := listenCanary(t)
	s := start(t)
	s.origin.serve(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/out":
			http.Redirect(w, r, "http://127.0.0.1:18999/canary", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/in":
			http.Redirect(w, r, "/good/a.jpg", http.StatusMovedPermanently)
		}
	})
	for path, want := range map[string]int{"/out": http.StatusForbidden, "/file": http.StatusForbidden, "/loop": http.StatusBadGateway, "/in": http.StatusOK} {
		got := s.get(t, "/resize?format=png&image_url="+s.origin.url+path)
		// What becomes of a bad redirect is the origin's fault or a refusal.
		if got.status != want && (want == http.StatusOK || got.status < 400) {
			t.Errorf("%s: status %d %s, want %d", path, got.status, got.excerpt(), want)
		}
	}
	canary.untouched(t)
}

// TestDisguisesAreRefused names things as pictures that are none.
func TestDisguisesAreRefused(t *testing.T) {
	canary := listenCanary(t)
	root := t.TempDir()
	disguises := testpictures.Disguises("http://127.0.0.1:18999/canary")
	for name, file := range disguises {
		put(t, root, name, file)
	}
	jpeg := testpictures.JPEG(testpictures.Scene(60, 40), 90)
	gif := testpictures.Disposals(32, 32)["none"].Bytes()
	put(t, root, "zip.jpg", testpictures.ZipJPEG(jpeg))
	put(t, root, "script.gif", testpictures.ScriptGIF(gif))
	put(t, root, "named.txt", jpeg)
	put(t, root, "document.jpg", testpictures.PDF(100, 80, 1))
	s := start(t, withRoot(root))
	for name := range disguises {
		got := s.get(t, "/assets/"+name)
		if got.status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: status %d %s, want 415", name, got.status, got.excerpt())
		}
		got.isProblem(t)
	}
	if got := s.get(t, "/assets/document.jpg"); got.status != http.StatusUnsupportedMediaType {
		t.Errorf("a PDF is read though nobody allowed it: status %d", got.status)
	}
	// Good pictures with something behind them are answered without it.
	for name, banned := range map[string]string{"zip.jpg": "alert(1)", "script.gif": "document.domain", "named.txt": "\x00\x00never"} {
		for _, format := range []string{"jpeg", "gif", "png"} {
			got := s.good(t, "/assets/"+name+"?format="+format)
			if bytes.Contains(got.body, []byte(banned)) {
				t.Errorf("%s as %s still carries %q", name, format, banned)
			}
		}
	}
	canary.untouched(t)
}

// TestTruncatedFilesAreRefused cuts every format at several places.
func TestTruncatedFilesAreRefused(t *testing.T) {
	photo := testpictures.Photo(300, 200)
	whole := map[string][]byte{
		"jpeg": testpictures.JPEG(photo, 90), "png": testpictures.PNGOf(photo, 8, testpictures.PNGRGB, false),
		"interlaced.png": testpictures.PNGOf(photo, 8, testpictures.PNGRGB, true), "gif": testpictures.Disposals(96, 96)["mixed"].Bytes(),
		"tiff": testpictures.TIFF(90, 60, 1, 1), "anim.webp": testpictures.WebPFrames(90, 60, 90, 60, 6),
		"cmyk.jpg": testpictures.CMYKJPEG(testpictures.CMYK(80, 60), testpictures.AdobeYCCK),
	}
	root := t.TempDir()
	put(t, root, "in.png", whole["png"])
	s := start(t, withRoot(root))
	for _, format := range []string{"webp", "avif", "jxl"} {
		if got := s.get(t, "/assets/in.png?format="+format); got.status == http.StatusOK {
			whole["made."+format] = got.body
		}
	}
	for name, file := range whole {
		put(t, root, "whole."+name, file)
		s.good(t, "/assets/whole."+name+"?format=png")
		for i, share := range []float64{0.01, 0.1, 0.4, 0.7, 0.95} {
			cut := string(rune('a'+i)) + "." + name
			put(t, root, cut, testpictures.Truncate(file, share))
			for _, query := range []string{"format=png", "format=gif&sizes=50x0"} {
				got := s.get(t, "/assets/"+cut+"?"+query)
				if got.status < 400 || got.status >= 500 || got.broken != nil {
					t.Errorf("%s cut to %.0f %%, %s: status %d (%v)", name, 100*share, query, got.status, got.broken)
				}
			}
		}
	}
	s.leavesNothing(t)
	s.isWell(t)
}

// TestBombsAreRefusedEarly sends what grows without measure.
func TestBombsAreRefusedEarly(t *testing.T) {
	for name, tt := range map[string]struct {
		file []byte
		code string
	}{
		"a PNG that claims 60000 x 60000":            {testpictures.GiantPNG(60000, 60000), "limit-pixels"},
		"a PNG that is 20000 x 20000":                {testpictures.DeflatedPNG(20000, 20000), "limit-pixels"},
		"a GIF canvas of 65535 x 65535":              {testpictures.GiantGIF(65535, 65535), "limit-pixels"},
		"a GIF of 4000 x 4000 with 5000 frames":      {testpictures.FrameBombGIF(4000, 4000, 5000), "limit-frames"},
		"a GIF of 4000 x 4000 with 400 frames":       {testpictures.FrameBombGIF(4000, 4000, 400), "limit-pixels"},
		"a WebP of 8000 x 8000 with 2000 frames":     {testpictures.WebPFrames(8000, 8000, 8000, 8000, 2000), "limit-frames"},
		"a JPEG with 883 scans":                      {testpictures.ScanBombJPEG(4096, 883), "limit-jpeg-scans"},
		"a PNG whose profile inflates to 200 MiB":    {testpictures.ProfileBombPNG(200 << 20), "limit-metadata"},
		"a PNG whose text inflates to 200 MiB":       {testpictures.TextBombPNG(200 << 20), "limit-metadata"},
		"a PNG with a chunk of 2 GiB":                {testpictures.HugeChunkPNG(), "decode-failed"},
		"a TIFF that claims 60000 x 60000":           {testpictures.GiantTIFF(60000, 60000), "limit-pixels"},
		"gzip data that inflates to 200 MiB":         {testpictures.PackedBomb(200 << 20), "unsupported-format"},
		"an SVGZ whose drawing is followed by zeros": {append(testpictures.PackedSVG(testpictures.SVG(9, 9)), testpictures.PackedBomb(200<<20)...), "limit-svg"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, withFile(t, "in", tt.file))
			before := resetPeak(t)
			got := s.get(t, "/assets/in?format=gif&sizes=100x0")
			if got.status != http.StatusUnprocessableEntity && got.status != http.StatusUnsupportedMediaType || got.code() != tt.code {
				t.Errorf("status %d %s, want %s", got.status, got.excerpt(), tt.code)
			}
			if grown := peak(t) - before; grown > 200<<20 {
				t.Errorf("the process grew by %d MiB", grown>>20)
			}
			s.leavesNothing(t)
			s.isWell(t)
		})
	}
}
