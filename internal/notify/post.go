package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/jobs"
)

// newTransport dials through the guard. Nothing is asked of the environment: a
// proxy there would dial where the guard does not look.
func newTransport(cfg Config) *http.Transport {
	guard := source.Guard{AllowPrivate: cfg.AllowPrivate, Timeout: cfg.Timeout}
	return &http.Transport{
		DialContext: guard.DialContext, Proxy: nil, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 2, MaxConnsPerHost: cfg.Concurrency, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: cfg.Timeout, MaxResponseHeaderBytes: 64 << 10,
	}
}

// notice is one request to be made.
type notice struct {
	url, event, delivery string
	body                 []byte
}

// delivery names a notice, the same at every try: the job, and this end of it.
func delivery(job *jobs.Job) string {
	return job.ID.String() + "-" + strconv.FormatInt(job.FinishedAt.UnixMilli(), 10)
}

// post makes one request. What it says of a failure has no URL in it.
func (s *Sender) post(ctx context.Context, n notice) (status int, header http.Header, failure string) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(n.body))
	if err != nil {
		return 0, nil, "the address is no URL"
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.cfg.UserAgent)
	req.Header.Set("Spillway-Event", n.event)
	req.Header.Set("Spillway-Delivery", n.delivery)
	if len(s.cfg.Key) > 0 {
		req.Header.Set("Spillway-Signature", Sign(s.cfg.Key, n.body, time.Now()))
	}
	if user := req.URL.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	// A client would follow redirects; what is signed goes where it was meant
	// to go, or nowhere.
	res, err := s.transport.RoundTrip(req)
	if err != nil {
		return 0, nil, reason(err)
	}
	// A short answer is read so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	_ = res.Body.Close()
	return res.StatusCode, res.Header, ""
}

// reason says what went wrong in words of our own: those of libraries may
// repeat what a server sent, and servers repeat the address.
func reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return "no answer: " + errno.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "no answer: the host is not known"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "no answer: the certificate is not trusted"
	}
	switch {
	case errors.Is(err, source.ErrPrivate):
		return "the address is not public"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "the server stopped"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "no answer: the connection was closed"
	}
	return "no answer that could be read"
}

// hostOf is what a log may show of a URL.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
