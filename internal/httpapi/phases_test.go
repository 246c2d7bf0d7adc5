package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/progressive"
	"github.com/spillway-media/spillway/internal/transform"
)

// phaseMark is one call of SetPhase, and how many bytes had been sent by then.
type phaseMark struct {
	Phase priority.Phase
	Size  int64
	Sent  int
}

// marking is a ResponseWriter as our server of HTTP/2 gives to handlers.
type marking struct {
	*httptest.ResponseRecorder
	marks []phaseMark
}

func (m *marking) SetPhase(phase priority.Phase, size int64) error {
	m.marks = append(m.marks, phaseMark{phase, size, m.Body.Len()})
	return nil
}

// overMarking asks over HTTP/2; headers are "Name: value".
func overMarking(b *bench, target string, headers ...string) *marking {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	w := &marking{ResponseRecorder: httptest.NewRecorder()}
	b.public.ServeHTTP(w, r)
	return w
}

// scans is a grey progressive JPEG without a picture: averages, then all the
// rest but a bit, then that bit.
func scans() []byte {
	out := []byte("\xff\xd8\xff\xc2\x00\x0b\x08\x00\x08\x00\x08\x01\x01\x11\x00")
	for _, scan := range []string{"\x00\x00\x01", "\x01\x3f\x01", "\x01\x3f\x10"} {
		out = append(out, "\xff\xda\x00\x08\x01\x01\x00"+scan...)
		out = append(out, bytes.Repeat([]byte{7}, 50_000)...)
	}
	return append(out, 0xff, 0xd9)
}

// paints lets the engine write these bytes as any picture, in pieces.
func paints(b *bench, data []byte) {
	b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
		for i := range plan.Outputs {
			out, _, err := beginOutput(plan, i, begin)
			if err != nil {
				return err
			}
			for rest := data; len(rest) > 0; {
				n := min(999, len(rest))
				if _, err := out.Write(rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
		}
		return nil
	}
}

func TestPhasesOfAPictureAreTold(t *testing.T) {
	jpeg := scans()
	sizes := progressive.Measure("jpeg", jpeg)
	const header = 15
	inPhases := []phaseMark{
		{priority.Header, header, 0},
		{priority.Preview, sizes.Of(priority.Preview), header},
		{priority.Good, sizes.Of(priority.Good), header + 50_020},
		{priority.Rest, sizes.Of(priority.Rest), header + 50_020 + 50_010},
	}
	png := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"), make([]byte, 500)...)
	lines := []phaseMark{{priority.Header, 33, 0}, {priority.Body, int64(len(png)) - 33, 33}}
	for _, test := range []struct {
		name   string
		data   []byte
		target string
		header string
		want   []phaseMark
	}{
		{"a JPEG", jpeg, "/assets/a.jpg?format=jpeg", "", inPhases},
		{"a JPEG that is marked anyway", jpeg, "/assets/a.jpg?format=jpeg&encoder=progress", "", inPhases},
		{"another format is not asked for it", png, "/assets/a.jpg?format=png", "", nil},
		{"another format that is", png, "/assets/a.jpg?format=png&encoder=progress", "", lines},
		{"a part of it is body", jpeg, "/assets/a.jpg?format=jpeg", "Range: bytes=100-200", nil},
		{"one document is body", jpeg, "/assets/a.jpg?format=jpeg&encoder=json", "", nil},
		{"several in one body are body", jpeg, "/assets/a.jpg?format=jpeg&sizes=9x0,8x0", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, nil)
			paints(b, test.data)
			overMarking(b, test.target)
			waitIdle(t, b) // now it is in the cache
			headers := []string{"X-Request-Id: again"}
			if test.header != "" {
				headers = append(headers, test.header)
			}
			got := overMarking(b, test.target, headers...)
			if diff := cmp.Diff(test.want, got.marks); diff != "" {
				t.Error(diff)
			}
			if test.want != nil && !bytes.Equal(got.Body.Bytes(), test.data) {
				t.Errorf("%d bytes came, of %d, or others", got.Body.Len(), len(test.data))
			}
		})
	}
}

