package h2_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// alive fails the test unless the server answers, and has not said goodbye.
func alive(t *testing.T, c *h2test.Client) {
	t.Helper()
	c.Must(c.Framer.WritePing(false, [8]byte{'a', 'l', 'i', 'v', 'e', '?'}))
	c.Until("the answer to a PING", func(e h2test.Event) bool {
		return e.Type == http2.FramePing && e.Flags.Has(http2.FlagPingAck)
	})
	if away := goAways(c); len(away) > 0 {
		t.Errorf("GOAWAY %v; so far:\n%s", away[0].Code, c.Log())
	}
}

func TestAConnectionThatComesWithTheShutdownBeginsWithSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") })
		conn, err := s.listener.Dial()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.hs.Shutdown(t.Context()) }()
		synctest.Wait()
		c := h2test.Dial(t, conn, h2test.Options{})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		if r := c.Response(1); string(r.Body) != "answer" {
			t.Errorf("answered %q", r.Body)
		}
		if first := c.Events()[0]; first.Type != http2.FrameSettings {
			t.Errorf("the first frame is %v; RFC 9113, 3.4 wants SETTINGS", first.Type)
		}
		c.Ended()
		if err := <-ended; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// All that a client may have open is answered before its bodies have come. What
// it had under way is no fault of its own.
func TestBodiesOfManyAnsweredRequestsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const streams = 250
		s := serve(t, h2.Config{}, nil, unwilling)
		c := s.dial(h2test.Options{})
		for i := range streams {
			c.Must(c.Open(uint32(2*i+1), false, h2test.Post("/")...))
		}
		synctest.Wait()
		for i := range streams {
			id := uint32(2*i + 1)
			c.Must(c.Framer.WriteData(id, false, []byte("body")))
			c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID: id, BlockFragment: c.Block("x-sum", "1"), EndStream: true, EndHeaders: true,
			}))
		}
		alive(t, c)
		for _, e := range c.Events() {
			if e.Type == http2.FrameRSTStream && e.Code != http2.ErrCodeNo {
				t.Fatalf("stream %d is reset with %v", e.Stream, e.Code)
			}
		}
	})
}

func unwilling(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }

// Trailers that come when their handler has returned are kept for nobody, so
// they may not count for ever against what requests of the connection may hold.
func TestTrailersBehindTheHandlerAreNotCountedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := h2.Config{MaxHeaderBytes: 1000, ConnHeaderBytes: 2000}
		s := serve(t, cfg, nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") })
		c := s.dial(h2test.Options{Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}})
		for i := range 10 {
			id := uint32(2*i + 1)
			c.Must(c.Open(id, false, h2test.Post("/", "trailer", "x-sum")...))
			synctest.Wait() // the handler has returned, and its answer waits
			c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID: id, BlockFragment: c.Block("x-sum", strings.Repeat("1", 500)), EndStream: true, EndHeaders: true,
			}))
			c.Must(c.Framer.WriteWindowUpdate(id, 100))
			if r := c.Response(id); string(r.Body) != "answer" || r.WasReset {
				t.Fatalf("request %d: body %q, reset %v %v", i, r.Body, r.WasReset, r.Reset)
			}
		}
	})
}

// A stream that used up the connection's window and was then reset leaves
// nothing that could stall.
func TestAConnectionWithoutWindowAndStreamsIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 1<<20)) // ends early, with the stream
		})
		c := s.dial(h2test.Options{Settings: wideSettings(), DropBodies: true})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		<-time.After(15 * time.Second) // half of StallTimeout
		c.Must(c.Framer.WriteRSTStream(1, http2.ErrCodeCancel))
		<-time.After(time.Minute)
		alive(t, c)
	})
}

// A goroutine of the handler waits for its client when the handler panics: the
// client learns of the panic, not of a stall half a minute later.
func TestAPanicDoesNotWaitForAWriteUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, _ *http.Request) {
			go func() { _, _ = w.Write(make([]byte, 1<<20)) }() // fails
			<-time.After(time.Second)
			panic(http.ErrAbortHandler)
		})
		c := s.dial(h2test.Options{DropBodies: true})
		began := time.Now()
		c.Must(c.Open(1, true, h2test.Get("/")...))
		r := c.Response(1)
		if waited := time.Since(began); r.Reset != http2.ErrCodeInternal || waited > time.Second {
			t.Errorf("reset with %v after %v, want INTERNAL_ERROR after 1s", r.Reset, waited)
		}
	})
}

// Go's client answers the PING of the first step in one goroutine while another
// is about to write a request that it has begun.
func TestARequestThatComesRightBehindTheAnswerToThePingIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") })
		c := s.dial(h2test.Options{Mute: true})
		ended := make(chan error, 1)
		go func() { ended <- s.hs.Shutdown(t.Context()) }()
		ping := c.Until("PING", func(e h2test.Event) bool { return e.Type == http2.FramePing })
		c.Must(c.Framer.WritePing(true, ping.Ping))
		<-time.After(10 * time.Millisecond)
		c.Must(c.Open(1, true, h2test.Get("/")...))
		if r := c.Response(1); string(r.Body) != "answer" {
			t.Errorf("answered %q", r.Body)
		}
		c.Ended()
		if away := goAways(c); away[len(away)-1].Last != 1 {
			t.Errorf("the last GOAWAY names stream %d, want 1", away[len(away)-1].Last)
		}
		if err := <-ended; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// The answer of a handler that reads no body may be complete before the body
// comes. A body of another length than declared is malformed all the same.
func TestABodyThatComesBehindItsAnswerIsHeldToItsLength(t *testing.T) {
	for name, tt := range map[string]struct {
		parts []string
		want  http2.ErrCode
	}{
		"as declared": {[]string{"te", "st"}, http2.ErrCodeNo},
		"longer":      {[]string{"test", "test"}, http2.ErrCodeProtocol},
		"shorter":     {[]string{"t", "t"}, http2.ErrCodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, h2.Config{}, nil, unwilling)
				c := s.dial(h2test.Options{})
				c.Must(c.Open(1, false, h2test.Post("/", "content-length", "4")...))
				synctest.Wait()
				for i, part := range tt.parts {
					c.Must(c.Framer.WriteData(1, i == len(tt.parts)-1, []byte(part)))
				}
				alive(t, c)
				events := c.Events()
				last := http2.ErrCodeNo
				for _, e := range events {
					if e.Type == http2.FrameRSTStream {
						last = e.Code
					}
				}
				if last != tt.want {
					t.Errorf("reset with %v, want %v", last, tt.want)
				}
			})
		})
	}
}
