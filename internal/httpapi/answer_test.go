package httpapi_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// serveRaw sends a target to a real server byte for byte, which clients that
// parse URLs would not do.
func serveRaw(h http.Handler, target string) *http.Response {
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		panic(err)
	}
	res.Body = io.NopCloser(strings.NewReader(string(text)))
	return res
}

func TestOnePicture(t *testing.T) {
	b := newBench(t, nil)
	for name, target := range map[string]string{
		"by image_url":          "/resize?image_url=a.jpg&sizes=40x0&format=png",
		"by key":                "/assets/a.jpg?sizes=40x0&format=png",
		"with encoder=progress": "/resize?image_url=a.jpg&sizes=40x0&format=png&encoder=progress",
	} {
		t.Run(name, func(t *testing.T) {
			res := b.get(target)
			if text := body(t, res); res.StatusCode != 200 || text != "png picture of 40x30" {
				t.Errorf("got %d %q", res.StatusCode, text)
			}
		})
	}
}

func TestSeveralPicturesAsMultipart(t *testing.T) {
	b := newBench(t, nil)
	res := b.get("/resize?image_url=p/cat.jpg&sizes=40x0,80x0,20x0&format=png")
	kind, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		t.Fatalf("content type is %q", res.Header.Get("Content-Type"))
	}
	type part struct{ Type, Name, Width, Height, Body string }
	want := []part{
		{"image/png", "cat-40x30.png", "40", "30", "png picture of 40x30"},
		{"image/png", "cat-80x60.png", "80", "60", "png picture of 80x60"},
		{"image/png", "cat-20x15.png", "20", "15", "png picture of 20x15"},
	}
	var got []part
	reader := multipart.NewReader(res.Body, params["boundary"])
	for {
		p, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, part{p.Header.Get("Content-Type"), p.FileName(), p.Header.Get("Image-Width"), p.Header.Get("Image-Height"), string(data)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	t.Run("equal tags mean equal bytes", func(t *testing.T) {
		one, two := b.get("/assets/a.jpg?sizes=4x0,8x0&format=png"), b.get("/assets/a.jpg?sizes=4x0,8x0&format=png")
		if body(t, one) != body(t, two) || one.Header.Get("ETag") != two.Header.Get("ETag") {
			t.Error("the same question has two answers")
		}
	})
	if runs := b.engine.runs.Load(); runs > 2 {
		t.Errorf("%d runs for two different questions", runs)
	}
}

func TestPicturesAsJSON(t *testing.T) {
	type picture struct {
		Width, Height, Frames, Quality, Bytes int
		Format                                string
		ContentType                           string `json:"content_type"`
		Data                                  string
	}
	type document struct {
		Source struct {
			Format        string
			Width, Height int
			Orientation   int
		}
		Images []picture
	}
	cases := map[string]struct {
		sizes string
		want  []string
	}{
		"one size":      {"40x0", []string{"png picture of 40x30"}},
		"several sizes": {"40x0,80x0", []string{"png picture of 40x30", "png picture of 80x60"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			res := newBench(t, nil).get("/resize?image_url=a.jpg&format=png&encoder=json&sizes=" + c.sizes)
			var doc document
			if err := json.Unmarshal([]byte(body(t, res)), &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Source.Format != "jpeg" || doc.Source.Width != 400 || doc.Source.Height != 300 || doc.Source.Orientation != 6 {
				t.Errorf("source is %+v", doc.Source)
			}
			var got []string
			for _, p := range doc.Images {
				data, err := base64.StdEncoding.DecodeString(p.Data)
				if err != nil || len(data) != p.Bytes || p.ContentType != "image/png" || p.Format != "png" || p.Width == 0 || p.Height == 0 {
					t.Errorf("picture is %+v: %v", p, err)
				}
				got = append(got, string(data))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// slowly is an engine that writes head of each picture, waits, and goes on
// with end.
func slowly(head string, wait <-chan struct{}, end func(io.Writer) error) func(context.Context, *media.Plan, transform.Begin) error {
	return func(ctx context.Context, plan *media.Plan, begin transform.Begin) error {
		for i := range plan.Outputs {
			out, _, err := beginOutput(plan, i, begin)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(out, head); err != nil {
				return err
			}
			select {
			case <-wait:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := end(out); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestBytesLeaveAsTheEncoderMakesThem(t *testing.T) {
	b := newBench(t, func(s *settings) { s.transform.Hold = 4 })
	goOn := make(chan struct{})
	b.engine.run = slowly("head", goOn, func(w io.Writer) error { _, err := io.WriteString(w, " and end"); return err })
	server := httptest.NewServer(b.public)
	defer server.Close()
	res, err := http.Get(server.URL + "/assets/a.jpg?format=png")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(res.Body, head); err != nil || string(head) != "head" {
		t.Fatalf("before the end was made: %q, %v", head, err)
	}
	close(goOn)
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != " and end" || res.ContentLength != -1 {
		t.Errorf("rest is %q, length %d, error %v", rest, res.ContentLength, err)
	}
}

func TestAFailureAfterTheFirstByteBreaksTheConnection(t *testing.T) {
	for name, query := range map[string]string{
		"one picture":     "format=png",
		"several":         "format=png&sizes=10x0,20x0",
		"json":            "format=png&encoder=json",
		"several in json": "format=png&encoder=json&sizes=10x0,20x0",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(s *settings) { s.transform.Hold = 4 })
			goOn := make(chan struct{})
			b.engine.run = slowly(strings.Repeat("head", 16<<10), goOn, func(io.Writer) error {
				return media.Errorf(media.CodeDecodeFailed, "The picture is broken further down.")
			})
			server := httptest.NewServer(b.public)
			defer server.Close()
			res, err := http.Get(server.URL + "/assets/a.jpg?" + query)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if _, err := res.Body.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			close(goOn)
			if rest, err := io.ReadAll(res.Body); err == nil {
				t.Fatalf("a cut answer ends well, with %q", rest)
			}
			server.Close() // waits for the handler, which writes the line
			line := b.logged.lines(t)[0]
			if line["broken"] != true || line["code"] != "decode-failed" || line["level"] != "ERROR" {
				t.Errorf("logged %v", line)
			}
		})
	}
	t.Run("in a later picture of several", func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
			out, _, err := beginOutput(plan, 0, begin)
			if err != nil {
				return err
			}
			if _, err := out.Write(make([]byte, 64<<10)); err != nil {
				return err
			}
			return media.Errorf(media.CodeEncodeFailed, "The second picture could not be written.")
		}
		server := httptest.NewServer(b.public)
		defer server.Close()
		res, err := http.Get(server.URL + "/assets/a.jpg?format=png&sizes=10x0,20x0")
		if err != nil {
			return // broken before the header came through, which is as good
		}
		defer res.Body.Close()
		if rest, err := io.ReadAll(res.Body); err == nil && res.StatusCode == 200 {
			t.Fatalf("a cut answer ends well, with %d bytes", len(rest))
		}
	})
}

// In HTTP/1.0 the end of the connection is the end of the picture, so that a
// cut could not be told from it; nginx speaks it to what it stands before.
func TestAFailureAfterTheFirstByteIsAProblemForHTTP10(t *testing.T) {
	for name, query := range map[string]string{"one picture": "format=png", "several": "format=png&sizes=10x0,20x0"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(s *settings) { s.transform.Hold = 4 })
			goOn := make(chan struct{})
			close(goOn)
			b.engine.run = slowly("head", goOn, func(io.Writer) error {
				return media.Errorf(media.CodeDecodeFailed, "The picture is broken further down.")
			})
			r := httptest.NewRequest(http.MethodGet, "/assets/a.jpg?"+query, nil)
			r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
			w := httptest.NewRecorder()
			b.public.ServeHTTP(w, r)
			wantProblem(t, w.Result(), 422, "decode-failed")
		})
	}
}

func TestAFailureBeforeTheFirstByteIsAProblem(t *testing.T) {
	b := newBench(t, nil)
	b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
		if _, _, err := beginOutput(plan, 0, begin); err != nil {
			return err
		}
		return media.Wrap(media.CodeDecodeFailed, errors.New("VipsJpeg: premature end"), "The picture ends too early.")
	}
	res := b.get("/assets/a.jpg?format=png")
	p := wantProblem(t, res, 422, "decode-failed")
	if strings.Contains(p.Detail, "Vips") {
		t.Errorf("the detail shows a library: %q", p.Detail)
	}
	for _, name := range []string{"ETag", "Last-Modified", "Content-Disposition", "Server-Timing"} {
		if got := res.Header.Get(name); got != "" {
			t.Errorf("the problem has the picture's %s: %q", name, got)
		}
	}
}

func TestAnEmptyPictureIsAFault(t *testing.T) {
	b := newBench(t, nil)
	b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
		_, _, err := beginOutput(plan, 0, begin)
		return err
	}
	wantProblem(t, b.get("/assets/a.jpg"), 500, "encode-failed")
}

func TestAClientThatLeavesCancelsItsWork(t *testing.T) {
	b := newBench(t, nil)
	began, ended := make(chan struct{}), make(chan struct{})
	b.engine.run = func(ctx context.Context, _ *media.Plan, _ transform.Begin) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return context.Cause(ctx)
	}
	server := httptest.NewServer(b.public)
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/assets/a.jpg", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-began; leave() }()
	if res, err := http.DefaultClient.Do(r); err == nil {
		res.Body.Close()
		t.Fatal("an answer came all the same")
	}
	<-ended
	server.Close()
	if line := b.logged.lines(t)[0]; line["status"] != 499.0 || line["code"] != "cancelled" || line["level"] != "INFO" {
		t.Errorf("logged %v", line)
	}
}

