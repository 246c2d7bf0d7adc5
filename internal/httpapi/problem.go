package httpapi

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// problemBase is where the reference explains each code.
const problemBase = "https://github.com/spillway-media/spillway/blob/main/docs/http.md#"

// problem is an RFC 9457 document.
type problem struct {
	Type      string     `json:"type"`
	Title     string     `json:"title"`
	Status    int        `json:"status"`
	Detail    string     `json:"detail,omitempty"`
	Code      media.Code `json:"code"`
	Parameter string     `json:"parameter,omitempty"`
	RequestID string     `json:"request_id"`
	// Errors are all faults of a document, of which the first is told above.
	Errors []fieldFault `json:"errors,omitempty"`
}

// newProblem maps a fault by the one table. A fault without a known code
// tells the client nothing but that it happened.
func newProblem(err error, requestID string) problem {
	code := codeOf(err)
	p := problem{Code: code, RequestID: requestID, Detail: "The cause is in the server's log under the request id."}
	var fault *media.Error
	if code != codeInternal && errors.As(err, &fault) {
		p.Detail, p.Parameter = fault.Detail, fault.Param
	}
	if many, ok := errors.AsType[*faultsError](err); ok {
		p.Errors = many.all
	}
	if code == media.CodeCancelled {
		// The client is still there, so it was the server that gave up.
		p.Code, p.Detail = media.CodeOverloaded, "The server gave the work up; try again."
	}
	v := verdicts[p.Code]
	p.Type, p.Title, p.Status = problemBase+string(p.Code), v.title, v.status
	return p
}

// writeProblem answers a fault before any byte of another answer. Vary and
// the access headers stay: they hold for errors too.
func (s *Server) writeProblem(x *exchange, err error) {
	p := newProblem(err, x.id)
	x.code = p.Code
	h := x.w.Header()
	for _, name := range []string{"Content-Length", "Content-Disposition", "ETag", "Last-Modified", "Server-Timing", "Cache-Status", "Spillway-Effort", "Link"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", s.errorCacheControl(p.Code, x.expires))
	if wait := s.retryAfter(err, p.Status); wait > 0 {
		h.Set("Retry-After", strconv.Itoa(spread(ceilSeconds(wait))))
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{"type":"about:blank"}`)
	}
	s.writeDocument(x, p.Status, body)
}

// retryAfter is the fault's own word where it has one; what is busy here is
// told from the pace of the queue. 0 is to be left unsaid.
func (s *Server) retryAfter(err error, status int) time.Duration {
	var fault *media.Error
	if errors.As(err, &fault) && fault.RetryAfter > 0 {
		return fault.RetryAfter
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		return s.images.RetryAfter()
	}
	return 0
}

// spread adds up to half of it to a wait, and a second at least: who was
// refused together must not come back together.
func spread(seconds int) int {
	return seconds + rand.IntN(max(seconds/2, 1)+1) //nolint:gosec // nobody gains by guessing it
}

// errorCacheControl lets lasting faults be kept for a while, though not beyond
// the end of a signed URL either: the same URL has another answer then.
func (s *Server) errorCacheControl(code media.Code, expires time.Time) string {
	age := s.cfg.ErrorMaxAge
	if !expires.IsZero() {
		age = min(age, expires.Sub(s.cfg.Now()).Truncate(time.Second))
	}
	if age <= 0 || !verdicts[code].lasting {
		return "no-store"
	}
	return "public, max-age=" + strconv.Itoa(ceilSeconds(age))
}

// writeDocument sends a small body whole; HEAD gets its headers only.
func (s *Server) writeDocument(x *exchange, status int, body []byte) {
	body = append(body, '\n')
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		// A client that went away meanwhile misses a document, nothing more.
		_, _ = x.w.Write(body)
	}
}

func ceilSeconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
