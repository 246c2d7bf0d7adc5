package httpapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
)

var (
	testKey  = []byte("a key of the tests, 32 bytes long")
	otherKey = []byte("another key, for the time of change")
)

func signed(s *settings) { s.http.Keys = [][]byte{testKey, otherKey} }

func verifyCode(err error) string {
	var fault *media.Error
	if errors.As(err, &fault) {
		return string(fault.Code)
	}
	return ""
}

func TestVerify(t *testing.T) {
	const url = "/resize?image_url=a.jpg&sizes=300x0"
	good := httpapi.Sign(testKey, url)
	stamp := func(at time.Time) string { return url + "&expires=" + strconv.FormatInt(at.Unix(), 10) }
	cases := []struct {
		name, target, want string
	}{
		{"a good signature passes", url + "&signature=" + good, ""},
		{"any of the keys passes", httpapi.SignURL(otherKey, url), ""},
		{"a key that is not set does not", httpapi.SignURL([]byte("a third key, which nobody knows of"), url), "signature-invalid"},
		{"a path without a query can be signed", httpapi.SignURL(testKey, "/assets/a.jpg"), ""},
		{"an empty query can be signed", "/assets/a.jpg?&signature=" + httpapi.Sign(testKey, "/assets/a.jpg?"), ""},
		{"an unsigned url is missing its signature", url, "signature-missing"},
		{"an empty signature is missing", url + "&signature=", "signature-missing"},
		{"a bare name is missing its value", url + "&signature", "signature-missing"},
		{"a signature in the middle is refused", "/resize?signature=" + good + "&image_url=a.jpg&sizes=300x0", "signature-invalid"},
		{"two signatures are refused", url + "&signature=" + good + "&signature=" + good, "signature-invalid"},
		{"what follows the signature is not overlooked", url + "&signature=" + good + "&sizes=1x1", "signature-invalid"},
		{"another parameter order is another url", "/resize?sizes=300x0&image_url=a.jpg&signature=" + good, "signature-invalid"},
		{"another spelling of a byte is another url", "/resize?image_url=%61.jpg&sizes=300x0&signature=" + good, "signature-invalid"},
		{"another path is another url", "/info?image_url=a.jpg&sizes=300x0&signature=" + good, "signature-invalid"},
		{"padding is not accepted", url + "&signature=" + good + "=", "signature-invalid"},
		{"hex is not accepted", url + "&signature=" + strings.Repeat("ab", 32), "signature-invalid"},
		{"a cut signature is refused", url + "&signature=" + good[:42], "signature-invalid"},
		{"a signature= inside a value is part of the value", httpapi.SignURL(testKey, "/resize?image_url=https://h/p?signature=abc"), ""},
		{"the last second counts", httpapi.SignURL(testKey, stamp(now.Add(time.Second))), ""},
		{"the end itself is over", httpapi.SignURL(testKey, stamp(now)), "signature-expired"},
		{"an expiry that was added is no better than any change", stamp(now) + "&signature=" + good, "signature-invalid"},
		{"an expiry that is no number is a wrong parameter", httpapi.SignURL(testKey, url+"&expires=soon"), "invalid-parameter"},
		{"two expiries are a wrong parameter", httpapi.SignURL(testKey, stamp(now)+"&expires=1"), "invalid-parameter"},
		{"a negative expiry is a wrong parameter", httpapi.SignURL(testKey, url+"&expires=-1"), "invalid-parameter"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := verifyCode(httpapi.Verify([][]byte{testKey, otherKey}, c.target, now)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A signature is checked over the exact bytes received: whatever the client
// signed is what has to arrive, however it could have been written instead.
func TestBugReport11SignatureIsOverTheExactBytesReceived(t *testing.T) {
	paths := map[string]struct{ target, ref string }{
		"a plus in a path":                 {"/assets/a+b.jpg", "a+b.jpg"},
		"a tilde":                          {"/assets/~me/a.jpg", "~me/a.jpg"},
		"a tilde, escaped":                 {"/assets/%7Eme/a.jpg", "~me/a.jpg"},
		"an escaped percent":               {"/assets/100%25.jpg", "100%.jpg"},
		"parentheses, mark and comma":      {"/assets/a(1)!,b.jpg", "a(1)!,b.jpg"},
		"parentheses, escaped":             {"/assets/a%281%29%21%2Cb.jpg", "a(1)!,b.jpg"},
		"an escaped space":                 {"/assets/a%20b.jpg", "a b.jpg"},
		"utf-8, escaped":                   {"/assets/caf%C3%A9.jpg", "café.jpg"},
		"utf-8, escaped in lower case":     {"/assets/caf%c3%a9.jpg", "café.jpg"},
		"utf-8, raw":                       {"/assets/café.jpg", "café.jpg"},
		"an escaped slash":                 {"/assets/a%2Fb.jpg", "a/b.jpg"},
		"a double slash":                   {"/assets/a//b.jpg", "a//b.jpg"},
		"an escaped plus in a query":       {"/resize?image_url=a%2Bb.jpg", "a+b.jpg"},
		"a plus for a space in a query":    {"/resize?image_url=a+b.jpg", "a b.jpg"},
		"an unescaped url in a query":      {"/resize?image_url=https://h/~a(1)!,b.jpg", "https://h/~a(1)!,b.jpg"},
		"an escaped url in a query":        {"/resize?image_url=https%3A%2F%2Fh%2Fa%2520b.jpg", "https://h/a%20b.jpg"},
		"a question mark inside a value":   {"/resize?image_url=https://h/a?b=c", "https://h/a?b=c"},
		"an empty parameter in a query":    {"/resize?&image_url=a.jpg", "a.jpg"},
		"utf-8, raw, in a query":           {"/resize?image_url=café.jpg", "café.jpg"},
		"an escaped ampersand in a query":  {"/resize?image_url=https://h/a?b=c%26signature=d", "https://h/a?b=c&signature=d"},
		"an escaped hash in a query":       {"/resize?image_url=a%23b.jpg", "a#b.jpg"},
		"capital escapes in a query value": {"/resize?image_url=%7E%2e", "~."},
	}
	for name, c := range paths {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, signed)
			res := serveRaw(b.public, httpapi.SignURL(testKey, c.target))
			if res.StatusCode != http.StatusOK {
				t.Fatalf("a good signature is refused: %s", body(t, res))
			}
			if got := b.source.lastRef(); got != c.ref {
				t.Errorf("the source was asked for %q, want %q", got, c.ref)
			}
		})
	}
}

// The client's URL is decoded once on its way to the origin.
func TestBugReport12OneLevelOfDecoding(t *testing.T) {
	cases := map[string]struct{ target, ref string }{
		"an escaped url keeps its own escapes":        {"/resize?image_url=https%3A%2F%2Fh%2Fa%2520b.jpg", "https://h/a%20b.jpg"},
		"a doubly escaped url keeps one level":        {"/resize?image_url=https%3A%2F%2Fh%2Fa%252520b.jpg", "https://h/a%2520b.jpg"},
		"an asset's percent signs stay percent signs": {"/assets/a%2520b.jpg", "a%20b.jpg"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			if res := b.get(c.target); res.StatusCode != http.StatusOK {
				t.Fatal(body(t, res))
			}
			if got := b.source.lastRef(); got != c.ref {
				t.Errorf("the source was asked for %q, want %q", got, c.ref)
			}
		})
	}
}

