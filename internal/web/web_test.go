package web_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/web"
)

func handler(t *testing.T, cfg web.Config) http.Handler {
	t.Helper()
	p, err := web.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(h http.Handler, method, path string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// sources are the page's files as they stand in the repository, by URL path.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := filepath.Glob("static/*")
	if err != nil || len(names) < 8 {
		t.Fatalf("found %d files: %v", len(names), err)
	}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := "/playground/" + filepath.Base(name)
		if path == "/playground/index.html" {
			path = "/"
		}
		out[path] = string(body)
	}
	return out
}

func TestFiles(t *testing.T) {
	h := handler(t, web.Config{})
	types := map[string]string{"": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
	for path, body := range sources(t) {
		t.Run(path+" comes whole, typed, tagged and under the policy", func(t *testing.T) {
			w := ask(h, http.MethodGet, path, nil)
			if w.Code != http.StatusOK || w.Body.String() != body {
				t.Fatalf("status %d with %d bytes, want 200 with %d", w.Code, w.Body.Len(), len(body))
			}
			if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, types[filepath.Ext(path)]) {
				t.Errorf("its type is %q", got)
			}
			guarded(t, w.Header())
			again := ask(h, http.MethodGet, path, http.Header{"If-None-Match": {`"other", W/` + w.Header().Get("ETag")}})
			if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
				t.Errorf("with its tag: status %d with %d bytes, want an empty 304", again.Code, again.Body.Len())
			}
			head := ask(h, http.MethodHead, path, nil)
			if head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("Content-Length") != fmt.Sprint(len(body)) {
				t.Errorf("HEAD: status %d, %d bytes, length %s", head.Code, head.Body.Len(), head.Header().Get("Content-Length"))
			}
		})
	}
}

func guarded(t *testing.T, h http.Header) {
	t.Helper()
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
		t.Errorf("the policy %q allows too much", policy)
	}
	if h.Get("X-Content-Type-Options") != "nosniff" {
		t.Error("nosniff is missing")
	}
}

func TestThePlaygroundTellsWhichPathsItHas(t *testing.T) {
	p, err := web.New(web.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		want       bool
	}{
		{"the page is its own", "/", true},
		{"a file of the page is its own", "/playground/main.js", true},
		{"the list of pictures is its own", "/demo.json", true},
		{"an unknown path is not", "/nothing", false},
		{"the page has one address", "/playground/index.html", false},
		{"a folder is not listed", "/playground/", false},
		{"no path leads out of the files", "/playground/../web.go", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := p.Has(c.path); got != c.want {
				t.Errorf("Has(%q) = %v", c.path, got)
			}
			if w := ask(p, http.MethodGet, c.path, nil); (w.Code == http.StatusOK) != c.want {
				t.Errorf("%s answers %d", c.path, w.Code)
			}
		})
	}
}

// TestPageIsSelfContained holds that the page works with no other host and
// under a policy without inline code.
func TestPageIsSelfContained(t *testing.T) {
	h := handler(t, web.Config{})
	files := sources(t)
	host := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9-]+\.[a-z0-9.-]+[^\s"'<)]*`)
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?:[^>]*)>[^<]|eval\(|innerHTML|data:`)
	local := regexp.MustCompile(`"(/playground/[^"]+)"|from '\./([^']+)'`)
	for path, body := range files {
		t.Run(path, func(t *testing.T) {
			for _, found := range host.FindAllString(body, -1) {
				if found != "http://www.w3.org/2000/svg" {
					t.Errorf("refers to %s", found)
				}
			}
			for _, found := range inline.FindAllString(body, -1) {
				t.Errorf("holds %q, which the policy forbids", found)
			}
			for _, m := range local.FindAllStringSubmatch(body, -1) {
				target := m[1]
				if target == "" {
					target = "/playground/" + m[2]
				}
				if w := ask(h, http.MethodGet, target, nil); w.Code != http.StatusOK {
					t.Errorf("refers to %s, which answers %d", target, w.Code)
				}
			}
		})
	}
}

