package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

func TestWebGivesBodyAndMeta(t *testing.T) {
	server, cfg := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		w.Header().Set("Cache-Control", "public, max-age=60, s-maxage=90")
		w.Header().Set("Age", "30")
		w.Header().Set("Content-Type", "image/jpeg")
		io.WriteString(w, "picture")
	})
	cfg.HonourCacheControl = true
	meta, content, err := read(t, newRouter(t, cfg), server.URL+"/photos/a%20b.jpg?x=1")
	if err != nil || content != "picture" {
		t.Fatalf("content = %q, %v", content, err)
	}
	want := source.Meta{
		Kind: source.KindHTTP, Host: hostOf(t, server), Name: "a b.jpg", Size: 7, ETag: `"v1"`,
		LastModified: time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC), MaxAge: time.Minute,
		Life: source.Life{Fresh: time.Minute, WhileRevalidate: -1, IfError: -1}, ContentType: "image/jpeg",
	}
	if diff := cmp.Diff(want, meta); diff != "" {
		t.Error(diff)
	}
	if meta.Validator() != `"v1"` {
		t.Errorf("validator = %q", meta.Validator())
	}
}

// TestBugReport12OneLevelOfDecoding: the path given is the path asked for.
func TestBugReport12OneLevelOfDecoding(t *testing.T) {
	cases := []struct{ name, given, want string }{
		{"an escaped space stays escaped once", "/a%20b.jpg", "/a%20b.jpg"},
		{"a twice escaped space stays so", "/a%2520b.jpg", "/a%2520b.jpg"},
		{"a bare space is escaped", "/a b.jpg", "/a%20b.jpg"},
		{"a plus stays", "/a+b.jpg", "/a+b.jpg"},
		{"an escaped plus stays", "/a%2Bb.jpg", "/a%2Bb.jpg"},
		{"lower-case escapes stay lower", "/a%2fb%c3%a9.jpg", "/a%2fb%c3%a9.jpg"},
		{"reserved characters stay", "/~a(b)!c,d;e=f&g'h*@:$.jpg", "/~a(b)!c,d;e=f&g'h*@:$.jpg"},
		{"escaped unreserved characters stay", "/%7Ea%28b%29%21%2C.jpg", "/%7Ea%28b%29%21%2C.jpg"},
		{"a lone percent sign is escaped", "/100%.jpg", "/100%25.jpg"},
		{"UTF-8 is escaped", "/grün/é.jpg", "/gr%C3%BCn/%C3%A9.jpg"},
		{"brackets, quotes and braces are made legal", `/[a]{b}"c"\d|e^f` + "`.jpg", "/[a]%7Bb%7D%22c%22%5Cd%7Ce%5Ef%60.jpg"},
		{"dot segments and double slashes are the origin's business", "/a/../b//c/./d.jpg", "/a/../b//c/./d.jpg"},
		{"the query stays", "/a.jpg?q=a+b%20c&sig=%2B/=", "/a.jpg?q=a+b%20c&sig=%2B/="},
		{"a bare space in the query is escaped", "/a.jpg?q=a b", "/a.jpg?q=a%20b"},
		{"a fragment is left out", "/a.jpg#top", "/a.jpg"},
		{"no path is the root", "", "/"},
	}
	var asked atomic.Value
	server, cfg := origin(t, func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.RequestURI) })
	router := newRouter(t, cfg)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := read(t, router, server.URL+c.given); err != nil {
				t.Fatal(err)
			}
			if got := asked.Load(); got != c.want {
				t.Errorf("the origin was asked for %s, want %s", got, c.want)
			}
		})
	}
}