func TestSignedServer(t *testing.T) {
	t.Run("nothing is fetched for an unsigned url", func(t *testing.T) {
		b := newBench(t, signed)
		wantProblem(t, b.get("/resize?image_url=a.jpg"), 403, "signature-missing")
		wantProblem(t, b.get("/info?image_url=a.jpg&signature=x"), 403, "signature-invalid")
		if ref := b.source.lastRef(); ref != "" {
			t.Errorf("%q was fetched", ref)
		}
	})
	t.Run("info is signed like pictures", func(t *testing.T) {
		b := newBench(t, signed)
		if res := b.get(httpapi.SignURL(testKey, "/info?image_url=a.jpg")); res.StatusCode != 200 {
			t.Error(body(t, res))
		}
	})
	t.Run("health needs no signature", func(t *testing.T) {
		if res := newBench(t, signed).get("/healthz"); res.StatusCode != 200 {
			t.Error(res.Status)
		}
	})
	t.Run("the absolute form of a request is signed by its path and query", func(t *testing.T) {
		b := newBench(t, signed)
		if res := b.get("http://example.com" + httpapi.SignURL(testKey, "/assets/a.jpg")); res.StatusCode != 200 {
			t.Error(body(t, res))
		}
	})
	t.Run("the signed url of another request cannot stand inside a query", func(t *testing.T) {
		good := httpapi.SignURL(testKey, "/resize?image_url=a.jpg&sizes=50x0")
		for _, front := range []string{"http:", "x:", "http:/x/..", "", "http://example.com"} {
			b := newBench(t, signed)
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RequestURI = front + "/resize?image_url=https:%2f%2fh%2fsecret.jpg?x=://h" + good
			var err error
			if r.URL, err = url.ParseRequestURI(r.RequestURI); err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			b.public.ServeHTTP(w, r)
			if ref := b.source.lastRef(); ref != "" {
				t.Errorf("%s fetched %q", r.RequestURI, ref)
			}
		}
	})
	t.Run("a server without keys takes signed urls as they are", func(t *testing.T) {
		b := newBench(t, nil)
		if res := b.get("/assets/a.jpg?expires=1&signature=x"); res.StatusCode != 200 {
			t.Error(body(t, res))
		}
	})
	t.Run("no fault is kept beyond the end of its url", func(t *testing.T) {
		b := newBench(t, func(s *settings) {
			signed(s)
			s.http.ErrorMaxAge, s.http.Now = time.Hour, func() time.Time { return now }
		})
		for after, want := range map[int64]string{90: "public, max-age=90", 7200: "public, max-age=3600"} {
			for _, route := range []string{"/resize?sizes=9x0&", "/srcset?sizes=9x0&", "/info?"} {
				url := httpapi.SignURL(testKey, route+"image_url=missing&expires="+strconv.FormatInt(now.Unix()+after, 10))
				res := b.get(url)
				wantProblem(t, res, 404, "source-not-found")
				if got := res.Header.Get("Cache-Control"); got != want {
					t.Errorf("%s may be kept by %q, want %q", route, got, want)
				}
			}
		}
	})
	t.Run("neither log nor answer shows a signature", func(t *testing.T) {
		b := newBench(t, signed)
		b.source.err = media.Wrap(media.CodeSourceFailed, errors.New(`Get "https://user:pw@h/p?token=hunter2": refused`), "The source failed.")
		url := httpapi.SignURL(testKey, "/resize?image_url=https://h/p?token=hunter2")
		text := body(t, b.get(url)) + b.logged.String()
		for _, secret := range []string{url[len(url)-43:], "hunter2", "user:pw"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is shown in %s", secret, text)
			}
		}
	})
}

