package h2_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// The differential test runs the same handlers and the same clients, frame by
// frame, on net/http's own HTTP/2 server and on this one, and compares all that
// a client or a handler can see. Where the two are meant to differ, differences
// says how and why.

// encounter is one handler and one client of it.
type encounter struct {
	handler func(n *notes, w http.ResponseWriter, r *http.Request) // nil: notes the request
	client  func(c *peer)                                          // nil: GET / and wait for the answer
	server  func(hs *http.Server)                                  // nil: nothing is special
	anyBody bool                                                   // how much of the body arrives depends on the time
	anyEnd  bool                                                   // whether a body is refused depends on whether it has come
	runs    bool                                                   // the handler writes a note, however early the stream ends
	runsStd bool                                                   // the same, on net/http's server only
	logs    bool                                                   // the server writes a line
}

// outcome is what was seen of an encounter, in words that can be compared.
type outcome struct {
	Streams map[uint32]answer
	GoAway  string   // the code of the last GOAWAY; "" none
	Notes   []string // what the handler saw
	Logged  []string // the first line of each
}

type answer struct {
	Interim  []string // "103 link=..."
	Status   string
	Header   []string // sorted "name: value"
	Body     string
	Trailers []string
	Ended    bool
	Reset    string // the code; "" none
}

// notes are taken by handlers and clients; a note of a line's kind is compared
// in the order of all.
type notes struct {
	mu      sync.Mutex
	lines   []string
	running int           // handlers
	idle    chan struct{} // closed when none runs; nil while nobody waits
}

// enter counts a handler until the returned function is called.
func (n *notes) enter() (leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.running--; n.running == 0 && n.idle != nil {
			close(n.idle)
			n.idle = nil
		}
	}
}

// wait returns when no handler runs.
func (n *notes) wait() {
	n.mu.Lock()
	var idle chan struct{}
	if n.running > 0 {
		idle = make(chan struct{})
		n.idle = idle
	}
	n.mu.Unlock()
	if idle != nil {
		<-idle
	}
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// lines notes the first line of each message that a server logs.
type lines struct{ *notes }

func (l lines) Enabled(context.Context, slog.Level) bool { return true }

func (l lines) Handle(_ context.Context, r slog.Record) error {
	line, _, _ := strings.Cut(r.Message, "\n")
	l.add("%s", line)
	return nil
}

func (l lines) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l lines) WithGroup(string) slog.Handler      { return l }

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// peer is a client with what the encounters need besides frames.
type peer struct {
	*h2test.Client
	t      *testing.T
	notes  *notes
	scheme string
	over   bool // the connection has ended, and the test knows
}

// fields are a request's, with the scheme of the connection.
func (p *peer) fields(method, path string, pairs ...string) []string {
	return append([]string{":method", method, ":scheme", p.scheme, ":authority", "h2.test", ":path", path}, pairs...)
}

// ask sends a request; end: without a body.
func (p *peer) ask(stream uint32, end bool, method, path string, pairs ...string) {
	p.t.Helper()
	p.Must(p.Open(stream, end, p.fields(method, path, pairs...)...))
}

func (p *peer) get(pairs ...string) {
	p.t.Helper()
	p.ask(1, true, "GET", "/", pairs...)
	p.Response(1)
}

func (p *peer) raw(end bool, pairs ...string) {
	p.t.Helper()
	p.Must(p.Open(1, end, pairs...))
	p.Response(1)
}

func (p *peer) data(end bool, text string) {
	p.t.Helper()
	p.Must(p.Framer.WriteData(1, end, []byte(text)))
}

// settled waits until the server has answered everything sent so far.
func (p *peer) settled() {
	p.t.Helper()
	p.Must(p.Framer.WritePing(false, [8]byte{'e', 'n', 'd'}))
	p.Until("the answer to a PING", func(e h2test.Event) bool {
		return e.Type == http2.FramePing && e.Flags.Has(http2.FlagPingAck)
	})
}

func TestServesAsNetHTTPDoes(t *testing.T) {
	t.Parallel()
	encounters := map[string]map[string]encounter{
		"answer": answers, "header": headers, "body": bodies, "expectation": continues,
		"failure": failures, "surroundings": surroundings, "request": requests,
	}
	known := map[string]bool{}
	for group, members := range encounters {
		for name, e := range members {
			name = group + ": " + name
			known[name] = true
			for _, secure := range []bool{true, false} {
				over := "h2c"
				if secure {
					over = "TLS"
				}
				t.Run(name+"/"+over, func(t *testing.T) {
					t.Parallel()
					compare(t, name, e, secure)
				})
			}
		}
	}
	for name := range differences {
		if !known[name] {
			t.Errorf("a difference is listed for %q, which is no encounter", name)
		}
	}
}

func compare(t *testing.T, name string, e encounter, secure bool) {
	t.Helper()
	want := meet(t, e, secure, nil)
	got := meet(t, e, secure, func(hs *http.Server) {
		if _, err := h2.Configure(hs, h2.Config{}); err != nil {
			t.Fatal(err)
		}
	})
	if d, ok := differences[name]; ok {
		if cmp.Equal(want, got) {
			t.Errorf("both servers answer alike; the difference that is listed is gone: %s", d.because)
		}
		d.ours(&want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("net/http (-), this server (+):\n%s", diff)
	}
}

// meet runs an encounter on one server.
func meet(t *testing.T, e encounter, secure bool, configure func(*http.Server)) outcome {
	t.Helper()
	seen, logged := &notes{}, &notes{}
	handle := e.handler
	if handle == nil {
		handle = noteRequest
	}
	hs := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer seen.enter()()
			handle(seen, w, r)
		}),
		ErrorLog: slog.NewLogLogger(lines{logged}, slog.LevelError),
	}
	if e.server != nil {
		e.server(hs)
	}
	p := &peer{t: t, notes: seen, scheme: "http"}
	if secure {
		p.scheme = "https"
	}
	p.Client = h2test.Dial(t, connect(t, hs, secure, configure), h2test.Options{})
	if e.client == nil {
		p.get()
	} else {
		e.client(p)
	}
	runs := e.runs || e.runsStd && configure == nil
	for e.logs && len(logged.all()) == 0 || runs && len(seen.all()) == 0 {
		p.settled() // net/http logs when it has answered
	}
	if !p.over {
		p.settled()
	}
	p.Close()
	if err := hs.Close(); err != nil {
		t.Error(err)
	}
	seen.wait()
	o := outcomeOf(p.Events(), seen.all(), logged.all())
	for stream, a := range o.Streams {
		if e.anyBody {
			a.Body = ""
		}
		if e.anyEnd && a.Ended {
			a.Reset = ""
		}
		o.Streams[stream] = a
	}
	return o
}

