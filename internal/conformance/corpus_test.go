package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/testpictures"
)

// patience is the longest an answer may take: the transform's own limit of
// 15 s and some room for a busy machine.
const patience = 20 * time.Second

// slack is how much the process may grow over one hostile file, in bytes.
const slack = 700 << 20

func TestCorpus(t *testing.T) {
	m := openCorpus(t)
	if m == nil {
		t.Log("summary: corpus: there is none here (SPILLWAY_CORPUS names its folder), so its files were not walked")
		return
	}
	canary := listenCanary(t)
	s := start(t, withRoot(m.Folder))
	s.origin.serveFolder(m.Folder)
	w := &walk{server: s, manifest: m, heavy: os.Getenv("SPILLWAY_HEAVY") == "1"}
	for i, e := range m.Files {
		top, _, _ := strings.Cut(e.Path, "/")
		if top != "images" && top != "hostile" {
			continue
		}
		if e.Weight == "heavy" && !w.heavy {
			w.count(e, "left to the heavy run")
			continue
		}
		t.Run(e.Path, func(t *testing.T) {
			w.check(t, e, i)
			canary.untouched(t)
			s.leavesNothing(t)
			s.isWell(t)
		})
	}
	w.summarise(t)
}

// walk is one pass over the corpus. It is owned by the test's goroutine.
type walk struct {
	server   *server
	manifest *manifest
	heavy    bool
	counts   map[string]map[string]int // expectation, outcome
}

func (w *walk) count(e entry, outcome string) {
	if w.counts == nil {
		w.counts = map[string]map[string]int{}
	}
	if w.counts[e.Expect] == nil {
		w.counts[e.Expect] = map[string]int{}
	}
	w.counts[e.Expect][outcome]++
}

