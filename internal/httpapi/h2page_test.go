package httpapi_test

import (
	"context"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/browser"
	"github.com/spillway-media/spillway/internal/httpapi"
)

// shots is where the test of the page puts what it looks like, for a person.
var shots = flag.String("shots", "", "folder for pictures of /debug/h2")

// changing is a server whose streams go on while somebody looks.
type changing struct {
	mu  sync.Mutex
	now streams
}

func (c *changing) Connections() []h2.ConnInfo { return c.moment().connections }
func (c *changing) Stats() h2.Stats            { return c.moment().stats }

func (c *changing) moment() streams {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *changing) set(s streams) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = s
}

func TestThePageKeepsUpWithTheStreams(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	source := &changing{now: busy()}
	server := httptest.NewServer(watched(t, source).Admin())
	defer server.Close()
	chromium, err := browser.Start(ctx, browser.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := chromium.Close(); err != nil {
			t.Error(err)
		}
	}()
	p, err := chromium.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(p.Navigate(ctx, server.URL+"/debug/h2"))
	must(p.WaitFor(ctx, `document.body.innerText.includes("4.9 KiB") && getComputedStyle(document.querySelector(".tiles")).display === "grid"`))
	later := busy()
	later.connections[0].Streams[0].Phase = priority.Good
	later.connections[0].Streams[0].Sent = 7 << 20
	source.set(later)
	must(p.WaitFor(ctx, `document.body.innerText.includes("7.0 MiB") && document.querySelector("td .phase.good")`))
	for _, s := range []struct {
		name   string
		screen browser.Screen
	}{
		{"desktop", browser.Screen{Width: 1200, Height: 760}},
		{"dark", browser.Screen{Width: 1200, Height: 760, Dark: true}},
		{"phone", browser.Screen{Width: 390, Height: 800, Phone: true, Scale: 2}},
	} {
		must(p.Show(ctx, s.screen))
		var wide bool
		must(p.Evaluate(ctx, "document.documentElement.scrollWidth > innerWidth", &wide))
		if wide {
			t.Errorf("on the screen %s the page has to be scrolled sideways", s.name)
		}
		if *shots == "" {
			continue
		}
		picture, err := p.CaptureScreenshot(ctx)
		must(err)
		must(os.WriteFile(filepath.Join(*shots, s.name+".png"), picture, 0o600))
	}
	if complaints := p.Complaints(); len(complaints) > 0 {
		t.Errorf("the browser complains: %v", complaints)
	}
	server.CloseClientConnections()
	server.Close()
	must(p.WaitFor(ctx, `document.getElementById("pulse").textContent.startsWith("no answer since 09:00:10")`))
}

var _ httpapi.H2Server = (*changing)(nil)
