package conformance_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// leakTime is how long the leak check loads the server.
const leakTime = 25 * time.Second

// TestNothingLeaks loads the server with good, hostile, cancelled and slowly
// read requests at once. When all is over, file descriptors, goroutines,
// temporary files and what libvips has allocated are back where they began.
func TestNothingLeaks(t *testing.T) {
	s := start(t, withRoot(mixedRoot(t)))
	// One of each first: what is made once for a process is no leak.
	for _, target := range mixedTargets(0) {
		s.get(t, target)
	}
	s.leavesNothing(t)
	s.client.CloseIdleConnections()
	before := s.settled(t)

	ctx, stop := context.WithTimeout(t.Context(), leakTime)
	defer stop()
	var clients sync.WaitGroup
	counts := make([]int, 6)
	for i := range counts {
		clients.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				targets := mixedTargets(1000*i + n)
				s.visit(ctx, targets[(n+i)%len(targets)], i)
				counts[i]++
			}
		})
	}
	clients.Wait()
	s.leavesNothing(t)
	s.client.CloseIdleConnections()
	after := before
	eventually(t, 10*time.Second, func() string {
		after = s.settled(t)
		return before.leak(after)
	})
	t.Logf("summary: leak check: %v requests by kind of client; before %v, after %v", counts, before, after)
	s.isWell(t)
}

// holdings is what a process could leak.
type holdings struct {
	files, goroutines                       int
	allocations, tracked, vipsFiles, spools float64
}

// settled reads them when nothing runs.
func (s *server) settled(t testing.TB) holdings {
	t.Helper()
	h := holdings{
		allocations: s.metric(t, "spillway_vips_allocations"), tracked: s.metric(t, "spillway_vips_memory_bytes"),
		vipsFiles: s.metric(t, "spillway_vips_files"), spools: s.spoolsInUse(t),
	}
	s.client.CloseIdleConnections()
	h.files, h.goroutines = openFiles(), runtime.NumGoroutine()
	return h
}

// leak names what has grown. Connections that are just being closed may still
// hold a descriptor and a few goroutines; anything kept per request would be
// in the hundreds.
func (h holdings) leak(now holdings) string {
	switch {
	case now.files > h.files+4:
		return fmt.Sprintf("%d files are open, %d were", now.files, h.files)
	case now.goroutines > h.goroutines+8:
		return fmt.Sprintf("%d goroutines run, %d did", now.goroutines, h.goroutines)
	case now.allocations > h.allocations || now.tracked > h.tracked:
		return fmt.Sprintf("libvips holds %.0f bytes in %.0f pieces, it held %.0f in %.0f", now.tracked, now.allocations, h.tracked, h.allocations)
	case now.vipsFiles > h.vipsFiles:
		return fmt.Sprintf("libvips has %.0f files open, it had %.0f", now.vipsFiles, h.vipsFiles)
	case now.spools > h.spools:
		return fmt.Sprintf("%.0f spools are open, %.0f were", now.spools, h.spools)
	}
	return ""
}

// visit is one request by a client of some kind: 0 and 1 read to the end,
// 2 goes away at once, 3 soon, 4 in the middle of the body, 5 reads slowly.
func (s *server) visit(ctx context.Context, target string, kind int) {
	switch kind {
	case 2:
		limited, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		ctx = limited
	case 3:
		limited, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+target, nil)
	if err != nil {
		return
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return // cancelled, as was meant
	}
	defer resp.Body.Close()
	switch kind {
	case 4:
		_, _ = io.CopyN(io.Discard, resp.Body, 2000)
	case 5:
		readSlowly(ctx, resp.Body)
	default:
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// readSlowly takes a few kilobytes every few milliseconds, for half a second
// at most.
func readSlowly(ctx context.Context, body io.Reader) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := io.CopyN(io.Discard, body, 4096); err != nil {
			return
		}
	}
}

