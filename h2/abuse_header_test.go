package h2_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// CVE-2024-27316 and what followed: a header block that does not end.
func TestContinuationFlood(t *testing.T) {
	for name, tt := range map[string]struct {
		fragment func(c *h2test.Client) []byte
		atMost   int
	}{
		"empty frames":             {func(*h2test.Client) []byte { return nil }, 8},
		"frames of a byte":         {func(*h2test.Client) []byte { return []byte{0x82} }, 8},
		"frames of a field each":   {func(c *h2test.Client) []byte { return c.Block("name", "value") }, 8},
		"full frames of the table": {func(*h2test.Client) []byte { return bytes.Repeat([]byte{0x20}, 16<<10) }, 8},
		"full frames of one string": {func(*h2test.Client) []byte {
			return append([]byte{0x00, 0x01, 'a', 0x7f, 0x81, 0xff, 0x7f}, make([]byte, 16<<10-7)...)
		}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.Block(h2test.Get("/")...)}))
				sent := flood(c, 2_000_000, func(int) error {
					return c.Framer.WriteContinuation(1, false, tt.fragment(c))
				})
				if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm && e.Code != http2.ErrCodeCompression {
					t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", e.Code)
				}
				if sent > tt.atMost+3 {
					t.Errorf("%d CONTINUATION frames were accepted, want at most %d", sent, tt.atMost)
				}
				if n := x.asked.Load(); n != 0 {
					t.Errorf("%d handlers were called", n)
				}
			})
		})
	}
}

func TestEmptyContinuationsOfManyRequestsAreCounted(t *testing.T) {
	attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{})
		sent := flood(c, 100_000, func(i int) error {
			id := uint32(2*i + 1)
			if err := c.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: true, BlockFragment: c.Block(h2test.Get("/")...)}); err != nil {
				return err
			}
			for range 7 {
				if err := c.Framer.WriteContinuation(id, false, nil); err != nil {
					return err
				}
			}
			return c.Framer.WriteContinuation(id, true, nil)
		})
		if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm {
			t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", e.Code)
		}
		if sent > 10_000 {
			t.Errorf("%d requests with seven empty frames each were accepted", sent)
		}
	})
}

// A block may come in nine frames, however it is cut, padded or prioritised.
func TestHeadersInManyFrames(t *testing.T) {
	attack(t, h2.Config{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Header.Get("Name")))
	}, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{})
		block := c.Block(h2test.Get("/", "name", "value")...)
		c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, EndStream: true, PadLength: 9, Priority: http2.PriorityParam{Weight: 182}, BlockFragment: block[:1],
		}))
		for i := 1; i < 8; i++ {
			c.Must(c.Framer.WriteContinuation(1, false, block[i:i+1]))
		}
		c.Must(c.Framer.WriteContinuation(1, true, block[8:]))
		if r := c.Response(1); string(r.Body) != "value" {
			t.Errorf("status %s, body %q, want value", r.Status, r.Body)
		}
	})
}

// The limits of a header list: a little too much is an answer, twice too much
// is an attack. References of a byte count as what they stand for.
func TestHeaderListLimits(t *testing.T) {
	many := func(n int, name, value string) (pairs []string) {
		for range n {
			pairs = append(pairs, name, value)
		}
		return pairs
	}
	for name, tt := range map[string]struct {
		pairs  []string
		status string // or, when empty, GOAWAY ENHANCE_YOUR_CALM
	}{
		"as many fields as are allowed":                {many(124, "a", "b"), "200"},
		"one more":                                     {many(125, "a", "b"), "431"},
		"a bomb of fields":                             {many(253, "a", "b"), ""},
		"as many crumbs as are allowed":                {many(124, "cookie", "a=b"), "200"},
		"one crumb more":                               {many(125, "cookie", "a=b"), "431"},
		"a bomb of crumbs":                             {many(10_000, "cookie", ""), ""},
		"a value as long as is allowed":                {[]string{"a", strings.Repeat("v", 65_000)}, "200"},
		"a value longer than is allowed":               {[]string{"a", strings.Repeat("v", 66_000)}, "431"},
		"a value of twice what is allowed":             {[]string{"a", strings.Repeat("v", 132_000)}, ""},
		"references of a byte to a value of 3 KiB":     {many(25, "a", strings.Repeat("v", 3_000)), "431"},
		"a bomb of references to a value of 3 KiB":     {many(100, "cookie", strings.Repeat("v", 3_000)), ""},
		"a name longer than is allowed":                {[]string{strings.Repeat("n", 66_000), ""}, "431"},
		"a few fields too long together, each allowed": {many(3, "a", strings.Repeat("v", 30_000)), "431"},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				err := sendBlock(c, 1, c.Block(h2test.Get("/", tt.pairs...)...))
				if tt.status == "" {
					if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm {
						t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", e.Code)
					}
					return
				}
				c.Must(err)
				if r := c.Response(1); r.Status != tt.status {
					t.Errorf("status %q, reset %v, want %s", r.Status, r.Reset, tt.status)
				}
				// The connection, and the tables of both sides, are as they were.
				c.Must(c.Open(3, true, h2test.Get("/", "x", "y", "x", "y")...))
				if r := c.Response(3); r.Status != "200" {
					t.Errorf("the next request was answered %q, reset %v, want 200", r.Status, r.Reset)
				}
			})
		})
	}
}

