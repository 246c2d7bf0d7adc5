package h2_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/internal/h2test"
)

// post sends a body in the parts that are given.
func post(pairs []string, parts ...string) func(*peer) {
	return func(p *peer) {
		p.ask(1, false, "POST", "/", pairs...)
		for i, part := range parts {
			p.data(i == len(parts)-1, part)
		}
		p.Response(1)
	}
}

// postTrailers sends a body and fields behind it.
func postTrailers(pairs []string, body string, end bool, trailers ...string) func(*peer) {
	return func(p *peer) {
		p.ask(1, false, "POST", "/", pairs...)
		if body != "" {
			p.data(false, body)
		}
		p.Must(p.Framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, BlockFragment: p.Block(trailers...), EndStream: end, EndHeaders: true,
		}))
		p.Response(1)
	}
}

func pairs(p ...string) []string { return p }

// unread answers before it has seen a body, or never looks.
func unread(_ *notes, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "enough") }

// bodies are about what comes in behind a request.
var bodies = map[string]encounter{
	"a body":                                {client: post(nil, "hello")},
	"a body in parts, some empty":           {client: post(nil, "he", "", "llo", "")},
	"a body that is empty":                  {client: post(nil, "")},
	"a body of the declared length":         {client: post(pairs("content-length", "5"), "hel", "lo")},
	"a body and the same length twice":      {client: post(pairs("content-length", "5", "content-length", "5"), "hello")},
	"a body and two lengths":                {client: post(pairs("content-length", "5", "content-length", "6"), "hello")},
	"a body and a list of lengths":          {client: post(pairs("content-length", "5, 5"), "hello"), runsStd: true},
	"a body and a length that is none":      {client: post(pairs("content-length", "x"), "hello"), runsStd: true},
	"a body and a negative length":          {client: post(pairs("content-length", "-5"), "hello"), runsStd: true},
	"a body that is longer than declared":   {client: post(pairs("content-length", "3"), "hello"), handler: cut, runs: true},
	"a body that is shorter than declared":  {client: post(pairs("content-length", "7"), "hello"), handler: cut, runs: true},
	"a body that ends before it begins":     {client: post(pairs("content-length", "7"), ""), handler: cut, runs: true},
	"a body behind GET":                     {client: func(p *peer) { p.ask(1, false, "GET", "/"); p.data(true, "x"); p.Response(1) }},
	"trailers that were announced":          {client: postTrailers(pairs("trailer", "A, B"), "x", true, "a", "1", "b", "2", "a", "3")},
	"trailers that were not announced":      {client: postTrailers(nil, "x", true, "a", "1")},
	"trailers of which some were announced": {client: postTrailers(pairs("trailer", "b"), "x", true, "a", "1", "b", "2")},
	"trailers behind nothing":               {client: postTrailers(pairs("trailer", "a"), "", true, "a", "1")},
	"trailers with a declared length":       {client: postTrailers(pairs("trailer", "a", "content-length", "1"), "x", true, "a", "1")},
	"trailers and less than declared":       {client: postTrailers(pairs("trailer", "a", "content-length", "2"), "x", true, "a", "1"), handler: cut, runs: true},
	"trailers that do not end":              {client: postTrailers(nil, "x", false, "a", "1"), handler: cut, runs: true},
	"trailers with a pseudo-header field":   {client: postTrailers(nil, "x", true, ":path", "/"), handler: cut, runs: true},
	"trailers in upper case":                {client: postTrailers(nil, "x", true, "A", "1"), handler: cut, runs: true},
	"trailers with a length":                {client: postTrailers(pairs("trailer", "a"), "x", true, "content-length", "1"), handler: cut, runs: true},
	"a padded body": {client: func(p *peer) {
		p.ask(1, false, "POST", "/", "content-length", "5")
		p.Must(p.Framer.WriteDataPadded(1, false, []byte("he"), make([]byte, 200)))
		p.Must(p.Framer.WriteDataPadded(1, true, []byte("llo"), make([]byte, 255)))
		p.Response(1)
	}},
	"a long body": {client: func(p *peer) {
		p.ask(1, false, "POST", "/")
		for range 4 {
			p.data(false, long[:16000])
		}
		p.data(true, "")
		p.Response(1)
	}, handler: func(n *notes, _ http.ResponseWriter, r *http.Request) {
		m, err := io.Copy(io.Discard, r.Body)
		n.add("%d, error %v", m, err)
	}},
	"a body that nobody reads":            {anyEnd: true, client: post(nil, "hello"), handler: unread},
	"a body that nobody reads and no end": {client: func(p *peer) { p.ask(1, false, "POST", "/"); p.Response(1) }, handler: unread},
	"a body that comes when all is over": {client: func(p *peer) {
		p.ask(1, false, "POST", "/")
		p.Response(1)
		p.settled()
		p.data(false, "late")
		p.data(true, "later")
	}, handler: unread},
	"a body that is closed and then read": {anyEnd: true, client: post(nil, "hello"), handler: func(n *notes, _ http.ResponseWriter, r *http.Request) {
		n.add("close: %v", r.Body.Close())
		m, err := r.Body.Read(make([]byte, 9))
		n.add("%d, error %v", m, err != nil && !errors.Is(err, io.EOF))
		n.add("close: %v", r.Body.Close())
	}},
	"a body that is read beyond its end": {client: post(nil, "hello"), handler: func(n *notes, _ http.ResponseWriter, r *http.Request) {
		drained(n, nil, r)
		m, err := r.Body.Read(make([]byte, 9))
		n.add("%d, %v", m, err)
	}},
	"a body that is read when all is over": {client: func(p *peer) {
		p.ask(1, false, "POST", "/")
		p.Response(1)
		for len(p.notes.all()) == 0 {
			p.settled()
		}
	}, handler: func(n *notes, _ http.ResponseWriter, r *http.Request) {
		body, ctx := r.Body, r.Context()
		go func() {
			<-ctx.Done()
			_, err := body.Read(make([]byte, 1))
			n.add("error %v", err != nil)
		}()
	}},
	"a body beyond MaxBytesReader": {client: post(nil, "hello"), handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 3))
		n.add("%v", err)
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
	}},
	"a form": {client: post(pairs("content-type", "application/x-www-form-urlencoded"), "a=1&b=2"), handler: func(n *notes, _ http.ResponseWriter, r *http.Request) {
		n.add("%v, %v %v", r.ParseForm(), r.FormValue("a"), r.FormValue("b"))
	}},
	"a form with a file": {client: post(pairs("content-type", "multipart/form-data; boundary=x"),
		"--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\n"+long[:10000]+"\r\n--x--\r\n"), handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		n.add("%v", r.ParseMultipartForm(10))
		file := r.MultipartForm.File["f"][0]
		n.add("%s %d", file.Filename, file.Size)
		opened, err := file.Open()
		if err != nil {
			n.add("%v", err)
			return
		}
		defer opened.Close()
		name := opened.(*os.File).Name()
		w.Header().Set("X-File", fmt.Sprint(strings.HasPrefix(name, os.TempDir())))
	}},
	"an echo while the body comes": {handler: echo, client: func(p *peer) {
		p.ask(1, false, "POST", "/")
		p.Until("the header", func(e h2test.Event) bool { return e.Type == http2.FrameHeaders })
		for _, word := range []string{"one", "two", "three"} {
			p.data(false, word)
			for got := ""; got != word; {
				got += string(p.Until("the echo", func(e h2test.Event) bool { return e.Type == http2.FrameData }).Data)
			}
		}
		p.data(true, "")
		p.Response(1)
	}},
	"a read deadline that has passed": {client: func(p *peer) { p.ask(1, false, "POST", "/"); p.Response(1) }, handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		n.add("set: %v", http.NewResponseController(w).SetReadDeadline(time.Now().Add(-time.Second)))
		_, err := r.Body.Read(make([]byte, 1))
		n.add("read: %v, timeout %v", err != nil, errors.Is(err, os.ErrDeadlineExceeded))
		fmt.Fprint(w, "fine")
	}},
	"a read deadline that passes": {client: func(p *peer) { p.ask(1, false, "POST", "/"); p.Response(1) }, handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		n.add("set: %v", http.NewResponseController(w).SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		_, err := r.Body.Read(make([]byte, 1))
		n.add("read: %v, timeout %v", err != nil, errors.Is(err, os.ErrDeadlineExceeded))
		fmt.Fprint(w, "fine")
	}},
	"a read deadline that is taken back": {client: post(nil, "hello"), handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		n.add("set: %v, %v", c.SetReadDeadline(time.Now().Add(time.Hour)), c.SetReadDeadline(time.Time{}))
		drained(n, w, r)
	}},
}