// summarise prints one line for each expectation word.
func (w *walk) summarise(t *testing.T) {
	t.Helper()
	for _, word := range sortedKeys(w.counts) {
		var parts []string
		total := 0
		for _, outcome := range sortedKeys(w.counts[word]) {
			total += w.counts[word][outcome]
			parts = append(parts, fmt.Sprintf("%d %s", w.counts[word][outcome], outcome))
		}
		t.Logf("summary: corpus %s: %d files: %s", word, total, strings.Join(parts, ", "))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// check sends one file through the server and holds the answer to the truth.
func (w *walk) check(t *testing.T, e entry, i int) {
	t.Helper()
	before := resetPeak(t)
	got := w.convert(t, e, "format=png", i%5 == 2)
	w.holds(t, e, got)
	if t.Failed() {
		w.count(e, "WRONG")
		return
	}
	outcome := fmt.Sprintf("refused (%d)", got.status)
	if got.status == http.StatusOK {
		outcome = "answered"
		w.compare(t, e, got)
	}
	for _, query := range []string{"sizes=200x200", "sizes=64x64&format=webp&fit=cover"} {
		w.holds(t, e, w.convert(t, e, query, false))
	}
	w.checkInfo(t, e, got.status)
	if strings.HasPrefix(e.Path, "hostile/") {
		if grown := peak(t) - before; grown > slack {
			t.Errorf("the process grew by %d MiB over this file, more than %d", grown>>20, slack>>20)
		}
	}
	if t.Failed() {
		outcome = "WRONG"
	}
	w.count(e, outcome)
}

// convert asks for a file, as an asset or over the local origin.
func (w *walk) convert(t *testing.T, e entry, query string, remote bool) answer {
	t.Helper()
	if max(e.Truth.DisplayWidth, e.Truth.DisplayHeight) > 16384 && !strings.Contains(query, "sizes=") {
		query += "&sizes=4000x4000"
	}
	if remote {
		return w.server.get(t, "/resize?image_url="+url.QueryEscape(w.server.origin.url+"/"+e.Path)+"&"+query)
	}
	return w.server.get(t, "/assets/"+(&url.URL{Path: e.Path}).EscapedPath()+"?"+query)
}

// holds checks the status against the expectation, and what is true of every
// answer whatever the file: no server fault, in time, nothing read on the side.
func (w *walk) holds(t *testing.T, e entry, got answer) {
	t.Helper()
	ok, refused := got.status == http.StatusOK, got.status >= 400 && got.status < 500
	allowed := ok || refused
	switch e.Expect {
	case "ok":
		allowed = ok
	case "ok-if-enabled":
		allowed = ok || got.code() == "unsupported-format"
	case "reject", "partial":
		// A partial picture would have to be marked; we refuse it instead.
		allowed = refused
	}
	if !allowed {
		t.Errorf("%s: expected %q, got status %d %s", got.url, e.Expect, got.status, got.excerpt())
	}
	if got.took > patience {
		t.Errorf("%s: took %s, more than %s", got.url, got.took, patience)
	}
	if refused && got.status != http.StatusTooManyRequests {
		got.isProblem(t)
	}
	for _, secret := range []string{"root:x:0", "root:*:0", "nobody:x:"} {
		if bytes.Contains(got.body, []byte(secret)) {
			t.Errorf("%s: the answer holds the content of a local file (%q)", got.url, secret)
		}
	}
}

// compare holds a full-size PNG to the truth of the manifest.
func (w *walk) compare(t *testing.T, e entry, got answer) {
	t.Helper()
	p, err := decode(got.body)
	if err != nil {
		t.Errorf("%s: %v", got.url, err)
		return
	}
	if p.format != "png" || got.header.Get("Content-Type") != "image/png" {
		t.Errorf("asked for PNG, got %s declared as %q", p.format, got.header.Get("Content-Type"))
	}
	w.compareSize(t, e, p)
	if want, levels, known := e.Truth.mean(); known {
		near(t, "mean colour", meanOnWhite(p.first()), want, w.tolerance(e, levels))
	}
	if e.Truth.SameAs != "" {
		w.compareTwin(t, e, p)
	}
	if e.Truth.Frames > 1 && animates(e) {
		w.compareFrames(t, e)
	}
}

func (w *walk) compareSize(t *testing.T, e entry, p *picture) {
	t.Helper()
	width, height := e.Truth.DisplayWidth, e.Truth.DisplayHeight
	if width == 0 || height == 0 {
		return
	}
	if side := max(width, height); side > 16384 {
		width, height = max(1, (width*4000+side/2)/side), max(1, (height*4000+side/2)/side)
	}
	if want := fmt.Sprintf("%dx%d", width, height); p.size() != want {
		t.Errorf("the picture is %s, want %s", p.size(), want)
	}
}

// tolerance widens the manifest's where its average was taken without the
// conversion that a right answer needs.
func (w *walk) tolerance(e entry, levels float64) float64 {
	if strings.Contains(e.Truth.ICC, "P3") && e.Truth.MeanManaged == nil {
		return 16
	}
	return levels
}

// compareTwin holds a turned file to the upright one that it shows.
func (w *walk) compareTwin(t *testing.T, e entry, p *picture) {
	t.Helper()
	other := w.server.get(t, "/assets/"+e.Truth.SameAs+"?format=png")
	twin, err := decode(other.body)
	if err != nil {
		t.Errorf("%s: %v", other.url, err)
		return
	}
	alike(t, "beside "+path.Base(e.Truth.SameAs), p.first(), twin.first(), 4)
}

// animates tells which formats come in with all their frames. APNG does not:
// libvips reads its default picture only, which docs/http.md states.
func animates(e entry) bool { return e.Format == "gif" || e.Format == "webp" }

// compareFrames asks for both animated formats.
func (w *walk) compareFrames(t *testing.T, e entry) {
	t.Helper()
	want, err := decode(w.manifest.Read(t, e.Path))
	if err != nil {
		t.Fatalf("take the original apart: %v", err)
	}
	if len(want.frames) != e.Truth.Frames {
		t.Fatalf("our own decoder sees %d frames, the manifest %d", len(want.frames), e.Truth.Frames)
	}
	for _, format := range []string{"gif", "webp"} {
		got := w.convert(t, e, "lossless=true&format="+format, false)
		p, err := decode(got.body)
		if err != nil {
			t.Errorf("%s: %v", got.url, err)
			continue
		}
		if p.format != format || format == "gif" && len(p.frames) != e.Truth.Frames {
			t.Errorf("%s: %d frames of %s, want %d", got.url, len(p.frames), p.format, e.Truth.Frames)
			continue
		}
		if plays, known := e.Truth.plays(); known && len(p.frames) > 1 && p.plays != plays {
			t.Errorf("%s: plays %d times, want %d", got.url, p.plays, plays)
		}
		comparePlayed(t, got.url, p.played(), want.played())
	}
}

// comparePlayed holds what a viewer sees over time to what it should be.
func comparePlayed(t *testing.T, what string, got, want *picture) {
	t.Helper()
	if len(got.frames) != len(want.frames) {
		t.Errorf("%s: %d different frames are seen, want %d", what, len(got.frames), len(want.frames))
		return
	}
	if len(want.frames) > 1 && !slices.Equal(got.delays, want.delays) {
		t.Errorf("%s: delays %v, want %v", what, got.delays, want.delays)
	}
	for i := range want.frames {
		alike(t, fmt.Sprintf("%s: frame %d", what, i), got.frames[i], want.frames[i], 3)
	}
}

// checkInfo asks for the header's facts.
func (w *walk) checkInfo(t *testing.T, e entry, status int) {
	t.Helper()
	got := w.server.get(t, "/info?image_url="+url.QueryEscape(e.Path))
	if got.status >= 500 || got.took > patience {
		t.Errorf("%s: status %d after %s: %s", got.url, got.status, got.took, got.excerpt())
	}
	if status != http.StatusOK || got.status != http.StatusOK {
		return
	}
	var info struct {
		Width, Height, Frames int
		Alpha                 bool
	}
	if err := json.Unmarshal(got.body, &info); err != nil {
		t.Errorf("%s: %v", got.url, err)
		return
	}
	if width := e.Truth.DisplayWidth; width > 0 && (info.Width != width || info.Height != e.Truth.DisplayHeight) {
		t.Errorf("%s: %dx%d, want %dx%d", got.url, info.Width, info.Height, width, e.Truth.DisplayHeight)
	}
	if e.Truth.Frames > 1 && animates(e) && info.Frames != e.Truth.Frames {
		t.Errorf("%s: %d frames, want %d", got.url, info.Frames, e.Truth.Frames)
	}
	if want := e.Truth.HasAlpha; want != nil && info.Alpha != *want {
		t.Errorf("%s: alpha %t, want %t", got.url, info.Alpha, *want)
	}
}

// TestPDFs walks the PDFs among the hostile files on a server that was told to
// read PDFs, which it does not by default. The one whose content inflates to
// 300 MiB is left out: its decoder works for minutes and cannot be stopped,
// which is why docs/config.md keeps PDFs to sources that are trusted.
func TestPDFs(t *testing.T) {
	root := t.TempDir()
	put(t, root, "good.pdf", testpictures.PDF(300, 200, 3))
	s := start(t, withRoot(root), allowPDF)
	for page, want := range map[int]int{1: http.StatusOK, 3: http.StatusOK, 4: http.StatusUnprocessableEntity, 0: http.StatusBadRequest} {
		got := s.get(t, fmt.Sprintf("/assets/good.pdf?format=png&sizes=150x0&page=%d", page))
		if got.status != want {
			t.Errorf("page %d of 3: status %d %s, want %d", page, got.status, got.excerpt(), want)
		} else if want == http.StatusOK && mustDecode(t, got.body).size() != "150x100" {
			t.Errorf("page %d is %s, want 150x100", page, mustDecode(t, got.body).size())
		}
	}
	m := openCorpus(t)
	if m == nil {
		return
	}
	w := &walk{server: start(t, withRoot(m.Folder), allowPDF), manifest: m, heavy: os.Getenv("SPILLWAY_HEAVY") == "1"}
	canary := listenCanary(t)
	for _, e := range m.Files {
		if e.Format != "pdf" || strings.Contains(e.Path, "flate") || !strings.HasPrefix(e.Path, "hostile/") || e.Weight == "heavy" && !w.heavy {
			continue
		}
		t.Run(e.Path, func(t *testing.T) {
			before := resetPeak(t)
			for _, query := range []string{"format=png&sizes=300x300", "format=jpeg", "format=webp&sizes=100x0&page=2"} {
				w.holds(t, e, w.convert(t, e, query, false))
			}
			if grown := peak(t) - before; grown > slack {
				t.Errorf("the process grew by %d MiB over this file", grown>>20)
			}
			canary.untouched(t)
			w.server.leavesNothing(t)
			w.server.isWell(t)
		})
	}
}

func allowPDF(c *app.Config) { c.AllowPDF = true }
