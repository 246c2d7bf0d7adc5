package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Page is a tab in a context of its own: it shares no cache, no cookie and no
// connection with any other.
type Page struct {
	browser *Browser
	context string
	session string

	mu         sync.Mutex
	complaints []string
	listener   func(method string, params json.RawMessage)
}

// Open makes an empty tab.
func (b *Browser) Open(ctx context.Context) (*Page, error) {
	p := &Page{browser: b}
	var room struct {
		ID string `json:"browserContextId"`
	}
	if err := b.Call(ctx, "Target.createBrowserContext", map[string]any{"disposeOnDetach": true}, &room); err != nil {
		return nil, err
	}
	p.context = room.ID
	if err := p.attach(ctx); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

func (p *Page) attach(ctx context.Context) error {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := p.browser.Call(ctx, "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": p.context}, &target); err != nil {
		return err
	}
	var attached struct {
		ID string `json:"sessionId"`
	}
	if err := p.browser.Call(ctx, "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached); err != nil {
		return err
	}
	p.session = attached.ID
	p.browser.pipe.listen(p.session, p.hear)
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		if err := p.Call(ctx, domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the tab and forgets what its context kept.
func (p *Page) Close(ctx context.Context) error {
	p.browser.pipe.listen(p.session, nil)
	return p.browser.Call(ctx, "Target.disposeBrowserContext", map[string]any{"browserContextId": p.context}, nil)
}

// Call sends a command of the DevTools protocol to the tab and decodes the
// answer into out, where it is not nil.
func (p *Page) Call(ctx context.Context, method string, params, out any) error {
	return p.browser.pipe.call(ctx, p.session, method, params, out)
}

// Listen names a function that gets the tab's events, in order, of the domains
// that are on (Page, Runtime and Log are; Network.enable is one Call away). It
// must not block and must not use the page: answers come by the same pipe.
func (p *Page) Listen(f func(method string, params json.RawMessage)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = f
}

// Navigate goes to a URL and returns when its answer has begun, with an error
// when there is none. Pictures come later: see WaitFor.
func (p *Page) Navigate(ctx context.Context, url string) error {
	var out struct {
		ErrorText string `json:"errorText"`
	}
	if err := p.Call(ctx, "Page.navigate", map[string]any{"url": url}, &out); err != nil {
		return err
	}
	if out.ErrorText != "" {
		return fmt.Errorf("navigate to %s: %s", url, out.ErrorText)
	}
	return nil
}

// Evaluate decodes the value of a script into out, where it is not nil. A
// promise is awaited; whatever is thrown is an error.
func (p *Page) Evaluate(ctx context.Context, script string, out any) error {
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *exception `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true}
	if err := p.Call(ctx, "Runtime.evaluate", params, &answer); err != nil {
		return err
	}
	if answer.Exception != nil {
		return fmt.Errorf("evaluate %.200s: %s", script, answer.Exception)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Result.Value, out); err != nil {
		return fmt.Errorf("read value of %.200s: %w", script, err)
	}
	return nil
}

// WaitFor returns when a condition holds, at which the page itself looks until
// the context ends. An exception counts as false.
func (p *Page) WaitFor(ctx context.Context, condition string) error {
	return p.Evaluate(ctx, `new Promise((done) => {
		const look = () => {
			let held = false;
			try { held = Boolean(`+condition+`); } catch {}
			if (held) done(true);
			else setTimeout(look, 15);
		};
		look();
	})`, nil)
}

// CaptureScreenshot is the visible part of the tab as a PNG.
func (p *Page) CaptureScreenshot(ctx context.Context) ([]byte, error) {
	var out struct {
		Data []byte `json:"data"` // in base64, as encoding/json has it
	}
	if err := p.Call(ctx, "Page.captureScreenshot", map[string]any{"format": "png", "optimizeForSpeed": true}, &out); err != nil {
		return nil, err
	}
	return out.Data, nil
}
