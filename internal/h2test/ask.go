package h2test

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
)

// Get is the fields of a GET of path, and more of them in pairs.
func Get(path string, pairs ...string) []string {
	return append([]string{":method", "GET", ":scheme", "http", ":authority", "h2.test", ":path", path}, pairs...)
}

// Post is the fields of a POST to path, and more of them in pairs.
func Post(path string, pairs ...string) []string {
	return append([]string{":method", "POST", ":scheme", "http", ":authority", "h2.test", ":path", path}, pairs...)
}

// Block encodes fields, which are pairs of names and values.
func (c *Client) Block(pairs ...string) []byte {
	c.tb.Helper()
	c.buf.Reset()
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := c.enc.WriteField(field(pairs[i], pairs[i+1])); err != nil {
			c.tb.Fatal(err)
		}
	}
	return bytes.Clone(c.buf.Bytes())
}

// Open sends HEADERS with END_HEADERS. The error is that of the connection.
func (c *Client) Open(stream uint32, end bool, pairs ...string) error {
	c.tb.Helper()
	return c.Framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: c.Block(pairs...), EndStream: end, EndHeaders: true,
	})
}

// Must fails the test when a frame could not be written.
func (c *Client) Must(err error) {
	c.tb.Helper()
	if err != nil {
		c.tb.Fatalf("write a frame: %v; so far:\n%s", err, c.Log())
	}
}

// Until returns the next frame that match accepts; those before it are passed
// over. The test fails when the connection ends first.
func (c *Client) Until(what string, match func(Event) bool) Event {
	c.tb.Helper()
	for {
		e, err := c.Next()
		if err != nil {
			c.tb.Fatalf("wait for %s: %v; so far:\n%s", what, err, c.Log())
		}
		if match(e) {
			return e
		}
	}
}

// GoAway waits for the end of the connection and returns the GOAWAY that came
// last. The test fails when there was none.
func (c *Client) GoAway() Event {
	c.tb.Helper()
	var last *Event
	for {
		e, err := c.Next()
		if err != nil {
			if last == nil {
				c.tb.Fatalf("the connection ended without GOAWAY: %v; so far:\n%s", err, c.Log())
			}
			return *last
		}
		if e.Type == http2.FrameGoAway {
			last = &e
		}
	}
}

// Ended waits for the end of the connection and says with which GOAWAY code
// it ended; said is false when there was no GOAWAY.
func (c *Client) Ended() (code http2.ErrCode, said bool) {
	c.tb.Helper()
	for {
		e, err := c.Next()
		if err != nil {
			return code, said
		}
		if e.Type == http2.FrameGoAway {
			code, said = e.Code, true
		}
	}
}

// A Response is all that came for one stream.
type Response struct {
	Status   string
	Interim  []Event // 1xx
	Headers  Event
	Body     []byte
	Length   int // of the body, kept or dropped
	Trailers *Event
	// Reset is the code of a RST_STREAM; WasReset that there was one.
	Reset    http2.ErrCode
	WasReset bool
}

// Response waits until a stream has ended. Frames of other streams stay for
// later calls of Response, not for Next.
func (c *Client) Response(stream uint32) Response {
	c.tb.Helper()
	for from := 0; ; {
		events := c.Events()
		for ; from < len(events); from++ {
			if e := events[from]; e.Stream == stream && e.Ended() {
				return response(stream, events[:from+1])
			}
		}
		c.mu.Lock()
		pending := c.next < from
		if pending {
			c.next = from
		}
		c.mu.Unlock()
		if _, err := c.Next(); err != nil {
			c.tb.Fatalf("wait for the end of stream %d: %v; so far:\n%s", stream, err, c.Log())
		}
	}
}

func response(stream uint32, events []Event) Response {
	var r Response
	for _, e := range events {
		if e.Stream != stream {
			continue
		}
		switch e.Type {
		case http2.FrameHeaders:
			r.addHeaders(e)
		case http2.FrameData:
			r.Body = append(r.Body, e.Data...)
			r.Length += e.Length
		case http2.FrameRSTStream:
			r.Reset, r.WasReset = e.Code, true
		}
	}
	return r
}

func (r *Response) addHeaders(e Event) {
	status := e.Field(":status")
	switch {
	case strings.HasPrefix(status, "1"):
		r.Interim = append(r.Interim, e)
	case status == "":
		r.Trailers = &e
	default:
		r.Headers, r.Status = e, status
	}
}

// Log is what has come in so far, a line per frame; of many the last forty.
func (c *Client) Log() string {
	events := c.Events()
	var b strings.Builder
	if len(events) > 40 {
		fmt.Fprintf(&b, "%d frames before\n", len(events)-40)
		events = events[len(events)-40:]
	}
	for _, e := range events {
		fmt.Fprintf(&b, "%v stream %d flags %#x length %d", e.Type, e.Stream, e.Flags, e.Length)
		switch e.Type {
		case http2.FrameHeaders:
			fmt.Fprintf(&b, " status %s", e.Field(":status"))
		case http2.FrameRSTStream, http2.FrameGoAway:
			fmt.Fprintf(&b, " code %v %s", e.Code, e.Debug)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
