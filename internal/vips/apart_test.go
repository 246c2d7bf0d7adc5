package vips_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

// startApart gives an engine with helpers, which are ended with the test.
func startApart(t testing.TB, command ...string) *vips.Engine {
	t.Helper()
	start(t) // libvips with the settings of all tests
	if command == nil {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		command = []string{program, helperWord}
	}
	engine, err := vips.New(vips.Config{ConcurrencyPerJob: 1, Helper: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return engine
}

func lossless(r *media.Request) { r.Lossless = true }
func effort(n int) func(*media.Request) {
	return func(r *media.Request) { r.Effort = n }
}

func keepAll(r *media.Request) { r.Keep = media.Keep{EXIF: true, XMP: true, IPTC: true, ICC: true} }

func TestHelpersGiveTheSameBytes(t *testing.T) {
	block := testpictures.EXIF{Orientation: 6, Artist: artist, Copyright: rights, Latitude: 47, Longitude: 11}.Bytes()
	segments := append([]testpictures.Segment{testpictures.EXIFSegment(block), testpictures.XMPSegment(xmpText)},
		testpictures.ICCSegments(testpictures.WideGamutProfile(), 0)...)
	photo := testpictures.JPEG(testpictures.Photo(1000, 700), 90, segments...)
	clear := testpictures.PNGOf(testpictures.SceneAlpha(1000, 700), 8, testpictures.PNGRGBA, false)
	grey := testpictures.JPEG(testpictures.Grey(1000, 700), 90)
	walk := testpictures.ManyFrames(700, 640, 3)
	tests := []struct {
		name   string
		src    []byte
		format media.Format
		req    media.Request
	}{
		{"AVIF", photo, media.AVIF, ask(0, 0)},
		{"AVIF with all metadata", photo, media.AVIF, ask(0, 0, keepAll)},
		{"AVIF without loss", photo, media.AVIF, ask(500, 0, lossless)},
		{"AVIF with alpha", clear, media.AVIF, ask(0, 0)},
		{"AVIF in grey", grey, media.AVIF, ask(0, 0)},
		{"AVIF of at most so many bytes", photo, media.AVIF, ask(0, 0, func(r *media.Request) { r.MaxBytes = 30_000 })},
		{"AVIF of a likeness", photo, media.AVIF, ask(0, 0, alike(0.95))},
		{"AVIF of a likeness, with alpha", clear, media.AVIF, ask(0, 0, alike(0.98))},
		{"JPEG XL", photo, media.JXL, ask(0, 0)},
		{"JPEG XL of a likeness", photo, media.JXL, ask(0, 0, alike(0.95))},
		{"JPEG XL with its profile", photo, media.JXL, ask(0, 0, keepAll, effort(0))},
		{"JPEG XL with alpha", clear, media.JXL, ask(0, 0, effort(0))},
		{"GIF", photo, media.GIF, ask(0, 0)},
		{"animated GIF", walk, media.GIF, ask(0, 0)},
		{"WebP without loss", photo, media.WebP, ask(0, 0, lossless, effort(0))},
		{"WebP with alpha and its profile", clear, media.WebP, ask(0, 0, keepAll)},
		{"TIFF with all metadata", photo, media.TIFF, ask(0, 0, keepAll)},
	}
	within, apart := start(t), startApart(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := planFor(t, within, test.src, test.req, test.format)
			want, err := collect(t.Context(), within, test.src, nil, plan)
			if err != nil {
				t.Fatal(err)
			}
			got, err := collect(t.Context(), apart, test.src, nil, plan)
			if err != nil {
				t.Fatal(err)
			}
			if apart.Stats().Helpers == 0 {
				t.Error("it was not made by a helper")
			}
			if got[0].Made != want[0].Made || !bytes.Equal(got[0].data, want[0].data) {
				t.Errorf("made %+v in %d bytes, want %+v in %d", got[0].Made, len(got[0].data), want[0].Made, len(want[0].data))
			}
		})
	}
}

