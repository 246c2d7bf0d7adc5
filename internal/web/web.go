package web

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/web/demo"
)

//go:embed static
var static embed.FS

// policy lets the page use its own files and what it made from them, and
// nothing else: no inline code, no other host, no framing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Config says what the page is to show.
type Config struct {
	// Root is the folder that /assets/ serves. Nil, as for S3, lists no
	// pictures; the page then only takes a key or URL.
	Root fs.FS
	// Demo says that Root is the folder EnsureDemo filled, so that its
	// pictures have titles.
	Demo bool
	// Signed says that the server answers signed URLs only. The page has no
	// key, and then says so and asks for no picture.
	Signed bool
	// Abilities tells which formats can be chosen.
	Abilities media.Abilities
	// Version is the program's own, shown in the page's foot.
	Version string
}

// EnsureDemo fills dir with the demo pictures of this build; it is quick when
// they are there already, and ends with ctx. See demo.Ensure.
func EnsureDemo(ctx context.Context, dir string) error { return demo.Ensure(ctx, dir) }

// Playground serves the page and its list of pictures.
type Playground struct {
	config Config
	files  map[string]file // by URL path
}

// file is one embedded file, ready to send.
type file struct {
	body        []byte
	contentType string
	etag        string
}

// contentTypes are fixed here, because the system's table may differ.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// New reads the embedded files. It starts nothing.
func New(cfg Config) (*Playground, error) {
	p := &Playground{config: cfg, files: map[string]file{}}
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		kind, ok := contentTypes[path.Ext(name)]
		if !ok {
			return fmt.Errorf("no content type for %s", name)
		}
		p.files["/playground"+strings.TrimPrefix(name, "static")] = file{body, kind, tag(body)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read playground files: %w", err)
	}
	page, ok := p.files["/playground/index.html"]
	if !ok {
		return nil, errors.New("read playground files: no index.html")
	}
	delete(p.files, "/playground/index.html")
	p.files["/"] = page
	return p, nil
}

func tag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// listPath is the list of pictures, which is made anew each time.
const listPath = "/demo.json"

// Has tells whether a path is the playground's: "/", its files and the list
// of pictures.
func (p *Playground) Has(path string) bool {
	_, ok := p.files[path]
	return ok || path == listPath
}

// ServeHTTP answers GET and HEAD of the paths it has. The server around it
// refuses everything else, in the one form its errors have.
func (p *Playground) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := p.files[r.URL.Path]
	switch {
	case r.URL.Path == listPath:
		f = p.list()
	case !ok:
		http.NotFound(w, r)
		return
	}
	send(w, r, f)
}

// send answers with a file or, when the client has it, with 304. The page is
// asked for anew each time, which costs one small answer and never leaves an
// old script beside a new page.
func send(w http.ResponseWriter, r *http.Request, f file) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	guard(h)
	if matches(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", fmt.Sprint(len(f.body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(f.body) // an error means that the client left
	}
}

func guard(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func matches(header, etag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		c := strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if c == etag || c == "*" {
			return true
		}
	}
	return false
}
