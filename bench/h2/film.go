package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spillway-media/spillway/bench/h2/link"
	"github.com/spillway-media/spillway/bench/h2/site"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/internal/browser"
)

// The filmstrip: a page of filmed pictures on a screen that shows all of them,
// at so many milliseconds after it was gone to.
const (
	filmed       = 48
	screenWidth  = 960
	screenHeight = 548
	stripLimit   = 400 << 10
)

var moments = [...]int{400, 700, 1000, 1500, 2000, 3000}

// shot is what the browser showed, and when it was asked to say so.
type shot struct {
	after time.Duration
	png   []byte
}

func (b *bench) film(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	chromium, err := browser.Start(ctx, browser.Options{AnyCertificate: true})
	if err != nil {
		return err
	}
	err = b.shoot(ctx, chromium)
	return errors.Join(err, chromium.Close())
}

func (b *bench) shoot(ctx context.Context, chromium *browser.Browser) error {
	t := b.report.Table("Server", "all pictures loaded after")
	var rows strings.Builder
	for _, w := range ways()[:2] {
		shots, took, err := b.visitWith(ctx, chromium, w)
		if err != nil {
			return fmt.Errorf("film %s: %w", w.name, err)
		}
		t.Add(w.name, seconds(took.Seconds()))
		rows.WriteString(row(w.name, shots))
	}
	strip, err := compose(ctx, chromium, rows.String())
	if err != nil {
		return err
	}
	if b.strip, err = b.shrink(ctx, strip); err != nil {
		return err
	}
	b.report.Note("%d pictures in Chromium over TLS, the same link and delay; the filmstrip is %s. Time runs from the navigation, so it begins with the handshakes.", filmed, stripFile)
	return nil
}

// visitWith loads the page from one server and takes a picture at each moment.
func (b *bench) visitWith(ctx context.Context, chromium *browser.Browser, w *way) (shots []shot, took time.Duration, err error) {
	certificate, err := site.Certificate(time.Now())
	if err != nil {
		return nil, 0, err
	}
	listener, err := b.link.Listen(ctx)
	if err != nil {
		return nil, 0, err
	}
	server, err := w.kind.Serve(listener, site.New(b.pictures[:filmed]), certificate)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	forward, err := b.link.Forward(ctx, server.Address, link.Delay)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, forward.Close()) }()
	page, err := chromium.Open(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, page.Close(context.WithoutCancel(ctx))) }()
	if err := page.Show(ctx, browser.Screen{Width: screenWidth, Height: screenHeight}); err != nil {
		return nil, 0, err
	}
	return follow(ctx, page, "https://"+forward.Address+"/")
}

// follow goes to the page and takes its pictures. It waits for the load beside
// that: a picture of the screen takes a while itself.
func follow(ctx context.Context, page *browser.Page, url string) ([]shot, time.Duration, error) {
	began := time.Now()
	if err := page.Navigate(ctx, url); err != nil {
		return nil, 0, err
	}
	var shots []shot
	for _, ms := range moments {
		if !traffic.Wait(ctx, time.Until(began.Add(time.Duration(ms)*time.Millisecond))) {
			return nil, 0, ctx.Err()
		}
		s := shot{after: time.Since(began)}
		var err error
		if s.png, err = page.CaptureScreenshot(ctx); err != nil {
			return nil, 0, err
		}
		shots = append(shots, s)
	}
	if err := page.WaitFor(ctx, `document.readyState === "complete"`); err != nil {
		return nil, 0, err
	}
	// The browser's own clock tells when it was over, and that all of it came
	// as it should.
	var end struct {
		Took   float64
		Shown  int
		Others []string
	}
	err := page.Evaluate(ctx, `({
		took: performance.getEntriesByType("navigation")[0].loadEventStart,
		shown: [...document.images].filter((i) => i.complete && i.naturalWidth > 0).length,
		others: performance.getEntriesByType("resource").map((e) => e.nextHopProtocol).filter((p) => p !== "h2"),
	})`, &end)
	if err != nil {
		return nil, 0, err
	}
	if end.Shown != filmed || len(end.Others) > 0 {
		return nil, 0, fmt.Errorf("%d of %d pictures are shown, by protocols other than h2: %v", end.Shown, filmed, end.Others)
	}
	return shots, time.Duration(end.Took * float64(time.Millisecond)), nil
}

// row is a server's part of the strip.
func row(name string, shots []shot) string {
	var s strings.Builder
	fmt.Fprintf(&s, "<h2>%s</h2>", html.EscapeString(name))
	for _, each := range shots {
		fmt.Fprintf(&s, `<figure><img src="data:image/png;base64,%s"><figcaption>%.1f s</figcaption></figure>`,
			base64.StdEncoding.EncodeToString(each.png), each.after.Seconds())
	}
	return "<section>" + s.String() + "</section>"
}

// compose lets the browser set the strip.
func compose(ctx context.Context, chromium *browser.Browser, rows string) (png []byte, err error) {
	const style = `<style>
body { margin: 0; padding: 10px; background: #fff; font: 15px sans-serif; color: #222 }
section { display: grid; grid-template-columns: repeat(6, 1fr); gap: 4px 8px; margin-bottom: 8px }
h2 { grid-column: 1 / -1; font-size: 17px; margin: 4px 0 2px }
figure { margin: 0 } img { width: 100%; display: block } figcaption { text-align: center; padding-top: 2px }
</style>`
	page, err := chromium.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, page.Close(context.WithoutCancel(ctx))) }()
	if err := page.Show(ctx, browser.Screen{Width: 1800, Height: 492}); err != nil {
		return nil, err
	}
	if err := page.Evaluate(ctx, fmt.Sprintf("document.documentElement.innerHTML = %q", style+rows), nil); err != nil {
		return nil, fmt.Errorf("compose filmstrip: %w", err)
	}
	if err := page.WaitFor(ctx, "[...document.images].every((i) => i.complete)"); err != nil {
		return nil, fmt.Errorf("compose filmstrip: %w", err)
	}
	return page.CaptureScreenshot(ctx)
}

// shrink makes a WebP of the strip.
func (b *bench) shrink(ctx context.Context, png []byte) ([]byte, error) {
	in, out := filepath.Join(b.folder, "strip.png"), filepath.Join(b.folder, "strip")
	if err := os.WriteFile(in, png, 0o644); err != nil {
		return nil, fmt.Errorf("write filmstrip: %w", err)
	}
	convert := exec.CommandContext(ctx, b.program, "convert", in, "-o", out, "--format", "webp", "--quality", "82")
	if text, err := convert.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("convert filmstrip: %w: %s", err, text)
	}
	data, err := os.ReadFile(filepath.Join(out, "strip.webp"))
	if err != nil {
		return nil, fmt.Errorf("read filmstrip: %w", err)
	}
	if len(data) > stripLimit {
		return nil, fmt.Errorf("filmstrip has %d bytes, more than %d", len(data), stripLimit)
	}
	return data, nil
}