// sendBlock sends a header block in frames of 16 KiB.
func sendBlock(c *h2test.Client, id uint32, block []byte) error {
	const most = 16 << 10
	first := block[:min(most, len(block))]
	block = block[len(first):]
	err := c.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: true, BlockFragment: first, EndHeaders: len(block) == 0})
	for len(block) > 0 && err == nil {
		next := block[:min(most, len(block))]
		block = block[len(next):]
		err = c.Framer.WriteContinuation(id, len(block) == 0, next)
	}
	return err
}

// A block is decoded, and its limits hold, also where nobody asks for its fields.
func TestHeaderLimitsHoldForTrailersAndRefusedStreams(t *testing.T) {
	bomb := make([]string, 0, 600)
	for i := range 300 {
		bomb = append(bomb, fmt.Sprint("x", i), "y")
	}
	t.Run("trailers", func(t *testing.T) {
		attack(t, h2.Config{}, hold, func(t *testing.T, x *target) {
			c := x.client(h2test.Options{})
			c.Must(c.Open(1, false, h2test.Post("/")...))
			_ = c.Open(1, true, bomb...)
			if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm {
				t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", e.Code)
			}
		})
	})
	t.Run("trailers a little too large end their stream", func(t *testing.T) {
		attack(t, h2.Config{}, hold, func(t *testing.T, x *target) {
			c := x.client(h2test.Options{})
			c.Must(c.Open(1, false, h2test.Post("/")...))
			c.Must(c.Open(1, true, bomb[:300]...))
			if r := c.Response(1); !r.WasReset {
				t.Errorf("status %s, want a reset", r.Status)
			}
		})
	})
	t.Run("streams that are refused", func(t *testing.T) {
		attack(t, h2.Config{MaxConcurrentStreams: 1}, hold, func(t *testing.T, x *target) {
			c := x.client(h2test.Options{})
			c.Must(c.Open(1, true, h2test.Get("/")...))
			_ = c.Open(3, true, h2test.Get("/", bomb...)...)
			if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm {
				t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", e.Code)
			}
		})
	})
	t.Run("a request that is too large brings its body for nothing", func(t *testing.T) {
		attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
			c := x.client(h2test.Options{})
			c.Must(c.Open(1, false, h2test.Post("/", bomb[:300]...)...))
			if r := c.Response(1); r.Status != "431" {
				t.Fatalf("status %q, want 431", r.Status)
			}
			_ = c.Framer.WriteData(1, true, []byte("late"))
			c.Must(c.Open(3, true, h2test.Get("/")...))
			if r := c.Response(3); r.Status != "200" {
				t.Errorf("the next request was answered %q, want 200", r.Status)
			}
			if n := x.asked.Load(); n != 1 {
				t.Errorf("%d handlers were called, want 1", n)
			}
		})
	})
}

// HPACK that cannot be decoded ends the connection: nothing after it can be.
func TestHeaderBlockThatIsNoBlock(t *testing.T) {
	for name, block := range map[string][]byte{
		"a reference to nothing":       {0xff, 0x20},
		"a field that is cut off":      {0x00, 0x05, 'a'},
		"a number without an end":      bytes.Repeat([]byte{0xff}, 32),
		"a table larger than allowed":  {0x3f, 0xe2, 0x1f},
		"a table update in the middle": {0x82, 0x40, 0x01, 'a', 0x01, 'b', 0x20},
		"a string with a wrong code":   {0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x01, 'b'},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				c.Must(sendBlock(c, 1, block))
				if e := c.GoAway(); e.Code != http2.ErrCodeCompression {
					t.Errorf("ended with %v, want COMPRESSION_ERROR", e.Code)
				}
			})
		})
	}
}

