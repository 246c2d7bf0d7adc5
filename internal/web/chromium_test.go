package web_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium, spoken to by its DevTools protocol over a
// pair of pipes. That needs no port, no library and no Node.
type browser struct {
	cmd   *exec.Cmd
	write *os.File
	done  chan struct{} // closed when Chromium shut its end

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	pages   map[string]*page // by session
}

type reply struct {
	ID        int             `json:"id"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	SessionID string          `json:"sessionId"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// chromiumPlaces are looked at in order, names by the search path.
var chromiumPlaces = []string{
	"chromium", "chromium-browser", "google-chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

func findChromium(t *testing.T) string {
	t.Helper()
	for _, place := range chromiumPlaces {
		if path, err := exec.LookPath(place); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium or Chrome found; scripts/setup.sh test installs one")
	return ""
}

// startBrowser starts Chromium with a profile of its own, which may reach the
// server under test and no other host. It ends with the test.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	theirRead, ourWrite := makePipe(t)
	ourRead, theirWrite := makePipe(t)
	cmd := exec.Command(findChromium(t),
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{theirRead, theirWrite} // descriptors 3 and 4 of the child
	// All of its processes hold stderr, so Wait returns when the last is gone
	// and nobody writes to the profile any more.
	cmd.Stderr, cmd.WaitDelay = io.Discard, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	theirRead.Close()
	theirWrite.Close()
	b := &browser{cmd: cmd, write: ourWrite, done: make(chan struct{}), waiting: map[int]chan reply{}, pages: map[string]*page{}}
	go b.read(ourRead)
	t.Cleanup(func() {
		b.send("", "Browser.close", nil)
		<-b.done
		cmd.Wait()
		ourWrite.Close()
		ourRead.Close()
	})
	return b
}

func makePipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// read hands answers to those who wait and events to their pages until the
// pipe ends.
func (b *browser) read(from *os.File) {
	defer close(b.done)
	in := bufio.NewReader(from)
	for {
		message, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var r reply
		if json.Unmarshal(message[:len(message)-1], &r) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.waiting[r.ID]; r.ID != 0 && c != nil {
			delete(b.waiting, r.ID)
			c <- r
		} else if p := b.pages[r.SessionID]; p != nil {
			p.note(r)
		}
		b.mu.Unlock()
	}
}

// send writes one command; the channel gets its answer.
func (b *browser) send(session, method string, params any) (chan reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	message := map[string]any{"id": b.last, "method": method}
	if params != nil {
		message["params"] = params
	}
	if session != "" {
		message["sessionId"] = session
	}
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	c := make(chan reply, 1)
	b.waiting[b.last] = c
	_, err = b.write.Write(append(body, 0))
	return c, err
}

func (b *browser) call(ctx context.Context, session, method string, params, out any) error {
	c, err := b.send(session, method, params)
	if err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	select {
	case r := <-c:
		if r.Error != nil {
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(r.Result, out)
	case <-b.done:
		return fmt.Errorf("%s: chromium ended", method)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// screen is what a page is shown on.
type screen struct {
	width, height int
	scale         float64
	phone, dark   bool
	still         bool // the reader wants less motion
	forced        bool // the system's own few colours
}

// page is one tab in a context of its own; faults is guarded by the browser's
// mutex.
type page struct {
	t       *testing.T
	b       *browser
	session string
	faults  []string
}

// open makes an empty tab on a screen.
func (b *browser) open(t *testing.T, s screen) *page {
	t.Helper()
	p := &page{t: t, b: b}
	var room struct {
		BrowserContextID string `json:"browserContextId"`
	}
	p.must(b.call(t.Context(), "", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true}, &room))
	var target struct {
		TargetID string `json:"targetId"`
	}
	p.must(b.call(t.Context(), "", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": room.BrowserContextID}, &target))
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	p.must(b.call(t.Context(), "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	p.session = attached.SessionID
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	p.show(s)
	t.Cleanup(func() {
		b.call(context.Background(), "", "Target.disposeBrowserContext", map[string]any{"browserContextId": room.BrowserContextID}, nil)
	})
	return p
}

func (p *page) show(s screen) {
	p.t.Helper()
	if s.scale == 0 {
		s.scale = 1
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": s.width, "height": s.height, "deviceScaleFactor": s.scale, "mobile": s.phone,
	}, nil)
	p.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": s.phone}, nil)
	scheme, motion, colours := "light", "no-preference", "none"
	if s.dark {
		scheme = "dark"
	}
	if s.still {
		motion = "reduce"
	}
	if s.forced {
		colours = "active"
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion},
		{"name": "forced-colors", "value": colours},
	}}, nil)
}

// note keeps what a page complains of; the browser holds its mutex.
func (p *page) note(r reply) {
	switch r.Method {
	case "Runtime.exceptionThrown":
		var e struct {
			Details struct {
				Text      string `json:"text"`
				Exception struct {
					Description string `json:"description"`
				} `json:"exception"`
			} `json:"exceptionDetails"`
		}
		json.Unmarshal(r.Params, &e)
		p.faults = append(p.faults, e.Details.Text+" "+e.Details.Exception.Description)
	case "Runtime.consoleAPICalled":
		var e struct {
			Type string          `json:"type"`
			Args json.RawMessage `json:"args"`
		}
		json.Unmarshal(r.Params, &e)
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			p.faults = append(p.faults, e.Type+" "+string(e.Args))
		}
	case "Log.entryAdded":
		var e struct {
			Entry struct {
				Level string `json:"level"`
				Text  string `json:"text"`
				URL   string `json:"url"`
			} `json:"entry"`
		}
		json.Unmarshal(r.Params, &e)
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.faults = append(p.faults, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// complaints are the errors and warnings since the last call.
func (p *page) complaints() []string {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	out := p.faults
	p.faults = nil
	return out
}

func (p *page) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) call(method string, params, out any) {
	p.t.Helper()
	p.must(p.b.call(p.t.Context(), p.session, method, params, out))
}

func (p *page) visit(url string) {
	p.t.Helper()
	var out struct {
		ErrorText string `json:"errorText"`
	}
	p.call("Page.navigate", map[string]any{"url": url}, &out)
	if out.ErrorText != "" {
		p.t.Fatalf("visit %s: %s", url, out.ErrorText)
	}
	p.wait(`document.documentElement.dataset.ready === "1" && location.href.startsWith(` + quote(strings.SplitN(url, "#", 2)[0]) + `)`)
}

// eval gives the value of a script, its promise awaited.
func (p *page) eval(script string, out any) {
	p.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	p.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &r)
	if r.Exception != nil {
		p.t.Fatalf("evaluate %s: %s %s", script, r.Exception.Text, r.Exception.Exception.Description)
	}
	if out != nil {
		p.must(json.Unmarshal(r.Result.Value, out))
	}
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

// wait returns when the condition holds, looked at by the page itself; after
// ten seconds the test fails.
func (p *page) wait(condition string) {
	p.t.Helper()
	var held bool
	p.eval(`new Promise((done) => {
		const until = performance.now() + 10000;
		const look = () => {
			let held = false;
			try { held = Boolean(`+condition+`) } catch {}
			if (held || performance.now() > until) done(held);
			else setTimeout(look, 15);
		};
		look();
	})`, &held)
	if !held {
		p.t.Fatalf("waited in vain for %s; the page shows:\n%s", condition, p.text(`(document.querySelector(".problem:not([hidden])") ?? document.querySelector(".readout")).innerText + " " + document.getElementById("snippet").textContent + " " + document.getElementById("status").textContent`))
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
	p.call("Input.dispatchKeyEvent", event, nil)
	event["type"] = "keyUp"
	delete(event, "text")
	p.call("Input.dispatchKeyEvent", event, nil)
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
		p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
}

func (p *page) click(selector string) { p.t.Helper(); p.clickAt(selector, .5, .5) }

// shot is the visible part as a PNG.
func (p *page) shot() []byte {
	p.t.Helper()
	var out struct {
		Data string `json:"data"`
	}
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &out)
	png, err := base64.StdEncoding.DecodeString(out.Data)
	p.must(err)
	return png
}