func TestSmallPicturesAreEncodedWithoutAHelper(t *testing.T) {
	engine := startApart(t)
	src := testpictures.JPEG(testpictures.Photo(600, 400), 90)
	for _, format := range media.OutputFormats() {
		if _, err := collect(t.Context(), engine, src, nil, planFor(t, engine, src, ask(0, 0), format)); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
	if n := engine.Stats().Started; n != 0 {
		t.Errorf("%d helpers were started", n)
	}
}

// children are the processes whose parent this one is, zombies included, with
// the CPU time each has used.
func children(t testing.TB) map[int]time.Duration {
	t.Helper()
	found := map[int]time.Duration{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		id, rest, _ := strings.Cut(string(stat), " (")
		// The name is in brackets and may hold some itself. After it come
		// state, parent, and as the 12th and 13th the user and system ticks.
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
		if fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		number, _ := strconv.Atoi(id)
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		found[number] = time.Duration(user+system) * (time.Second / 100)
	}
	return found
}

// busyChild waits until a child has used so much CPU that it must be at its
// encoding, and gives its number and what it has used.
func busyChild(ctx context.Context, t *testing.T) (id int, used time.Duration) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for id, used := range children(t) {
			if used >= 300*time.Millisecond {
				return id, used
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Error("no helper was ever busy")
			return 0, 0
		}
	}
}

// cpuOfChildren is what those have used that are gone and waited for.
func cpuOfChildren() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestARunThatEndsTakesItsEncoderWithIt(t *testing.T) {
	engine := startApart(t)
	src := testpictures.JPEG(testpictures.Photo(2000, 1500), 90)
	large := func(changes ...func(*media.Request)) media.Request {
		return ask(4000, 0, append(changes, func(r *media.Request) { r.Enlarge = true })...)
	}
	slow := large(effort(2))
	tests := map[string]struct {
		format media.Format
		req    media.Request
		cause  error
		want   media.Code
	}{
		"when its client leaves":          {media.AVIF, slow, nil, media.CodeCancelled},
		"when its time is up":             {media.AVIF, slow, context.DeadlineExceeded, media.CodeTimeout},
		"when the server stops for it":    {media.AVIF, slow, media.Errorf(media.CodeOverloaded, "The server stops."), media.CodeOverloaded},
		"in a search for a quality":       {media.AVIF, large(func(r *media.Request) { r.MaxBytes = 50_000 }), nil, media.CodeCancelled},
		"in JPEG XL":                      {media.JXL, large(), nil, media.CodeCancelled},
		"in GIF":                          {media.GIF, large(), nil, media.CodeCancelled},
		"in TIFF":                         {media.TIFF, large(), nil, media.CodeCancelled},
		"in WebP without loss":            {media.WebP, large(lossless), nil, media.CodeCancelled},
		"in WebP without loss, with EXIF": {media.WebP, large(lossless, keepAll), nil, media.CodeCancelled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := planFor(t, engine, src, test.req, test.format)
			files := openFiles(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan struct{})
			gone := cpuOfChildren()
			var at, ofChild time.Duration
			go func() {
				defer close(done)
				defer cancel(test.cause)
				_, ofChild = busyChild(ctx, t)
				at = cpu()
			}()
			_, err := collect(ctx, engine, src, nil, plan)
			after := cpu()
			cancel(nil)
			<-done
			wantCode(t, err, test.want)
			if used := after - at + cpuOfChildren() - gone - ofChild; used > 100*time.Millisecond {
				t.Errorf("used %v after the end", used)
			}
			if left := children(t); len(left) > 0 || engine.Stats().Helpers > 0 {
				t.Errorf("processes %v are left, and %d count as helpers", left, engine.Stats().Helpers)
			}
			if n := openFiles(t); n > files {
				t.Errorf("%d files are open, before %d", n, files)
			}
			if !settles(func() bool { s := engine.Stats(); return s.MemoryBytes == 0 && s.Allocations == 0 }) {
				t.Errorf("libvips still holds %+v", engine.Stats())
			}
		})
	}
}

