package httpapi_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

const whole = "png picture of 400x300"

// stored is a server whose cache has the picture at target.
func stored(t *testing.T, target string) (b *bench, etag string) {
	t.Helper()
	b = newBench(t, nil)
	etag = b.get(target).Header.Get("ETag")
	waitIdle(t, b)
	return b, etag
}

func TestRangesOfStoredPictures(t *testing.T) {
	const target = "/assets/a.jpg?format=png"
	b, etag := stored(t, target)
	n := strconv.Itoa(len(whole))
	cases := []struct {
		name    string
		headers []string
		status  int
		body    string
		span    string // Content-Range
	}{
		{"none is asked for", nil, 200, whole, ""},
		{"the first bytes", []string{"Range: bytes=0-2"}, 206, "png", "bytes 0-2/" + n},
		{"from the middle on", []string{"Range: bytes=4-"}, 206, whole[4:], "bytes 4-21/" + n},
		{"one byte", []string{"Range: bytes=21-21"}, 206, "0", "bytes 21-21/" + n},
		{"the last bytes", []string{"Range: bytes=-7"}, 206, "400x300", "bytes 15-21/" + n},
		{"more last bytes than there are", []string{"Range: bytes=-700"}, 206, whole, "bytes 0-21/" + n},
		{"an end behind the picture's", []string{"Range: bytes=15-99999999999999999999"}, 206, "400x300", "bytes 15-21/" + n},
		{"in any case of letters", []string{"Range: Bytes=0-2"}, 206, "png", "bytes 0-2/" + n},
		{"of the picture the client has", []string{"Range: bytes=0-2", "If-Range: " + etag}, 206, "png", "bytes 0-2/" + n},
		{"of another picture", []string{"Range: bytes=0-2", `If-Range: "other"`}, 200, whole, ""},
		{"of a picture that is only like it", []string{"Range: bytes=0-2", "If-Range: W/" + etag}, 200, whole, ""},
		{"of a time, which tells no results apart", []string{"Range: bytes=0-2", "If-Range: Fri, 02 Jan 2026 03:04:05 GMT"}, 200, whole, ""},
		{"several", []string{"Range: bytes=0-2,4-5"}, 200, whole, ""},
		{"an end before its beginning", []string{"Range: bytes=5-4"}, 200, whole, ""},
		{"in another unit", []string{"Range: lines=0-2"}, 200, whole, ""},
		{"no numbers", []string{"Range: bytes=a-b"}, 200, whole, ""},
		{"a sign", []string{"Range: bytes=+1-3"}, 200, whole, ""},
		{"nothing", []string{"Range: bytes=-"}, 200, whole, ""},
		{"no range at all", []string{"Range: bytes"}, 200, whole, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res := b.get(target, c.headers...)
			if res.StatusCode != c.status || res.Header.Get("Content-Range") != c.span {
				t.Errorf("got %s of %q, want %d of %q", res.Status, res.Header.Get("Content-Range"), c.status, c.span)
			}
			got := body(t, res)
			if got != c.body || res.Header.Get("Content-Length") != strconv.Itoa(len(c.body)) {
				t.Errorf("got %q, length %s", got, res.Header.Get("Content-Length"))
			}
			for name, want := range map[string]string{"Accept-Ranges": "bytes", "ETag": etag, "Content-Type": "image/png"} {
				if res.Header.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, res.Header.Get(name), want)
				}
			}
		})
	}
	for _, header := range []string{"bytes=22-", "bytes=22-30", "bytes=-0", "bytes=99999999999999999999-"} {
		t.Run(header+" asks for nothing that is there", func(t *testing.T) {
			res := b.get(target, "Range: "+header)
			wantProblem(t, res, 416, "range-not-satisfiable")
			if got := res.Header.Get("Content-Range"); got != "bytes */"+n {
				t.Errorf("Content-Range is %q", got)
			}
			if res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("ETag") != "" {
				t.Errorf("the problem has the picture's headers: %v", res.Header)
			}
		})
	}
	t.Run("a known tag outweighs a range", func(t *testing.T) {
		if res := b.get(target, "Range: bytes=0-2", "If-None-Match: "+etag); res.StatusCode != 304 {
			t.Error(res.Status)
		}
	})
	t.Run("HEAD has no ranges, and tells the length", func(t *testing.T) {
		res := ask(b.public, http.MethodHead, target, "Range: bytes=0-2")
		if res.StatusCode != 200 || res.Header.Get("Content-Length") != n || res.Header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("got %s, %v", res.Status, res.Header)
		}
	})
	t.Run("wrapped pictures have none", func(t *testing.T) {
		for _, query := range []string{"&encoder=json", "&sizes=40x0,20x0"} {
			res := b.get(target+query, "Range: bytes=0-2")
			if res.StatusCode != 200 || res.Header.Get("Accept-Ranges") != "" || len(body(t, res)) < 20 {
				t.Errorf("%s gives %s, %v", query, res.Status, res.Header)
			}
		}
	})
}

// Whoever asks for a part waits for the whole, whose length the answer tells.
func TestARangeOfAPictureThatIsBeingMade(t *testing.T) {
	b := newBench(t, func(s *settings) { s.transform.Hold = 4 })
	goOn := make(chan struct{})
	b.engine.run = slowly("head", goOn, func(w io.Writer) error { _, err := io.WriteString(w, " and end"); return err })
	answers := make(chan *http.Response)
	go func() { answers <- b.get("/assets/a.jpg?format=png", "Range: bytes=-3") }()
	close(goOn)
	res := <-answers
	if got := body(t, res); res.StatusCode != 206 || got != "end" || res.Header.Get("Content-Range") != "bytes 9-11/12" {
		t.Errorf("got %s %q of %q", res.Status, got, res.Header.Get("Content-Range"))
	}
	t.Run("which fails", func(t *testing.T) {
		b := newBench(t, func(s *settings) { s.transform.Hold = 4 })
		goOn := make(chan struct{})
		close(goOn)
		b.engine.run = slowly("head", goOn, func(io.Writer) error {
			return media.Errorf(media.CodeDecodeFailed, "The picture is broken further down.")
		})
		res := b.get("/assets/a.jpg?format=png", "Range: bytes=0-1")
		if p := wantProblem(t, res, 422, "decode-failed"); !strings.Contains(p.Detail, "further down") {
			t.Error(p.Detail)
		}
	})
}
