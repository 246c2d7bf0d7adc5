package interop_test

import (
	"bytes"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/h2test"
	"github.com/spillway-media/spillway/internal/progressive"
)

// frames connects as a client that is nothing but frames.
func frames(t *testing.T, s *server) *h2test.Client {
	t.Helper()
	conn, err := net.Dial("tcp", s.url.Host)
	if err != nil {
		t.Fatal(err)
	}
	if s.secure {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	}
	c := h2test.Dial(t, conn, h2test.Options{
		Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 6 << 20}}, Patience: patience,
	})
	c.Must(c.Framer.WriteWindowUpdate(0, 15<<20))
	return c
}

// ends is after how many bytes each phase of a picture ends, the last left out.
func ends(format string, total int64, file []byte) (at []int, phases []priority.Phase) {
	cutter := progressive.NewCutter(format, total)
	for rest := file; len(rest) > 0; {
		n, phase := cutter.Next(rest)
		phases = append(phases, phase)
		if rest = rest[n:]; len(rest) > 0 {
			at = append(at, len(file)-len(rest))
		}
	}
	return at, phases
}

// TestFramesEndWherePhasesDo asks for pictures of each format twice, the second
// time from the cache, and looks at the frames they come in.
func TestFramesEndWherePhasesDo(t *testing.T) {
	const h, p, b, g, r = priority.Header, priority.Preview, priority.Body, priority.Good, priority.Rest
	scans := []priority.Phase{h, p, g, r}
	rows := []priority.Phase{h, b}
	for _, at := range sites {
		s := serve(t, at)
		c := frames(t, s)
		stream := uint32(1)
		for n, test := range []struct {
			name, more, format string
			want               []priority.Phase // nil: not marked
		}{
			{"a JPEG", "&format=jpeg", "jpeg", scans},
			{"a JPEG that is asked for in phases", "&format=jpeg&encoder=progress", "jpeg", scans},
			{"a JPEG that keeps its metadata", "&format=jpeg&keep=icc,exif", "jpeg", scans},
			{"a JPEG in one scan", "&format=jpeg&progressive=false", "jpeg", rows},
			{"WebP", "&format=webp", "webp", nil},
			{"WebP in phases", "&format=webp&encoder=progress", "webp", rows},
			{"PNG in phases", "&format=png&encoder=progress", "png", rows},
			{"interlaced PNG in phases", "&format=png&progressive=true&encoder=progress", "png", scans},
			{"GIF in phases", "&format=gif&encoder=progress", "gif", []priority.Phase{h, p, r}},
			{"AVIF in phases", "&format=avif&encoder=progress", "avif", rows},
			{"JPEG XL in phases", "&format=jxl&encoder=progress", "jxl", scans},
		} {
			path := picture(n, 600, test.more)
			fresh := get(t, c, &stream, path)
			stored := get(t, c, &stream, path)
			for tries := 0; !stored.hit() && tries < 100; tries++ { // it is put there behind the answer
				stored = get(t, c, &stream, path)
			}
			t.Run(test.name+" "+at.name, func(t *testing.T) {
				if !stored.hit() {
					t.Errorf("it never comes from the cache: %v", stored.headers.Fields)
				}
				if !bytes.Equal(fresh.body, stored.body) || len(fresh.body) < 5_000 {
					t.Fatalf("%d bytes came, then %d, or others", len(fresh.body), len(stored.body))
				}
				fresh.check(t, test.format, -1, test.want)
				stored.check(t, test.format, int64(len(stored.body)), test.want)
			})
		}
	}
}

// framed is an answer and after how many bytes its frames ended.
type framed struct {
	headers h2test.Event
	body    []byte
	ends    []int
}

func get(t *testing.T, c *h2test.Client, stream *uint32, path string) (f framed) {
	t.Helper()
	from := len(c.Events())
	c.Must(c.Open(*stream, true, h2test.Get(path, "priority", "u=2, i")...))
	res := c.Response(*stream)
	if res.Status != "200" {
		t.Fatalf("%s is answered %s: %s", path, res.Status, res.Body)
	}
	f.headers, f.body = res.Headers, res.Body
	sent := 0
	for _, e := range c.Events()[from:] {
		if e.Type == http2.FrameData && e.Stream == *stream {
			if e.Length > priority.Frame {
				t.Errorf("%s: a frame of %d bytes is more than a record", path, e.Length)
			}
			sent += e.Length
			f.ends = append(f.ends, sent)
		}
	}
	*stream += 2
	return f
}

func (f *framed) hit() bool { return strings.Contains(f.headers.Field("cache-status"), "hit") }

func (f *framed) check(t *testing.T, format string, total int64, want []priority.Phase) {
	t.Helper()
	at, phases := ends(format, total, f.body)
	if want == nil {
		for _, end := range at {
			if slices.Contains(f.ends, end) && end != len(f.body) {
				t.Errorf("it is not marked, and a frame ends at %d", end)
			}
		}
		return
	}
	if total < 0 && format == "jxl" {
		want = []priority.Phase{priority.Header, priority.Body} // there is nothing to take a share of
	}
	if !slices.Equal(phases, want) {
		t.Errorf("its phases are %v, want %v", phases, want)
	}
	for _, end := range at {
		if !slices.Contains(f.ends, end) {
			t.Errorf("of %d bytes (-1: not known) a phase ends at %d, frames at %v", total, end, f.ends)
		}
	}
}
