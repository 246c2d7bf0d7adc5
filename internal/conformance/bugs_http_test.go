package conformance_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/testpictures"
)

func TestBugReport10_SVGReachesNothingOutside(t *testing.T) {
	canary := listenCanary(t)
	root := t.TempDir()
	const marker = "MARKER-4711-OF-A-LOCAL-FILE"
	put(t, root, "secret.txt", []byte(marker))
	hostile := testpictures.HostileSVGs("http://127.0.0.1:18999/canary", filepath.Join(root, "secret.txt"))
	for name, file := range hostile {
		put(t, root, name+".svg", file)
	}
	put(t, root, "good.svg", testpictures.SVG(100, 80))
	s := start(t, withRoot(root))
	for _, name := range sortedKeys(hostile) {
		t.Run(name, func(t *testing.T) {
			for _, query := range []string{"format=png", "format=webp&sizes=300x0", ""} {
				got := s.get(t, "/assets/"+name+".svg?"+query)
				if got.status != http.StatusOK && (got.status < 400 || got.status >= 500) {
					t.Errorf("%s: status %d %s", got.url, got.status, got.excerpt())
				}
				if got.took > patience {
					t.Errorf("%s: took %s", got.url, got.took)
				}
				if bytes.Contains(got.body, []byte(marker)) {
					t.Errorf("%s: the answer holds the local file", got.url)
				}
				if got.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
					t.Errorf("%s: not locked: %v", got.url, got.header)
				}
				if strings.HasPrefix(name, "entity-") && query == "format=png" && got.status == http.StatusOK {
					drawsNothing(t, got)
				}
			}
			canary.untouched(t)
		})
	}
	for _, name := range []string{"giant", "use-exponential", "filter-bomb", "billion-laughs", "many-nodes"} {
		if got := s.get(t, "/assets/"+name+".svg?format=png"); got.status == http.StatusOK && name != "giant" {
			t.Errorf("%s was rendered", name)
		}
	}
	good := mustDecode(t, s.good(t, "/assets/good.svg?format=png&sizes=200x0").body)
	if good.size() != "200x160" || good.first().NRGBAAt(5, 5).R != 208 {
		t.Errorf("a harmless drawing is %s with %v in its corner", good.size(), good.first().NRGBAAt(5, 5))
	}
	s.leavesNothing(t)
	s.isWell(t)
}

// drawsNothing fails when a picture that could only show an entity's text
// shows anything.
func drawsNothing(t *testing.T, got answer) {
	t.Helper()
	mean := meanOnWhite(mustDecode(t, got.body).first())
	if mean[0] < 254 {
		t.Errorf("%s: something was drawn from outside the file (mean %.1f)", got.url, mean)
	}
}

// oddNames are names that client libraries and servers spell differently.
var oddNames = []string{
	"plus+sign", "til~de", "per%cent", "(brackets)", "bang!", "com,ma", "a space", "größe-日本", "100%25", "a&b=c", "semi;colon", "apostro'phe", "hash#tag", "quest?ion",
}

// spellings are the ways a client may write a name in a path or query: all
// that RFC 3986 lets stand bare, and everything escaped.
func spellings(name string) []string {
	var bare, escaped strings.Builder
	for _, c := range []byte(name) {
		if strings.IndexByte("+~()!,'", c) >= 0 || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			bare.WriteByte(c)
		} else {
			fmt.Fprintf(&bare, "%%%02X", c)
		}
		fmt.Fprintf(&escaped, "%%%02x", c)
	}
	return []string{bare.String(), escaped.String()}
}