// FuzzSignature holds the canonical form: what Sign made is verified, and no
// other target is, whatever bytes a target has.
func FuzzSignature(f *testing.F) {
	for _, seed := range []string{
		"/resize?image_url=a.jpg&sizes=300x0", "/assets/a+b%20~(1)!,.jpg", "/assets/é?", "/a?&b", "/?signature", "/p?x=?signature=y", "/p?a=1&signature=z", "",
	} {
		f.Add(seed, "x")
	}
	keys := [][]byte{testKey}
	f.Fuzz(func(t *testing.T, target, change string) {
		full := httpapi.SignURL(testKey, target)
		_, query, _ := strings.Cut(target, "?")
		names := strings.HasPrefix(query, "signature=") || strings.Contains(query, "&signature=")
		code := verifyCode(httpapi.Verify(keys, full, now))
		if names != (code == "signature-invalid") {
			t.Fatalf("Verify(%q) gives %q", full, code)
		}
		if code == "signature-missing" {
			t.Fatalf("Verify(%q) overlooks the signature", full)
		}
		if change == "" {
			return
		}
		for _, other := range []string{change + full, full + change, full + "&" + change, strings.Replace(full, "&signature=", change+"&signature=", 1)} {
			code := verifyCode(httpapi.Verify(keys, other, now))
			if other != full && code != "signature-invalid" && code != "signature-missing" {
				t.Fatalf("Verify(%q) gives %q for a changed %q", other, code, full)
			}
		}
	})
}
