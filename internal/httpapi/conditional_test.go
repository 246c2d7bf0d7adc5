package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

func TestConditionalRequests(t *testing.T) {
	b := newBench(t, nil)
	first := b.get("/resize?image_url=a.jpg&format=png")
	etag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
	if len(etag) < 10 || etag[0] != '"' || modified != "Fri, 02 Jan 2026 03:04:05 GMT" {
		t.Fatalf("validators are %q and %q", etag, modified)
	}
	const older, same, newer = "Fri, 02 Jan 2026 03:04:04 GMT", "Fri, 02 Jan 2026 03:04:05 GMT", "Sat, 03 Jan 2026 00:00:00 GMT"
	cases := []struct {
		name    string
		headers []string
		status  int
	}{
		{"the same tag", []string{"If-None-Match: " + etag}, 304},
		{"the same tag, weak", []string{"If-None-Match: W/" + etag}, 304},
		{"the tag in a list", []string{`If-None-Match: "a,b", W/"c" ,` + etag + `, "d"`}, 304},
		{"the tag in a second header line", []string{`If-None-Match: "a"`, "If-None-Match: " + etag}, 304},
		{"any tag", []string{"If-None-Match: *"}, 304},
		{"another tag", []string{`If-None-Match: "other"`}, 200},
		{"the tag without its quotes", []string{"If-None-Match: " + etag[1:len(etag)-1]}, 200},
		{"a tag that only contains it", []string{`If-None-Match: "x` + etag[1:]}, 200},
		{"the tag of a variant", []string{"If-None-Match: " + etag[:len(etag)-1] + `.0a1b2c3d"`}, 304},
		{"a variant of another", []string{`If-None-Match: "x.` + etag[1:]}, 200},
		{"the tag of another form", []string{"If-None-Match: " + etag[:len(etag)-1] + `+json"`}, 200},
		{"what could be no variant of ours", []string{"If-None-Match: " + etag[:len(etag)-1] + ".\x80é\""}, 200},
		{"an unclosed tag", []string{"If-None-Match: " + etag[:len(etag)-1]}, 200},
		{"an empty list", []string{"If-None-Match: "}, 200},
		{"the same time", []string{"If-Modified-Since: " + same}, 304},
		{"a later time", []string{"If-Modified-Since: " + newer}, 304},
		{"an earlier time", []string{"If-Modified-Since: " + older}, 200},
		{"no time at all", []string{"If-Modified-Since: yesterday"}, 200},
		{"another tag outweighs the same time", []string{`If-None-Match: "other"`, "If-Modified-Since: " + same}, 200},
		{"the same tag outweighs an earlier time", []string{"If-None-Match: " + etag, "If-Modified-Since: " + older}, 304},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				res := ask(b.public, method, "/resize?image_url=a.jpg&format=png", c.headers...)
				if res.StatusCode != c.status {
					t.Fatalf("%s: status is %d, want %d", method, res.StatusCode, c.status)
				}
				if got := res.Header.Get("ETag"); !strings.HasPrefix(got, etag[:len(etag)-1]) || res.Header.Get("Last-Modified") != modified {
					t.Errorf("%s: validators are missing: %v", method, res.Header)
				}
				if c.status == 304 && (body(t, res) != "" || res.Header.Get("Content-Type") != "" || res.Header.Get("Content-Length") != "") {
					t.Errorf("%s: a 304 describes a body: %v", method, res.Header)
				}
			}
		})
	}
}

// A strong tag promises equal bytes, however the source came this time: with a
// length, in chunks or inflated, from the cache or not.
func TestOneTagIsOneBody(t *testing.T) {
	b := newBench(t, nil)
	const target = "/assets/a.jpg?format=png&encoder=json"
	first := b.get(target)
	want := body(t, first)
	waitIdle(t, b)
	for _, size := range []int64{-1, int64(len("source bytes of a.jpg"))} {
		b.source.meta.Size = size
		res := b.get(target)
		if got := body(t, res); res.Header.Get("ETag") == first.Header.Get("ETag") && got != want {
			t.Errorf("one tag for\n%s and\n%s", want, got)
		}
	}
}

func TestOneTagIsOneMultipartBody(t *testing.T) {
	b := newBench(t, func(s *settings) { s.transform.Hold = 4 })
	goOn := make(chan struct{})
	b.engine.run = slowly("head", goOn, func(w io.Writer) error { _, err := io.WriteString(w, " and end"); return err })
	server := httptest.NewServer(b.public)
	defer server.Close()
	ask := func() (tag, text string) {
		res, err := http.Get(server.URL + "/assets/a.jpg?format=png&sizes=10x0,20x0")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		head := make([]byte, 1)
		if _, err := io.ReadFull(res.Body, head); err != nil {
			t.Fatal(err)
		}
		select {
		case <-goOn:
		default:
			close(goOn) // the answer has begun before its pictures were whole
		}
		return res.Header.Get("ETag"), string(head) + body(t, res)
	}
	tag, made := ask()
	waitIdle(t, b)
	if again, kept := ask(); tag != again || made != kept {
		t.Errorf("tag %s for\n%s\ntag %s for\n%s", tag, made, again, kept)
	}
}