func TestBugReport11_SignaturesHoldOverTheExactBytes(t *testing.T) {
	key := bytes.Repeat([]byte("k"), 24)
	root := t.TempDir()
	for _, name := range oddNames {
		put(t, root, name, testpictures.JPEG(testpictures.Scene(60, 40), 90))
	}
	s := start(t, withRoot(root), func(c *app.Config) { c.SignatureKeys = []string{"base64:" + base64.StdEncoding.EncodeToString(key)} })
	sign := func(target string) string {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(target))
		return target + "&signature=" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) {
			for i, spelled := range spellings(name) {
				inQuery := spelled
				if i == 0 {
					inQuery = strings.ReplaceAll(spelled, "+", "%2B") // a bare + is a space in a query
				}
				for _, target := range []string{"/assets/" + spelled + "?sizes=30x0&format=png", "/resize?image_url=" + inQuery + "&sizes=30x0&format=png"} {
					good := s.rawGet(t, sign(target))
					if good.status != http.StatusOK {
						t.Errorf("signed %s: status %d %s", target, good.status, good.excerpt())
					}
					for what, bad := range map[string]string{
						"unsigned":           target,
						"another size":       strings.Replace(sign(target), "30x0", "31x0", 1),
						"another spelling":   strings.Replace(sign(target), "sizes=30x0", "sizes=%330x0", 1),
						"something appended": sign(target) + "&blur=9",
					} {
						if got := s.rawGet(t, bad); got.status != http.StatusForbidden {
							t.Errorf("%s: %s: status %d, want 403", what, bad, got.status)
						}
					}
				}
			}
		})
	}
}

// rawGet sends a target byte for byte, which http.NewRequest would clean.
func (s *server) rawGet(t testing.TB, target string) answer {
	t.Helper()
	host := strings.TrimPrefix(s.url, "http://")
	path, query, _ := strings.Cut(target, "?")
	r := &http.Request{Method: http.MethodGet, Host: host, Header: http.Header{}, URL: &url.URL{Scheme: "http", Host: host, Opaque: "//" + host + path, RawQuery: query}}
	resp, err := s.client.Do(r.WithContext(t.Context()))
	if err != nil {
		t.Fatalf("GET %s: %v", target, err)
	}
	defer resp.Body.Close()
	a := answer{url: "GET " + target, status: resp.StatusCode, header: resp.Header}
	var body bytes.Buffer
	_, a.broken = body.ReadFrom(resp.Body)
	a.body = body.Bytes()
	return a
}

func TestBugReport12_TheOriginSeesOneLevelOfDecoding(t *testing.T) {
	s := start(t)
	var mu sync.Mutex
	var asked []string
	file := testpictures.JPEG(testpictures.Scene(60, 40), 90)
	s.origin.serve(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.RequestURI)
		mu.Unlock()
		_, _ = w.Write(file)
	})
	for _, tt := range []struct{ given, want string }{
		{"/a%20b.jpg", "/a%20b.jpg"},
		{"/a b.jpg", "/a%20b.jpg"},
		{"/a%2520b.jpg", "/a%2520b.jpg"},
		{"/plus+sign.jpg", "/plus+sign.jpg"},
		{"/plus%2Bsign.jpg", "/plus%2Bsign.jpg"},
		{"/slash%2Finside.jpg", "/slash%2Finside.jpg"},
		{"/t~i(l)d!e,.jpg", "/t~i(l)d!e,.jpg"},
		{"/gr%C3%B6%C3%9Fe.jpg", "/gr%C3%B6%C3%9Fe.jpg"},
		{"/größe.jpg", "/gr%C3%B6%C3%9Fe.jpg"},
		{"/q.jpg?a=1%262&b=x+y", "/q.jpg?a=1%262&b=x+y"},
	} {
		t.Run(tt.given, func(t *testing.T) {
			mu.Lock()
			asked = nil
			mu.Unlock()
			got := s.get(t, "/resize?format=png&sizes=30x0&image_url="+url.QueryEscape(s.origin.url+tt.given))
			mu.Lock()
			defer mu.Unlock()
			if got.status != http.StatusOK || len(asked) == 0 {
				t.Fatalf("status %d, the origin saw %q: %s", got.status, asked, got.excerpt())
			}
			for _, uri := range asked {
				if uri != tt.want {
					t.Errorf("the origin saw %q, want %q", uri, tt.want)
				}
			}
		})
	}
}