// Headers that come slowly, at each point where a client can stop.
func TestSlowHeaders(t *testing.T) {
	const timeout = 5 * time.Second
	headers := func(c *h2test.Client) []byte { return c.Block(h2test.Get("/")...) }
	for name, send := range map[string]func(c *h2test.Client) error{
		"a block that does not end": func(c *h2test.Client) error {
			return c.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, BlockFragment: headers(c)})
		},
		"a block whose parts come one a second": func(c *h2test.Client) error {
			err := c.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, BlockFragment: headers(c)})
			for i := 0; i < 8 && err == nil; i++ {
				pass(time.Second)
				err = c.Framer.WriteContinuation(1, false, nil)
			}
			return nil
		},
		"a frame that stops in its header": func(c *h2test.Client) error {
			_, err := c.Conn.Write([]byte{0, 0, 9, 1})
			return err
		},
		"a frame that stops in its payload": func(c *h2test.Client) error {
			_, err := c.Conn.Write([]byte{0, 0, 9, 1, 5, 0, 0, 0, 1, 0x82})
			return err
		},
		"a frame that comes a byte a second": func(c *h2test.Client) error {
			frame := append([]byte{0, 0, 30, 1, 5, 0, 0, 0, 1}, headers(c)...)
			for len(frame) > 0 && !c.Left() {
				// An error says what Left will: the server has had enough.
				_, _ = c.Conn.Write(frame[:1])
				frame = frame[1:]
				pass(time.Second)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTarget(t, &http.Server{ReadHeaderTimeout: timeout, IdleTimeout: time.Hour}, h2.Config{}, hello)
				x.serve(t)
				c := x.client(h2test.Options{Patience: time.Minute})
				synctest.Wait()
				start := time.Now()
				c.Must(send(c))
				c.Ended()
				if took := time.Since(start); took < timeout || took > 2*timeout+time.Second {
					t.Errorf("the connection ended after %v, want %v", took, timeout)
				}
				if n := x.asked.Load(); n != 0 {
					t.Errorf("%d handlers were called", n)
				}
			})
		})
	}
}

// A connection that says nothing at all is idle, and ends as such.
func TestIdleConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTarget(t, &http.Server{IdleTimeout: time.Minute}, h2.Config{}, hello)
		x.serve(t)
		c := x.client(h2test.Options{Patience: time.Hour})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		c.Response(1)
		start := time.Now()
		if code, said := c.Ended(); !said || code != http2.ErrCodeNo {
			t.Errorf("ended with %v (GOAWAY: %v), want NO_ERROR", code, said)
		}
		if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
			t.Errorf("ended after %v, want a minute", took)
		}
	})
}

// net/http takes a limit below 0 for none that was set.
func TestALimitBelowZeroOfTheServerIsTheDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTarget(t, &http.Server{MaxHeaderBytes: -1}, h2.Config{}, func(http.ResponseWriter, *http.Request) {})
		x.serve(t)
		c := x.client(h2test.Options{})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		if r := c.Response(1); r.Status != "200" {
			t.Errorf("status %q, reset %v", r.Status, r.Reset)
		}
	})
}

// References of a byte let 250 requests ask for 16 MiB of header lists.
func TestHeaderListsOfAllRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var release chan struct{}
		x := newTarget(t, &http.Server{}, h2.Config{ConnHeaderBytes: 256 << 10}, func(http.ResponseWriter, *http.Request) { <-release })
		release = make(chan struct{})
		x.serve(t)
		c := x.client(h2test.Options{})
		pairs := h2test.Get("/")
		for range 20 {
			pairs = append(pairs, "cookie", strings.Repeat("v", 3_000))
		}
		const fit = 4 // of some 60 KiB each
		for i := range 6 {
			c.Must(c.Open(uint32(2*i+1), true, pairs...))
		}
		for i := fit; i < 6; i++ {
			if r := c.Response(uint32(2*i + 1)); r.Reset != http2.ErrCodeRefusedStream {
				t.Errorf("request %d: reset %v, want REFUSED_STREAM", i, r.Reset)
			}
		}
		// A request that is reset holds its fields until its handler returns.
		c.Must(c.Framer.WriteRSTStream(1, http2.ErrCodeCancel))
		c.Must(c.Open(101, true, pairs...))
		if r := c.Response(101); r.Reset != http2.ErrCodeRefusedStream {
			t.Errorf("with the handlers running: reset %v, want REFUSED_STREAM", r.Reset)
		}
		close(release)
		synctest.Wait()
		for i := range 20 {
			id := uint32(2*i + 201)
			c.Must(c.Open(id, true, pairs...))
			if r := c.Response(id); r.Status != "200" {
				t.Fatalf("after they returned, request %d: status %q, reset %v", i, r.Status, r.Reset)
			}
		}
	})
}
