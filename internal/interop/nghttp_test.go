package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// frame is a line by which `nghttp -v` tells of one.
var frame = regexp.MustCompile(`(?m)^\[ *[0-9.]+\] (send|recv) ([A-Z_]+) frame <length=(\d+), flags=0x([0-9a-f]{2}), stream_id=(\d+)>`)

// colours are what nghttp paints its log with.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// traffic counts what nghttp has told of.
type traffic struct {
	frames map[string]int // "recv DATA" and so on
	ended  int            // streams that the server ended
	bytes  int            // of DATA that came
	status map[string]int
}

var status = regexp.MustCompile(`recv \(stream_id=\d+\) :status: (\d+)`)

func tally(t *testing.T, log string) traffic {
	t.Helper()
	sum := traffic{frames: map[string]int{}, status: map[string]int{}}
	for _, f := range frame.FindAllStringSubmatch(log, -1) {
		sum.frames[f[1]+" "+f[2]]++
		if f[1] == "recv" && f[2] == "DATA" {
			sum.bytes += number(t, f[3])
		}
		if f[1] == "recv" && (f[2] == "DATA" || f[2] == "HEADERS") && strings.ContainsAny(f[4][1:], "13579bdf") {
			sum.ended++
		}
	}
	for _, s := range status.FindAllStringSubmatch(log, -1) {
		sum.status[s[1]]++
	}
	return sum
}

// nghttp lets it ask, and fails when an answer did not come whole.
func nghttp(t *testing.T, args ...string) traffic {
	t.Helper()
	got := mustRun(t, "nghttp", append([]string{"-nvy"}, args...)...)
	sum := tally(t, colours.ReplaceAllString(got.out, ""))
	for _, f := range []string{"recv SETTINGS", "send SETTINGS", "recv HEADERS", "recv DATA"} {
		if sum.frames[f] == 0 {
			t.Errorf("nghttp saw no %q among %v", f, sum.frames)
		}
	}
	for _, f := range []string{"send RST_STREAM", "recv GOAWAY"} {
		if sum.frames[f] != 0 {
			t.Errorf("nghttp saw %q", f)
		}
	}
	return sum
}

func TestNghttp(t *testing.T) {
	for _, at := range sites {
		t.Run(at.name, func(t *testing.T) {
			s := serve(t, at)
			t.Run("one picture", func(t *testing.T) {
				one := nghttp(t, s.at(picture(0, 320, "&format=jpeg")))
				if one.ended != 1 || one.status["200"] != 1 || one.frames["recv RST_STREAM"] != 0 {
					t.Errorf("it saw %+v", one)
				}
			})
			t.Run("many pictures of many weights", func(t *testing.T) { manyPictures(t, s) })
			t.Run("windows of a kilobyte", func(t *testing.T) {
				many := nghttp(t, "-w", "10", "-W", "11", "-m", "20", s.at(picture(0, 320, "&format=webp")))
				if many.ended != 20 || many.frames["send WINDOW_UPDATE"] == 0 || many.frames["recv RST_STREAM"] != 0 {
					t.Errorf("it saw %+v", many)
				}
			})
			body := filepath.Join(t.TempDir(), "body")
			if err := os.WriteFile(body, make([]byte, 3<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			upload := []string{"-d", body, "--expect-continue", "--trailer", "checksum: 12345", "-H", ":method: POST", s.at("/v1/uploads")}
			t.Run("an upload that asks first and ends in trailers", func(t *testing.T) {
				up := nghttp(t, append(upload, "-H", "authorization: Bearer "+shared.token)...)
				if up.status["100"] != 1 || up.status["201"] != 1 || up.ended != 1 || up.frames["send HEADERS"] != 2 || up.frames["recv RST_STREAM"] != 0 {
					t.Errorf("it saw %+v", up)
				}
			})
			t.Run("an upload that asks first and is refused", func(t *testing.T) {
				up := nghttp(t, upload...)
				if up.status["100"] != 0 || up.status["401"] != 1 || up.ended != 1 || up.frames["send DATA"] != 0 {
					t.Errorf("it saw %+v", up)
				}
			})
		})
	}
}

// manyPictures asks for all at once, with the weights that Chromium has.
func manyPictures(t *testing.T, s *server) {
	t.Helper()
	before := len(s.requests("assets"))
	var urls, weights []string
	for n := range pictures {
		urls = append(urls, s.at(picture(n, 320, "&format=webp")))
		weights = append(weights, "-p", fmt.Sprint([]int{256, 220, 183, 147, 110}[n%5]))
	}
	many := nghttp(t, append(weights, urls...)...)
	s.await(t, before+pictures)
	size := 0
	for _, e := range s.requests("assets")[before:] {
		size += int(e.Bytes)
	}
	if many.ended != pictures || many.status["200"] != pictures || many.bytes != size || many.frames["recv RST_STREAM"] != 0 {
		t.Errorf("it saw %+v of %d pictures with %d bytes", many, pictures, size)
	}
	t.Logf("summary: nghttp %s: %d pictures of five weights: %d SETTINGS, %d HEADERS, %d DATA frames with %d bytes, %d streams ended",
		s.name, pictures, many.frames["recv SETTINGS"], many.frames["recv HEADERS"], many.frames["recv DATA"], many.bytes, many.ended)
}

// The playground's page, with what it links to: nghttp reads it as a browser
// would, and ranks style sheets, scripts and pictures by its own dependencies.
func TestNghttpLoadsAPageWithItsAssets(t *testing.T) {
	s := start(t, sites[1], "up", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--source-root", shared.root, "--log-format", "json")
	page := nghttp(t, "-a", s.at("/"))
	if page.status["200"] < 5 || page.ended != page.status["200"] {
		t.Errorf("it saw %+v", page)
	}
	t.Logf("summary: nghttp -a in the clear: a page and its assets, %d answers in %d DATA frames", page.ended, page.frames["recv DATA"])
}
