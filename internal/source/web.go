package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

const maxRedirects = 5

// longestReason bounds a log line: some errors quote what the origin sent.
const longestReason = 300

// statusError is the cause of a fault that an origin's status tells.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("origin answered %d", int(s)) }

// web opens http and https references.
type web struct {
	cfg       Config
	allow     allowList
	transport *http.Transport
	origins   *origins
	log       *slog.Logger
}

func newWeb(cfg Config, allow allowList, at *origins, log *slog.Logger) *web {
	guard := Guard{AllowPrivate: cfg.AllowPrivate, Timeout: cfg.ConnectTimeout}
	return &web{cfg: cfg, allow: allow, transport: newTransport(cfg, guard), origins: at, log: log}
}

// open asks for ref, on the condition that it is not have.
func (w *web) open(ctx context.Context, ref string, have Meta) (*Object, error) {
	target, err := parseURL(ref)
	if err != nil {
		return nil, err
	}
	if err := w.check(target); err != nil {
		return nil, err
	}
	t := beginTransfer(ctx, w.cfg, target.Host)
	object, err := w.ask(t, target, have)
	if err != nil {
		t.leave(err)
		t.end()
		return nil, err
	}
	return object, nil
}

// ask gives an object that owns the transfer, or is unchanged and needs none.
func (w *web) ask(t *transfer, target *url.URL, have Meta) (*Object, error) {
	resp, err := w.follow(t, target, conditionOf(have)) //nolint:bodyclose // newBody takes it over
	if err == nil && resp.StatusCode == http.StatusNotModified {
		if meta, ok := have.confirmed(resp.Header, time.Now(), w.cfg.HonourCacheControl); ok {
			t.end()
			return &Object{Meta: meta, Unchanged: true}, nil
		}
		// It contradicts itself, so it has to send what it means.
		resp, err = w.follow(t, target, condition{}) //nolint:bodyclose // as above
	}
	if err != nil {
		return nil, err
	}
	encoding := strings.Join(resp.Header.Values("Content-Encoding"), ", ")
	b, err := newBody(resp.Body, encoding, resp.ContentLength, t)
	if err != nil {
		return nil, t.fault(err)
	}
	return &Object{Meta: w.meta(target, resp, b), Body: b}, nil
}

// check is asked for the reference and again for every redirect.
func (w *web) check(u *url.URL) error {
	if w.allow.allowsURL(u) {
		return nil
	}
	return media.Errorf(media.CodeSourceForbidden,
		"The source host %s, with this scheme, port and path, is not among the allowed sources.", u.Host)
}

// follow asks target and then where it redirects to, at each origin with a
// place of its own. The answer is a 200 whose place is still held, or a 304 to
// cond; errors are worded. http.Client is not used for that: it would send the
// URL with its query as a Referer, spell paths anew and carry on to places
// that only this package knows to refuse.
func (w *web) follow(t *transfer, target *url.URL, cond condition) (*http.Response, error) {
	place := ""
	for range maxRedirects + 1 {
		if err := t.enter(w.origins, originOf(target)); err != nil {
			return nil, err
		}
		resp, err := w.fetch(t, target, cond.at(place))
		if err != nil {
			err = t.fault(err)
			t.leave(err)
			return nil, err
		}
		if resp.StatusCode == http.StatusOK {
			t.visit.answered()
			return resp, nil
		}
		t.leave(nil)
		if resp.StatusCode == http.StatusNotModified {
			return resp, nil
		}
		if target, err = w.redirect(target, resp.Header.Get("Location")); err != nil {
			return nil, err
		}
		place = placeOf(target)
	}
	return nil, media.Errorf(media.CodeSourceFailed, "The source on %s redirects more than %d times.", t.host, maxRedirects)
}

// fetch gives the answer of one origin, after retries: a 200, a redirect or,
// if it was asked for by the headers in extra, a 304. Only the 200 has a body.
func (w *web) fetch(t *transfer, target *url.URL, extra http.Header) (*http.Response, error) {
	for ; ; t.retries++ {
		resp, err := w.get(t, target, extra)
		if err == nil || t.retries >= w.cfg.Retries || !t.worthRetrying(err) {
			return resp, err
		}
		w.log.Warn("retrying source", "source_host", target.Host, "attempt", t.retries+1, "reason", cut(withoutURL(err).Error(), longestReason))
		if !t.pause(waitFor(err, t.retries, rand.Float64())) { //nolint:gosec // jitter is no secret
			return nil, err
		}
	}
}

