package h2_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/internal/h2test"
)

// headers are about the fields of answers.
var headers = map[string]encounter{
	"a handler's own fields":  {handler: with(writes("x"), "X-A", "1", "x-b", "2", "ETag", `"e"`, "Content-Type", "image/webp")},
	"several values":          {handler: with(writes("x"), "Set-Cookie", "a=1", "Set-Cookie", "b=2", "Vary", "Accept", "Vary", "Origin")},
	"a date of the handler's": {handler: with(writes("x"), "Date", "yesterday")},
	"no date":                 {handler: func(n *notes, w http.ResponseWriter, r *http.Request) { w.Header()["Date"] = nil; writes("x")(n, w, r) }},
	"no type": {handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		writes("x")(n, w, r)
	}},
	"no length": {handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Length"] = nil
		writes("x")(n, w, r)
	}},
	"an empty type":                   {handler: with(writes("x"), "Content-Type", "")},
	"an encoded body":                 {handler: with(writes("\x1f\x8b\x08"), "Content-Encoding", "gzip")},
	"an encoding that is empty":       {handler: with(writes("x"), "Content-Encoding", "")},
	"an empty value":                  {handler: with(writes("x"), "X-A", "")},
	"a value beyond ASCII":            {handler: with(writes("x"), "X-A", "\xc3\xa4\xff")},
	"a value with a newline":          {handler: with(writes("x"), "X-A", "1\r\nX-B: 2", "X-C", "3")},
	"one value of two with a newline": {handler: with(writes("x"), "X-A", "1\n", "X-A", "2")},
	"a value with a zero byte":        {handler: with(writes("x"), "X-A", "1\x002")},
	"a value with outer spaces":       {handler: with(writes("x"), "X-A", " 1\t")},
	"a name that is no token":         {handler: with(writes("x"), "X A", "1", "X:B", "2", "", "3", "X\nC", "4", "X-D", "5")},
	"a name beyond ASCII":             {handler: with(writes("x"), "X-\xc3\xa4", "1")},
	"a pseudo-header field":           {handler: with(writes("x"), ":status", "500")},
	"Connection: close":               {handler: with(writes("x"), "Connection", "close"), client: func(p *peer) { p.get(); leaves(p) }},
	"Connection: keep-alive":          {handler: with(writes("x"), "Connection", "keep-alive")},
	"fields of a connection":          {handler: with(writes("x"), "Keep-Alive", "timeout=5", "Proxy-Connection", "keep-alive", "Upgrade", "h2c", "Transfer-Encoding", "chunked")},
	"TE in an answer":                 {handler: with(writes("x"), "TE", "trailers")},
	"a large field":                   {handler: with(writes("x"), "X-A", strings.Repeat("abc", 20000))},
	"many fields":                     {handler: with(writes("x"), pairsOf(200)...)},
	"a change behind WriteHeader":     {handler: status(200, with(writes("x"), "X-A", "1"))},
	"a change behind the first byte": {handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		writes("x")(n, w, r)
		w.Header().Set("X-A", "1")
	}},
	"a change of a value behind WriteHeader": {handler: with(func(_ *notes, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.Header()["X-A"][0] = "2"
		w.Header()["X-B"] = append(w.Header()["X-B"], "3")
	}, "X-A", "1", "X-B", "2")},
	"a priority": {handler: with(writes("x"), "Priority", "u=1, i=?0")},
}

// leaves waits for the end of the connection: nothing is left to do on it.
func leaves(p *peer) {
	p.over = true
	p.Ended()
}