func TestBugReport13_EveryAnswerOfANegotiatedURLVariesByAccept(t *testing.T) {
	root := t.TempDir()
	put(t, root, "in.jpg", testpictures.JPEG(testpictures.Scene(60, 40), 90))
	put(t, root, "broken.jpg", testpictures.Truncate(testpictures.JPEG(testpictures.Photo(600, 400), 90), 0.3))
	put(t, root, "page.jpg", []byte("<html></html>"))
	s := start(t, withRoot(root))
	accepts := []string{"", "*/*", "image/*", "image/webp,*/*", "image/avif,image/webp,*/*", "image/webp;q=0,*/*", "text/html"}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, target := range []string{"/assets/in.jpg", "/assets/in.jpg?format=auto&sizes=30x0", "/resize?image_url=in.jpg", "/assets/missing.jpg", "/assets/broken.jpg", "/assets/page.jpg", "/assets/in.jpg?sizes=nonsense", "/assets/in.jpg?unknown=1"} {
			for _, accept := range accepts {
				got := s.ask(t, method, s.url+target, "Accept", accept)
				if !strings.Contains(strings.Join(got.header.Values("Vary"), ","), "Accept") {
					t.Errorf("%s with Accept %q: status %d without Vary: Accept", got.url, accept, got.status)
				}
				if got.status != http.StatusOK {
					continue
				}
				again := s.ask(t, method, s.url+target, "Accept", accept, "If-None-Match", got.header.Get("ETag"))
				if again.status != http.StatusNotModified || !strings.Contains(again.header.Get("Vary"), "Accept") || again.header.Get("ETag") != got.header.Get("ETag") {
					t.Errorf("%s with Accept %q asked again: status %d, headers %v", got.url, accept, again.status, again.header)
				}
			}
		}
	}
	t.Run("what is accepted decides the format and the tag", func(t *testing.T) {
		tags := map[string]string{}
		for accept, want := range map[string]string{
			"image/webp,*/*": "image/webp", "*/*": "image/jpeg", "image/webp;q=0,image/*": "image/jpeg", "image/avif": "image/avif",
		} {
			got := s.good(t, "/assets/in.jpg", "Accept", accept)
			if got.header.Get("Content-Type") != want {
				t.Errorf("Accept %q gives %s, want %s", accept, got.header.Get("Content-Type"), want)
			}
			if other, known := tags[got.header.Get("ETag")]; known && other != want {
				t.Errorf("%s and %s share a tag", other, want)
			}
			tags[got.header.Get("ETag")] = want
		}
	})
	if got := s.good(t, "/assets/in.jpg?format=png"); strings.Contains(got.header.Get("Vary"), "Accept") {
		t.Error("a URL that names its format varies by Accept")
	}
}

func TestBugReport14_ACutOffSourceIsNeverKept(t *testing.T) {
	file := testpictures.JPEG(testpictures.Photo(800, 600), 90)
	for _, tt := range []struct {
		name string
		cut  func(w http.ResponseWriter)
	}{
		{"shorter than declared", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(len(file)))
			_, _ = w.Write(file[:len(file)/2])
			panic(http.ErrAbortHandler)
		}},
		{"cut off within chunks", func(w http.ResponseWriter) {
			_, _ = w.Write(file[:len(file)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"ended early by an origin that calls it whole", func(w http.ResponseWriter) { _, _ = w.Write(file[:len(file)/2]) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t)
			var whole atomic.Bool
			s.origin.serve(func(w http.ResponseWriter, _ *http.Request) {
				if !whole.Load() {
					tt.cut(w)
					return
				}
				_, _ = w.Write(file)
			})
			target := "/resize?format=png&sizes=200x0&image_url=" + s.origin.url + "/photo.jpg"
			got := s.get(t, target)
			if got.status < 400 || got.broken != nil {
				t.Fatalf("half a source gives status %d", got.status)
			}
			if got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("the refusal may be kept: %q", got.header.Get("Cache-Control"))
			}
			whole.Store(true)
			again := mustDecode(t, s.good(t, target).body)
			want := testpictures.Photo(800, 600)
			alike(t, "once the source is whole", again.first(), halved(halved(want)), 3)
			s.leavesNothing(t)
		})
	}
}
