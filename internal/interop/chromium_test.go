package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-media/spillway/internal/browser"
	"github.com/spillway-media/spillway/internal/browser/browsertest"
)

// pageWidth is how wide the pictures are that the page asks for.
const pageWidth = 480

// loaded is what a picture of the page came to, as the page itself sees it.
type loaded struct {
	Width    int
	Complete bool
	Protocol string
}

// connections counts the answers of each by what Chromium tells of its sockets.
type connections struct {
	mu    sync.Mutex
	count map[string]int // answers by protocol, status and connection
}

func (c *connections) hear(method string, params json.RawMessage) {
	if method != "Network.responseReceived" {
		return
	}
	var e struct {
		Type     string `json:"type"`
		Response struct {
			Status       int    `json:"status"`
			Protocol     string `json:"protocol"`
			ConnectionID int    `json:"connectionId"`
		} `json:"response"`
	}
	if err := json.Unmarshal(params, &e); err != nil {
		e.Response.Protocol = err.Error()
	}
	if e.Type != "Image" && e.Type != "Document" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[fmt.Sprintf("%s %d on %d", e.Response.Protocol, e.Response.Status, e.Response.ConnectionID)]++
}

// page is made of pictures only, some of them below the fold.
func page() string {
	var b strings.Builder
	b.WriteString("<!doctype html><meta charset=utf-8><title>pictures</title><style>body{margin:0}img{display:inline-block;width:160px;height:120px}</style>")
	for n := range pictures {
		fmt.Fprintf(&b, `<img src="%s" alt="">`, strings.ReplaceAll(picture(n, pageWidth, "&format=jpeg"), "&", "&amp;"))
	}
	return b.String()
}

// TestChromiumShowsAPageOfPictures loads it over the connection of a first
// document, as browsers do, from this server and from Go's as a control.
func TestChromiumShowsAPageOfPictures(t *testing.T) {
	b := browsertest.Start(t, browser.Options{AnyCertificate: true})
	for _, at := range []site{
		{name: "over TLS", secure: true},
		{name: "over TLS, by Go's own server", secure: true, args: []string{"--http2=std"}},
	} {
		t.Run(at.name, func(t *testing.T) {
			s := serve(t, at)
			tab, err := b.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sockets := &connections{count: map[string]int{}}
			shown := look(t, s, tab, sockets)
			complete := 0
			for n, p := range shown {
				if !p.Complete || p.Width != pageWidth || p.Protocol != "h2" {
					t.Errorf("picture %d came to %+v", n, p)
					continue
				}
				complete++
			}
			if complete != pictures {
				t.Errorf("%d pictures are complete, want %d", complete, pictures)
			}
			for _, c := range tab.Complaints() {
				if !strings.HasSuffix(c, "/favicon.ico") { // of the document of the check of health
					t.Errorf("the console says: %s", c)
				}
			}
			if len(sockets.count) != 1 {
				t.Errorf("answers came as %v, want one connection", sockets.count)
			}
			picturesDrawn(t, tab)
			if err := tab.Close(t.Context()); err != nil {
				t.Error(err)
			}
			t.Logf("summary: Chromium %s: %d of %d pictures complete, all by h2 on one connection", at.name, complete, pictures)
		})
	}
}

// look loads the page and returns when all of its pictures came to something.
func look(t *testing.T, s *server, tab *browser.Page, sockets *connections) []loaded {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(tab.Show(ctx, browser.Screen{Width: 960, Height: 480}))
	tab.Listen(sockets.hear)
	must(tab.Call(ctx, "Network.enable", nil, nil))
	must(tab.Navigate(ctx, s.at("/healthz")))
	must(tab.WaitFor(ctx, `document.readyState === "complete"`))
	html, err := json.Marshal(page())
	must(err)
	must(tab.Evaluate(ctx, `document.open(); document.write(`+string(html)+`); document.close()`, nil))
	must(tab.WaitFor(ctx, fmt.Sprintf(`document.images.length === %d && [...document.images].every((i) => i.complete)`, pictures)))
	must(tab.Evaluate(ctx, `Promise.all([...document.images].map((i) => i.decode()))`, nil))
	var shown []loaded
	must(tab.Evaluate(ctx, `[...document.images].map((i) => ({
		Width: i.naturalWidth, Complete: i.complete,
		Protocol: performance.getEntriesByName(i.src)[0]?.nextHopProtocol ?? "",
	}))`, &shown))
	return shown
}

// picturesDrawn looks at the screen itself: pictures, not blanks.
func picturesDrawn(t *testing.T, tab *browser.Page) {
	t.Helper()
	shot, err := tab.CaptureScreenshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[any]bool{}
	for y := 0; y < m.Bounds().Dy(); y += 5 {
		for x := 0; x < m.Bounds().Dx(); x += 5 {
			seen[m.At(x, y)] = true
		}
	}
	if len(seen) < 1000 {
		t.Errorf("the screen shows %d colours only", len(seen))
	}
}
