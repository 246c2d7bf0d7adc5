package source_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// readIf opens with a condition; content is "unchanged" when it is.
func readIf(t *testing.T, router *source.Router, ref string, have source.Meta) (source.Meta, string, error) {
	t.Helper()
	object, err := router.OpenIf(t.Context(), ref, have)
	if err != nil {
		return source.Meta{}, "", err
	}
	if object.Unchanged {
		if object.Body != nil {
			t.Error("an unchanged object has a body")
		}
		return object.Meta, "unchanged", nil
	}
	content, err := io.ReadAll(object.Body)
	object.Body.Close()
	return object.Meta, string(content), err
}

const monday, tuesday = "Mon, 02 Jan 2006 15:04:05 GMT", "Tue, 03 Jan 2006 15:04:05 GMT"

// TestConditionalOpens opens twice, the second time with the Meta of the
// first.
func TestConditionalOpens(t *testing.T) {
	answer := func(status int, lines ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for _, line := range lines {
				name, value, _ := strings.Cut(line, ": ")
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			if status == http.StatusOK {
				io.WriteString(w, "picture")
			}
		}
	}
	cases := []struct {
		name          string
		first, second http.HandlerFunc
		match, since  string // what the second request has to say
		want          string
		code          media.Code
	}{
		{"a tag and a date are both sent", answer(200, `ETag: "1"`, "Last-Modified: "+monday), answer(304), `"1"`, monday, "unchanged", ""},
		{"a tag alone is sent as it was given", answer(200, `ETag: W/"1"`), answer(304, `ETag: W/"1"`), `W/"1"`, "", "unchanged", ""},
		{"a tag that became weak is the same", answer(200, `ETag: "1"`), answer(304, `ETag: W/"1"`), `"1"`, "", "unchanged", ""},
		{"a date alone is sent", answer(200, "Last-Modified: "+monday), answer(304, "Last-Modified: "+monday), "", monday, "unchanged", ""},
		{"a new version is given", answer(200, `ETag: "1"`), answer(200, `ETag: "2"`), `"1"`, "", "picture", ""},
		{"the same version is given by who does not look", answer(200, `ETag: "1"`), answer(200, `ETag: "1"`), `"1"`, "", "picture", ""},
		{"without a validator nothing is asked", answer(200), answer(200), "", "", "picture", ""},
		{"a 304 that was not asked for is a fault", answer(200), answer(304), "", "", "", media.CodeSourceFailed},
		{"a 404 is one", answer(200, `ETag: "1"`), answer(404), `"1"`, "", "", media.CodeSourceNotFound},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var asked []*http.Request
			server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
				if asked = append(asked, r); len(asked) == 1 {
					c.first(w, r)
				} else {
					c.second(w, r)
				}
			})
			router := newRouter(t, cfg)
			have, _, err := read(t, router, server.URL+"/a.jpg")
			if err != nil {
				t.Fatal(err)
			}
			meta, content, err := readIf(t, router, server.URL+"/a.jpg", have)
			if content != c.want {
				t.Errorf("content = %q, %v", content, err)
			}
			if c.code != "" {
				wantCode(t, err, c.code)
			}
			if content == "unchanged" && meta.Validator() != have.Validator() {
				t.Errorf("an unchanged validator %q became %q", have.Validator(), meta.Validator())
			}
			got := asked[1].Header
			if got.Get("If-None-Match") != c.match || got.Get("If-Modified-Since") != c.since || len(asked) != 2 {
				t.Errorf("%d requests, with If-None-Match %q, If-Modified-Since %q", len(asked), got.Get("If-None-Match"), got.Get("If-Modified-Since"))
			}
			if n := router.Stats().Unchanged; (n == 1) != (c.want == "unchanged") {
				t.Errorf("%d are counted as unchanged", n)
			}
		})
	}
}

