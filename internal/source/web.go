package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"strconv"
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
	log       *slog.Logger
}

func newWeb(cfg Config, allow allowList, log *slog.Logger) *web {
	guard := Guard{AllowPrivate: cfg.AllowPrivate, Timeout: cfg.ConnectTimeout}
	return &web{cfg: cfg, allow: allow, transport: newTransport(cfg, guard), log: log}
}

func (w *web) open(ctx context.Context, ref string) (*Object, error) {
	target, err := parseURL(ref)
	if err != nil {
		return nil, err
	}
	if err := w.check(target); err != nil {
		return nil, err
	}
	t := beginTransfer(ctx, w.cfg, target.Host)
	resp, err := w.fetch(t, target) //nolint:bodyclose // newBody takes it over
	if err != nil {
		err = t.fault(err)
		t.end()
		return nil, err
	}
	t.host = resp.Request.URL.Host
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

// fetch gives the response whose body is the original, after retries.
func (w *web) fetch(t *transfer, target *url.URL) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		resp, err := w.follow(t, target)
		if err == nil || attempt >= w.cfg.Retries || !t.worthRetrying(err) {
			return resp, err
		}
		w.log.Warn("retrying source", "source_host", target.Host, "attempt", attempt+1, "reason", cut(withoutURL(err).Error(), longestReason))
		if !t.pause(backoff(attempt, rand.Float64())) { //nolint:gosec // jitter is no secret
			return nil, err
		}
	}
}

// follow asks target and then where it redirects to. http.Client is not used
// for that: it would send the URL with its query as a Referer, spell paths
// anew and carry on to places that only this package knows to refuse.
func (w *web) follow(t *transfer, target *url.URL) (*http.Response, error) {
	for range maxRedirects + 1 {
		resp, err := w.get(t, target)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusOK {
			return resp, nil
		}
		// Nobody wants this body, and waiting for it could take long.
		_ = resp.Body.Close()
		if !isRedirect(resp.StatusCode) {
			return nil, statusFault(target.Host, resp.StatusCode)
		}
		if target, err = w.redirect(target, resp.Header.Get("Location")); err != nil {
			return nil, err
		}
	}
	return nil, media.Errorf(media.CodeSourceFailed, "The source on %s redirects more than %d times.", t.host, maxRedirects)
}

func (w *web) get(t *transfer, target *url.URL) (*http.Response, error) {
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
	resp, err := w.transport.RoundTrip(req.WithContext(t.ctx))
	if err != nil {
		return nil, fmt.Errorf("request source: %w", err)
	}
	return resp, nil
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
// wrong and somebody has to look at it.
func statusFault(host string, status int) error {
	code := media.CodeSourceFailed
	switch status {
	case http.StatusNotFound, http.StatusGone:
		code = media.CodeSourceNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		code = media.CodeSourceTimeout
	}
	return media.Wrap(code, statusError(status), "The source host %s answered with status %d.", host, status)
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
	if w.cfg.HonourCacheControl {
		age, _ := strconv.Atoi(resp.Header.Get("Age"))
		m.MaxAge = maxAge(strings.Join(resp.Header.Values("Cache-Control"), ","), time.Duration(max(age, 0))*time.Second)
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

// maxAge is what a Cache-Control header leaves of a response's life in a
// shared cache after it has lived for age; -1 when it says nothing.
func maxAge(header string, age time.Duration) time.Duration {
	life, shared := time.Duration(-1), false
	for directive := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		name = strings.ToLower(name)
		switch name {
		case "no-store", "no-cache", "private":
			return 0
		case "max-age", "s-maxage":
		default:
			continue
		}
		seconds, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32)
		if errors.Is(err, strconv.ErrRange) {
			seconds = 1<<31 - 1
		} else if err != nil {
			seconds = 0 // unreadable freshness is stale (RFC 9111, section 4.2.1)
		}
		if name == "s-maxage" || !shared {
			life = time.Duration(max(seconds, 0)) * time.Second
		}
		shared = shared || name == "s-maxage"
	}
	if life < 0 {
		return -1
	}
	return max(life-age, 0)
}