func TestAHelperThatDiesIsOneFailure(t *testing.T) {
	src := testpictures.JPEG(testpictures.Photo(1000, 700), 90)
	commands := map[string][]string{
		"one that is not there":          {"/no/such/program"},
		"one that ends at once":          {"/bin/false"},
		"one that crashes at its task":   {"/bin/sh", "-c", "head -c 1 <&3; kill -SEGV $$"},
		"one that babbles":               {"/bin/sh", "-c", "echo what is this >&3; sleep 60"},
		"one that sends without a begin": {"/bin/sh", "-c", `printf 'd\000\000\000\001x' >&3; sleep 60`},
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			engine := startApart(t, command...)
			files := openFiles(t)
			_, err := collect(t.Context(), engine, src, nil, planFor(t, engine, src, ask(0, 0), media.AVIF))
			wantCode(t, err, media.CodeEncodeFailed)
			if left := children(t); len(left) > 0 || engine.Stats().Helpers != 0 || openFiles(t) > files {
				t.Errorf("left are processes %v and %d files after %d", left, openFiles(t), files)
			}
		})
	}
	t.Run("one that is killed while it works, and the next works", func(t *testing.T) {
		engine := startApart(t)
		plan := planFor(t, engine, src, ask(3000, 0, func(r *media.Request) { r.Enlarge, r.Effort = true, 2 }), media.AVIF)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if id, _ := busyChild(t.Context(), t); id != 0 {
				_ = syscall.Kill(id, syscall.SIGKILL)
			}
		}()
		_, err := collect(t.Context(), engine, src, nil, plan)
		<-done
		wantCode(t, err, media.CodeEncodeFailed)
		if _, err := collect(t.Context(), engine, src, nil, planFor(t, engine, src, ask(0, 0), media.AVIF)); err != nil {
			t.Error(err)
		}
	})
	t.Run("one that dies while it waits is not asked", func(t *testing.T) {
		engine := startApart(t)
		plan := planFor(t, engine, src, ask(0, 0), media.AVIF)
		for range 2 {
			if _, err := collect(t.Context(), engine, src, nil, plan); err != nil {
				t.Error(err)
			}
			for id := range children(t) {
				_ = syscall.Kill(id, syscall.SIGKILL)
			}
			if !settles(func() bool { return dead(t) }) {
				t.Fatal("it lives on")
			}
		}
	})
}

// dead tells whether no child has anything left to run.
func dead(t *testing.T) bool {
	for id := range children(t) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			return false
		}
	}
	return true
}

func TestAnOutputThatIsNotWantedEndsItsHelper(t *testing.T) {
	engine := startApart(t)
	src := testpictures.JPEG(testpictures.Photo(1000, 700), 90)
	full := media.Errorf(media.CodeOverloaded, "There is no room.")
	begins := map[string]transform.Begin{
		"at its beginning": func(int, transform.Made) (io.Writer, error) { return nil, full },
		"later":            func(int, transform.Made) (io.Writer, error) { return refusing{full}, nil },
	}
	for name, begin := range begins {
		t.Run(name, func(t *testing.T) {
			err := engine.Run(t.Context(), src, nil, planFor(t, engine, src, ask(0, 0), media.AVIF), begin)
			wantCode(t, err, media.CodeOverloaded)
			if n := engine.Stats().Helpers; n != 0 {
				t.Errorf("%d helpers are left", n)
			}
		})
	}
}

type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

func TestHelpersWorkAtOnceAndAreKeptForTheNext(t *testing.T) {
	engine := startApart(t)
	src := testpictures.JPEG(testpictures.Photo(1000, 700), 90)
	plan := planFor(t, engine, src, ask(0, 0), media.AVIF)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if _, err := collect(t.Context(), engine, src, nil, plan); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if s := engine.Stats(); s.Helpers < 1 || s.Helpers > 3 {
		t.Errorf("%d helpers are there", s.Helpers)
	}
	engine.Close()
	if left := children(t); len(left) > 0 || engine.Stats().Helpers != 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := collect(t.Context(), engine, src, nil, plan); err != nil {
		t.Errorf("a run that outlives the engine: %v", err)
	}
	if n := engine.Stats().Helpers; n != 0 {
		t.Errorf("it leaves %d helpers", n)
	}
}