func TestPhasesOfAPictureThatIsBeingMade(t *testing.T) {
	b := newBench(t, func(s *settings) { s.transform.CacheMemory, s.transform.Hold = 0, 1 })
	jpeg := scans()
	going := make(chan struct{})
	b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
		out, _, err := beginOutput(plan, 0, begin)
		if err != nil {
			return err
		}
		if _, err := out.Write(jpeg[:7]); err != nil {
			return err
		}
		<-going
		_, err = out.Write(jpeg[7:])
		return err
	}
	r := httptest.NewRequest(http.MethodGet, "/assets/a.jpg?format=jpeg", nil)
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	w := &signalling{marking{ResponseRecorder: httptest.NewRecorder()}, going}
	b.public.ServeHTTP(w, r)
	if !bytes.Equal(w.Body.Bytes(), jpeg) {
		t.Fatalf("%d bytes came, of %d, or others", w.Body.Len(), len(jpeg))
	}
	var phases []priority.Phase
	for _, mark := range w.marks {
		phases = append(phases, mark.Phase)
	}
	if diff := cmp.Diff([]priority.Phase{priority.Header, priority.Preview, priority.Good, priority.Rest}, phases); diff != "" {
		t.Error(diff)
	}
	if first, last := w.marks[0], w.marks[len(w.marks)-1]; first.Size != -1 || last.Size < 10_000 {
		t.Errorf("sizes are told as %d and %d; nobody knows the first, the last can be guessed", first.Size, last.Size)
	}
}

