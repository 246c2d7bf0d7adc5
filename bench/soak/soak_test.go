package soak_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/bench/load/process"
	"github.com/spillway-media/spillway/bench/load/traffic"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// TestSoak loads the real program with three times what it can do, of all
// kinds at once. Memory reaches a plateau, nothing leaks, and every answer is
// right or a deliberate refusal, while the probes answer throughout.
func TestSoak(t *testing.T) {
	length := soakTime(t)
	origin := startOrigins(t)
	folder := t.TempDir()
	said := &words{}
	s, err := process.Start(t.Context(), build(t), folder, said,
		"--source-root", pictures(t), "--allow-source", origin, "--allow-private-sources",
		"--source-cache-memory", "0", "--cache-memory", "0", "--source-timeout", "5s", "--max-source-bytes", "8MiB")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v\n%s", err, said)
		}
	})
	lines := &lines{}
	v := &visits{
		url: s.URL, by: map[int]int{}, protocols: map[string]int{}, sums: map[answer][sha256.Size]byte{},
		lines: lines, clients: []*http.Client{client(false, lines), client(true, lines)},
	}
	wishes := wishesOf(origin)
	v.learn(t, wishes)
	capacity := v.capacity(t, wishes)
	settle(t, s, v, folder, held{files: 1 << 20, goroutines: 1 << 20, allocations: 1 << 40, tracked: 1 << 40, spools: 1 << 20, temporary: 1 << 20})
	before := holdings(t, s, folder)

	watch := watchMemory(t, s)
	probes := probe(t, s)
	v.load(t, wishes, 3*capacity, length)
	failed, asked := probes()
	series := watch()

	settle(t, s, v, folder, before)
	v.report(t, capacity, length, before, holdings(t, s, folder))
	if failed > 0 {
		t.Errorf("%d of %d probes were not answered", failed, asked)
	}
	plateau(t, series)
}

// words keep the first hundred lines that a program says besides its log: why it
// has crashed. They may be read once it has been stopped.
type words struct {
	line []byte // so far
	kept []string
}

func (w *words) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if w.line = append(w.line, line...); !bytes.HasSuffix(line, []byte("\n")) {
			break // the rest of it comes next
		}
		if w.line[0] != '{' && len(w.kept) < 100 {
			w.kept = append(w.kept, string(w.line))
		}
		w.line = w.line[:0]
	}
	return len(p), nil
}

func (w *words) String() string { return strings.Join(w.kept, "") }