func TestRedirectTargetsAreNotEscapedAgain(t *testing.T) {
	var asked []string
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		if r.Header.Get("Referer") != "" {
			t.Errorf("a Referer was sent: %s", r.Header.Get("Referer"))
		}
		if len(asked) == 1 {
			w.Header()["Location"] = []string{"next/b%20c d+é.jpg?s=%2B"}
			w.WriteHeader(http.StatusFound)
		}
	})
	if _, _, err := read(t, newRouter(t, cfg), server.URL+"/x/a.jpg?secret=1"); err != nil {
		t.Fatal(err)
	}
	want := []string{"/x/a.jpg?secret=1", "/x/next/b%20c%20d+%C3%A9.jpg?s=%2B"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// cutServer speaks raw HTTP and hangs up after what it was given.
func cutServer(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, answer)
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

func zipped(s string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return out.String()
}

// TestBugReport14CutOffSources: a body that was cut off never looks complete.
func TestBugReport14CutOffSources(t *testing.T) {
	half := zipped(strings.Repeat("picture", 1000))
	half = half[:len(half)-9]
	cases := []struct{ name, answer string }{
		{"a body shorter than its declared length", "Content-Length: 100\r\n\r\nhalf a picture"},
		{"a chunked body without its last chunk", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"},
		{"a chunked body cut inside a chunk", "Transfer-Encoding: chunked\r\n\r\n50\r\nhello"},
		{"a gzip body cut before its checksum, with a true length", fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(half), half)},
		{"a gzip body cut and ended by closing", "Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + half},
		{"an empty gzip body", "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			host := cutServer(t, "HTTP/1.1 200 OK\r\n"+c.answer)
			router := newRouter(t, source.Config{Allow: []string{host}, AllowPrivate: true, Retries: -1})
			object, err := router.Open(t.Context(), "http://"+host+"/a.jpg")
			if err != nil {
				t.Fatal(err)
			}
			defer object.Body.Close()
			_, err = io.ReadAll(object.Body)
			wantCode(t, err, media.CodeSourceFailed)
			if _, again := object.Body.Read(make([]byte, 1)); !errors.Is(again, err) {
				t.Errorf("a second Read gives %v, want the same error", again)
			}
		})
	}
	t.Run("a body that only closing ends is marked as open-ended", func(t *testing.T) {
		host := cutServer(t, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nmaybe all")
		meta, content, err := read(t, newRouter(t, source.Config{Allow: []string{host}, AllowPrivate: true}), "http://"+host+"/a.jpg")
		if err != nil || content != "maybe all" || !meta.OpenEnded || meta.Size != -1 {
			t.Errorf("content = %q, %v, meta %+v", content, err, meta)
		}
	})
}

func TestStatusesOfOrigins(t *testing.T) {
	cases := map[int]media.Code{
		404: media.CodeSourceNotFound, 410: media.CodeSourceNotFound,
		401: media.CodeSourceFailed, 403: media.CodeSourceFailed, 429: media.CodeSourceFailed,
		500: media.CodeSourceFailed, 503: media.CodeSourceFailed, 504: media.CodeSourceTimeout,
		204: media.CodeSourceFailed, 206: media.CodeSourceFailed, 304: media.CodeSourceFailed,
	}
	for status, want := range cases {
		t.Run(fmt.Sprintf("%d is %s", status, want), func(t *testing.T) {
			server, cfg := origin(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			_, _, err := read(t, newRouter(t, cfg), server.URL+"/a.jpg")
			wantCode(t, err, want)
		})
	}
}

func TestRetries(t *testing.T) {
	cases := []struct {
		name    string
		answer  func(w http.ResponseWriter, n int64)
		retries int
		asked   int64
		good    bool
	}{
		{"a 503 is tried again", func(w http.ResponseWriter, n int64) {
			if n < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, 2, 3, true},
		{"the retries are counted", func(w http.ResponseWriter, _ int64) { w.WriteHeader(http.StatusInternalServerError) }, 2, 3, false},
		{"a broken connection is tried again", func(_ http.ResponseWriter, n int64) {
			if n < 2 {
				panic(http.ErrAbortHandler)
			}
		}, 1, 2, true},
		{"a 404 is not", func(w http.ResponseWriter, _ int64) { w.WriteHeader(http.StatusNotFound) }, 2, 1, false},
		{"a 429 is not", func(w http.ResponseWriter, _ int64) { w.WriteHeader(http.StatusTooManyRequests) }, 2, 1, false},
		{"a body that breaks is not", func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
		}, 2, 1, false},
		{"none when switched off", func(w http.ResponseWriter, _ int64) { w.WriteHeader(http.StatusServiceUnavailable) }, -1, 1, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var asked atomic.Int64
			server, cfg := origin(t, func(w http.ResponseWriter, _ *http.Request) { c.answer(w, asked.Add(1)) })
			cfg.Retries = c.retries
			_, _, err := read(t, newRouter(t, cfg), server.URL+"/a.jpg")
			if (err == nil) != c.good || asked.Load() != c.asked {
				t.Errorf("error = %v after %d requests, want good %t after %d", err, asked.Load(), c.good, c.asked)
			}
		})
	}
}

func TestAnOriginThatCannotBeReached(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	cfg := allowing(t, server)
	server.Close()
	_, _, err := read(t, newRouter(t, cfg), server.URL+"/a.jpg")
	wantCode(t, err, media.CodeSourceFailed)
}

func TestSizes(t *testing.T) {
	bomb := zipped(strings.Repeat("\x00", 10<<20))
	manyEmpty := strings.Repeat(zipped(""), 10_000)
	cases := []struct {
		name   string
		answer func(w http.ResponseWriter)
		want   media.Code
	}{
		{"exactly the limit is fine", func(w http.ResponseWriter) { io.WriteString(w, strings.Repeat("x", 100_000)) }, ""},
		{"a declared byte too much is refused", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100001")
			io.WriteString(w, strings.Repeat("x", 100_001))
		}, media.CodeSourceTooLarge},
		{"an undeclared byte too much is refused", func(w http.ResponseWriter) {
			w.(http.Flusher).Flush()
			io.WriteString(w, strings.Repeat("x", 100_001))
		}, media.CodeSourceTooLarge},
		{"gzip is inflated", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, zipped(strings.Repeat("x", 100_000)))
		}, ""},
		{"a gzip bomb is cut at the limit", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, bomb)
		}, media.CodeSourceTooLarge},
		{"gzip that inflates to nothing is bounded too", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			w.(http.Flusher).Flush()
			io.WriteString(w, manyEmpty)
		}, media.CodeSourceTooLarge},
		{"another content encoding is refused", func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "br") }, media.CodeSourceFailed},
		{"a double encoding is refused", func(w http.ResponseWriter) { w.Header()["Content-Encoding"] = []string{"gzip", "gzip"} }, media.CodeSourceFailed},
		{"bytes that are no gzip are refused", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "not gzip at all")
		}, media.CodeSourceFailed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, cfg := origin(t, func(w http.ResponseWriter, _ *http.Request) { c.answer(w) })
			cfg.MaxBytes = 100_000
			_, content, err := read(t, newRouter(t, cfg), server.URL+"/a.jpg")
			if len(content) > 100_000 {
				t.Errorf("%d bytes were handed out", len(content))
			}
			if c.want != "" {
				wantCode(t, err, c.want)
			} else if err != nil || len(content) != 100_000 {
				t.Errorf("%d bytes, %v", len(content), err)
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	wait := func(r *http.Request) { <-r.Context().Done() }
	cases := []struct {
		name    string
		set     func(cfg *source.Config)
		handler http.HandlerFunc
	}{
		{"headers that do not come", func(cfg *source.Config) { cfg.HeaderTimeout = 50 * time.Millisecond },
			func(_ http.ResponseWriter, r *http.Request) { wait(r) }},
		{"a body that stops", func(cfg *source.Config) { cfg.IdleTimeout = 50 * time.Millisecond },
			func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "some")
				w.(http.Flusher).Flush()
				wait(r)
			}},
		{"a body that drips for ever", func(cfg *source.Config) { cfg.TotalTimeout = 100 * time.Millisecond },
			func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					io.WriteString(w, "x")
					w.(http.Flusher).Flush()
					runtime.Gosched()
				}
			}},
		{"headers that do not come before the whole is over", func(cfg *source.Config) { cfg.TotalTimeout = 50 * time.Millisecond },
			func(_ http.ResponseWriter, r *http.Request) { wait(r) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, cfg := origin(t, c.handler)
			c.set(&cfg)
			_, _, err := read(t, newRouter(t, cfg), server.URL+"/a.jpg")
			wantCode(t, err, media.CodeSourceTimeout)
		})
	}
}

