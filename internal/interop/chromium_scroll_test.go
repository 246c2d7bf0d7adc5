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
	"github.com/spillway-media/spillway/internal/browser/browsertest"
)

const (
	// column is how many pictures stand below one another, lowest the one that
	// the reader jumps to.
	column = 24
	lowest = column - 1
)

// TestChromiumLetsThePictureInViewOvertake: Chromium says by PRIORITY frames, and
// by nothing else, that a picture has come into view. Then it is completed before
// the others, and one in phases is good before they are.
func TestChromiumLetsThePictureInViewOvertake(t *testing.T) {
	b := browsertest.Start(t, browser.Options{AnyCertificate: true})
	for _, test := range []struct {
		name   string
		width  int
		more   string
		phases bool
		rate   int // of the link, in bytes a second
	}{
		{"without phases", 300, "&format=png", false, 1_000_000},
		{"in phases", 600, "&format=jpeg", true, 250_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, site{secure: true, args: []string{"--admin-listen", "127.0.0.1:0"}})
			var paths []string
			for n := range column {
				paths = append(paths, picture(n, test.width, test.more))
				curl(t, s, request{path: paths[n]}, "--http2", "2") // into the cache
			}
			tab, err := b.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen := jump(t, s, tab, throttled(t, s.url, test.rate), paths, test.phases)
			if err := tab.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if !seen.complete[lowest] || seen.overtaken() < column*2/3 {
				t.Errorf("when the picture in view was complete, these were: %v", seen.complete)
			}
			if seen.good > column/3 {
				t.Errorf("%d pictures that are not in view were good before", seen.good)
			}
			t.Logf("summary: Chromium scrolled, pictures %s: urgency %d became %d after %d bytes, and %d of %d pictures were overtaken; %d were good before",
				test.name, seen.before.Urgency, seen.after.Urgency, seen.after.Sent, seen.overtaken(), lowest, seen.good)
		})
	}
}

// jumped is what came of a jump to the lowest picture.
type jumped struct {
	before, after shownStream // of the lowest
	complete      []bool      // pictures, when the lowest was
	good          int         // of the others, those that were good when the lowest was
}

func (j *jumped) overtaken() (n int) {
	for _, is := range j.complete[:lowest] {
		if !is {
			n++
		}
	}
	return n
}

// jump shows the column and scrolls to its end while the pictures are on their way.
func jump(t *testing.T, s *server, tab *browser.Page, from string, paths []string, phases bool) (seen jumped) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(tab.Show(ctx, browser.Screen{Width: 960, Height: 480}))
	must(tab.Navigate(ctx, from+"/healthz"))
	must(tab.WaitFor(ctx, `document.readyState === "complete"`))
	html, err := json.Marshal(columnOf(paths))
	must(err)
	must(tab.Evaluate(ctx, `document.open(); document.write(`+string(html)+`); document.close()`, nil))
	seen.before, _ = awaitStream(t, s, paths[lowest], func(st shownStream) bool { return st.Sent > 0 })
	// What is in view Chromium looks up when it lays the page out again.
	must(tab.Evaluate(ctx, fmt.Sprintf(`document.images[%d].scrollIntoView(); document.body.style.paddingBottom = "1px"`, lowest), nil))
	seen.after, _ = awaitStream(t, s, paths[lowest], func(st shownStream) bool { return st.Urgency < seen.before.Urgency })
	if phases {
		_, all := awaitStream(t, s, paths[lowest], func(st shownStream) bool { return st.Phase == "rest" })
		for _, st := range all {
			if st.Phase == "rest" && st.Urgency > 1 {
				seen.good++
			}
		}
	}
	must(tab.Evaluate(ctx, fmt.Sprintf(`document.images[%d].decode().then(() => [...document.images].map((i) => i.complete && i.naturalWidth > 0))`, lowest), &seen.complete))
	for _, c := range tab.Complaints() {
		if !strings.HasSuffix(c, "/favicon.ico") {
			t.Errorf("the console says: %s", c)
		}
	}
	return seen
}

// columnOf is a page that has its fold after the first picture.
func columnOf(paths []string) string {
	var b strings.Builder
	b.WriteString("<!doctype html><meta charset=utf-8><title>column</title><style>body{margin:0}img{display:block;width:640px;height:1500px}</style>")
	for _, path := range paths {
		fmt.Fprintf(&b, `<img src="%s" alt="">`, strings.ReplaceAll(path, "&", "&amp;"))
	}
	return b.String()
}

// shownStream is a stream as /debug/h2 tells of it.
type shownStream struct {
	Path    string
	Phase   string
	Urgency int
	Sent    int64
}

// awaitStream looks at the stream of a picture until it is as wanted.
func awaitStream(t *testing.T, s *server, of string, wanted func(shownStream) bool) (st shownStream, all []shownStream) {
	t.Helper()
	path, _, _ := strings.Cut(of, "?")
	var seen []shownStream
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for until := time.Now().Add(patience); time.Now().Before(until); <-look.C {
		all := s.streams(t)
		for _, st := range all {
			if st.Path != path {
				continue
			}
			if wanted(st) {
				return st, all
			}
			seen = append(seen, st)
		}
	}
	t.Fatalf("the stream of %s was never as wanted; at last %v", path, seen[max(0, len(seen)-5):])
	return shownStream{}, nil
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
