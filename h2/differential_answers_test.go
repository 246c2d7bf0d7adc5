package h2_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/internal/h2test"
)

type handlerFunc = func(n *notes, w http.ResponseWriter, r *http.Request)

// writes makes a handler that writes its parts one by one and notes errors.
func writes(parts ...string) handlerFunc {
	return func(n *notes, w http.ResponseWriter, _ *http.Request) {
		for _, part := range parts {
			m, err := w.Write([]byte(part))
			n.add("wrote %d of %d, error %v", m, len(part), err != nil)
		}
	}
}

// with sets header fields, given in pairs, before it goes on.
func with(next handlerFunc, pairs ...string) handlerFunc {
	return func(n *notes, w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			w.Header().Add(pairs[i], pairs[i+1])
		}
		next(n, w, r)
	}
}

func status(code int, next handlerFunc) handlerFunc {
	return func(n *notes, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(code)
		next(n, w, r)
	}
}

func flushed(next handlerFunc) handlerFunc {
	return func(n *notes, w http.ResponseWriter, r *http.Request) {
		n.add("flush: error %v", http.NewResponseController(w).Flush() != nil)
		next(n, w, r)
	}
}

// quietly flushes where net/http's answer to that depends on how fast the end of
// the stream leaves.
func quietly(next handlerFunc) handlerFunc {
	return func(n *notes, w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		next(n, w, r)
	}
}

func nothing(*notes, http.ResponseWriter, *http.Request) {}

func plain(h http.Handler) handlerFunc {
	return func(_ *notes, w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }
}

func head(p *peer) { p.ask(1, true, "HEAD", "/"); p.Response(1) }

var (
	long  = strings.Repeat("0123456789abcdef", 4096) // 64 KiB, which start windows nearly hold
	eight = strings.Repeat("x", 8192)
	four  = strings.Repeat("y", 4096)
)