func TestA304BringsMetaUpToDate(t *testing.T) {
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == "" {
			w.Header().Set("Last-Modified", monday)
			w.Header().Set("Cache-Control", "max-age=10")
			io.WriteString(w, "picture")
			return
		}
		w.Header().Set("Last-Modified", tuesday)
		w.Header().Set("Cache-Control", "max-age=60, stale-if-error=600")
		w.Header().Set("Age", "20")
		w.WriteHeader(http.StatusNotModified)
	})
	cfg.HonourCacheControl = true
	router := newRouter(t, cfg)
	want, _, err := read(t, router, server.URL+"/a.jpg")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := readIf(t, router, server.URL+"/a.jpg", want)
	want.LastModified = want.LastModified.Add(24 * time.Hour)
	want.MaxAge = 40 * time.Second
	want.Life = source.Life{Fresh: 40 * time.Second, WhileRevalidate: -1, IfError: 600 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// An origin that contradicts itself is asked anew, for all of it.
func TestA304ForAnotherVersionDoesNotCount(t *testing.T) {
	for name, headers := range map[string][2]string{
		"by its tag":  {"ETag", `"2"`},
		"by its date": {"Last-Modified", tuesday},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "" {
					w.Header().Set(headers[0], headers[1])
					w.WriteHeader(http.StatusNotModified)
					return
				}
				fmt.Fprintf(w, "version %d", asked)
			})
			router := newRouter(t, cfg)
			have := source.Meta{Kind: source.KindHTTP, LastModified: time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)}
			if headers[0] == "ETag" {
				have.ETag = `"1"`
			}
			if _, content, err := readIf(t, router, server.URL+"/a.jpg", have); content != "version 2" || err != nil {
				t.Errorf("content = %q, %v", content, err)
			}
		})
	}
}

// Bytes that may have been cut, or are of another kind of source, are nothing
// to be confirmed.
func TestWhatIsNotAskedWithACondition(t *testing.T) {
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, "picture")
	})
	router := newRouter(t, cfg)
	now := time.Now()
	for name, have := range map[string]source.Meta{
		"nothing":                          {},
		"an end that may be a cut":         {Kind: source.KindHTTP, ETag: `"1"`, OpenEnded: true},
		"a file":                           {Kind: source.KindFile, ETag: `"1"`, LastModified: now},
		"an object":                        {Kind: source.KindS3, ETag: `"1"`, LastModified: now},
		"a date of where a redirect led":   {Kind: source.KindHTTP, LastModified: now, Redirected: "0123456789abcdef"},
		"a tag of where a redirect led to": {Kind: source.KindHTTP, ETag: `"1"`, Redirected: "0123456789abcdef"},
	} {
		if _, content, err := readIf(t, router, server.URL+"/a.jpg", have); content != "picture" || err != nil {
			t.Errorf("%s: content = %q, %v", name, content, err)
		}
	}
}

// A validator is of the place where redirects led, and is told to no other: a
// 304 from elsewhere would be about another picture.
func TestConditionsAcrossRedirects(t *testing.T) {
	target, conditions := "", map[string]string{}
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		conditions[r.URL.Path] = r.Header.Get("If-None-Match") + r.Header.Get("If-Modified-Since")
		if r.URL.Path == "/latest" && target != "" {
			http.Redirect(w, r, target, http.StatusFound)
			return
		}
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, r.URL.Path)
	})
	router := newRouter(t, cfg)
	ask := func(to string, have source.Meta) (source.Meta, string) {
		t.Helper()
		target = to
		clear(conditions)
		meta, content, err := readIf(t, router, server.URL+"/latest", have)
		if err != nil {
			t.Fatal(err)
		}
		return meta, content
	}
	plain, _ := ask("", source.Meta{})
	one, _ := ask("/1?signed=a", source.Meta{})
	steps := []struct {
		name, target string
		have         source.Meta
		want         string
		conditions   map[string]string
	}{
		{"the same place, signed anew, confirms", "/1?signed=b", one, "unchanged", map[string]string{"/latest": "", "/1": `"1"`}},
		{"another place with the same tag does not", "/2", one, "/2", map[string]string{"/latest": "", "/2": ""}},
		{"the first place itself does not", "", one, "/latest", map[string]string{"/latest": ""}},
		{"and the place it begins to lead to not for it", "/1", plain, "/1", map[string]string{"/latest": `"1"`, "/1": ""}},
		{"the first place confirms itself", "", plain, "unchanged", map[string]string{"/latest": `"1"`}},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			meta, content := ask(s.target, s.have)
			if content != s.want {
				t.Errorf("content = %q, want %q", content, s.want)
			}
			if diff := cmp.Diff(s.conditions, conditions); diff != "" {
				t.Error(diff)
			}
			if content == "unchanged" && meta.Redirected != s.have.Redirected {
				t.Errorf("redirected = %q, want %q", meta.Redirected, s.have.Redirected)
			}
		})
	}
}

