package h2

import (
	"fmt"
	"net/http"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// newRequest makes the request of a stream.
func newRequest(st *stream, fields []hpack.HeaderField) (*http.Request, error) {
	r, err := parseRequest(fields, st.recvDone)
	if err != nil {
		return nil, err
	}
	st.method, st.declared, st.announced = r.method, r.contentLength, r.trailer
	if r.url != nil {
		st.path = r.url.Path
	}
	return r.build(st.ctx, bodyReader{st}, st.c.remote, st.c.tls), nil
}

type bodyReader struct{ st *stream }

func (b bodyReader) Read(p []byte) (int, error) { return b.st.readBody(p) }
func (b bodyReader) Close() error               { b.st.closeBody(); return nil }

// runHandler answers a request.
func runHandler(st *stream, req *http.Request) {
	w := &writer{st: st, header: http.Header{}}
	defer func() {
		if v := recover(); v != nil {
			st.reset(http2.ErrCodeInternal)
			st.c.s.logf("h2: panic: %v", fmt.Sprint(v))
			return
		}
		w.end()
	}()
	st.c.handler.ServeHTTP(w, req)
}

type writer struct {
	st     *stream
	header http.Header
	wrote  bool
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	if w.wrote {
		return
	}
	w.wrote = true
	h := outHeaders{status: status, fields: newFieldList()}
	for name, values := range w.header {
		h.fields.addAll(name, values)
	}
	// A stream that is closed says so to the next Write.
	_ = w.st.queueHeaders(h)
}

func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.st.write(p)
}

func (w *writer) end() {
	w.WriteHeader(http.StatusOK)
	w.st.finish()
}