// answers are about status, body and what comes with them.
var answers = map[string]encounter{
	"a handler that does nothing":                {handler: nothing},
	"a short body":                               {handler: writes("hello")},
	"a body in parts":                            {handler: writes("hel", "", "lo")},
	"a body as large as the buffer":              {handler: writes(four)},
	"a body one byte larger than the buffer":     {handler: writes(four + "z")},
	"a body larger than the buffer in two parts": {handler: writes(four, "z")},
	"a small part and a large one":               {handler: writes("a", eight)},
	"a large part and a small one":               {handler: writes(eight, "a")},
	"a long body":                                {handler: writes(long[:60000])},
	"an empty write":                             {handler: writes("")},
	"a page, which is sniffed":                   {handler: writes("<!DOCTYPE html><title>x</title>")},
	"a picture, which is sniffed":                {handler: writes("\x89PNG\x0d\x0a\x1a\x0a" + eight)},
	"a status":                                   {handler: status(404, writes("gone"))},
	"a status without a name":                    {handler: status(799, writes("x"))},
	"a status after a status":                    {handler: status(404, status(200, writes("x")))},
	"a status after the body":                    {handler: func(n *notes, w http.ResponseWriter, r *http.Request) { writes("x")(n, w, r); w.WriteHeader(404) }},
	"a status of two digits":                     {logs: true, handler: status(99, writes("x"))},
	"a status of four digits":                    {logs: true, handler: status(1000, writes("x"))},
	"an error":                                   {handler: func(_ *notes, w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) }},
	"a redirect":                                 {handler: func(_ *notes, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/b", http.StatusFound) }},
	"204 with a body":                            {handler: status(204, writes("x"))},
	"204 after a flush":                          {handler: status(204, quietly(writes("x")))},
	"204 with a length":                          {handler: with(status(204, nothing), "Content-Length", "3")},
	"204 with a type":                            {handler: with(status(204, nothing), "Content-Type", "text/plain")},
	"304 with a body":                            {handler: status(304, writes("x"))},
	"304 with a length":                          {handler: with(status(304, nothing), "Content-Length", "3", "Etag", `"e"`)},
	"205 with a body":                            {handler: status(205, writes("x"))},
	"HEAD":                                       {handler: nothing, client: head},
	"HEAD with a short body":                     {handler: writes("hello"), client: head},
	"HEAD with a long body":                      {handler: writes(eight, "x"), client: head},
	"HEAD with a length":                         {handler: with(nothing, "Content-Length", "1234"), client: head},
	"HEAD with a length and a body":              {handler: with(writes("hello"), "Content-Length", "5"), client: head},
	"HEAD with a length and part of the body":    {handler: with(writes("he"), "Content-Length", "5"), client: head},
	"HEAD with more than its length":             {handler: with(quietly(writes("hello")), "Content-Length", "3"), client: head},
	"HEAD with a flush":                          {handler: quietly(writes("hello")), client: head},
	"HEAD with 404":                              {handler: status(404, writes("x")), client: head},
	"HEAD with trailers":                         {handler: with(writes("x"), "Trailer", "A", "Trailer:B", "c"), client: head},
	"a method that handlers alone know":          {client: func(p *peer) { p.ask(1, true, "BREW", "/"); p.Response(1) }},
	"a flush before anything":                    {handler: flushed(writes("a"))},
	"a flush and nothing":                        {handler: flushed(nothing)},
	"flushes between parts": {handler: flushed(func(n *notes, w http.ResponseWriter, r *http.Request) {
		writes("a")(n, w, r)
		flushed(writes("b"))(n, w, r)
	})},
	"a flush twice":                                {handler: flushed(flushed(writes("a")))},
	"a length that is met":                         {handler: with(writes("hel", "lo"), "Content-Length", "5")},
	"a length that is met, over a flush":           {handler: with(flushed(writes("hel", "lo")), "Content-Length", "5")},
	"a length that is not met":                     {handler: with(writes("hel"), "Content-Length", "5")},
	"a length that is not met, over a flush":       {handler: with(flushed(writes("hel")), "Content-Length", "5")},
	"a length and no body":                         {handler: with(nothing, "Content-Length", "5")},
	"a length that is exceeded":                    {handler: with(writes("hello"), "Content-Length", "3")},
	"a length that is exceeded by the second part": {handler: with(flushed(writes("hel", "lo")), "Content-Length", "3")},
	"a length of zero that is exceeded":            {handler: with(flushed(writes("hello")), "Content-Length", "0")},
	"a length that is no number":                   {handler: with(writes("hello"), "Content-Length", "five")},
	"a length that is negative":                    {handler: with(writes("hello"), "Content-Length", "-5")},
	"two lengths":                                  {handler: with(writes("hello"), "Content-Length", "5", "Content-Length", "6")},
	"trailers that were announced":                 {handler: trailing("A, b", "A", "1", "B", "2")},
	"trailers without a body":                      {handler: with(func(_ *notes, w http.ResponseWriter, _ *http.Request) { w.Header().Set("A", "1") }, "Trailer", "A")},
	"trailers that nobody sets":                    {handler: with(writes("x"), "Trailer", "A")},
	"trailers that were not announced":             {handler: trailing("", http.TrailerPrefix+"A", "1", http.TrailerPrefix+"a-b", "2", "C", "3")},
	"trailers of both kinds":                       {handler: trailing("A", "A", "1", http.TrailerPrefix+"B", "2")},
	"trailers that were set before the header":     {handler: with(writes("x"), "Trailer", "A", "A", "1")},
	"trailers with several values":                 {handler: trailing("A", "A", "1", "A", "2")},
	"trailers that cannot be trailers":             {handler: trailing("Content-Length, Host, A", "Content-Length", "9", "Host", "x", "A", "1")},
	"trailers of the prefix that cannot be":        {handler: trailing("", http.TrailerPrefix+"Content-Length", "9", http.TrailerPrefix+"A", "1")},
	"trailers with a newline":                      {handler: trailing("A, B", "A", "1\n2", "B", "3")},
	"trailers of a connection":                     {handler: trailing("Connection, A", "Connection", "x", "A", "1")},
	"trailers behind a flush":                      {handler: flushed(trailing("", http.TrailerPrefix+"A", "1"))},
	"trailers behind a long body": {handler: with(func(n *notes, w http.ResponseWriter, r *http.Request) {
		writes(long[:50000])(n, w, r)
		w.Header().Set("A", "1")
	}, "Trailer", "A")},
	"trailers of 204": {handler: with(status(204, func(_ *notes, w http.ResponseWriter, _ *http.Request) { w.Header().Set("A", "1") }), "Trailer", "A")},
	"early hints":     {handler: with(status(103, func(n *notes, w http.ResponseWriter, r *http.Request) { w.Header().Del("Link"); writes("x")(n, w, r) }), "Link", "</a>; rel=preload")},
	"early hints twice, and what stays of them": {handler: with(status(103, with(status(103, status(201, writes("x"))), "B", "2")), "A", "1")},
	"early hints with a length":                 {handler: with(status(103, writes("x")), "Content-Length", "1", "Transfer-Encoding", "chunked")},
	"early hints and nothing else":              {handler: status(103, nothing)},
	"102 (Processing)":                          {handler: status(102, status(200, writes("x")))},
	"early hints after the header":              {handler: flushed(status(103, writes("x")))},
	"101 (Switching Protocols)":                 {handler: status(101, status(200, writes("x")))},
	"a body from a reader": {handler: func(n *notes, w http.ResponseWriter, _ *http.Request) {
		m, err := io.Copy(w, strings.NewReader(long[:30000]))
		n.add("%d %v", m, err)
	}},
	"a body of strings": {handler: func(n *notes, w http.ResponseWriter, _ *http.Request) {
		m, err := io.WriteString(w, eight)
		n.add("%d %v", m, err)
	}},
	"a body longer than all windows": {handler: writes(long + long), client: slowly},
	"a body of single bytes": {handler: func(_ *notes, w http.ResponseWriter, _ *http.Request) {
		for i := range 5000 {
			_, _ = w.Write([]byte{byte('a' + i%26)})
		}
	}},
	"several answers on one connection":            {handler: func(_ *notes, w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }, client: several},
	"an answer that comes after a later request's": {handler: outOfOrder, client: several},
}

// trailing writes a body, then sets trailers, given in pairs.
func trailing(announced string, pairs ...string) handlerFunc {
	return func(n *notes, w http.ResponseWriter, r *http.Request) {
		if announced != "" {
			w.Header().Set("Trailer", announced)
		}
		writes("body")(n, w, r)
		for i := 0; i < len(pairs); i += 2 {
			w.Header()[pairs[i]] = append(w.Header()[pairs[i]], pairs[i+1])
		}
	}
}

// slowly gives the server its windows piece by piece.
func slowly(p *peer) {
	p.ask(1, true, "GET", "/")
	for got := 0; got < 2*len(long); {
		e := p.Until("DATA", func(e h2test.Event) bool { return e.Type == http2.FrameData })
		got += e.Length
		if e.Length > 0 {
			p.Must(p.Framer.WriteWindowUpdate(0, uint32(e.Length)))
			p.Must(p.Framer.WriteWindowUpdate(1, uint32(e.Length)))
		}
	}
	p.Response(1)
}

func several(p *peer) {
	for stream := uint32(1); stream <= 9; stream += 2 {
		p.ask(stream, true, "GET", fmt.Sprintf("/%d", stream))
	}
	for stream := uint32(9); stream < 10; stream -= 2 {
		p.Response(stream)
	}
}

// outOfOrder answers /9 at once and the others when they have waited a little.
func outOfOrder(_ *notes, w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/9" {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	fmt.Fprint(w, r.URL.Path)
}

// failures are about handlers that do not come to their end.
var failures = map[string]encounter{
	"a panic before anything":    {logs: true, handler: func(*notes, http.ResponseWriter, *http.Request) { panic("oh") }},
	"a panic with an error":      {logs: true, handler: func(*notes, http.ResponseWriter, *http.Request) { panic(errors.New("oh")) }},
	"a panic behind a write":     {logs: true, handler: func(n *notes, w http.ResponseWriter, r *http.Request) { writes("x")(n, w, r); panic("oh") }},
	"a panic behind a flush":     {logs: true, handler: flushed(func(*notes, http.ResponseWriter, *http.Request) { panic("oh") })},
	"a panic behind early hints": {logs: true, handler: status(103, func(*notes, http.ResponseWriter, *http.Request) { panic("oh") })},
	"a panic with nil":           {logs: true, handler: func(*notes, http.ResponseWriter, *http.Request) { panic(nil) }},
	"an abort before anything":   {handler: func(*notes, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	"an abort behind a flush": {handler: flushed(func(n *notes, w http.ResponseWriter, r *http.Request) {
		writes("x")(n, w, r)
		panic(http.ErrAbortHandler)
	})},
	"the end of the goroutine":   {handler: func(*notes, http.ResponseWriter, *http.Request) { runtime.Goexit() }},
	"a panic while a body comes": {logs: true, handler: func(*notes, http.ResponseWriter, *http.Request) { panic("oh") }, client: func(p *peer) { p.ask(1, false, "POST", "/"); p.Response(1) }},
	"a connection that goes on after a panic": {
		handler: func(_ *notes, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprint(w, "fine")
		},
		client: func(p *peer) { p.get(); p.ask(3, true, "GET", "/next"); p.Response(3) },
	},
	"a client that resets while the handler waits": {
		handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			gone(r.Context(), n)
			_, err := w.Write([]byte(eight))
			n.add("write: error %v", err != nil)
			n.add("flush: error %v", http.NewResponseController(w).Flush() != nil)
		},
		client: func(p *peer) {
			p.ask(1, true, "GET", "/")
			p.Until("the header", func(e h2test.Event) bool { return e.Type == http2.FrameHeaders })
			p.Must(p.Framer.WriteRSTStream(1, http2.ErrCodeCancel))
			for len(p.notes.all()) < 3 {
				p.settled()
			}
		},
	},
	"a client that resets while the handler writes": {
		handler: func(n *notes, w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write([]byte(eight)); err != nil {
					n.add("the write fails")
					return
				}
			}
		},
		client: func(p *peer) {
			p.ask(1, true, "GET", "/")
			for got := 0; got < 65535; {
				got += p.Until("DATA", func(e h2test.Event) bool { return e.Type == http2.FrameData }).Length
			}
			p.Must(p.Framer.WriteRSTStream(1, http2.ErrCodeCancel))
			for len(p.notes.all()) == 0 {
				p.settled()
			}
		},
	},
	"a client that resets in the middle of its body": {
		handler: func(n *notes, _ http.ResponseWriter, r *http.Request) {
			half := make([]byte, 4)
			_, err := io.ReadFull(r.Body, half)
			n.add("%q, error %v", half, err != nil)
			_, err = r.Body.Read(half)
			n.add("error %v", err != nil)
			gone(r.Context(), n)
		},
		client: func(p *peer) {
			p.ask(1, false, "POST", "/")
			p.data(false, "half")
			for len(p.notes.all()) == 0 {
				p.settled()
			}
			p.Must(p.Framer.WriteRSTStream(1, http2.ErrCodeCancel))
			for len(p.notes.all()) < 3 {
				p.settled()
			}
		},
	},
	"a client that goes while the handler waits": {
		handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			gone(r.Context(), n)
			n.add("flush: error %v", http.NewResponseController(w).Flush() != nil)
		},
		client: func(p *peer) {
			p.ask(1, true, "GET", "/")
			p.Until("the header", func(e h2test.Event) bool { return e.Type == http2.FrameHeaders })
			_ = p.Conn.Close()
			p.over = true
		},
	},
	"a context that ends with its handler": {
		handler: func(n *notes, _ http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			go gone(ctx, n)
		},
		client: func(p *peer) {
			p.get()
			for len(p.notes.all()) == 0 {
				p.settled()
			}
		},
	},
}