func drained(n *notes, _ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	n.add("%q, error %v", body, err != nil)
}

// cut notes that a body has an end before its time; how much of it was read by
// then is a matter of luck.
func cut(n *notes, _ http.ResponseWriter, r *http.Request) {
	_, err := io.ReadAll(r.Body)
	n.add("error %v", err != nil)
}

func echo(n *notes, w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	n.add("full duplex: %v", c.EnableFullDuplex())
	n.add("flush: %v", c.Flush())
	buf := make([]byte, 100)
	for {
		m, err := r.Body.Read(buf)
		_, _ = w.Write(buf[:m])
		_ = c.Flush()
		if err != nil {
			n.add("%v", err)
			return
		}
	}
}

// expecting asks with Expect and sends the body once it is invited to.
func expecting(body string, pairs ...string) func(*peer) {
	return func(p *peer) {
		p.ask(1, false, "POST", "/", append([]string{"expect", "100-continue"}, pairs...)...)
		e := p.Until("an answer", func(e h2test.Event) bool { return e.Type == http2.FrameHeaders })
		if e.Field(":status") == "100" {
			p.data(true, body)
		}
		p.Response(1)
	}
}

// continues are about Expect: 100-continue.
var continues = map[string]encounter{
	"an expectation that is met":       {client: expecting("hello")},
	"an expectation with a length":     {client: expecting("hello", "content-length", "5")},
	"an expectation that is not met":   {client: expecting("hello"), handler: status(417, nothing)},
	"an expectation without a body":    {client: func(p *peer) { p.get("expect", "100-continue") }},
	"an expectation of something else": {client: more("expect", "wonders")},
	"an expectation in capitals":       {client: expecting("hello", "content-length", "5", "expect", "100-CONTINUE")},
	"100 (Continue) from the handler":  {client: expecting("hello"), handler: status(100, drained)},
	"a body that is read late": {client: func(p *peer) {
		p.ask(1, false, "POST", "/", "expect", "100-continue")
		p.Until("the header", func(e h2test.Event) bool { return e.Type == http2.FrameHeaders })
		p.data(true, "hello")
		p.Response(1)
	}, handler: flushed(drained)},
	"a body that is read with the header": {client: func(p *peer) {
		p.ask(1, false, "POST", "/", "expect", "100-continue")
		p.data(true, "hello")
		p.Response(1)
	}, handler: status(201, drained)},
	"a body that does not wait": {client: post(pairs("expect", "100-continue"), "hello")},
}
