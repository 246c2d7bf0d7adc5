package h2

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"

	"golang.org/x/net/http2/hpack"
)

// exchange is a request and its answer as the handler sees them.
type exchange struct {
	st   *stream
	req  *http.Request
	resp response
	body requestBody

	// refusal answers in the handler's place; nil: the handler does.
	refusal http.HandlerFunc
}

// newExchange makes a stream's exchange of its header block. The error is a
// malformedError.
func newExchange(st *stream, fields []hpack.HeaderField) (*exchange, error) {
	var r request
	if err := r.parse(fields, st.recvDone); err != nil {
		return nil, err
	}
	x := &exchange{st: st}
	x.resp.st = st
	x.body.st, x.body.resp = st, &x.resp
	if r.method == http.MethodConnect {
		x.refusal = refuseConnect
	}
	var body io.ReadCloser = http.NoBody
	if !st.recvDone {
		body = &x.body
	}
	x.resp.isHead = r.method == http.MethodHead
	x.resp.expects = r.expectContinue
	x.req = r.build(st.ctx, body, st.c.remote, st.c.tls)
	x.body.trailer = x.req.Trailer
	st.method, st.path, st.declared = r.method, x.req.URL.Path, r.contentLength
	if r.trailer != nil {
		st.announced = r.trailer.Clone() // the reader looks at it, the handler may change its own
	}
	return x, nil
}

// refuseConnect: this is a server of resources, not a proxy (RFC 9110, 15.6.2).
func refuseConnect(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "CONNECT is not served", http.StatusNotImplemented)
}

// serve runs the handler in the calling goroutine and completes the answer.
func (x *exchange) serve(h http.Handler) {
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			x.panicked(recover())
		}
		if x.req.MultipartForm != nil {
			// Left-over temporary files are no reason to fail an answer.
			_ = x.req.MultipartForm.RemoveAll()
		}
	}()
	if x.refusal != nil {
		h = x.refusal
	}
	h.ServeHTTP(&x.resp, x.req)
	returned = true
	x.resp.end()
}

// panicked logs before it resets: who asks after the reset finds the line.
func (x *exchange) panicked(value any) {
	defer x.resp.abort()
	if err, ok := value.(error); value == nil || ok && errors.Is(err, http.ErrAbortHandler) {
		return
	}
	stack := make([]byte, 64<<10)
	stack = stack[:runtime.Stack(stack, false)]
	x.st.c.s.logf("h2: panic serving %v: %v\n%s", x.st.c.remote, value, stack)
}

// requestBody is the body of a request. Read belongs to one goroutine; Close
// may come from another.
type requestBody struct {
	st      *stream
	resp    *response
	trailer http.Header // the request's, filled in at the end
	asked   atomic.Bool // whether the client was told to go on
	ended   bool
}

// Read first tells a client that waits for it to go on (RFC 9110, 10.1.1).
func (b *requestBody) Read(p []byte) (int, error) {
	if !b.asked.Swap(true) {
		b.resp.invite()
	}
	n, err := b.st.readBody(p)
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		for name, values := range b.st.trailers {
			b.trailer[name] = values
		}
	}
	return n, err
}

func (b *requestBody) Close() error {
	b.st.closeBody()
	return nil
}
