package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/httpapi"
)

type uploaded struct {
	Input       string
	Bytes       int64
	ContentType string `json:"content_type"`
}

func TestUploads(t *testing.T) {
	b := newJobBench(t, nil)
	stored := func(t *testing.T) int {
		t.Helper()
		list, err := b.blobs.List(t.Context(), "uploads", "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	t.Run("an upload becomes the input of a job", func(t *testing.T) {
		text := "\xff\xd8\xff\xe0" + strings.Repeat("x", 1000)
		got := answer[uploaded](t, b.call("POST", "/v1/uploads", text, "Content-Type: text/html"), 201)
		if got.Bytes != 1004 || got.ContentType != "image/jpeg" || !strings.HasPrefix(got.Input, "upload:") {
			t.Fatalf("got %+v", got)
		}
		body, _, err := b.blobs.Get(t.Context(), "uploads/"+strings.TrimPrefix(got.Input, "upload:"))
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if kept, err := io.ReadAll(body); err != nil || string(kept) != text {
			t.Errorf("%d bytes are kept, %v", len(kept), err)
		}
		b.enter(t, `{"type":"image.derive","input":"`+got.Input+`","params":{"sizes":"300x0","format":"webp"}}`)
	})
	t.Run("what it is called does not matter", func(t *testing.T) {
		if got := answer[uploaded](t, b.call("POST", "/v1/uploads", "<script>", "Content-Type: image/png"), 201); got.ContentType != "application/octet-stream" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("as many bytes as are allowed, and not one more", func(t *testing.T) {
		answer[uploaded](t, b.call("POST", "/v1/uploads", strings.Repeat("x", 1<<20)), 201)
		n := stored(t)
		wantProblem(t, b.call("POST", "/v1/uploads", strings.Repeat("x", 1<<20+1)), 413, "upload-too-large")
		chunked := struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 1<<20+1))}
		wantProblem(t, sendBody(b.public, "/v1/uploads", chunked, b.who), 413, "upload-too-large")
		if got := stored(t); got != n {
			t.Errorf("%d uploads are kept of what is too large", got-n)
		}
	})
	t.Run("nothing is no upload", func(t *testing.T) {
		wantProblem(t, b.call("POST", "/v1/uploads", ""), 400, "invalid-parameter")
	})
	t.Run("one that breaks off is not kept", func(t *testing.T) {
		n := stored(t)
		broken := io.MultiReader(strings.NewReader("half"), failingReader{})
		wantProblem(t, sendBody(b.public, "/v1/uploads", broken, b.who), 400, "invalid-body")
		if got := stored(t); got != n {
			t.Error("it is kept")
		}
	})
	t.Run("it takes no parameters", func(t *testing.T) {
		wantProblem(t, b.call("POST", "/v1/uploads?name=a", "x"), 400, "invalid-parameter")
	})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestOutputs(t *testing.T) {
	b := newJobBench(t, nil)
	b.put(t, "jobs/7/a.webp", "0123456789")
	b.put(t, "uploads/secret", "an upload")
	b.put(t, "jobs/7/page.txt", "<script>")
	b.put(t, "jobs/7/a.svg", "<svg/>")
	t.Run("whole", func(t *testing.T) {
		res := b.call("GET", "/v1/outputs/jobs/7/a.webp", "")
		h := res.Header
		if text := body(t, res); res.StatusCode != 200 || text != "0123456789" || h.Get("Content-Type") != "image/webp" || h.Get("Content-Length") != "10" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Disposition") != "inline; filename=a.webp" || h.Get("Accept-Ranges") != "bytes" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("got %d %q %v", res.StatusCode, text, h)
		}
	})
	t.Run("in parts", func(t *testing.T) {
		res := b.call("GET", "/v1/outputs/jobs/7/a.webp", "", "Range: bytes=2-4")
		if text := body(t, res); res.StatusCode != 206 || text != "234" || res.Header.Get("Content-Range") != "bytes 2-4/10" {
			t.Errorf("got %d %q %v", res.StatusCode, text, res.Header)
		}
		wantProblem(t, b.call("GET", "/v1/outputs/jobs/7/a.webp", "", "Range: bytes=10-"), 416, "range-not-satisfiable")
	})
	t.Run("its headers only", func(t *testing.T) {
		res := b.call("HEAD", "/v1/outputs/jobs/7/a.webp", "")
		if text := body(t, res); res.StatusCode != 200 || text != "" || res.Header.Get("Content-Length") != "10" {
			t.Errorf("got %d %q %v", res.StatusCode, text, res.Header)
		}
	})
	t.Run("not again what a client has", func(t *testing.T) {
		tag := b.call("GET", "/v1/outputs/jobs/7/a.webp", "").Header.Get("ETag")
		if res := b.call("GET", "/v1/outputs/jobs/7/a.webp", "", `If-None-Match: "x", `+tag); res.StatusCode != 304 || body(t, res) != "" {
			t.Errorf("got %d", res.StatusCode)
		}
	})
	t.Run("as text or bytes what could run", func(t *testing.T) {
		for key, want := range map[string]string{"page.txt": "text/plain; charset=utf-8", "a.svg": "application/octet-stream"} {
			if got := b.call("GET", "/v1/outputs/jobs/7/"+key, "").Header.Get("Content-Type"); got != want {
				t.Errorf("%s: got %q", key, got)
			}
		}
	})
	for _, key := range []string{
		"uploads/secret", "jobs/../uploads/secret", "jobs/%2e%2e/uploads/secret", "jobs//7/a.webp", "jobs/7/none", "jobs/7", "jobs/", "jobs",
		"jobs/7/a.webp/", "%2Fjobs/7/a.webp", "jobs/7/a%00.webp", "jobs/.part/x", "jobs\\7\\a.webp", "jobs/" + strings.Repeat("x", 3000),
	} {
		t.Run("nothing is at "+key[:min(len(key), 40)], func(t *testing.T) {
			wantProblem(t, b.call("GET", "/v1/outputs/"+key, ""), 404, "output-not-found")
		})
	}
}

// dangerous gives what could run in a browser, and then fails.
type dangerous struct{ kind string }

func (d dangerous) Get(context.Context, string) (io.ReadSeekCloser, blob.Info, error) {
	if d.kind == "" {
		return nil, blob.Info{}, errors.New("GET https://bucket.example/?X-Amz-Signature=hunter2: connection refused")
	}
	return nopCloser{bytes.NewReader([]byte("x"))}, blob.Info{Size: 1, ContentType: d.kind}, nil
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

func TestWhatCouldRunIsSaved(t *testing.T) {
	for kind, want := range map[string]string{
		"image/svg+xml": "attachment", "text/html; charset=utf-8": "attachment", "application/xhtml+xml": "attachment",
		"text/xml": "attachment", "text/javascript": "attachment", "not a type": "attachment",
		"image/webp": "inline", "application/pdf": "inline", "text/plain; charset=utf-8": "inline",
	} {
		t.Run(kind, func(t *testing.T) {
			b := newJobBench(t, func(c *httpapi.JobsConfig) { c.Outputs = dangerous{kind} })
			if got := b.call("GET", "/v1/outputs/jobs/a", "").Header.Get("Content-Disposition"); !strings.HasPrefix(got, want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTheStoreOfFilesIsAway(t *testing.T) {
	b := newJobBench(t, func(c *httpapi.JobsConfig) { c.Outputs = dangerous{} })
	wantProblem(t, b.call("GET", "/v1/outputs/jobs/a", ""), 503, "store-unavailable")
	if strings.Contains(b.logged.String(), "hunter2") {
		t.Error("the query of its URL is in the log")
	}
}