func TestAClientThatLeavesEndsTheFetch(t *testing.T) {
	gone := make(chan struct{})
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	object, err := newRouter(t, cfg).Open(ctx, server.URL+"/a.jpg")
	if err != nil {
		t.Fatal(err)
	}
	defer object.Body.Close()
	if _, err := io.ReadFull(object.Body, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = object.Body.Read(make([]byte, 1))
	wantCode(t, err, media.CodeCancelled)
	<-gone
}

func TestTheReasonOfACancelComesThrough(t *testing.T) {
	server, cfg := origin(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(media.Errorf(media.CodeTimeout, "The job took too long."))
	_, err := newRouter(t, cfg).Open(ctx, server.URL+"/a.jpg")
	wantCode(t, err, media.CodeTimeout)
}

func TestRedirects(t *testing.T) {
	other, _ := origin(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "other") })
	hops := 0
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			hops++
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/hop5", "/hop4", "/hop3", "/hop2":
			http.Redirect(w, r, fmt.Sprintf("/hop%c", r.URL.Path[4]-1), http.StatusMovedPermanently)
		case "/hop1":
			http.Redirect(w, r, "/end", http.StatusPermanentRedirect)
		case "/other":
			http.Redirect(w, r, other.URL, http.StatusSeeOther)
		case "/userinfo":
			w.Header().Set("Location", "http://user:pass@"+r.Host+"/end")
			w.WriteHeader(http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/end":
			io.WriteString(w, "end")
		}
	})
	router := newRouter(t, cfg)
	cases := []struct {
		name, path string
		want       media.Code
	}{
		{"five are followed", "/hop5", ""},
		{"an endless loop is not", "/loop", media.CodeSourceFailed},
		{"to a host that is not allowed", "/other", media.CodeSourceForbidden},
		{"to a URL with a password", "/userinfo", media.CodeSourceForbidden},
		{"to another scheme", "/file", media.CodeSourceForbidden},
		{"without a location", "/nowhere", media.CodeSourceFailed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, content, err := read(t, router, server.URL+c.path)
			if c.want != "" {
				wantCode(t, err, c.want)
			} else if err != nil || content != "end" {
				t.Errorf("content = %q, %v", content, err)
			}
		})
	}
	if hops != 6 {
		t.Errorf("the loop was asked %d times, want 6", hops)
	}
}

