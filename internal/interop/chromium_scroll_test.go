package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/browser"
)

const (
	// column is how many pictures stand below one another, lowest the one that
	// the reader jumps to.
	column = 24
	lowest = column - 1
	// brake is what the link to them carries, in bytes a second.
	brake = 1_000_000
)

// TestChromiumLetsThePictureInViewOvertake: Chromium says by PRIORITY frames, and
// by nothing else, that a picture has come into view.
func TestChromiumLetsThePictureInViewOvertake(t *testing.T) {
	s := serve(t, site{secure: true, args: []string{"--admin-listen", "127.0.0.1:0"}})
	for n := range column {
		curl(t, s, request{path: tall(n)}, "--http2", "2") // into the cache
	}
	b, err := browser.Start(t.Context(), browser.Options{AnyCertificate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	tab, err := b.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(tab.Show(ctx, browser.Screen{Width: 960, Height: 480}))
	must(tab.Navigate(ctx, throttled(t, s.url, brake)+"/healthz"))
	must(tab.WaitFor(ctx, `document.readyState === "complete"`))
	html, err := json.Marshal(columnOfPictures())
	must(err)
	must(tab.Evaluate(ctx, `document.open(); document.write(`+string(html)+`); document.close()`, nil))
	before := awaitStream(t, s, func(st shownStream) bool { return st.Sent > 0 })
	// What is in view Chromium looks up when it lays the page out again.
	must(tab.Evaluate(ctx, fmt.Sprintf(`document.images[%d].scrollIntoView(); document.body.style.paddingBottom = "1px"`, lowest), nil))
	after := awaitStream(t, s, func(st shownStream) bool { return st.Urgency < before.Urgency })

	var complete []bool
	must(tab.Evaluate(ctx, fmt.Sprintf(`document.images[%d].decode().then(() => [...document.images].map((i) => i.complete && i.naturalWidth > 0))`, lowest), &complete))
	overtaken := 0
	for _, is := range complete[:lowest] {
		if !is {
			overtaken++
		}
	}
	if !complete[lowest] || overtaken < column/2 {
		t.Errorf("when the picture in view was complete, these were: %v", complete)
	}
	for _, c := range tab.Complaints() {
		if !strings.HasSuffix(c, "/favicon.ico") {
			t.Errorf("the console says: %s", c)
		}
	}
	t.Logf("summary: Chromium scrolled: urgency %d became %d after %d bytes, and %d of %d pictures were overtaken",
		before.Urgency, after.Urgency, after.Sent, overtaken, lowest)
}

// tall is a picture without phases, so that its place is its urgency's alone.
func tall(n int) string { return picture(n, 300, "&format=png") }

// columnOfPictures has the fold after the first of them.
func columnOfPictures() string {
	var b strings.Builder
	b.WriteString("<!doctype html><meta charset=utf-8><title>column</title><style>body{margin:0}img{display:block;width:640px;height:1500px}</style>")
	for n := range column {
		fmt.Fprintf(&b, `<img src="%s" alt="">`, strings.ReplaceAll(tall(n), "&", "&amp;"))
	}
	return b.String()
}

// shownStream is a stream as /debug/h2 tells of it.
type shownStream struct {
	Path    string
	Urgency int
	Sent    int64
}

// awaitStream looks at the stream of the lowest picture until it is as wanted.
func awaitStream(t *testing.T, s *server, wanted func(shownStream) bool) shownStream {
	t.Helper()
	path, _, _ := strings.Cut(tall(lowest), "?")
	var seen []shownStream
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for until := time.Now().Add(patience); time.Now().Before(until); <-look.C {
		for _, st := range s.streams(t) {
			if st.Path != path {
				continue
			}
			if wanted(st) {
				return st
			}
			seen = append(seen, st)
		}
	}
	t.Fatalf("the stream of %s was never as wanted; at last %v", path, seen[max(0, len(seen)-5):])
	return shownStream{}
}

// streams are those that are open now.
func (s *server) streams(t *testing.T) (streams []shownStream) {
	t.Helper()
	s.mu.Lock()
	lines := strings.Join(s.lines, "")
	s.mu.Unlock()
	_, rest, found := strings.Cut(lines, `"msg":"listening for operators","address":"`)
	address, _, _ := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("the server tells no address for operators:\n%s", lines)
	}
	res, err := http.Get("http://" + address + "/debug/h2")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var d struct {
		Listeners []struct {
			Connections []struct{ Streams []shownStream }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	for _, l := range d.Listeners {
		for _, c := range l.Connections {
			streams = append(streams, c.Streams...)
		}
	}
	return streams
}