// The place is known without its query, so that the date of one picture would
// confirm another, older one.
func TestDatesAreNotAskedForAcrossRedirects(t *testing.T) {
	target := "/picture?id=new"
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/latest":
			http.Redirect(w, r, target, http.StatusFound)
		case r.Header.Get("If-Modified-Since") != "":
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Last-Modified", monday)
			io.WriteString(w, r.URL.RawQuery)
		}
	})
	router := newRouter(t, cfg)
	have, _, err := read(t, router, server.URL+"/latest")
	if err != nil {
		t.Fatal(err)
	}
	target = "/picture?id=old"
	if _, content, err := readIf(t, router, server.URL+"/latest", have); content != "id=old" || err != nil {
		t.Errorf("content = %q, %v", content, err)
	}
}

func TestConditionalOpensOfFiles(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.jpg")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	router := newRouter(t, source.Config{Root: dir})
	have, _, err := read(t, router, "a.jpg")
	if err != nil || have.Life != (source.Life{}) {
		t.Fatalf("life = %+v, %v", have.Life, err)
	}
	if meta, content, err := readIf(t, router, "a.jpg", have); content != "unchanged" || meta != have || err != nil {
		t.Errorf("the same file: content = %q, %v, meta %+v", content, err, meta)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(name, later, later); err != nil {
		t.Fatal(err)
	}
	have, content, err := readIf(t, router, "a.jpg", have)
	if content != "one" || err != nil {
		t.Errorf("a touched file: content = %q, %v", content, err)
	}
	if err := os.Rename(name, name+".old"); err != nil {
		t.Fatal(err)
	}
	write("two")
	if err := os.Chtimes(name, later, later); err != nil {
		t.Fatal(err)
	}
	if have, content, err = readIf(t, router, "a.jpg", have); content != "two" || err != nil {
		t.Errorf("a file of the same size and time in its place: content = %q, %v", content, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	_, _, err = readIf(t, router, "a.jpg", have)
	wantCode(t, err, media.CodeSourceNotFound)
	if source.Unavailable(err) {
		t.Error("a file that is gone counts as unavailable")
	}
}

func TestUnavailable(t *testing.T) {
	status := func(code media.Code, err error) error {
		var fault *media.Error
		if !errors.As(err, &fault) || fault.Code != code {
			t.Fatalf("error = %v, want %s", err, code)
		}
		return err
	}
	ask := func(code media.Code, handler http.HandlerFunc) error {
		server, cfg := origin(t, handler)
		_, _, err := read(t, newRouter(t, cfg), server.URL+"/a.jpg")
		return status(code, err)
	}
	answer := func(n int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) } }
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
	}
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	loop := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }
	away := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
	}
	br := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "br") }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a 500":                         {ask(media.CodeSourceFailed, answer(500)), true},
		"a 503":                         {ask(media.CodeSourceFailed, answer(503)), true},
		"a 504":                         {ask(media.CodeSourceTimeout, answer(504)), true},
		"a 429":                         {ask(media.CodeSourceFailed, answer(429)), true},
		"a 404":                         {ask(media.CodeSourceNotFound, answer(404)), false},
		"a 403":                         {ask(media.CodeSourceFailed, answer(403)), false},
		"a 304 that was not asked for":  {ask(media.CodeSourceFailed, answer(304)), false},
		"a body that is cut":            {ask(media.CodeSourceFailed, cut), true},
		"a connection that breaks":      {ask(media.CodeSourceFailed, abort), true},
		"redirects without end":         {ask(media.CodeSourceFailed, loop), false},
		"a redirect that is refused":    {ask(media.CodeSourceForbidden, away), false},
		"an encoding that is not known": {ask(media.CodeSourceFailed, br), false},
		"an error without a code":       {io.ErrUnexpectedEOF, false},
		"no error":                      {nil, false},
		"a fault that is wrapped":       {fmt.Errorf("open: %w", media.Errorf(media.CodeSourceUnavailable, "No.")), true},
	} {
		if got := source.Unavailable(c.err); got != c.want {
			t.Errorf("%s (%v) is unavailable: %t", name, c.err, got)
		}
	}
}