func soakTime(t *testing.T) time.Duration {
	text := os.Getenv("SPILLWAY_SOAK")
	if text == "" {
		text = "2m"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 10*time.Second {
		t.Fatalf("SPILLWAY_SOAK: %q is not a time of 10s or more", text)
	}
	return d
}

// build makes the program under test.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "spillway")
	command := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/spillway")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// pictures is a folder with a bit of everything, good and hostile.
func pictures(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	photo := testpictures.JPEG(testpictures.Photo(2400, 1800), 88)
	png := testpictures.PNGOf(testpictures.SceneAlpha(900, 600), 8, testpictures.PNGRGBA, false)
	for name, file := range map[string][]byte{
		"photo.jpg": photo, "alpha.png": png, "anim.gif": testpictures.Disposals(160, 120)["mixed"].Bytes(),
		"turned.jpg": testpictures.Oriented(800, 600, 6, true), "deep.png": testpictures.PNGOf(testpictures.Scene(300, 200), 16, testpictures.PNGRGB, true),
		"draw.svg": testpictures.SVG(300, 200), "anim.webp": testpictures.WebPFrames(200, 150, 200, 150, 12),
		"cut.jpg": testpictures.Truncate(photo, 0.5), "cut.png": testpictures.Truncate(png, 0.6),
		"giant.png": testpictures.GiantPNG(60000, 60000), "bits.png": testpictures.DeflatedPNG(20000, 20000),
		"scans.jpg": testpictures.ScanBombJPEG(1024, 300), "frames.gif": testpictures.FrameBombGIF(4000, 4000, 2000),
		"icc.png": testpictures.ProfileBombPNG(64 << 20), "laughs.svg": testpictures.HostileSVGs("http://127.0.0.1:1/x", "/nowhere")["billion-laughs"],
	} {
		if err := os.WriteFile(filepath.Join(root, name), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// wishesOf is one request of each kind, with what may come of it.
func wishesOf(origin string) []wish {
	var all []wish
	good := func(target string) { all = append(all, wish{target: target, fine: []int{200}}) }
	bad := func(target string, fine ...int) { all = append(all, wish{target: target, fine: fine}) }
	for _, width := range []int{120, 240, 480, 960} {
		for _, format := range []string{"webp", "jpeg"} {
			good(fmt.Sprintf("/assets/photo.jpg?format=%s&sizes=%dx0", format, width))
			good(fmt.Sprintf("/assets/turned.jpg?format=%s&sizes=%dx0", format, width))
		}
		good(fmt.Sprintf("/assets/alpha.png?format=webp&sizes=%dx0", width))
		good(fmt.Sprintf("/resize?image_url=photo.jpg&format=jpeg&sizes=%dx0,60x0,30x30", width))
	}
	good("/assets/photo.jpg?format=avif&sizes=200x0")
	good("/assets/photo.jpg?format=avif&sizes=1200x0")
	good("/assets/anim.gif?format=webp&sizes=100x0")
	good("/assets/anim.webp?format=gif&sizes=100x0")
	good("/assets/deep.png?format=png&sizes=100x0")
	good("/assets/draw.svg?format=png&sizes=200x0")
	good("/assets/photo.jpg?format=jpeg&max_bytes=9000&sizes=300x0")
	good("/resize?image_url=alpha.png&encoder=json&sizes=90x0,40x0")
	good("/info?image_url=photo.jpg")
	for _, name := range []string{"cut.png", "giant.png", "bits.png", "scans.jpg", "frames.gif", "icc.png", "laughs.svg"} {
		bad("/assets/"+name+"?format=webp&sizes=100x0", 422)
	}
	bad("/assets/cut.jpg?format=webp&sizes=100x0", 422)
	bad("/assets/missing.jpg?sizes=10x0", 404)
	bad("/assets/photo.jpg?sizes=0x-1", 400)
	// How an origin that fails is told depends on how often it has.
	for _, kind := range []string{"late", "trickle", "good"} {
		all = append(all, wish{"/resize?image_url=" + origin + "/" + kind + "/a.jpg&format=webp&sizes=200x0", []int{200, 502, 503, 504}, true})
	}
	for _, kind := range []string{"cut", "broken"} {
		all = append(all, wish{"/resize?image_url=" + origin + "/" + kind + "/a.jpg&format=webp&sizes=200x0", []int{502, 504}, true})
	}
	return all
}

// client is a browser of one version of HTTP: over HTTP/2, in clear, many of its
// visitors share a connection. CloseIdleConnections leaves some of these open,
// so lines knows all of them.
func client(http2 bool, lines *lines) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	return &http.Client{
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256, Protocols: &protocols, DialContext: lines.dial},
		Timeout:   2 * time.Minute,
	}
}

// lines are the connections of all clients.
type lines struct {
	mu   sync.Mutex
	open []net.Conn
}

func (l *lines) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, conn)
	return conn, nil
}

// cut closes them, whatever they are used for.
func (l *lines) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.open {
		_ = conn.Close() // most have been closed before
	}
	l.open = nil
}

// learn asks for everything once of each client while nothing else runs.
func (v *visits) learn(t *testing.T, wishes []wish) {
	t.Helper()
	for _, client := range v.clients {
		v.learnFrom(t, client, wishes)
	}
}

func (v *visits) learnFrom(t *testing.T, client *http.Client, wishes []wish) {
	t.Helper()
	for _, w := range wishes {
		resp, err := client.Get(v.url + w.target)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !slices.Contains(w.fine, resp.StatusCode) {
			t.Fatalf("%s: status %d, %v", w.target, resp.StatusCode, err)
		}
		v.sums[answer{client, w.target}] = sha256.Sum256(body)
	}
}

// capacity is how many a second four visitors in turn get answered.
func (v *visits) capacity(t *testing.T, wishes []wish) float64 {
	const length = 8 * time.Second
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var done [4]int
	var visitors sync.WaitGroup
	for i := range done {
		visitors.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				v.visit(ctx, wishes[random.IntN(len(wishes))], patient, random)
				done[i]++
			}
		})
	}
	visitors.Wait()
	sum := 0
	for _, n := range done {
		sum += n
	}
	return float64(sum) / length.Seconds()
}

