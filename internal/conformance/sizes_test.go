package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// TestSeveralSizesShareOneFetch asks for three sizes in both wrappings. The
// pictures are those that three requests would give, and the origin is asked
// once.
func TestSeveralSizesShareOneFetch(t *testing.T) {
	file := testpictures.JPEG(testpictures.Photo(1200, 800), 92)
	s := start(t)
	var asked atomic.Int32
	s.origin.serve(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("ETag", `"one"`)
		_, _ = w.Write(file)
	})
	sizes := []string{"600x0", "60x0", "300x0"}
	for name, read := range map[string]func(*testing.T, answer) [][]byte{"multipart": readMultipart, "json": readJSON} {
		t.Run("as "+name, func(t *testing.T) {
			asked.Store(0)
			query := "/resize?format=png&sizes=600x0,60x0,300x0&image_url=" + s.origin.url + "/" + name
			if name == "json" {
				query += "&encoder=json"
			}
			bodies := read(t, s.good(t, query))
			if n := asked.Load(); n != 1 {
				t.Errorf("the origin was asked %d times, want once", n)
			}
			if len(bodies) != len(sizes) {
				t.Fatalf("%d pictures, want %d", len(bodies), len(sizes))
			}
			for i, size := range sizes {
				got := mustDecode(t, bodies[i])
				alone := mustDecode(t, s.good(t, fmt.Sprintf("/resize?format=png&sizes=%s&image_url=%s/alone", size, s.origin.url)).body)
				alike(t, size, got.first(), alone.first(), 2.5)
			}
		})
	}
}

func readMultipart(t *testing.T, a answer) [][]byte {
	t.Helper()
	kind, params, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		t.Fatalf("Content-Type %q: %v", a.header.Get("Content-Type"), err)
	}
	var out [][]byte
	parts := multipart.NewReader(bytes.NewReader(a.body), params["boundary"])
	for {
		p, err := parts.NextPart()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Header.Get("Content-Type"); got != "image/png" {
			t.Errorf("a part is declared as %q", got)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, body)
	}
}

func readJSON(t *testing.T, a answer) [][]byte {
	t.Helper()
	var document struct {
		Images []struct {
			Width, Height int
			Data          []byte
		}
	}
	if err := json.Unmarshal(a.body, &document); err != nil {
		t.Fatalf("%v in %s", err, a.excerpt())
	}
	var out [][]byte
	for _, image := range document.Images {
		if got := mustDecode(t, image.Data).size(); got != fmt.Sprintf("%dx%d", image.Width, image.Height) {
			t.Errorf("a picture of %s is declared as %dx%d", got, image.Width, image.Height)
		}
		out = append(out, image.Data)
	}
	return out
}

// TestNoSideIsEverZero shrinks extreme shapes far below a pixel.
func TestNoSideIsEverZero(t *testing.T) {
	root := t.TempDir()
	put(t, root, "wide.png", testpictures.PNGOf(testpictures.Scene(5000, 1), 8, testpictures.PNGRGB, false))
	put(t, root, "tall.png", testpictures.PNGOf(testpictures.Scene(1, 5000), 8, testpictures.PNGRGB, false))
	put(t, root, "dot.png", testpictures.PNGOf(testpictures.Scene(1, 1), 8, testpictures.PNGRGB, false))
	s := start(t, withRoot(root))
	for _, tt := range []struct{ target, want string }{
		{"wide.png?sizes=10x0", "10x1"}, {"wide.png?sizes=10x10", "10x1"}, {"tall.png?sizes=0x10", "1x10"},
		{"tall.png?sizes=3x3", "1x3"}, {"wide.png?sizes=1x1&fit=cover", "1x1"}, {"tall.png?sizes=5x5&fit=contain", "5x5"},
		{"dot.png?sizes=1x1", "1x1"}, {"dot.png?sizes=40x30&fit=fill&enlarge=true", "40x30"}, {"wide.png?sizes=7x0&rotate=90", "1x5000"},
		{"wide.png?sizes=0x7&rotate=90", "1x7"},
	} {
		for _, format := range []string{"png", "webp", "jpeg"} {
			got := mustDecode(t, s.good(t, "/assets/"+tt.target+"&format="+format).body)
			if got.size() != tt.want {
				t.Errorf("%s as %s is %s, want %s", tt.target, format, got.size(), tt.want)
			}
		}
	}
}

// TestMaxBytesHolds asks for less and less.
func TestMaxBytesHolds(t *testing.T) {
	s := start(t, withFile(t, "in.jpg", testpictures.JPEG(testpictures.Photo(800, 600), 92)))
	for _, format := range []string{"jpeg", "webp", "avif"} {
		for _, limit := range []int{60_000, 25_000, 12_000} {
			got := s.get(t, fmt.Sprintf("/assets/in.jpg?sizes=500x0&format=%s&max_bytes=%d", format, limit))
			if got.status != http.StatusOK {
				t.Errorf("%s within %d bytes: status %d %s", format, limit, got.status, got.excerpt())
			} else if len(got.body) > limit {
				t.Errorf("%s within %d bytes has %d", format, limit, len(got.body))
			}
		}
	}
	got := s.get(t, "/assets/in.jpg?sizes=500x0&format=jpeg&max_bytes=200")
	if got.status != http.StatusUnprocessableEntity || got.code() != "limit-output-bytes" {
		t.Errorf("within 200 bytes: status %d %s", got.status, got.excerpt())
	}
}
