package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/browser"
	"github.com/spillway-media/spillway/internal/browser/browsertest"
)

func open(t *testing.T, b *browser.Browser) *browser.Page {
	t.Helper()
	p, err := b.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPage(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("<!doctype html><title>a page</title><body style='background:#0a0'>hello"))
	}))
	defer server.Close()
	b := browsertest.Start(t, browser.Options{AnyCertificate: true})

	t.Run("a page is shown and answers scripts", func(t *testing.T) {
		p := open(t, b)
		if err := p.Show(t.Context(), browser.Screen{Width: 320, Height: 200, Scale: 2}); err != nil {
			t.Fatal(err)
		}
		if err := p.Navigate(t.Context(), server.URL+"/"); err != nil {
			t.Fatal(err)
		}
		if err := p.WaitFor(t.Context(), `document.readyState === "complete"`); err != nil {
			t.Fatal(err)
		}
		var title string
		if err := p.Evaluate(t.Context(), "document.title", &title); err != nil || title != "a page" {
			t.Errorf("the title is %q: %v", title, err)
		}
		shot, err := p.CaptureScreenshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			t.Fatal(err)
		}
		r, g, _, _ := m.At(600, 390).RGBA()
		if m.Bounds().Dx() != 640 || m.Bounds().Dy() != 400 || r>>8 != 0 || g>>8 != 0xaa {
			t.Errorf("the picture is %v and not green: %v", m.Bounds(), m.At(600, 390))
		}
	})

	t.Run("what goes wrong on a page is told", func(t *testing.T) {
		p := open(t, b)
		if err := p.Navigate(t.Context(), server.URL+"/"); err != nil {
			t.Fatal(err)
		}
		if err := p.Evaluate(t.Context(), `new Promise((done) => {
			const img = new Image();
			img.onerror = () => { console.warn("no picture"); done(1); };
			img.src = "/none.png";
		})`, nil); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(p.Complaints(), "\n")
		if !strings.Contains(said, "404") || !strings.Contains(said, "no picture") {
			t.Errorf("it said %q", said)
		}
		if err := p.Evaluate(t.Context(), `(() => { throw new Error("on purpose") })()`, nil); err == nil || !strings.Contains(err.Error(), "on purpose") {
			t.Errorf("what was thrown came as %v", err)
		}
	})

	t.Run("events are heard", func(t *testing.T) {
		p := open(t, b)
		loaded := make(chan string, 1)
		p.Listen(func(method string, _ json.RawMessage) {
			if method == "Page.loadEventFired" {
				loaded <- method
			}
		})
		if err := p.Navigate(t.Context(), server.URL+"/"); err != nil {
			t.Fatal(err)
		}
		<-loaded
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})

	t.Run("a host that was not named is not reached", func(t *testing.T) {
		err := open(t, b).Navigate(t.Context(), "https://localhost/")
		if err == nil || !strings.Contains(err.Error(), "ERR_NAME_NOT_RESOLVED") {
			t.Errorf("it came to %v", err)
		}
	})

	t.Run("a condition that never holds ends with the context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := open(t, b).WaitFor(ctx, "false"); err == nil {
			t.Error("false came to hold")
		}
	})
}