// load sends visitors at random moments who wait for nobody, and waits until
// the last has gone.
func (v *visits) load(t *testing.T, wishes []wish, rate float64, length time.Duration) {
	random := rand.New(rand.NewPCG(2, 3))
	began := time.Now()
	var visitors sync.WaitGroup
	for i, at := range traffic.Arrivals(rate, length, 4) {
		if !traffic.Wait(t.Context(), time.Until(began.Add(at))) {
			break
		}
		how := patient
		switch n := random.IntN(100); {
		case n < 10:
			how = hasty
		case n < 20:
			how = fickle
		case n < 27:
			how = sluggish
		}
		w := wishes[random.IntN(len(wishes))]
		own := rand.New(rand.NewPCG(5, uint64(i)))
		visitors.Go(func() { v.visit(t.Context(), w, how, own) })
	}
	visitors.Wait()
}

// probe asks /healthz and /metrics all the time; the function it gives ends
// that and tells how many were not answered.
func probe(t *testing.T, s *process.Server) func() (failed, asked int) {
	ctx, stop := context.WithCancel(t.Context())
	var failed, asked int
	ended := make(chan struct{})
	client := &http.Client{Timeout: 10 * time.Second}
	go func() {
		defer close(ended)
		for traffic.Wait(ctx, 100*time.Millisecond) {
			for _, url := range []string{s.URL + "/healthz", s.Admin + "/metrics"} {
				asked++
				resp, err := client.Get(url)
				if err != nil {
					failed++
					continue
				}
				if resp.StatusCode != http.StatusOK {
					failed++
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}
	}()
	return func() (int, int) { stop(); <-ended; return failed, asked }
}

// watchMemory notes what is resident every half second.
func watchMemory(t *testing.T, s *process.Server) func() []int64 {
	ctx, stop := context.WithCancel(t.Context())
	var series []int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for traffic.Wait(ctx, 500*time.Millisecond) {
			if m, err := process.Held(s.PID); err == nil {
				series = append(series, m.Now)
			}
		}
	}()
	return func() []int64 { stop(); <-ended; return series }
}

// plateau fails when the last third holds more than the second did: what grows
// with the number of requests would be seen in thousands of them.
func plateau(t *testing.T, series []int64) {
	t.Helper()
	third := len(series) / 3
	if third < 5 {
		t.Fatalf("%d looks at the memory are too few", len(series))
	}
	middle, last := slices.Max(series[third:2*third]), slices.Max(series[2*third:])
	most := slices.Max(series)
	t.Logf("summary: soak: resident at most %d MB in the first third, %d in the second, %d in the last",
		slices.Max(series[:third])>>20, middle>>20, last>>20)
	if last > middle+middle/6+(24<<20) {
		t.Errorf("resident memory still grows: %d MB after %d MB", last>>20, middle>>20)
	}
	if most > 700<<20 {
		t.Errorf("%d MB were resident", most>>20)
	}
}

// settle waits until the server holds no more than before.
func settle(t *testing.T, s *process.Server, v *visits, folder string, before held) {
	t.Helper()
	leak := ""
	for range 120 {
		v.lines.cut()
		if leak = holdings(t, s, folder).leak(before); leak == "" {
			return
		}
		traffic.Wait(t.Context(), 250*time.Millisecond)
	}
	t.Errorf("half a minute later: %s", leak)
}

func (v *visits) report(t *testing.T, capacity float64, length time.Duration, before, after held) {
	t.Helper()
	t.Logf("summary: soak: %s at 3 x %.1f a second; patient, hasty, fickle, sluggish visitors %v; answers by status %v, by protocol %v, %d merged; before %+v, after %+v",
		length, capacity, v.count, v.by, v.protocols, v.merged, before, after)
	for i, w := range v.wrong {
		if i == 20 {
			t.Errorf("and %d more", len(v.wrong)-i)
			break
		}
		t.Error(w)
	}
	if v.protocols["HTTP/1.1"] < 100 || v.protocols["HTTP/2.0"] < 100 {
		t.Errorf("answers came by %v", v.protocols)
	}
	if v.by[http.StatusOK] < 100 || v.by[http.StatusServiceUnavailable] == 0 {
		t.Errorf("%d good answers and %d refusals: this was no overload", v.by[http.StatusOK], v.by[http.StatusServiceUnavailable])
	}
}