// TestAPreviewThatIsBeingMadeGoesInOnePiece: a browser paints all of it at once.
func TestAPreviewThatIsBeingMadeGoesInOnePiece(t *testing.T) {
	all := scans()
	for _, test := range []struct {
		name string
		data []byte
		mark phaseMark
	}{
		{"a small one", append(append(bytes.Clone(all[:25+6_000]), all[25+50_000:2*50_010+15]...), 0xff, 0xd9), phaseMark{priority.Preview, 6_020, 15}},
		{"one that is all there is", all[:25+6_000], phaseMark{priority.Preview, 6_010, 15}},
		{"one that fits no frame", all, phaseMark{priority.Preview, -1, 15}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, func(s *settings) { s.transform.CacheMemory, s.transform.Hold = 0, 1 })
			going := make(chan struct{})
			b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
				out, _, err := beginOutput(plan, 0, begin)
				if err == nil {
					_, err = out.Write(test.data[:1000])
				}
				<-going
				if err == nil {
					_, err = out.Write(test.data[1000:])
				}
				return err
			}
			r := httptest.NewRequest(http.MethodGet, "/assets/a.jpg?format=jpeg", nil)
			r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
			w := &signalling{marking{ResponseRecorder: httptest.NewRecorder()}, going}
			b.public.ServeHTTP(w, r)
			if !bytes.Equal(w.Body.Bytes(), test.data) {
				t.Fatalf("%d bytes came, of %d, or others", w.Body.Len(), len(test.data))
			}
			if diff := cmp.Diff(test.mark, w.marks[1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// signalling lets the encoder go on once the first bytes were sent.
type signalling struct {
	marking
	going chan struct{}
}

func (s *signalling) Flush() {
	select {
	case <-s.going:
	default:
		close(s.going)
	}
}

// TestPhasesAreNoMatterForOtherServers: net/http's own HTTP/2 knows none, and
// HTTP/1.1 has no use for them.
func TestPhasesAreNoMatterForOtherServers(t *testing.T) {
	b := newBench(t, nil)
	jpeg := scans()
	paints(b, jpeg)
	res, err := overHTTP2(t, b, "/assets/a.jpg?format=jpeg&encoder=progress")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(data, jpeg) || res.ProtoMajor != 2 {
		t.Errorf("%d bytes over %s, %v", len(data), res.Proto, err)
	}
	for _, target := range []string{"/assets/a.jpg?format=jpeg", "/assets/a.jpg?format=jpeg&encoder=progress"} {
		w := &marking{ResponseRecorder: httptest.NewRecorder()}
		b.public.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if len(w.marks) > 0 || !bytes.Equal(w.Body.Bytes(), jpeg) {
			t.Errorf("%s over HTTP/1.1: marks %v, %d bytes", target, w.marks, w.Body.Len())
		}
	}
}

// TestProgressiveOverHTTP2 is what is made for whom, and under which tag.
func TestProgressiveOverHTTP2(t *testing.T) {
	const modern = "Accept: image/webp,*/*"
	for _, test := range []struct {
		name, target, accept string
		alpha                bool
		one, two             string // what is made over HTTP/1.1 and over HTTP/2
		sameTag              bool
		runs                 int32 // for both
	}{
		{name: "a JPEG is progressive", target: "/assets/a.jpg?format=jpeg", one: "jpeg", two: "jpeg progressive", runs: 2},
		{name: "an auto that becomes one", target: "/assets/a.jpg", one: "jpeg", two: "jpeg progressive", runs: 2},
		{name: "an auto that becomes WebP is shared", target: "/assets/a.jpg", accept: modern, one: "webp", two: "webp", sameTag: true, runs: 1},
		{name: "a PNG that auto chose is made once", target: "/assets/a.jpg", alpha: true, one: "png", two: "png", runs: 1},
		{name: "WebP is shared", target: "/assets/a.jpg?format=webp", one: "webp", two: "webp", sameTag: true, runs: 1},
		{name: "AVIF is shared", target: "/assets/a.jpg?format=avif", one: "avif", two: "avif", sameTag: true, runs: 1},
		{name: "not where it is declined", target: "/assets/a.jpg?format=jpeg&progressive=false", one: "jpeg", two: "jpeg", sameTag: true, runs: 1},
		{name: "nor where it is chosen", target: "/assets/a.jpg?format=jpeg&progressive=true", one: "jpeg progressive", two: "jpeg progressive", sameTag: true, runs: 1},
		{name: "JPEG alone can be chosen", target: "/assets/a.jpg?format=jpeg&progressive=jpeg", one: "jpeg progressive", two: "jpeg progressive", sameTag: true, runs: 1},
		{name: "which says nothing of PNG", target: "/assets/a.jpg?format=png&progressive=jpeg", one: "png", two: "png", sameTag: true, runs: 1},
		{name: "JSON is the same", target: "/assets/a.jpg?format=jpeg&encoder=json", sameTag: true, runs: 1},
		{name: "several sizes are the same", target: "/assets/a.jpg?format=jpeg&sizes=9x0,8x0", sameTag: true, runs: 1},
		{name: "encoder=progress changes no byte", target: "/assets/a.jpg?format=jpeg&encoder=progress", one: "jpeg", two: "jpeg progressive", runs: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, func(s *settings) { s.transform.CacheMemory = 1 << 20 })
			b.engine.info.Alpha = test.alpha
			b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
				for i := range plan.Outputs {
					out, _, err := beginOutput(plan, i, begin)
					if err != nil {
						return err
					}
					text := string(plan.Outputs[i].Encode.Format)
					if plan.Outputs[i].Encode.Progressive {
						text += " progressive"
					}
					if _, err := io.WriteString(out, text); err != nil {
						return err
					}
				}
				return nil
			}
			var accept []string
			if test.accept != "" {
				accept = []string{test.accept}
			}
			one := b.get(test.target, accept...)
			first := body(t, one)
			waitIdle(t, b)
			two := overMarking(b, test.target, accept...).Result()
			second := body(t, two)
			if test.one != "" && (first != test.one || second != test.two) {
				t.Errorf("got %q and %q, want %q and %q", first, second, test.one, test.two)
			}
			if test.one == "" && first != second {
				t.Errorf("%q is not %q", first, second)
			}
			if same := one.Header.Get("ETag") == two.Header.Get("ETag"); same != test.sameTag {
				t.Errorf("tags %s and %s", one.Header.Get("ETag"), two.Header.Get("ETag"))
			}
			if runs := b.engine.runs.Load(); runs != test.runs {
				t.Errorf("%d runs, want %d", runs, test.runs)
			}
			again := overMarking(b, test.target, append(accept, "If-None-Match: "+two.Header.Get("ETag"))...).Result()
			if again.StatusCode != http.StatusNotModified || again.Header.Get("ETag") != two.Header.Get("ETag") {
				t.Errorf("who has it is answered %d with %s", again.StatusCode, again.Header.Get("ETag"))
			}
		})
	}
}

// TestASetNamesThePicturesThatWillBeAskedFor: over HTTP/2 those are progressive.
func TestASetNamesThePicturesThatWillBeAskedFor(t *testing.T) {
	b := newBench(t, func(s *settings) { s.transform.CacheMemory = 1 << 20 })
	set := overMarking(b, "/srcset?image_url=a.jpg&format=jpeg&sizes=40x0,80x0&placeholders=color")
	if set.Code != http.StatusOK {
		t.Fatalf("status %d: %s", set.Code, set.Body)
	}
	waitIdle(t, b)
	runs := b.engine.runs.Load()
	for _, size := range []string{"40x0", "80x0"} {
		res := overMarking(b, "/resize?image_url=a.jpg&format=jpeg&sizes="+size).Result()
		if status := res.Header.Get("Cache-Status"); res.StatusCode != 200 || status != "spillway; hit" {
			t.Errorf("%s is answered %d with %s", size, res.StatusCode, status)
		}
	}
	if b.engine.runs.Load() != runs {
		t.Errorf("%d runs more", b.engine.runs.Load()-runs)
	}
}