func (w *web) get(t *transfer, target *url.URL, extra http.Header) (*http.Response, error) {
	req := &http.Request{
		Method: http.MethodGet, URL: target, Host: target.Host,
		Header: http.Header{
			"User-Agent": {w.cfg.UserAgent},
			"Accept":     {"image/*, */*;q=0.8"},
			// Without gzip the length is known and a cut is seen at once;
			// origins that compress all the same are understood.
			"Accept-Encoding": {"identity"},
		},
	}
	maps.Copy(req.Header, extra)
	resp, err := w.transport.RoundTrip(req.WithContext(t.ctx))
	if err != nil {
		return nil, fmt.Errorf("request source: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	// Nobody wants this body, and waiting for it could take long.
	_ = resp.Body.Close()
	asked304 := resp.StatusCode == http.StatusNotModified && len(extra) > 0
	if asked304 || isRedirect(resp.StatusCode) {
		return resp, nil
	}
	return nil, statusFault(target.Host, resp.StatusCode, retryAfter(resp.Header, time.Now()))
}

// originOf names the origin of a URL, as OriginStats.Host has it.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == defaultPort(u.Scheme) {
		port = ""
	}
	return u.Scheme + "://" + joinHost(u.Hostname(), port)
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirect is where location leads from base, if that may be asked.
func (w *web) redirect(base *url.URL, location string) (*url.URL, error) {
	next, err := base.Parse(escapeIllegal(location))
	if location == "" || err != nil {
		return nil, media.Errorf(media.CodeSourceFailed, "The source host %s redirects to something that is not a URL.", base.Host)
	}
	if err := settle(next); err != nil {
		return nil, media.Wrap(media.CodeSourceForbidden, err, "The source host %s redirects to a URL that is not allowed.", base.Host)
	}
	if base.Scheme == "https" && next.Scheme == "http" {
		return nil, media.Errorf(media.CodeSourceForbidden, "The source host %s redirects from https to http, which is not allowed.", base.Host)
	}
	return next, w.check(next)
}

// statusFault is for every status but a plain 200. An origin that refuses us
// (401, 403) is a failed source, not a missing one: the client did nothing
// wrong and somebody has to look at it. Its word on when to come back is only
// heard where it means that: a 429 or a 503.
func statusFault(host string, status int, retryAfter time.Duration) error {
	code := media.CodeSourceFailed
	switch status {
	case http.StatusNotFound, http.StatusGone:
		code = media.CodeSourceNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		code = media.CodeSourceTimeout
	}
	fault := media.Wrap(code, statusError(status), "The source host %s answered with status %d.", host, status)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		fault.RetryAfter = min(retryAfter, maxCoolOff)
	}
	return fault
}

func (w *web) meta(asked *url.URL, resp *http.Response, b *body) Meta {
	u := resp.Request.URL
	m := Meta{
		Kind: KindHTTP, Host: u.Host, Name: baseName(u.Path), Size: b.declared, MaxAge: -1,
		ETag:        cleanETag(resp.Header.Get("ETag")),
		ContentType: resp.Header.Get("Content-Type"),
	}
	if at, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		m.LastModified = at
	}
	if u != asked {
		m.Redirected = placeOf(u)
	}
	m.Life = lifeOf(resp.Header, time.Now())
	if w.cfg.HonourCacheControl {
		m.MaxAge = maxAge(resp.Header)
	}
	framed := resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0 || resp.ProtoMajor >= 2
	m.OpenEnded = !framed && !b.inflated
	return m
}

// placeOf stands for a URL without showing it. The query is left out: stores
// redirect to URLs that are signed anew each time.
func placeOf(u *url.URL) string {
	sum := sha256.Sum256([]byte(u.Scheme + "://" + u.Host + u.EscapedPath()))
	return hex.EncodeToString(sum[:8])
}

// baseName is empty rather than "/" or ".".
func baseName(p string) string {
	if name := path.Base(p); name != "/" && name != "." {
		return name
	}
	return ""
}

// cleanETag drops what is no entity tag (RFC 9110, section 8.8.3) or is too
// long to be carried around.
func cleanETag(tag string) string {
	opaque := strings.TrimPrefix(tag, "W/")
	if len(tag) > 256 || len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' {
		return ""
	}
	if strings.ContainsFunc(opaque[1:len(opaque)-1], func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }) {
		return ""
	}
	return tag
}
