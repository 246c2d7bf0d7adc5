package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/browser"
)

// openTimeout is how long a page may take to show what a test waits for.
const openTimeout = 10 * time.Second

// page is a tab whose faults are its test's.
type page struct {
	*browser.Page
	t *testing.T
}

// open makes an empty tab on a screen.
func open(t *testing.T, b *browser.Browser, s browser.Screen) *page {
	t.Helper()
	tab, err := b.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tab.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p := &page{tab, t}
	p.show(s)
	return p
}

func (p *page) show(s browser.Screen) {
	p.t.Helper()
	p.must(p.Show(p.t.Context(), s))
}

func (p *page) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) call(method string, params any) {
	p.t.Helper()
	p.must(p.Call(p.t.Context(), method, params, nil))
}

func (p *page) visit(url string) {
	p.t.Helper()
	p.must(p.Navigate(p.t.Context(), url))
	p.wait(`document.documentElement.dataset.ready === "1" && location.href.startsWith(` + quote(strings.SplitN(url, "#", 2)[0]) + `)`)
}

// eval gives the value of a script, its promise awaited.
func (p *page) eval(script string, out any) {
	p.t.Helper()
	p.must(p.Evaluate(p.t.Context(), script, out))
}

func (p *page) text(script string) string {
	p.t.Helper()
	var s string
	p.eval(script, &s)
	return s
}

func (p *page) truth(script string) bool {
	p.t.Helper()
	var b bool
	p.eval("Boolean("+script+")", &b)
	return b
}

// wait returns when the condition holds; the test fails when it does not come
// to that in time.
func (p *page) wait(condition string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), openTimeout)
	defer cancel()
	if err := p.WaitFor(ctx, condition); err != nil {
		p.t.Fatalf("waited in vain for %s (%v); the page shows:\n%s", condition, err, p.text(`(document.querySelector(".problem:not([hidden])") ?? document.querySelector(".readout")).innerText + " " + document.getElementById("snippet").textContent + " " + document.getElementById("status").textContent`))
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// keyCodes are the keys the tests press, by their DOM names.
var keyCodes = map[string]int{"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "End": 35, "Home": 36}

func (p *page) press(key string, shift bool) {
	p.t.Helper()
	event := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": keyCodes[key]}
	if key == "Enter" {
		event["text"] = "\r"
	}
	if key == " " {
		event["text"], event["code"] = " ", "Space"
	}
	if shift {
		event["modifiers"] = 8
	}
	p.call("Input.dispatchKeyEvent", event)
	event["type"] = "keyUp"
	delete(event, "text")
	p.call("Input.dispatchKeyEvent", event)
}

// clickAt clicks at a share of an element's box, scrolled into view.
func (p *page) clickAt(selector string, fx, fy float64) {
	p.t.Helper()
	var at [2]float64
	p.eval(fmt.Sprintf(`(() => {
		const el = document.querySelector(%s);
		el.scrollIntoView({ block: "nearest" });
		const box = el.getBoundingClientRect();
		return [box.left + box.width * %g, box.top + box.height * %g];
	})()`, quote(selector), fx, fy), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "buttons": 1, "clickCount": 1})
	}
}

func (p *page) click(selector string) { p.t.Helper(); p.clickAt(selector, .5, .5) }

// shot is the visible part as a PNG.
func (p *page) shot() []byte {
	p.t.Helper()
	png, err := p.CaptureScreenshot(p.t.Context())
	p.must(err)
	return png
}
