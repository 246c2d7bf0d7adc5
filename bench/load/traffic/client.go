package traffic

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// easedHeader is where the server says that it saved on effort.
const easedHeader = "Spillway-Effort"

// Client asks one server over connections of its own.
type Client struct {
	base string
	http *http.Client
	// rate slows the reading of bodies down, in bytes a second; 0 does not.
	rate int
}

// longest is far beyond what any answer may take.
const longest = 2 * time.Minute

// NewClient asks the server at base, http://HOST:PORT.
func NewClient(base string) *Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return newClient(base, dialer.DialContext)
}

// NewSlowClient reads bodies at a rate of bytes a second, with so small a
// receive buffer that the server notices.
func NewSlowClient(base string, rate int) *Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	c := newClient(base, func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			err = tcp.SetReadBuffer(32 << 10)
		}
		return conn, err
	})
	c.rate = rate
	return c
}

func newClient(base string, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Client {
	transport := &http.Transport{
		DialContext: dial, DisableCompression: true, MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096,
	}
	return &Client{base: base, http: &http.Client{Transport: transport, Timeout: longest}}
}

// Close gives up the connections nobody uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get asks for a path and query and reads the answer to its end. The times of
// the sample count from began, which is also when it was meant to begin.
func (c *Client) Get(ctx context.Context, target string, header http.Header, began time.Time) Sample {
	s, _ := c.fetch(ctx, target, header, began, io.Discard)
	return s
}

// Fetch is Get for callers that want the body and the headers.
func (c *Client) Fetch(ctx context.Context, target string, header http.Header, to io.Writer) (Sample, http.Header) {
	return c.fetch(ctx, target, header, time.Now(), to)
}

func (c *Client) fetch(ctx context.Context, target string, header http.Header, began time.Time, to io.Writer) (s Sample, answered http.Header) {
	s.Retry = -1
	defer func() { s.Took = time.Since(began) }()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+target, nil)
	if err != nil {
		return s, nil
	}
	if header != nil {
		request.Header = header
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return s, nil
	}
	defer answer.Body.Close()
	s.Retry, s.Eased = retryAfter(answer.Header), answer.Header.Get(easedHeader) != ""
	body := &timed{from: answer.Body, ctx: ctx}
	if c.rate > 0 {
		body.bucket = NewBucket(c.rate, 16<<10, time.Now())
	}
	s.Bytes, err = io.Copy(to, body)
	if !body.first.IsZero() {
		s.First = body.first.Sub(began)
	}
	if err == nil {
		s.Status = answer.StatusCode
	}
	return s, answer.Header
}

func retryAfter(h http.Header) int {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return -1
	}
	return seconds
}

// timed notes when the first byte came and waits for the bucket's sake.
type timed struct {
	from   io.Reader
	ctx    context.Context //nolint:containedctx // io.Reader has no parameter for it; it lives for one request
	first  time.Time
	bucket *Bucket
}

// Read implements io.Reader.
func (t *timed) Read(p []byte) (int, error) {
	if t.bucket != nil {
		p = p[:min(len(p), 16<<10)]
	}
	n, err := t.from.Read(p)
	if n == 0 {
		return n, err
	}
	now := time.Now()
	if t.first.IsZero() {
		t.first = now
	}
	if t.bucket != nil && !Wait(t.ctx, t.bucket.Take(now, n)) {
		return n, t.ctx.Err()
	}
	return n, err
}