// connect starts hs on a port of its own and connects to it.
func connect(t testing.TB, hs *http.Server, secure bool, configure func(*http.Server)) net.Conn {
	t.Helper()
	hs.Protocols = new(http.Protocols)
	hs.Protocols.SetHTTP1(true)
	hs.Protocols.SetHTTP2(secure)
	hs.Protocols.SetUnencryptedHTTP2(!secure)
	if secure {
		hs.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate(t)}, MinVersion: tls.VersionTLS12}
	}
	if configure != nil {
		configure(hs)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if secure {
			_ = hs.ServeTLS(ln, "", "") // always an error: the server was closed
			return
		}
		_ = hs.Serve(ln)
	})
	t.Cleanup(func() {
		_ = hs.Close() // again: for the tests that fail before they come to it
		serving.Wait()
	})
	var conn net.Conn
	if secure {
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
		conn, err = dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
	} else {
		conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// certificate borrows httptest's.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	certificates.Do(func() {
		s := httptest.NewUnstartedServer(nil)
		s.StartTLS()
		borrowed = s.TLS.Certificates[0]
		s.Close()
	})
	return borrowed
}

var (
	certificates sync.Once
	borrowed     tls.Certificate
)

var address = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// outcomeOf puts events into words.
func outcomeOf(events []h2test.Event, seen, logged []string) outcome {
	o := outcome{Streams: map[uint32]answer{}, Notes: seen, Logged: logged}
	for _, e := range events {
		if e.Type == http2.FrameGoAway {
			o.GoAway = e.Code.String()
		}
		if e.Stream == 0 {
			continue
		}
		a := o.Streams[e.Stream]
		a.add(e)
		o.Streams[e.Stream] = a
	}
	for i, line := range o.Logged {
		if strings.Contains(line, "trailer") {
			line = "a trailer that cannot be"
		}
		o.Logged[i] = address.ReplaceAllString(line[strings.Index(line, ": ")+1:], "somebody") // less the name of the server
	}
	return o
}

func (a *answer) add(e h2test.Event) {
	switch e.Type {
	case http2.FrameHeaders:
		status, fields := inWords(e)
		switch {
		case strings.HasPrefix(status, "1"):
			a.Interim = append(a.Interim, status+" "+strings.Join(fields, ", "))
		case status == "":
			a.Trailers = fields
		default:
			a.Status, a.Header = status, fields
		}
		a.Ended = a.Ended || e.Ended()
	case http2.FrameData:
		a.Body += string(e.Data)
		a.Ended = a.Ended || e.Ended()
	case http2.FrameRSTStream:
		a.Reset = e.Code.String()
	}
}

// inWords sorts a block's fields, whose order means something for values of one
// name only, and looks at what time it is no closer than that it was said.
func inWords(e h2test.Event) (status string, fields []string) {
	for _, f := range e.Fields {
		switch f.Name {
		case ":status":
			status = f.Value
			continue
		case "date":
			if _, err := http.ParseTime(f.Value); err == nil {
				f.Value = "now"
			}
		}
		fields = append(fields, f.Name+": "+f.Value)
	}
	slices.SortStableFunc(fields, func(a, b string) int {
		x, _, _ := strings.Cut(a, ": ")
		y, _, _ := strings.Cut(b, ": ")
		return strings.Compare(x, y)
	})
	return status, fields
}

// noteRequest writes down all that a handler can know of a request.
func noteRequest(n *notes, w http.ResponseWriter, r *http.Request) {
	n.add("%s %s %s host=%q uri=%q path=%q query=%q", r.Method, r.URL.String(), r.Proto, r.Host, r.RequestURI, r.URL.Path, r.URL.RawQuery)
	n.add("header %v", headerInWords(r.Header))
	n.add("length %d, coding %v, close %v", r.ContentLength, r.TransferEncoding, r.Close)
	n.add("announced %v", headerInWords(r.Trailer))
	body, err := io.ReadAll(r.Body)
	n.add("body %q, error %v", body, err != nil)
	n.add("trailer %v", headerInWords(r.Trailer))
	n.add("TLS %v", r.TLS != nil && r.TLS.NegotiatedProtocol == "h2")
	_, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	_, ok2 := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	_, _, err = net.SplitHostPort(r.RemoteAddr)
	n.add("server %v, address %v, remote %v", ok, ok2, err == nil)
	_, _ = io.WriteString(w, "seen")
}

func headerInWords(h http.Header) []string {
	var lines []string
	for name, values := range h {
		lines = append(lines, fmt.Sprintf("%s=%q", name, values))
	}
	slices.Sort(lines)
	return lines
}

// wait is for a handler to see that its client is gone.
func gone(ctx context.Context, n *notes) {
	<-ctx.Done()
	n.add("the context ends: %v", ctx.Err())
}
