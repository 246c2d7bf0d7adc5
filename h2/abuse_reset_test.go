package h2_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// resetsAtMost is how many streams may end without an answer at once, and what
// the server may have read before its GOAWAY went out.
const resetsAtMost = 1000 + 10

// CVE-2023-44487: requests that are cancelled as soon as they are made.
func TestRapidReset(t *testing.T) {
	release := make(chan struct{})
	for name, handler := range map[string]http.HandlerFunc{
		"handlers that stop when their request is cancelled": hold,
		"handlers that do not notice":                        func(http.ResponseWriter, *http.Request) { <-release },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				x := newTarget(t, &http.Server{}, h2.Config{MaxConcurrentStreams: 100}, handler)
				x.serve(t)
				t.Cleanup(func() { close(release) })
				c := x.client(h2test.Options{})
				sent := flood(c, 100_000, func(i int) error {
					id := uint32(2*i + 1)
					if err := c.Open(id, true, h2test.Get("/")...); err != nil {
						return err
					}
					return c.Framer.WriteRSTStream(id, http2.ErrCodeCancel)
				})
				calmed(t, x, c, sent)
			})
		})
	}
}

// calmed holds a server of at most 100 streams to having ended the connection of
// a client in time, after so many streams that ended without an answer.
func calmed(t *testing.T, x *target, c *h2test.Client, sent int) {
	t.Helper()
	if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm {
		t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", e.Code)
	}
	if sent > resetsAtMost+16 {
		t.Errorf("%d resets were accepted, want at most %d", sent, resetsAtMost)
	}
	if most := x.most.Load(); most > 100 {
		t.Errorf("%d handlers ran at once, want at most 100", most)
	}
}

// CVE-2025-8671: the client makes the server reset streams, which then no
// longer count as open while their handlers still run.
func TestMadeYouReset(t *testing.T) {
	const maxWindow = 1<<31 - 1
	raw := func(c *h2test.Client, kind http2.FrameType, flags http2.Flags, id uint32, payload ...byte) error {
		return c.Framer.WriteRawFrame(kind, flags, id, payload)
	}
	for name, tt := range map[string]struct {
		code http2.ErrCode
		end  bool // the request has no body
		pair []string
		then func(c *h2test.Client, id uint32) error
	}{
		"a window update of zero": {code: http2.ErrCodeProtocol, end: true, then: func(c *h2test.Client, id uint32) error {
			return raw(c, http2.FrameWindowUpdate, 0, id, 0, 0, 0, 0)
		}},
		"a window that overflows": {code: http2.ErrCodeFlowControl, end: true, then: func(c *h2test.Client, id uint32) error {
			return c.Framer.WriteWindowUpdate(id, maxWindow)
		}},
		"DATA after the end of a request": {code: http2.ErrCodeStreamClosed, end: true, then: func(c *h2test.Client, id uint32) error {
			return c.Framer.WriteData(id, true, []byte("x"))
		}},
		"HEADERS after the end of a request": {code: http2.ErrCodeStreamClosed, end: true, then: func(c *h2test.Client, id uint32) error {
			return c.Open(id, true, "trailer", "late")
		}},
		"PRIORITY of a stream that depends on itself": {code: http2.ErrCodeProtocol, end: true, then: func(c *h2test.Client, id uint32) error {
			return c.Framer.WritePriority(id, http2.PriorityParam{StreamDep: id})
		}},
		"a body longer than its content-length": {code: http2.ErrCodeProtocol, pair: []string{"content-length", "1"}, then: func(c *h2test.Client, id uint32) error {
			return c.Framer.WriteData(id, false, []byte("two"))
		}},
		"a body shorter than its content-length": {code: http2.ErrCodeProtocol, pair: []string{"content-length", "9"}, then: func(c *h2test.Client, id uint32) error {
			return c.Framer.WriteData(id, true, []byte("two"))
		}},
		"a field in upper case":     {code: http2.ErrCodeProtocol, end: true, pair: []string{"Upper", "case"}},
		"a field of the connection": {code: http2.ErrCodeProtocol, end: true, pair: []string{"connection", "close"}},
		"trailers with a pseudo-header": {code: http2.ErrCodeProtocol, then: func(c *h2test.Client, id uint32) error {
			return c.Open(id, true, ":path", "/late")
		}},
		"trailers that do not end the stream": {code: http2.ErrCodeProtocol, then: func(c *h2test.Client, id uint32) error {
			return c.Open(id, false, "trailer", "early")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{MaxConcurrentStreams: 100}, hold, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				send := func(i int) error {
					id := uint32(2*i + 1)
					if err := c.Open(id, tt.end, append(h2test.Post("/"), tt.pair...)...); err != nil {
						return err
					}
					if tt.then == nil {
						return nil
					}
					return tt.then(c, id)
				}
				c.Must(send(0))
				if r := c.Response(1); !r.WasReset || r.Reset != tt.code {
					t.Fatalf("the first one was answered %v (reset: %v), want %v", r.Reset, r.WasReset, tt.code)
				}
				sent := flood(c, 100_000, func(i int) error { return send(i + 1) })
				calmed(t, x, c, sent)
			})
		})
	}
}

