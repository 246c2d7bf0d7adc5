package vips_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/browser"
	"github.com/spillway-media/spillway/internal/browser/browsertest"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/progressive"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// openPage opens a page of pictures: /NAME is all of one, /NAME/N its first N
// bytes, after which nothing comes.
func openPage(t *testing.T, pictures map[string][]byte) (*browser.Page, context.Context) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = w.Write([]byte("<!doctype html><title>pictures</title><body>"))
			return
		}
		data, known := pictures[r.URL.Query().Get("of")]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "image/jpeg")
		n, err := strconv.Atoi(r.URL.Query().Get("first"))
		if err != nil {
			_, _ = w.Write(data)
			return
		}
		_, _ = w.Write(data[:n])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b := browsertest.Start(t, browser.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	page, err := b.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Navigate(ctx, server.URL+"/"); err != nil {
		t.Fatal(err)
	}
	if err := page.WaitFor(ctx, `document.readyState === "complete"`); err != nil {
		t.Fatal(err)
	}
	return page, ctx
}

// TestChromiumReadsAProfileBehindTheFrame compares what it paints of a file
// with the profile at its usual place, behind the frame header, and without.
func TestChromiumReadsAProfileBehindTheFrame(t *testing.T) {
	src := tagged()
	keep := func(r *media.Request) { r.Keep = media.Keep{ICC: true} }
	moved := render(t, src, ask(60, 0, keep, progressively), media.JPEG).data
	page, ctx := openPage(t, map[string][]byte{
		"usual":   render(t, src, ask(60, 0, keep), media.JPEG).data,
		"moved":   moved,
		"without": withoutProfile(t, moved),
	})
	const script = `(async () => {
		const paint = async name => {
			const picture = new Image()
			picture.src = "/picture?of=" + name
			await picture.decode()
			const canvas = document.createElement("canvas")
			canvas.width = picture.naturalWidth, canvas.height = picture.naturalHeight
			const on = canvas.getContext("2d")
			on.drawImage(picture, 0, 0)
			return on.getImageData(0, 0, canvas.width, canvas.height).data
		}
		const usual = await paint("usual")
		const off = async name => (await paint(name)).reduce((sum, sample, i) => sum + Math.abs(sample - usual[i]), 0) / usual.length
		return [await off("moved"), await off("without")]
	})()`
	var off [2]float64
	if err := page.Evaluate(ctx, script, &off); err != nil {
		t.Fatal(err)
	}
	if off[0] > 0.5 || off[1] < 3 {
		t.Errorf("behind the frame header colours are %.2f off, without a profile %.2f", off[0], off[1])
	}
}

// withoutProfile drops the segments of a profile.
func withoutProfile(t *testing.T, data []byte) []byte {
	t.Helper()
	at := bytes.Index(data, []byte("ICC_PROFILE\x00")) - 4
	if at < 0 {
		t.Fatal("there is no profile")
	}
	length := 2 + int(data[at+2])<<8 + int(data[at+3])
	return append(bytes.Clone(data[:at]), data[at+length:]...)
}

// TestChromiumLearnsTheSizeWithThePreview holds boundaries against what they are
// for. Chromium paints what it has in the moment in which it learns the size, and
// then no more for a second. So the header alone must not tell it the size, and
// header and preview must show all of the picture.
func TestChromiumLearnsTheSizeWithThePreview(t *testing.T) {
	data := render(t, testpictures.JPEG(testpictures.Scene(600, 400), 95), ask(300, 0, progressively), media.JPEG).data
	sizes := progressive.Measure("jpeg", data)
	header, preview := sizes.Of(priority.Header), sizes.Of(priority.Header)+sizes.Of(priority.Preview)
	page, ctx := openPage(t, map[string][]byte{"photo": data})
	if err := page.Show(ctx, browser.Screen{Width: 800, Height: 300, Scale: 1}); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`for (const first of [%d, %d]) {
		const picture = new Image()
		picture.id = "first" + first
		picture.src = "/picture?of=photo&first=" + first
		picture.style = "position: absolute; top: 0; left: " + (first === %d ? 0 : 400) + "px"
		document.body.append(picture)
	}
	document.body.style.background = "red"`, header, preview, preview)
	if err := page.Evaluate(ctx, script, nil); err != nil {
		t.Fatal(err)
	}
	if err := page.WaitFor(ctx, fmt.Sprintf("first%d.naturalWidth === 300", preview)); err != nil {
		t.Fatalf("with the preview the size is not known: %v", err)
	}
	for !lastLinePainted(ctx, t, page) {
		if ctx.Err() != nil {
			t.Fatal("with the preview the last line is not painted")
		}
	}
	var early int
	if err := page.Evaluate(ctx, fmt.Sprintf("first%d.naturalWidth", header), &early); err != nil || early != 0 {
		t.Errorf("with the header alone it is %d wide: %v", early, err)
	}
}

// lastLinePainted looks at the picture that lies in the upper left corner of a
// red page.
func lastLinePainted(ctx context.Context, t *testing.T, page *browser.Page) bool {
	t.Helper()
	shot, err := page.CaptureScreenshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	screen, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	for x := range 300 {
		if r, g, b, _ := screen.At(x, 199).RGBA(); r>>8 == 255 && g == 0 && b == 0 {
			return false
		}
	}
	return true
}
