package h2

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2/priority"
)

// errHandlerReturned is the answer to whoever uses a ResponseWriter for longer
// than the handler it was given to. net/http panics then; but such a goroutine
// has nobody who would recover, and the panic would end the process.
var errHandlerReturned = errors.New("h2: the handler has returned")

// responseBuffer is how much of a body is held back, as in net/http: an answer
// that is complete within it gets a Content-Length, and is one write.
const responseBuffer = 4 << 10

var responseBuffers = sync.Pool{New: func() any { return new([responseBuffer]byte) }}

// response is the http.ResponseWriter of a stream.
//
// Its header belongs to the handler. mu guards the rest, for one reason only:
// a goroutine that outlives its handler must meet done, not a buffer that has
// become another response's.
type response struct {
	st     *stream
	header http.Header
	isHead bool
	done   atomic.Bool

	mu       sync.Mutex
	status   int        // 0: no final status yet
	head     headFacts  // of the final header
	fields   *fieldList // the final header; nil before WriteHeader and once sent
	sent     bool       // the final header is queued
	buf      *[responseBuffer]byte
	buffered int
	written  int64
	trailers []string // announced, in Go's spelling

	continueMu sync.Mutex // orders 100 (Continue) and the final header
	expects    bool       // the client waits for 100 (Continue)
}

var _ PhaseWriter = (*response)(nil)

// Header is the handler's own; what is in it when WriteHeader is called counts.
func (r *response) Header() http.Header {
	if r.header == nil {
		r.header = make(http.Header)
	}
	return r.header
}

// WriteHeader sends an informational header at once; it keeps a final one until
// there is a body to send with it, or the handler returns.
func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done.Load() {
		r.writeHeader(status)
	}
}

func (r *response) writeHeader(status int) {
	switch {
	case r.status != 0:
	case status < 100 || status > 999:
		panic("invalid WriteHeader code " + strconv.Itoa(status))
	case status == http.StatusSwitchingProtocols:
		// HTTP/2 has no such thing (RFC 9113, 8.6): a client would take the
		// whole response for malformed.
	case status < 200:
		r.inform(status)
	default:
		r.status = status
		r.freeze()
	}
}

// inform sends an informational header, which says nothing about the body.
func (r *response) inform(status int) {
	fields := newFieldList()
	for name, values := range r.header {
		if wire, ok := wireName(name); ok && wire != "content-length" {
			fields.addAll(wire, values)
		}
	}
	r.continueMu.Lock()
	if status == http.StatusContinue {
		r.proceed()
	}
	err := r.st.queueHeaders(outHeaders{status: status, fields: fields})
	r.continueMu.Unlock()
	if err != nil {
		return // the handler learns it when it writes a body
	}
	// It has left when this returns: what the handler does next, be it a panic,
	// does not overtake it, and hints without end fill no memory.
	_ = r.st.flush()
}

// invite sends 100 (Continue) to a client that waits for it, unless it has got
// its answer already.
func (r *response) invite() {
	r.continueMu.Lock()
	defer r.continueMu.Unlock()
	if r.expects {
		r.proceed()
		_ = r.st.queueHeaders(outHeaders{status: http.StatusContinue}) // reading fails next where this does
	}
}

// proceed notes that the client waits for 100 (Continue) no longer: it comes, or
// never will. From now on its body is due. The caller holds continueMu.
func (r *response) proceed() {
	if r.expects {
		r.expects = false
		r.st.expectBody()
	}
}

// Write implements http.ResponseWriter. It copies p, and waits while the client
// is behind by more than the stream's buffer.
func (r *response) Write(p []byte) (int, error) { return writeBody(r, p) }

// WriteString implements io.StringWriter.
func (r *response) WriteString(s string) (int, error) { return writeBody(r, s) }

func writeBody[T []byte | string](r *response, p T) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done.Load() {
		return 0, errHandlerReturned
	}
	if r.status == 0 {
		r.writeHeader(http.StatusOK)
	}
	switch {
	case !bodyAllowed(r.status):
		return 0, http.ErrBodyNotAllowed
	case r.head.length >= 0 && r.written+int64(len(p)) > r.head.length:
		return 0, http.ErrContentLength
	}
	n, err := put(r, p)
	r.written += int64(n)
	return n, err
}

