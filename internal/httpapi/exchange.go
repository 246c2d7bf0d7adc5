package httpapi

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// exchange is one request and its answer. It belongs to the goroutine that
// serves the request; log, metrics and trace read it when all is over.
type exchange struct {
	w     *recorder
	r     *http.Request
	id    string
	route string
	began time.Time
	span  trace.Span

	expires time.Time    // when the signed URL ends; zero is never
	host    string       // of the source
	token   string       // the name of the token that let it in
	format  media.Format // written
	timings transform.Timings
	worked  bool // timings count
	hit     bool // answered from the cache
	joined  bool // the work was somebody else's already
	broken  bool // cut off after its first byte
	code    media.Code
	err     error
}

// handler answers one exchange. An error before the first byte becomes a
// problem document, a later one breaks the connection.
type handler func(*exchange) error

// handle gives every route the same frame.
func (s *Server) handle(route string, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := s.begin(w, r, route)
		defer func() {
			// recover only works in the deferred function itself.
			s.finish(x, recover())
		}()
		if err := h(x); err != nil {
			s.fail(x, err)
		}
	})
}

// begin opens an exchange.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, route string) *exchange {
	x := &exchange{
		w:     newRecorder(w, patience{s.cfg.StallTimeout, s.cfg.MinWriteRate}, s.cfg.Now),
		id:    requestID(r.Header.Get("X-Request-Id")),
		route: route,
		began: s.cfg.Now(),
	}
	ctx, span := s.startSpan(r, route)
	x.r, x.span = r.WithContext(ctx), span
	w.Header().Set("X-Request-Id", x.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return x
}

// fail answers err, or breaks the connection when a part of another answer is
// already on its way: a short body must never look whole.
func (s *Server) fail(x *exchange, err error) {
	x.err, x.code = err, codeOf(err)
	// A body's deadline ends the context as well, though the client is there.
	gone := x.r.Context().Err() != nil && x.code != codeBodyTimeout
	if gone {
		x.code = media.CodeCancelled
	}
	if gone || x.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	s.writeProblem(x, err)
}

// finish closes an exchange whatever became of it.
func (s *Server) finish(x *exchange, panicked any) {
	x.broken = panicked != nil && x.w.status != 0
	aborted := panicked == http.ErrAbortHandler //nolint:errorlint // a panic's value, which net/http compares so too
	abort := x.broken || aborted
	if panicked != nil && !aborted {
		s.log.Error("handler panicked", "request_id", x.id, "route", x.route,
			"panic", panicked, "stack", string(debug.Stack()))
		x.code = codeInternal
		if !x.broken {
			s.writeProblem(x, media.Errorf(codeInternal, "A handler panicked."))
		}
	}
	if x.code == media.CodeCancelled {
		x.w.status = statusClientGone
	}
	s.record(x)
	// What is still buffered, be it a header alone, goes out after this.
	x.w.arm()
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// record tells log, metrics and trace of a finished exchange.
func (s *Server) record(x *exchange) {
	took := s.cfg.Now().Sub(x.began)
	s.metrics.observe(x, took)
	s.endSpan(x)
	s.logAccess(x, took)
}

// note keeps what a result tells for log, metrics and trace.
func (x *exchange) note(result *transform.Result) {
	x.timings, x.worked = result.Timings(), true
	x.hit, x.joined = result.CacheHit, result.Joined
}

// codeOf is the code of a fault; what names none is ours.
func codeOf(err error) media.Code {
	var fault *media.Error
	if errors.As(err, &fault) {
		if _, known := verdicts[fault.Code]; known {
			return fault.Code
		}
	}
	return codeInternal
}

// requestID takes a client's id when it is short and plain, so that it can
// stand in headers and logs, and makes one otherwise.
func requestID(given string) string {
	if isPlainID(given) {
		return given
	}
	var raw [12]byte
	rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

func isPlainID(id string) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
