package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

// benchSource is one kind of original and what is asked of it.
type benchSource struct {
	name   string
	file   []byte
	width  int
	format media.Format
	// floor are the loader's options and the saver's suffix that make bare
	// libvips do the same.
	load, save string
	// full is the original as a fully decoded PNG, the reference for SSIM.
	full []byte
}

// BenchmarkTransform measures, in one run and interleaved, the CPU time of a
// request through the whole server (its client included), of the same plan
// run by the engine alone, and of bare libvips in a process of its own. The
// ratios are what docs/performance.md states; ssim compares the resize with
// one of the fully decoded original.
func BenchmarkTransform(b *testing.B) {
	floor := buildFloor(b)
	rows := []string{"| source | server CPU ms | engine CPU ms | libvips CPU ms | server / engine | server / libvips | SSIM |", "|---|---|---|---|---|---|---|"}
	for _, src := range benchSources(b) {
		var row string
		b.Run("source="+src.name, func(b *testing.B) {
			root := b.TempDir()
			put(b, root, "in", src.file)
			put(b, root, "full.png", src.full)
			s := start(b, withRoot(root), func(c *app.Config) { c.CacheMemory = 0 })
			engine := newEngineRun(b, src)
			target := fmt.Sprintf("/assets/in?sizes=%dx0&format=%s", src.width, src.format)
			s.good(b, target)
			engine.run(b)
			var server, alone time.Duration
			runs := 0
			for b.Loop() {
				server += cpuOf(func() { s.good(b, target) })
				alone += cpuOf(func() { engine.run(b) })
				runs++
			}
			bare := runFloor(b, floor, filepath.Join(root, "in"), src, runs)
			perServer, perEngine := milliseconds(server, runs), milliseconds(alone, runs)
			like := resizeSSIM(b, s, src.width)
			b.ReportMetric(perServer, "server-cpu-ms")
			b.ReportMetric(perEngine, "engine-cpu-ms")
			b.ReportMetric(bare, "libvips-cpu-ms")
			b.ReportMetric(perServer/perEngine, "server/engine")
			b.ReportMetric(perServer/bare, "server/libvips")
			b.ReportMetric(like, "ssim")
			row = fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.2f | %.2f | %.4f |", src.name, perServer, perEngine, bare, perServer/perEngine, perServer/bare, like)
		})
		rows = append(rows, row)
	}
	fmt.Println("\nThe table of docs/performance.md:\n" + strings.Join(rows, "\n") + "\n")
}

func milliseconds(d time.Duration, runs int) float64 {
	return float64(d.Microseconds()) / 1000 / float64(runs)
}