// put passes p through the buffer, or past it where nothing is gained by it.
func put[T []byte | string](r *response, p T) (int, error) {
	n := 0
	for n < len(p) {
		if whole, ok := any(p).([]byte); ok && r.buffered == 0 && len(p)-n > responseBuffer {
			m, err := r.push(whole[n:])
			return n + m, err
		}
		if r.buffered == responseBuffer {
			if err := r.pushBuffer(); err != nil {
				return n, err
			}
			continue
		}
		if r.buf == nil {
			r.buf = responseBuffers.Get().(*[responseBuffer]byte)
		}
		m := copy(r.buf[r.buffered:], p[n:])
		r.buffered += m
		n += m
	}
	return n, nil
}

func (r *response) pushBuffer() error {
	n := r.buffered
	r.buffered = 0
	_, err := r.push(r.pending(n))
	return err
}

func (r *response) pending(n int) []byte {
	if n == 0 {
		return nil
	}
	return r.buf[:n]
}

// push hands p to the stream, behind the header if that has not been sent.
func (r *response) push(p []byte) (int, error) {
	if !r.sent {
		first := p[:min(len(p), responseBuffer)]
		if err := r.sendHeader(first, false); err != nil {
			return 0, err
		}
		if r.isHead || !bodyAllowed(r.status) {
			return len(p), nil
		}
		n, err := r.st.write(p[len(first):])
		return len(first) + n, err
	}
	if r.isHead || len(p) == 0 {
		return len(p), nil
	}
	return r.st.write(p)
}

// Flush implements http.Flusher.
func (r *response) Flush() { _ = r.FlushError() } // an interface without an error

// FlushError sends what was written, the header included, and waits until the
// socket has taken it.
func (r *response) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done.Load() {
		return errHandlerReturned
	}
	if r.status == 0 {
		r.writeHeader(http.StatusOK)
	}
	if r.buffered > 0 || !r.sent {
		if err := r.pushBuffer(); err != nil {
			return err
		}
	}
	return r.st.flush()
}

// SetPhase implements PhaseWriter.
func (r *response) SetPhase(phase priority.Phase, size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done.Load() {
		return errHandlerReturned
	}
	if phase > priority.Rest {
		return fmt.Errorf("h2: mark a phase: there is no %v", phase)
	}
	if r.buffered > 0 { // belongs to the phase before
		if err := r.pushBuffer(); err != nil {
			return err
		}
	}
	r.st.setPhase(phase, size)
	return nil
}

// SetReadDeadline bounds reads of the request's body. It does not take mu, so
// that it reaches a handler that waits.
func (r *response) SetReadDeadline(deadline time.Time) error {
	if r.done.Load() {
		return errHandlerReturned
	}
	r.st.setReadDeadline(deadline)
	return nil
}

// SetWriteDeadline bounds the whole answer: once it has passed the stream is
// reset, also when the handler has returned by then.
func (r *response) SetWriteDeadline(deadline time.Time) error {
	if r.done.Load() {
		return errHandlerReturned
	}
	r.st.setWriteDeadline(deadline)
	return nil
}

// EnableFullDuplex says that bodies may be read and written at the same time,
// which HTTP/2 always allows.
func (r *response) EnableFullDuplex() error { return nil }

// end completes the answer of a handler that has returned.
func (r *response) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done.Store(true)
	defer r.release()
	if r.status == 0 {
		r.writeHeader(http.StatusOK)
	}
	if r.isShort() {
		// The client was promised more (RFC 9113, 8.1.1): it must not take
		// this for the whole.
		r.st.reset(http2.ErrCodeInternal)
		return
	}
	trailers := r.takeTrailers()
	// Errors here say that the stream is closed, which is what this is about.
	switch {
	case trailers != nil:
		if r.pushBuffer() == nil {
			_ = r.st.queueHeaders(outHeaders{fields: trailers, endStream: true})
		}
	case !r.sent:
		_ = r.sendHeader(r.pending(r.buffered), true)
	case !r.isHead && r.pushBuffer() == nil:
		r.st.finish()
	}
}

func (r *response) isShort() bool {
	return r.head.length >= 0 && r.written < r.head.length && !r.isHead && bodyAllowed(r.status)
}

// abort ends the stream of a handler that panicked, without an end of the body.
// It resets before it takes mu: a goroutine of the handler may hold that while
// it waits to write.
func (r *response) abort() {
	r.done.Store(true)
	r.st.reset(http2.ErrCodeInternal)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release()
}

func (r *response) release() {
	if r.buf != nil {
		responseBuffers.Put(r.buf)
		r.buf, r.buffered = nil, 0
	}
}