// A client that takes nothing is cut off after the stall timeout; one that is
// merely slow is not.
func TestAStalledClientIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *settings) { s.http.StallTimeout = 10 * time.Second })
		makes(b, 1<<20)
		client := serveOne(t, &http.Server{Handler: b.public})
		io.WriteString(client, "GET /assets/a.jpg?format=png HTTP/1.1\r\nHost: x\r\n\r\n")
		piece := make([]byte, 40<<10)
		for range 5 { // slow, but alive: much longer in all than the timeout
			<-time.After(4 * time.Second)
			if _, err := io.ReadFull(client, piece); err != nil {
				t.Fatalf("a slow client was cut off: %v", err)
			}
		}
		began := time.Now()
		<-time.After(30 * time.Second) // stands still
		n, err := io.Copy(io.Discard, client)
		if err == nil && n > 900<<10 {
			t.Errorf("a client that stood still for %s got %d bytes more", time.Since(began), n)
		}
		synctest.Wait()
		if s := b.spools.Stats(); s.Open != 0 {
			t.Errorf("%d spools are still held", s.Open)
		}
		if line := b.logged.lines(t)[0]; line["code"] != "cancelled" {
			t.Errorf("logged %v", line)
		}
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn chan net.Conn
	done chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error   { close(l.done); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func TestAPanicCostsOneRequest(t *testing.T) {
	b := newBench(t, func(s *settings) {
		s.http.Site = page{paths: []string{"/early", "/late"}, handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/late" {
				io.WriteString(w, "half a page")
				http.NewResponseController(w).Flush()
			}
			panic("secret of the page")
		}}
	})
	t.Run("before the first byte it is a problem", func(t *testing.T) {
		res := b.get("/early")
		p := wantProblem(t, res, 500, "internal")
		if strings.Contains(p.Detail, "secret") {
			t.Error("the detail shows the panic")
		}
		if text := b.logged.String(); !strings.Contains(text, "secret of the page") || !strings.Contains(text, "answer_test.go") {
			t.Error("panic and stack are not logged")
		}
	})
	t.Run("after the first byte it breaks the connection", func(t *testing.T) {
		server := httptest.NewServer(b.public)
		defer server.Close()
		res, err := http.Get(server.URL + "/late")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("half a page looks whole")
		}
	})
	t.Run("the next request is answered", func(t *testing.T) {
		if res := b.get("/assets/a.jpg"); res.StatusCode != 200 {
			t.Error(res.Status)
		}
	})
}

func TestServerTiming(t *testing.T) {
	b := newBench(t, nil)
	one := b.get("/assets/a.jpg?format=png")
	if got := one.Header.Get("Server-Timing"); !strings.HasPrefix(got, "cache;desc=miss, fetch;dur=") || !strings.Contains(got, "work;dur=") {
		t.Errorf("got %q", got)
	}
	waitIdle(t, b)
	two := b.get("/assets/a.jpg?format=png")
	if got := two.Header.Get("Server-Timing"); !strings.HasPrefix(got, "cache;desc=hit, ") {
		t.Errorf("got %q", got)
	}
}

// waitIdle returns when the last job is in the cache.
func waitIdle(t *testing.T, b *bench) {
	t.Helper()
	for b.images.Stats().Running > 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("the job never ended")
		case <-time.After(time.Millisecond):
		}
	}
}

var _ httpapi.Transformer = (*transform.Service)(nil)