// cpuOf is the CPU time that the process spent while f ran.
func cpuOf(f func()) time.Duration {
	before := cpuTime()
	f()
	return cpuTime() - before
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchSources makes the five kinds: a 12-megapixel photograph, the same
// progressive, a PNG with transparency, a WebP, and an animated GIF.
func benchSources(b *testing.B) []benchSource {
	b.Helper()
	photo := testpictures.Photo(4000, 3000)
	plain := testpictures.JPEG(photo, 88)
	medium := testpictures.Photo(2000, 1500)
	alpha := testpictures.Photo(1600, 1200)
	for i := 3; i < len(alpha.Pix); i += 4 {
		alpha.Pix[i] = uint8(min(255, 40+(i/4%1600)/5))
	}
	alphaPNG := testpictures.PNGOf(alpha, 8, testpictures.PNGRGBA, false)
	root := b.TempDir()
	put(b, root, "photo.jpg", plain)
	put(b, root, "medium.jpg", testpictures.JPEG(medium, 92))
	s := start(b, withRoot(root))
	progressive := s.good(b, "/assets/photo.jpg?format=jpeg&quality=88&progressive=true").body
	webp := s.good(b, "/assets/medium.jpg?format=webp&quality=85").body
	anim := benchGIF(500, 375, 40)
	return []benchSource{
		{"jpeg-12mp", plain, 300, media.WebP, "", ".webp[Q=80,strip]", fullPNG(b, plain)},
		{"jpeg-12mp-progressive", progressive, 300, media.WebP, "", ".webp[Q=80,strip]", fullPNG(b, progressive)},
		{"png-alpha-2mp", alphaPNG, 300, media.WebP, "", ".webp[Q=80,strip]", alphaPNG},
		{"webp-3mp", webp, 300, media.WebP, "", ".webp[Q=80,strip]", fullPNG(b, webp)},
		{"gif-40-frames", anim, 200, media.GIF, "n=-1", ".gif[strip]", fullPNG(b, anim)},
	}
}

// benchGIF is a photographic ground over which small blocks move.
func benchGIF(w, h, frames int) []byte {
	a := testpictures.Animation{Width: w, Height: h}
	for i := range frames {
		x, y := (i*37)%(w-60), (i*23)%(h-60)
		f := testpictures.Frame{Area: image.Rect(x, y, x+60, y+60), Delay: 50, Disposal: 1}
		f.Colour.R, f.Colour.G, f.Colour.B, f.Colour.A = uint8(40*i), uint8(90+i), uint8(200-3*i), 255
		if i == 0 {
			f.Area = image.Rect(0, 0, w, h)
		}
		a.Frames = append(a.Frames, f)
	}
	return a.Bytes()
}

// fullPNG decodes an original with Go's decoders, at full size.
func fullPNG(b *testing.B, file []byte) []byte {
	b.Helper()
	if bytes.HasPrefix(file, []byte("\xff\xd8")) {
		// Straight from the decoder, which is faster than the general way.
		img, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		return testpictures.PNGOf(toNRGBA(img), 8, testpictures.PNGRGB, false)
	}
	return testpictures.PNGOf(mustDecode(b, file).first(), 8, testpictures.PNGRGB, false)
}

// resizeSSIM compares what shrinking while loading gives with a resize of the
// fully decoded original, both without loss.
func resizeSSIM(b *testing.B, s *server, width int) float64 {
	b.Helper()
	got := mustDecode(b, s.good(b, fmt.Sprintf("/assets/in?format=png&sizes=%dx0", width)).body)
	want := mustDecode(b, s.good(b, fmt.Sprintf("/assets/full.png?format=png&sizes=%dx0", width)).body)
	v, err := ssim(got.first(), want.first())
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// engineRun is one plan, ready to be run again and again.
type engineRun struct {
	engine transform.Engine
	src    []byte
	limits media.Limits
	req    media.Request
	format media.Format
}

func newEngineRun(b *testing.B, src benchSource) *engineRun {
	b.Helper()
	engine, err := vips.New(vips.Config{})
	if err != nil {
		b.Fatal(err)
	}
	limits := media.DefaultLimits()
	req, err := media.Parse(url.Values{"sizes": {fmt.Sprintf("%dx0", src.width)}, "format": {string(src.format)}}, limits)
	if err != nil {
		b.Fatal(err)
	}
	return &engineRun{engine, src.file, limits, req, src.format}
}

// run probes, plans and makes the picture, as a worker would.
func (e *engineRun) run(b *testing.B) {
	ctx := context.Background()
	info, err := e.engine.Probe(ctx, e.src, e.limits)
	if err != nil {
		b.Fatal(err)
	}
	plan, err := media.NewPlan(info, e.req, e.format, e.engine.Abilities(), e.limits)
	if err != nil {
		b.Fatal(err)
	}
	err = e.engine.Run(ctx, e.src, nil, plan, func(int, transform.Made) (io.Writer, error) { return io.Discard, nil })
	if err != nil {
		b.Fatal(err)
	}
}

// buildFloor compiles the program that calls libvips and nothing else.
func buildFloor(b *testing.B) string {
	b.Helper()
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "vips").Output()
	if err != nil {
		b.Fatalf("ask where libvips is: %v", err)
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	program := filepath.Join(b.TempDir(), "floor")
	args := append([]string{"-O2", "-o", program, "testdata/floor.c"}, strings.Fields(string(flags))...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		b.Fatalf("compile the floor: %v\n%s", err, out)
	}
	return program
}

func runFloor(b *testing.B, program, file string, src benchSource, runs int) float64 {
	b.Helper()
	out, err := exec.Command(program, file, strconv.Itoa(src.width), src.save, src.load, strconv.Itoa(max(3, min(runs, 30)))).Output()
	if err != nil {
		b.Fatalf("run the floor: %v", err)
	}
	ms, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	return ms
}