// mixedRoot is a folder with a bit of everything, good and hostile.
func mixedRoot(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	photo := testpictures.Photo(1200, 900)
	jpeg := testpictures.JPEG(photo, 90)
	png := testpictures.PNGOf(testpictures.SceneAlpha(600, 400), 8, testpictures.PNGRGBA, false)
	gif := testpictures.Disposals(160, 120)["mixed"].Bytes()
	for name, file := range map[string][]byte{
		"photo.jpg": jpeg, "alpha.png": png, "anim.gif": gif, "turned.jpg": testpictures.Oriented(400, 300, 6, true),
		"cmyk.jpg":   testpictures.CMYKJPEG(testpictures.CMYK(200, 150), testpictures.AdobeYCCK, testpictures.ICCSegments(testpictures.OddInkProfile(), 0)...),
		"deep.png":   testpictures.PNGOf(testpictures.Scene(300, 200), 16, testpictures.PNGRGB, true),
		"pages.tif":  testpictures.TIFF(200, 150, 6, 3),
		"draw.svg":   testpictures.SVG(300, 200),
		"anim.webp":  testpictures.WebPFrames(200, 150, 200, 150, 12),
		"cut.jpg":    testpictures.Truncate(jpeg, 0.5),
		"cut.png":    testpictures.Truncate(png, 0.6),
		"cut.gif":    testpictures.Truncate(gif, 0.7),
		"giant.png":  testpictures.GiantPNG(60000, 60000),
		"bits.png":   testpictures.DeflatedPNG(20000, 20000),
		"scans.jpg":  testpictures.ScanBombJPEG(1024, 300),
		"frames.gif": testpictures.FrameBombGIF(4000, 4000, 2000),
		"canvas.gif": testpictures.GiantGIF(65535, 65535),
		"icc.png":    testpictures.ProfileBombPNG(64 << 20),
		"laughs.svg": testpictures.HostileSVGs("http://127.0.0.1:1/x", "/nowhere")["billion-laughs"],
		"filter.svg": testpictures.HostileSVGs("http://127.0.0.1:1/x", "/nowhere")["filter-bomb"],
		"page.jpg":   testpictures.Disguises("http://127.0.0.1:1/x")["page.jpg"],
		"empty.jpg":  {},
	} {
		put(t, root, name, file)
	}
	return root
}

// mixedTargets is one request of each kind; n makes them differ from those of
// other n, so that no cache answers them.
func mixedTargets(n int) []string {
	side := 100 + n%150
	size := fmt.Sprintf("sizes=%dx0&quality=%d", side, 40+n/150%50)
	return []string{
		"/assets/photo.jpg?format=webp&" + size, "/assets/photo.jpg?format=jpeg&blur=2&" + size, "/assets/alpha.png?format=webp&" + size,
		"/assets/anim.gif?format=gif&frames=3&" + size, "/assets/anim.gif?format=webp&" + size, "/assets/turned.jpg?format=png&fit=cover&gravity=attention&" + fmt.Sprintf("sizes=%dx90", side),
		"/assets/cmyk.jpg?format=jpeg&" + size, "/assets/deep.png?format=png&" + size, "/assets/pages.tif?page=2&format=jpeg&" + size,
		"/assets/draw.svg?format=png&" + size, "/assets/anim.webp?format=gif&" + size, "/info?image_url=photo.jpg",
		fmt.Sprintf("/resize?image_url=photo.jpg&format=jpeg&sizes=%dx0,60x0,30x30", side), fmt.Sprintf("/resize?image_url=alpha.png&encoder=json&sizes=%dx0,40x0", side),
		"/assets/photo.jpg?format=jpeg&max_bytes=9000&" + size, fmt.Sprintf("/assets/photo.jpg?format=png&crop=0,0,1100,%d", 700+n%200),
		"/assets/cut.jpg?" + size, "/assets/cut.png?format=png&" + size, "/assets/cut.gif?format=gif&" + size, "/assets/giant.png?" + size, "/assets/bits.png?" + size,
		"/assets/scans.jpg?" + size, "/assets/frames.gif?format=gif&" + size, "/assets/canvas.gif?" + size, "/assets/icc.png?" + size, "/assets/laughs.svg?" + size,
		"/assets/filter.svg?" + size, "/assets/page.jpg?" + size, "/assets/empty.jpg?" + size, "/assets/missing.jpg?" + size, "/assets/photo.jpg?sizes=0x-1",
	}
}