// surroundings are about what a handler finds around it, and what others build
// on that.
var surroundings = map[string]encounter{
	"what the ResponseWriter can do": {handler: func(n *notes, w http.ResponseWriter, _ *http.Request) {
		_, flusher := w.(http.Flusher)
		_, hijacker := w.(http.Hijacker)
		_, stringer := w.(io.StringWriter)
		n.add("flusher %v, hijacker %v, strings %v", flusher, hijacker, stringer)
		c := http.NewResponseController(w)
		_, _, err := c.Hijack()
		n.add("hijack: unsupported %v", errors.Is(err, http.ErrNotSupported))
		n.add("full duplex %v, read %v, write %v, flush %v", c.EnableFullDuplex(),
			c.SetReadDeadline(time.Now().Add(time.Hour)), c.SetWriteDeadline(time.Now().Add(time.Hour)), c.Flush())
	}},
	"CloseNotifier": {handler: func(n *notes, w http.ResponseWriter, _ *http.Request) {
		_, ok := w.(interface{ CloseNotify() <-chan bool })
		n.add("%v", ok)
	}},
	"server push": {handler: func(n *notes, w http.ResponseWriter, _ *http.Request) {
		_, ok := w.(http.Pusher)
		n.add("%v", ok)
	}},
	"a write deadline that has passed": {handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		n.add("set: %v", http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second)))
		<-r.Context().Done()
		_, err := w.Write([]byte(eight))
		n.add("write: error %v", err != nil)
	}},
	"a write deadline that passes while the client is slow": {
		anyBody: true,
		handler: func(n *notes, w http.ResponseWriter, _ *http.Request) {
			n.add("set: %v", http.NewResponseController(w).SetWriteDeadline(time.Now().Add(300*time.Millisecond)))
			for {
				if _, err := w.Write([]byte(eight)); err != nil {
					n.add("the write fails")
					return
				}
			}
		},
		client: func(p *peer) {
			p.ask(1, true, "GET", "/")
			p.Response(1)
		},
	},
	"a write deadline that passes behind the handler": {
		anyBody: true,
		handler: func(n *notes, w http.ResponseWriter, _ *http.Request) {
			n.add("set: %v", http.NewResponseController(w).SetWriteDeadline(time.Now().Add(300*time.Millisecond)))
			m, err := w.Write([]byte(long[:60000]))
			n.add("%d, %v", m, err)
		},
		client: func(p *peer) {
			p.Must(p.Framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 59990}))
			p.settled()
			p.ask(1, true, "GET", "/")
			p.Response(1)
		},
	},
	"a write deadline that is taken back": {handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		n.add("set: %v, %v", c.SetWriteDeadline(time.Now().Add(time.Hour)), c.SetWriteDeadline(time.Time{}))
		writes("x")(n, w, r)
	}},
	"WriteTimeout": {
		server: func(hs *http.Server) { hs.WriteTimeout = 300 * time.Millisecond },
		handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			_, err := w.Write([]byte(eight))
			n.add("write: error %v", err != nil)
		},
		client: func(p *peer) { p.ask(1, true, "GET", "/"); p.Response(1) },
	},
	"ReadTimeout": {
		server: func(hs *http.Server) { hs.ReadTimeout = 300 * time.Millisecond },
		handler: func(n *notes, w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			n.add("read: timeout %v", errors.Is(err, os.ErrDeadlineExceeded))
			fmt.Fprint(w, "fine")
		},
		client: func(p *peer) { p.ask(1, false, "POST", "/"); p.data(false, "x"); p.Response(1) },
	},
	"TimeoutHandler, in time": {handler: plain(http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "1")
		fmt.Fprint(w, "fine")
	}), time.Hour, "late"))},
	"TimeoutHandler, late": {handler: plain(http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		fmt.Fprint(w, "too late")
	}), 10*time.Millisecond, "late"))},
	"ServeMux":                           {handler: plain(mux()), client: path("/sub")},
	"ServeMux, nothing there":            {handler: plain(mux()), client: path("/nowhere")},
	"ServeMux, another method":           {handler: plain(mux()), client: func(p *peer) { p.ask(1, true, "POST", "/only-get"); p.Response(1) }},
	"a file":                             {handler: file, client: more()},
	"a range of a file":                  {handler: file, client: more("range", "bytes=10-19")},
	"the end of a file":                  {handler: file, client: more("range", "bytes=-5")},
	"a range beyond a file":              {handler: file, client: more("range", "bytes=999999-")},
	"a file that has not changed":        {handler: file, client: more("if-modified-since", "Fri, 02 Jan 2026 03:04:05 GMT")},
	"a file that matches":                {handler: file, client: more("if-none-match", `"tag"`)},
	"HEAD of a file":                     {handler: file, client: head},
	"a proxy":                            {handler: proxy(0)},
	"a proxy that flushes":               {handler: proxy(-1)},
	"a proxy of a body":                  {handler: proxy(0), client: post(pairs("trailer", "X-Sum"), "hello", "world")},
	"a proxy of a request with trailers": {handler: proxy(0), client: postTrailers(pairs("trailer", "X-Sum"), "hello", true, "x-sum", "9")},
	"a proxy without anybody behind it": {handler: func(_ *notes, w http.ResponseWriter, r *http.Request) {
		p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
		p.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		p.ServeHTTP(w, r)
	}},
	"a stream that begins before the rest": {
		handler: func(_ *notes, w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "first")
			w.(http.Flusher).Flush()
			_, _ = io.ReadAll(r.Body)
			fmt.Fprint(w, "second")
		},
		client: func(p *peer) {
			p.ask(1, false, "POST", "/")
			p.Until("the first part", func(e h2test.Event) bool { return string(e.Data) == "first" })
			p.data(true, "go on")
			p.Response(1)
		},
	},
}

func mux() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/sub/", func(http.ResponseWriter, *http.Request) {})
	m.HandleFunc("GET /only-get", func(http.ResponseWriter, *http.Request) {})
	return m
}

func file(_ *notes, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Etag", `"tag"`)
	http.ServeContent(w, r, "a.txt", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), strings.NewReader(long[:20000]))
}

// proxy forwards to an origin of HTTP/1.1 that answers with trailers.
func proxy(interval time.Duration) handlerFunc {
	return func(n *notes, w http.ResponseWriter, r *http.Request) {
		origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			n.add("origin: %q, %v, %v, host %v", body, err, headerInWords(r.Trailer), r.Host)
			w.Header().Set("Trailer", "X-A")
			w.Header().Set("Connection", "X-Secret")
			w.Header().Set("X-Secret", "1")
			w.Header().Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			fmt.Fprint(w, eight)
			w.Header().Set("X-A", "announced")
			w.Header().Set(http.TrailerPrefix+"X-B", "not announced")
		}))
		defer origin.Close()
		u, err := url.Parse(origin.URL)
		if err != nil {
			n.add("%v", err)
			return
		}
		p := httputil.NewSingleHostReverseProxy(u)
		p.FlushInterval = interval
		p.ServeHTTP(w, r)
	}
}
