package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/transform"
)

// lockingPolicy keeps a picture that is opened as a page, an SVG above all,
// from running or loading anything.
const lockingPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// preflightHeaders are the request headers a script may send.
const preflightHeaders = "Accept, If-None-Match, If-Modified-Since, If-Range, Range, X-Request-Id, traceparent, tracestate, " +
	hintsRead

// setAccess allows embedding and reading from other sites.
func (s *Server) setAccess(h http.Header) {
	h.Set("Content-Security-Policy", lockingPolicy)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if s.cfg.AllowOrigin != "" {
		h.Set("Access-Control-Allow-Origin", s.cfg.AllowOrigin)
		h.Set("Access-Control-Expose-Headers", "Accept-Ranges, Cache-Status, Content-Length, Content-Disposition, Content-Range, ETag, "+
			"Retry-After, Server-Timing, Spillway-Effort, X-Request-Id")
		h.Set("Timing-Allow-Origin", s.cfg.AllowOrigin)
	}
	if s.cfg.ClientHints {
		h.Set("Accept-CH", hintsAsked)
	}
}

// preflight answers OPTIONS.
func (s *Server) preflight(x *exchange) error {
	h := x.w.Header()
	h.Set("Allow", allowedMethods)
	if s.cfg.AllowOrigin != "" {
		h.Set("Access-Control-Allow-Methods", allowedMethods)
		h.Set("Access-Control-Allow-Headers", preflightHeaders)
		h.Set("Access-Control-Max-Age", "86400")
	}
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// setVary names the request headers that chose the answer.
func (x *exchange) setVary(negotiated, hinted bool) {
	var names []string
	if negotiated {
		names = append(names, "Accept")
	}
	if hinted {
		names = append(names, hintsRead)
	}
	if len(names) == 0 {
		x.w.Header().Del("Vary")
		return
	}
	x.w.Header().Set("Vary", strings.Join(names, ", "))
}

// setValidators sets what later conditional requests will quote.
func setValidators(h http.Header, etag string, modified time.Time) {
	if etag != "" {
		h.Set("ETag", etag)
	}
	if !modified.IsZero() {
		h.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	}
}

// cacheControl says how long an answer may be kept: never beyond the end of
// the signed URL that led to it, not at all when the source may have been cut
// short unseen, and not for long when a moment later it would be a better one.
func (s *Server) cacheControl(meta source.Meta, expires time.Time, passing bool) string {
	age := s.cfg.MaxAge
	if s.cfg.HonourOrigin && meta.MaxAge >= 0 {
		age = meta.MaxAge
	}
	if meta.OpenEnded {
		age = 0
	}
	if passing {
		age = min(age, passingAge)
	}
	if !expires.IsZero() {
		age = min(age, expires.Sub(s.cfg.Now()))
	}
	return "public, max-age=" + strconv.Itoa(max(0, int(age/time.Second)))
}

// passingAge is how long an answer may be kept that load or a failing origin
// made worse than it will be.
const passingAge = time.Minute

// cacheStatus tells in the words of RFC 9211 where an answer came from: made
// before, made for somebody else at this moment, or made anew, perhaps of an
// original whose origin could not be asked.
func cacheStatus(result *transform.Result) string {
	var status []string
	switch {
	case result.NotModified, result.CacheHit:
		status = append(status, "hit")
		if result.Stale {
			status = append(status, "detail=stale")
		}
	case result.Stale:
		status = append(status, "fwd=stale")
	default:
		status = append(status, "fwd=miss")
	}
	if result.Joined {
		status = append(status, "collapsed")
	}
	if result.Merged && !result.CacheHit {
		status = append(status, "detail=merged")
	}
	return "spillway; " + strings.Join(status, "; ")
}

// serverTiming shows a browser's tools where the time went so far.
func serverTiming(t transform.Timings, hit bool) string {
	cache := "miss"
	if hit {
		cache = "hit"
	}
	return fmt.Sprintf("cache;desc=%s, fetch;dur=%.1f, inspect;dur=%.1f, wait;dur=%.1f, first;dur=%.1f, work;dur=%.1f", cache,
		milliseconds(t.Fetch), milliseconds(t.Inspect), milliseconds(t.Wait), milliseconds(t.First), milliseconds(t.Work))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
