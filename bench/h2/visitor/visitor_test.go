package visitor_test

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/spillway-media/spillway/bench/h2/site"
	"github.com/spillway-media/spillway/bench/h2/visitor"
)

// visit serves a handler by Go's own server and opens a connection to it.
func visit(t *testing.T, handler http.Handler) *visitor.Visitor {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := site.Std().Serve(listener, handler, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	conn, err := net.Dial("tcp", server.Address)
	if err != nil {
		t.Fatal(err)
	}
	v, err := visitor.Open(conn, "http", server.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

func TestMarksAreDatedInOrder(t *testing.T) {
	body := bytes.Repeat([]byte("body"), 1<<20) // more than half of a stream's window
	v := visit(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Priority"); got != "i" {
			t.Errorf("priority = %q, want i", got)
		}
		_, _ = w.Write(body)
	}))
	for range 5 { // more than half of the connection's window
		a, err := v.Ask(visitor.Request{Path: "/", Urgency: 3, Incremental: true, Body: body, Marks: []int64{1, 100, 1 << 20, int64(len(body))}})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := a.Asked
		for i, at := range append(a.Marks, a.Last) {
			if at.IsZero() || at.Before(before) {
				t.Errorf("mark %d is dated %s, before %s", i, at, before)
			}
			before = at
		}
		if a.First != a.Marks[0] || a.Header.After(a.First) {
			t.Errorf("first byte at %s, its mark at %s, header at %s", a.First, a.Marks[0], a.Header)
		}
	}
}

func TestAnAnswerThatIsNotTheExpectedOneIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"another status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "answered with 404"},
		"other bytes":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("pictur3")) }, "other bytes"},
		"too few bytes":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("pict")) }, "ended after 4 of 7"},
		"too many bytes": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("pictures")) }, "other bytes"},
		"a reset":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "was reset"},
	} {
		t.Run(name, func(t *testing.T) {
			v := visit(t, test.handler)
			a, err := v.Ask(visitor.Request{Path: "/", Body: []byte("picture")})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

// asked is what a request says of its priority.
type asked struct {
	Stream, DependsOn uint32
	Exclusive         bool
	Weight            int
	Field             string
}

func TestStreamsAreChainedAsChromiumChainsThem(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	requests := []visitor.Request{
		{Urgency: 0, Incremental: true}, {Urgency: 3, Incremental: true}, {Urgency: 2, Incremental: true},
		{Urgency: 3, Incremental: true}, {Urgency: 1}, {Urgency: 4}, {Urgency: 3, Unchained: true},
	}
	got := make(chan []asked, 1)
	go func() { got <- listen(server, len(requests)) }()
	v, err := visitor.Open(client, "http", "example.com")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, r := range requests {
		r.Path = "/"
		if _, err := v.Ask(r); err != nil {
			t.Fatal(err)
		}
	}
	want := []asked{
		{1, 0, true, 256, "u=0, i"},
		{3, 1, true, 147, "i"},
		{5, 1, true, 183, "u=2, i"},
		{7, 3, true, 147, "i"},
		{9, 1, true, 220, "u=1"},
		{11, 7, true, 110, "u=4"},
		{13, 0, false, 1, "u=3"},
	}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// listen reads a client's requests.
func listen(conn net.Conn, count int) []asked {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := conn.Read(preface); err != nil {
		return nil
	}
	framer := http2.NewFramer(conn, conn)
	decoder := hpack.NewDecoder(4096, nil)
	var all []asked
	for len(all) < count {
		frame, err := framer.ReadFrame()
		if err != nil {
			return all
		}
		f, ok := frame.(*http2.HeadersFrame)
		if !ok {
			continue
		}
		a := asked{Stream: f.StreamID, DependsOn: f.Priority.StreamDep, Exclusive: f.Priority.Exclusive, Weight: int(f.Priority.Weight) + 1}
		fields, _ := decoder.DecodeFull(f.HeaderBlockFragment())
		for _, field := range fields {
			if field.Name == "priority" {
				a.Field = field.Value
			}
		}
		all = append(all, a)
	}
	return all
}