// A tag only tells the versions of one resource apart: many origins number
// them from 1. A query is left out, as it may be signed anew each time.
func TestValidatorsAreOfWhereRedirectsLead(t *testing.T) {
	latest := "/v1.jpg"
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/latest" {
			http.Redirect(w, r, latest, http.StatusFound)
			return
		}
		w.Header().Set("ETag", `"1"`)
		io.WriteString(w, r.URL.Path)
	})
	router := newRouter(t, cfg)
	ask := func(target string) string {
		latest = target
		meta, _, err := read(t, router, server.URL+"/latest")
		if err != nil {
			t.Fatal(err)
		}
		return meta.Validator()
	}
	first := ask("/v1.jpg?token=1")
	if again := ask("/v1.jpg?token=2"); again != first {
		t.Errorf("the same resource has the validators %q and %q", first, again)
	}
	if second := ask("/v2.jpg?token=1"); second == first {
		t.Errorf("two resources have the validator %q", second)
	}
	if strings.Contains(first, "jpg") {
		t.Errorf("validator %q shows a path", first)
	}
}

func TestAnOriginCannotFillTheLog(t *testing.T) {
	var log bytes.Buffer
	address := cutServer(t, strings.Repeat("\xff", 60<<10)+"\r\n\r\n")
	cfg := source.Config{AllowPrivate: true, Retries: 1, Allow: []string{address}}
	_, _, err := read(t, newLoggedRouter(t, cfg, &log), "http://"+address+"/")
	wantCode(t, err, media.CodeSourceFailed)
	if n := log.Len(); n == 0 || n > 4096 {
		t.Errorf("the log has %d bytes", n)
	}
}

func TestNoSecretLeavesInErrorsOrLogs(t *testing.T) {
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/abort-topsecret":
			panic(http.ErrAbortHandler)
		case "/redirect-topsecret":
			http.Redirect(w, r, "http://elsewhere.example/topsecret?sig=topsecret", http.StatusFound)
		case "/cut-topsecret":
			w.Header().Set("Content-Length", "100")
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	cfg.Retries = 1
	var log bytes.Buffer
	router := newLoggedRouter(t, cfg, &log)
	for _, ref := range []string{
		server.URL + "/topsecret.jpg?X-Signature=topsecret",
		server.URL + "/abort-topsecret?sig=topsecret",
		server.URL + "/redirect-topsecret?sig=topsecret",
		server.URL + "/cut-topsecret?sig=topsecret",
		"http://user:topsecret@" + hostOf(t, server) + "/a.jpg",
		"http://elsewhere.example/topsecret?sig=topsecret",
		"http://[topsecret/",
		"http://host:topsecret/",
		"http://host\x00/topsecret",
	} {
		_, _, err := read(t, router, ref)
		if err == nil {
			t.Errorf("%s was opened", ref)
			continue
		}
		if strings.Contains(err.Error(), "topsecret") {
			t.Errorf("error holds the secret: %v", err)
		}
	}
	if log.Len() == 0 || strings.Contains(log.String(), "topsecret") {
		t.Errorf("log is empty or holds the secret: %s", log.String())
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	server, cfg := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("do") {
		case "cut":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
		case "missing":
			w.WriteHeader(http.StatusNotFound)
		case "hang":
			<-r.Context().Done()
		case "redirect":
			http.Redirect(w, r, "/?do=cut", http.StatusFound)
		case "br":
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "br")
		default:
			io.WriteString(w, strings.Repeat("x", 100_000))
		}
	})
	cfg.HeaderTimeout = 20 * time.Millisecond
	router, err := source.New(t.Context(), cfg, discardLog())
	if err != nil {
		t.Fatal(err)
	}
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for range 10 {
		for _, do := range []string{"", "cut", "missing", "hang", "redirect", "br"} {
			object, err := router.Open(t.Context(), server.URL+"/?do="+do)
			if err != nil {
				continue
			}
			_, _ = io.ReadFull(object.Body, make([]byte, 10)) // and leave the rest
			if err := object.Body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := router.Close(); err != nil {
		t.Error(err)
	}
	server.CloseClientConnections()
	eventually(t, "the return of descriptors and goroutines", func() bool {
		return openFiles(t) <= files && runtime.NumGoroutine() <= goroutines
	})
}