// A person who opens and leaves pages all day cancels thousands of requests.
func TestResetsAtTheRateOfAPersonAreAllowed(t *testing.T) {
	attack(t, h2.Config{}, hold, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{})
		id := uint32(1)
		for page := range 100 {
			for range 100 {
				c.Must(c.Open(id, true, h2test.Get("/")...))
				c.Must(c.Framer.WriteRSTStream(id, http2.ErrCodeCancel))
				id += 2
			}
			synctest.Wait()
			if open := x.h2.Connections(); len(open) != 1 {
				t.Fatalf("%d connections after page %d, want 1", len(open), page+1)
			}
			pass(4 * time.Second)
		}
	})
}

func TestStreamsBeyondTheLimitAreRefused(t *testing.T) {
	attack(t, h2.Config{MaxConcurrentStreams: 10}, hold, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{})
		for i := range 15 {
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get(fmt.Sprint("/", i))...))
		}
		for i := 10; i < 15; i++ {
			if r := c.Response(uint32(2*i + 1)); r.Reset != http2.ErrCodeRefusedStream {
				t.Errorf("stream %d was answered %v, want REFUSED_STREAM", 2*i+1, r.Reset)
			}
		}
		synctest.Wait()
		if n := x.running.Load(); n != 10 {
			t.Errorf("%d handlers run, want 10", n)
		}
		// A place that becomes free is taken again.
		c.Must(c.Framer.WriteRSTStream(1, http2.ErrCodeCancel))
		synctest.Wait()
		c.Must(c.Open(31, true, h2test.Get("/again")...))
		synctest.Wait()
		if n := x.running.Load(); n != 10 {
			t.Errorf("%d handlers run after one was cancelled and one asked, want 10", n)
		}
	})
}

// A stream that was reset is closed for the client, while its handler still
// holds memory and CPU: it counts until it returns.
func TestHandlersOfResetStreamsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		x := newTarget(t, &http.Server{}, h2.Config{MaxConcurrentStreams: 10}, func(http.ResponseWriter, *http.Request) { <-release })
		x.serve(t)
		c := x.client(h2test.Options{})
		for i := range 10 {
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/")...))
			c.Must(c.Framer.WriteRSTStream(uint32(2*i+1), http2.ErrCodeCancel))
		}
		c.Must(c.Open(21, true, h2test.Get("/")...))
		synctest.Wait()
		if n := x.most.Load(); n != 10 {
			t.Errorf("%d handlers ran at once, want 10", n)
		}
		close(release)
		synctest.Wait()
		c.Must(c.Open(23, true, h2test.Get("/")...))
		if r := c.Response(23); r.Status != "200" {
			t.Errorf("after the handlers returned: status %q, reset %v; want 200", r.Status, r.Reset)
		}
	})
}