type listing struct {
	Demo    bool
	Signed  bool
	Version string
	Formats []struct {
		Format    string
		Available bool
	}
	Pictures []struct {
		Key, Title, Note string
		Bytes            int64
		Width, Height    int
	}
}

func list(t *testing.T, cfg web.Config) listing {
	t.Helper()
	w := ask(handler(t, cfg), http.MethodGet, "/demo.json", nil)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("ETag") == "" {
		t.Fatalf("status %d, type %q, tag %q", w.Code, w.Header().Get("Content-Type"), w.Header().Get("ETag"))
	}
	var l listing
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func keys(l listing) []string {
	out := []string{}
	for _, p := range l.Pictures {
		out = append(out, p.Key)
	}
	return out
}

// gifHeader is the start of a GIF of 7 x 5, enough for its size.
const gifHeader = "GIF89a\x07\x00\x05\x00\x00\x00\x00"

func TestListing(t *testing.T) {
	t.Run("tells which formats can be written, and the version", func(t *testing.T) {
		l := list(t, web.Config{Version: "1.2", Abilities: media.Abilities{Write: map[media.Format]bool{media.WebP: true}}})
		for _, f := range l.Formats {
			if f.Available != (f.Format == "webp") {
				t.Errorf("%s is available: %v", f.Format, f.Available)
			}
		}
		if len(l.Formats) != len(media.OutputFormats()) || l.Version != "1.2" || l.Pictures == nil {
			t.Errorf("got %+v", l)
		}
	})

	t.Run("tells whether URLs have to be signed", func(t *testing.T) {
		for _, signed := range []bool{true, false} {
			if l := list(t, web.Config{Signed: signed}); l.Signed != signed {
				t.Errorf("signed is told as %v, want %v", l.Signed, signed)
			}
		}
	})

	t.Run("gives the demo pictures that are there their titles and order", func(t *testing.T) {
		l := list(t, web.Config{Demo: true, Root: fstest.MapFS{
			"weir.svg": {Data: []byte("<svg/>")}, "orbit.gif": {Data: []byte(gifHeader)}, "other.gif": {Data: []byte(gifHeader)},
		}})
		if diff := cmp.Diff([]string{"orbit.gif", "weir.svg"}, keys(l)); diff != "" {
			t.Fatalf("keys (-want +got):\n%s", diff)
		}
		if p := l.Pictures[0]; p.Title != "Orbit" || p.Note == "" || p.Bytes != int64(len(gifHeader)) || p.Width != 7 || p.Height != 5 {
			t.Errorf("got %+v", p)
		}
	})

	t.Run("offers the picture files of somebody's own root, and no others", func(t *testing.T) {
		l := list(t, web.Config{Root: fstest.MapFS{
			"b.JPG": {Data: []byte("x")}, "a/c.webp": {Data: []byte("x")}, "notes.txt": {Data: []byte("x")},
			".hidden.png": {Data: []byte("x")}, ".git/x.png": {Data: []byte("x")}, "1/2/3/4/deep.png": {Data: []byte("x")},
			"pipe.png": {Mode: fs.ModeNamedPipe}, "1/2/3/near.png": {Data: []byte("x")},
		}})
		if diff := cmp.Diff([]string{"1/2/3/near.png", "a/c.webp", "b.JPG"}, keys(l)); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	})

	t.Run("stops at a number of pictures", func(t *testing.T) {
		root := fstest.MapFS{}
		for i := range 500 {
			root[fmt.Sprintf("%04d.png", i)] = &fstest.MapFile{Data: []byte("x")}
		}
		got := keys(list(t, web.Config{Root: root}))
		if len(got) != 60 || got[0] != "0000.png" || got[59] != "0059.png" {
			t.Errorf("%d pictures, %v", len(got), got)
		}
	})

	t.Run("is empty when the root cannot be read", func(t *testing.T) {
		if got := keys(list(t, web.Config{Root: os.DirFS(filepath.Join(t.TempDir(), "gone"))})); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
}