// A picture that was decoded beside others has a tag of its own. Whoever has
// it has the picture, and is told by the tag it knows.
func TestNotModifiedRepeatsTheTagTheClientHas(t *testing.T) {
	b := newBench(t, nil)
	for _, target := range []string{"/assets/a.jpg", "/assets/a.jpg?encoder=json&placeholders=color", "/info?image_url=a.jpg"} {
		etag := b.get(target).Header.Get("ETag")
		key, wrapping, _ := strings.Cut(strings.Trim(etag, `"`), "+")
		if wrapping != "" {
			wrapping = "+" + wrapping
		}
		variant := `"` + key + ".0a1b2c3d" + wrapping + `"`
		res := b.get(target, `If-None-Match: "a", W/`+variant)
		if res.StatusCode != 304 || res.Header.Get("ETag") != variant {
			t.Errorf("%s: got %s with %s, want %s", target, res.Status, res.Header.Get("ETag"), variant)
		}
	}
}

func TestNotModifiedCostsNoWork(t *testing.T) {
	b := newBench(t, nil)
	etag := b.get("/resize?image_url=a.jpg").Header.Get("ETag")
	runs, reads := b.engine.runs.Load(), b.source.reads
	for range 3 {
		if res := b.get("/resize?image_url=a.jpg", "If-None-Match: "+etag); res.StatusCode != 304 {
			t.Fatal(res.Status)
		}
	}
	if b.engine.runs.Load() != runs || b.source.reads != reads {
		t.Errorf("three 304 took %d runs and %d reads", b.engine.runs.Load()-runs, b.source.reads-reads)
	}
}

func TestTagsTellAnswersApart(t *testing.T) {
	b := newBench(t, nil)
	seen := map[string]string{}
	for _, c := range []struct{ target, accept string }{
		{"/resize?image_url=a.jpg", "image/webp"},
		{"/resize?image_url=a.jpg", "image/png"},
		{"/resize?image_url=a.jpg&sizes=10x0", "image/webp"},
		{"/resize?image_url=a.jpg&sizes=10x0,20x0", "image/webp"},
		{"/resize?image_url=a.jpg&encoder=json", "image/webp"},
		{"/resize?image_url=a.jpg&encoder=json&placeholders=color", "image/webp"},
		{"/resize?image_url=a.jpg&encoder=json&placeholders=lqip,blurhash", "image/webp"},
		{"/resize?image_url=a.jpg&quality=10", "image/webp"},
		{"/resize?image_url=b.jpg", "image/webp"},
		{"/info?image_url=a.jpg", ""},
	} {
		name := c.target + " " + c.accept
		tag := b.get(c.target, "Accept: "+c.accept).Header.Get("ETag")
		if other := seen[tag]; other != "" || tag == "" {
			t.Errorf("%s has the tag %s of %q", name, tag, other)
		}
		seen[tag] = name
	}
	t.Run("the same question has the same tag", func(t *testing.T) {
		tag := b.get("/resize?image_url=a.jpg", "Accept: image/webp").Header.Get("ETag")
		if seen[tag] != "/resize?image_url=a.jpg image/webp" {
			t.Errorf("tag %s is new", tag)
		}
	})
}

func TestHeadAnswersTheHeadersOfGet(t *testing.T) {
	for _, target := range []string{
		"/resize?image_url=a.jpg&sizes=40x0", "/assets/a.jpg?sizes=40x0&format=png",
		"/resize?image_url=a.jpg&sizes=40x0,20x0", "/resize?image_url=a.jpg&encoder=json",
	} {
		t.Run(target, func(t *testing.T) {
			b := newBench(t, nil)
			head := ask(b.public, http.MethodHead, target)
			if b.engine.runs.Load() != 0 {
				t.Error("HEAD made a picture")
			}
			get := b.get(target)
			for _, name := range []string{"Content-Type", "Content-Disposition", "ETag", "Last-Modified", "Cache-Control", "Vary", "Access-Control-Allow-Origin", "Content-Security-Policy"} {
				if head.Header.Get(name) != get.Header.Get(name) {
					t.Errorf("%s: HEAD says %q, GET %q", name, head.Header.Get(name), get.Header.Get(name))
				}
			}
			if text := body(t, head); text != "" {
				t.Errorf("HEAD has the body %q", text)
			}
		})
	}
	t.Run("the length is told once the picture is in the cache", func(t *testing.T) {
		b := newBench(t, nil)
		get := b.get("/assets/a.jpg?format=png")
		waitIdle(t, b)
		head := ask(b.public, http.MethodHead, "/assets/a.jpg?format=png")
		want := strconv.Itoa(len(body(t, get)))
		if got := head.Header.Get("Content-Length"); got != want || body(t, head) != "" {
			t.Errorf("HEAD says %q bytes, GET has %s", got, want)
		}
		several := ask(b.public, http.MethodHead, "/assets/a.jpg?format=png&encoder=json")
		if got := several.Header.Get("Content-Length"); got != "" {
			t.Errorf("a wrapped picture has the length %q of a bare one", got)
		}
	})
	t.Run("errors have the headers of a problem and no body", func(t *testing.T) {
		res := ask(newBench(t, nil).public, http.MethodHead, "/assets/missing")
		if res.StatusCode != 404 || res.Header.Get("Content-Type") != "application/problem+json" || body(t, res) != "" {
			t.Errorf("got %d %v", res.StatusCode, res.Header)
		}
	})
}
