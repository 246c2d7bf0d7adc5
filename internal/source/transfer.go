package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// Causes that a transfer's own clocks cancel it with.
var (
	errTotal = errors.New("source took longer than its total timeout")
	errIdle  = errors.New("source sent nothing for longer than its idle timeout")
	errSlow  = errors.New("source sent less than its minimum rate")
)

// transfer is one original's way from the network: its clocks, and the words
// for what goes wrong. It lives from Open to the Body's Close.
type transfer struct {
	parent context.Context //nolint:containedctx // the caller's; tells a client's leaving from our timeouts
	ctx    context.Context //nolint:containedctx // io.Reader has no parameter for it; a transfer is one request
	cancel context.CancelCauseFunc
	total  *time.Timer
	cfg    Config
	host   string
	visit  *visit // nil between two origins
	// retries counts how often something was tried again.
	retries int
}

func beginTransfer(parent context.Context, cfg Config, host string) *transfer {
	ctx, cancel := context.WithCancelCause(parent)
	total := time.AfterFunc(cfg.TotalTimeout, func() { cancel(errTotal) })
	return &transfer{parent: parent, ctx: ctx, cancel: cancel, total: total, cfg: cfg, host: host}
}

// enter waits for a place at an origin, host in messages.
func (t *transfer) enter(at *origins, name string) error {
	t.host = hostOf(name)
	visit, err := at.visit(t.ctx, name)
	if err != nil {
		return t.fault(err)
	}
	t.visit = visit
	return nil
}

// read is called before the first byte of a body is.
func (t *transfer) read() error {
	if err := t.visit.read(t.ctx); err != nil {
		return t.fault(err)
	}
	return nil
}

// leave gives the place back. err is what fault made of the outcome.
func (t *transfer) leave(err error) {
	result := judge(err)
	if err != nil && t.parent.Err() != nil {
		result = verdict{}
	}
	t.visit.end(result)
	t.visit = nil
}

// end stops the clocks and frees what still runs.
func (t *transfer) end() {
	t.total.Stop()
	t.cancel(nil)
}

// fault words an error for the client and keeps its cause for the log.
func (t *transfer) fault(err error) error {
	var known *media.Error
	if errors.As(err, &known) {
		return known
	}
	err = withoutURL(err)
	if t.parent.Err() != nil {
		return callerFault(t.parent)
	}
	switch cause := context.Cause(t.ctx); {
	case errors.Is(cause, errTotal):
		return media.Wrap(media.CodeSourceTimeout, cause, "The source on %s did not arrive within %s.", t.host, t.cfg.TotalTimeout)
	case errors.Is(cause, errIdle):
		return media.Wrap(media.CodeSourceTimeout, cause, "The source on %s sent nothing for %s.", t.host, t.cfg.IdleTimeout)
	case errors.Is(cause, errSlow):
		return media.Wrap(media.CodeSourceTimeout, cause, "The source on %s sent fewer than %d bytes a second.", t.host, t.cfg.MinRate)
	case errors.Is(err, ErrPrivate):
		return media.Wrap(media.CodeSourceForbidden, err, "The source host %s lies in a network that is not public, which is not allowed.", t.host)
	case isTimeout(err):
		return media.Wrap(media.CodeSourceTimeout, err, "The source host %s did not answer in time.", t.host)
	}
	return media.Wrap(media.CodeSourceFailed, trouble{err}, "The source could not be fetched from %s.", t.host)
}

// callerFault is for a context that ended from the caller's side.
func callerFault(ctx context.Context) error {
	cause := context.Cause(ctx)
	var known *media.Error
	if errors.As(cause, &known) {
		return known
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return media.Wrap(media.CodeSourceTimeout, cause, "The source did not arrive before the request's deadline.")
	}
	return media.Wrap(media.CodeCancelled, cause, "The request was cancelled while its source was fetched.")
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// withoutURL takes the URL out of an error of net/http: its query may hold a
// signature, and its path is nobody's business in a log.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return fmt.Errorf("request source: %w", wrapped.Err)
	}
	return err
}

// worthRetrying is true for what another attempt may cure: a connection that
// failed, or a server that says it is in trouble. A slow origin is left alone,
// and so is one that asks to be for longer than we would wait.
func (t *transfer) worthRetrying(err error) bool {
	if t.ctx.Err() != nil || errors.Is(err, ErrPrivate) {
		return false
	}
	var known *media.Error
	if errors.As(err, &known) {
		var status statusError
		return errors.As(err, &status) && status >= 500 && status != http.StatusNotImplemented && known.RetryAfter <= maxBackoff
	}
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return false
	}
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if errors.As(err, &certificate) || errors.As(err, &authority) {
		return false
	}
	var dial *net.OpError
	return !isTimeout(err) || (errors.As(err, &dial) && dial.Op == "dial")
}

// pause waits d and is false when the transfer ended meanwhile.
func (t *transfer) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// Retries wait 100 ms, 200 ms, 400 ms… and at most 2 s, of which a random
// half is left out, so that many clients do not come back at one time.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 2 * time.Second
)

// backoff is the wait before retry number attempt, counted from 0; chance is
// in [0, 1).
func backoff(attempt int, chance float64) time.Duration {
	d := maxBackoff
	if attempt < 10 {
		d = min(firstBackoff<<attempt, maxBackoff)
	}
	return d/2 + time.Duration(chance*float64(d/2))
}

// waitFor is the backoff, or what the origin itself asked for when that is
// longer.
func waitFor(err error, attempt int, chance float64) time.Duration {
	d := backoff(attempt, chance)
	var fault *media.Error
	if errors.As(err, &fault) {
		d = max(d, fault.RetryAfter)
	}
	return d
}

// newTransport is shared by http origins and object stores. It knows no
// proxy: one named by the environment would see, and could redirect, all
// requests behind the guard's back.
func newTransport(cfg Config, guard Guard) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            guard.DialContext,
		TLSHandshakeTimeout:    cfg.ConnectTimeout,
		ResponseHeaderTimeout:  cfg.HeaderTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true, // body.go inflates, bounded
		ForceAttemptHTTP2:      true,
	}
}