// Errors of a frame's form which the state of the connection does not survive.
func TestFramesThatEndTheConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		kind    http2.FrameType
		flags   http2.Flags
		stream  uint32
		payload []byte
		code    http2.ErrCode
	}{
		"PRIORITY of four bytes":               {http2.FramePriority, 0, 1, make([]byte, 4), http2.ErrCodeFrameSize},
		"PRIORITY_UPDATE of three bytes":       {0x10, 0, 0, make([]byte, 3), http2.ErrCodeFrameSize},
		"PRIORITY_UPDATE of stream 0":          {0x10, 0, 0, []byte("\x00\x00\x00\x00u=1"), http2.ErrCodeProtocol},
		"PRIORITY_UPDATE on a stream":          {0x10, 0, 1, []byte("\x00\x00\x00\x01u=1"), http2.ErrCodeProtocol},
		"PRIORITY_UPDATE of a stream of ours":  {0x10, 0, 0, []byte("\x00\x00\x00\x02u=1"), http2.ErrCodeProtocol},
		"PING of seven bytes":                  {http2.FramePing, 0, 0, make([]byte, 7), http2.ErrCodeFrameSize},
		"SETTINGS of seven bytes":              {http2.FrameSettings, 0, 0, make([]byte, 7), http2.ErrCodeFrameSize},
		"RST_STREAM of three bytes":            {http2.FrameRSTStream, 0, 1, make([]byte, 3), http2.ErrCodeFrameSize},
		"RST_STREAM of a stream not yet open":  {http2.FrameRSTStream, 0, 99, make([]byte, 4), http2.ErrCodeProtocol},
		"WINDOW_UPDATE of a stream not open":   {http2.FrameWindowUpdate, 0, 99, []byte{0, 0, 0, 1}, http2.ErrCodeProtocol},
		"DATA of a stream not yet open":        {http2.FrameData, 0, 99, nil, http2.ErrCodeProtocol},
		"PUSH_PROMISE of a client":             {http2.FramePushPromise, http2.FlagPushPromiseEndHeaders, 1, make([]byte, 4), http2.ErrCodeProtocol},
		"CONTINUATION without HEADERS":         {http2.FrameContinuation, 0, 1, nil, http2.ErrCodeProtocol},
		"HEADERS with more padding than frame": {http2.FrameHeaders, http2.FlagHeadersPadded | http2.FlagHeadersEndHeaders, 3, []byte{200, 0x82}, http2.ErrCodeProtocol},
		"HEADERS too short for a priority":     {http2.FrameHeaders, http2.FlagHeadersPriority | http2.FlagHeadersEndHeaders, 3, []byte{0, 0}, http2.ErrCodeFrameSize},
		"HEADERS too short for its padding":    {http2.FrameHeaders, http2.FlagHeadersPadded | http2.FlagHeadersEndHeaders, 3, nil, http2.ErrCodeFrameSize},
		"DATA too short for its padding":       {http2.FrameData, http2.FlagDataPadded, 1, nil, http2.ErrCodeFrameSize},
		"a frame larger than we allow":         {http2.FrameData, 0, 1, make([]byte, 16<<10+1), http2.ErrCodeFrameSize},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{}, hold, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				c.Must(c.Open(1, false, h2test.Post("/")...))
				_ = c.Framer.WriteRawFrame(tt.kind, tt.flags, tt.stream, tt.payload)
				if e := c.GoAway(); e.Code != tt.code {
					t.Errorf("ended with %v, want %v", e.Code, tt.code)
				}
			})
		})
	}
}

// What was under way when a stream was reset is passed over, but not for ever.
func TestFramesForStreamsThatWereReset(t *testing.T) {
	for name, send := range map[string]func(c *h2test.Client, id uint32) error{
		"DATA": func(c *h2test.Client, id uint32) error { return c.Framer.WriteData(id, false, []byte("x")) },
		"HEADERS": func(c *h2test.Client, id uint32) error {
			return c.Open(id, true, "trailer", "late")
		},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{}, hold, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				c.Must(c.Open(1, false, h2test.Post("/", "Upper", "case")...))
				c.Response(1)
				for range 100 {
					c.Must(send(c, 1))
				}
				synctest.Wait()
				if c.Left() {
					t.Fatal("the connection ended with what may have been under way")
				}
				if sent := flood(c, 100_000, func(int) error { return send(c, 1) }); sent > 10_016 {
					t.Errorf("%d frames for a stream that was reset were accepted", sent)
				}
				if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm {
					t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", e.Code)
				}
			})
		})
	}
}
