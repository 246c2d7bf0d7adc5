package h2_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// hold is a handler that reads nothing and answers when its client has gone.
func hold(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }

// The floods of frames that bring no request further. A client may spend a
// budget of them at once, and then a rate; all of these spend it at once.
func TestFramesThatBringNothingAreBounded(t *testing.T) {
	zeros := make([]byte, 8)
	for name, tt := range map[string]struct {
		atMost int
		send   func(c *h2test.Client, i int) error
	}{
		"SETTINGS": {510, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535})
		}},
		"SETTINGS acknowledgements that nobody waits for": {510, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteSettingsAck()
		}},
		"PING": {10_010, func(c *h2test.Client, _ int) error {
			return c.Framer.WritePing(false, [8]byte{1})
		}},
		"answers to PING that nobody asked": {10_010, func(c *h2test.Client, _ int) error {
			return c.Framer.WritePing(true, [8]byte{1})
		}},
		"empty DATA": {10_010, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteData(1, false, nil)
		}},
		"DATA of nothing but padding": {10_010, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteDataPadded(1, false, nil, zeros)
		}},
		"WINDOW_UPDATE of a byte on the connection": {10_010, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteWindowUpdate(0, 1)
		}},
		"WINDOW_UPDATE of a byte on a stream": {10_010, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteWindowUpdate(1, 1)
		}},
		"WINDOW_UPDATE on a stream that has ended": {10_010, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteWindowUpdate(3, 1)
		}},
		"RST_STREAM on a stream that has ended": {10_010, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteRSTStream(3, http2.ErrCodeCancel)
		}},
		"PRIORITY of one stream": {10_010, func(c *h2test.Client, i int) error {
			return c.Framer.WritePriority(1, http2.PriorityParam{Weight: uint8(i)})
		}},
		"PRIORITY of streams that do not exist": {10_010, func(c *h2test.Client, i int) error {
			return c.Framer.WritePriority(uint32(2*i+101), http2.PriorityParam{StreamDep: uint32(2*i + 99), Exclusive: true})
		}},
		"PRIORITY_UPDATE of one stream": {10_010, func(c *h2test.Client, i int) error {
			return c.Framer.WritePriorityUpdate(1, []string{"u=1", "u=7, i"}[i%2])
		}},
		"PRIORITY_UPDATE of streams that do not exist": {10_010, func(c *h2test.Client, i int) error {
			return c.Framer.WritePriorityUpdate(uint32(2*i+101), "u=1")
		}},
		"frames of unknown types": {10_010, func(c *h2test.Client, i int) error {
			return c.Framer.WriteRawFrame(http2.FrameType(0x0a+i%6), http2.Flags(i), uint32(i%3), zeros)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/hello" {
					hello(w, r)
					return
				}
				hold(w, r)
			}, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				c.Must(c.Open(1, false, h2test.Post("/hold")...))
				c.Must(c.Open(3, true, h2test.Get("/hello")...))
				if r := c.Response(3); r.Status != "200" {
					t.Fatalf("status %s before the flood, want 200", r.Status)
				}
				sent := flood(c, 200_000, func(i int) error { return tt.send(c, i) })
				if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm {
					t.Errorf("the connection ended with %v, want ENHANCE_YOUR_CALM", e.Code)
				}
				if sent > tt.atMost+16 {
					t.Errorf("%d frames were accepted, want at most %d", sent, tt.atMost)
				}
				if sent < tt.atMost/2 {
					t.Errorf("%d frames were too many, where %d are allowed", sent, tt.atMost)
				}
			})
		})
	}
}

// What browsers, curl and proxies do in a second is far below every budget.
func TestHonestClientsSpendNothing(t *testing.T) {
	attack(t, h2.Config{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("picture."), 2048))
	}, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{DropBodies: true})
		for i := range 5_000 {
			id := uint32(2*i + 1)
			c.Must(c.Framer.WritePriorityUpdate(id, "u=2, i"))
			c.Must(c.Open(id, true, h2test.Get("/")...))
			if r := c.Response(id); r.Status != "200" || r.Length != 16<<10 {
				t.Fatalf("request %d: status %s, %d bytes, reset %v", i, r.Status, r.Length, r.WasReset)
			}
			for range 8 { // a client that gives windows back in pieces of 4 KiB
				c.Must(c.Framer.WriteWindowUpdate(0, 2<<10))
			}
			c.Must(c.Framer.WriteWindowUpdate(id, 16<<10))
			c.Must(c.Framer.WritePing(false, [8]byte{byte(i)}))
		}
	})
}

func TestUnknownFramesAreIgnored(t *testing.T) {
	attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{})
		for kind := http2.FrameType(0x0a); kind <= 0x0f; kind++ {
			for _, stream := range []uint32{0, 1, 2, 1<<31 - 1} {
				for _, flags := range []http2.Flags{0, 1, 0xff} {
					c.Must(c.Framer.WriteRawFrame(kind, flags, stream, nil))
					c.Must(c.Framer.WriteRawFrame(kind, flags, stream, make([]byte, 16<<10)))
				}
			}
		}
		c.Must(c.Open(1, true, h2test.Get("/")...))
		if r := c.Response(1); r.Status != "200" {
			t.Errorf("status %s after frames of unknown types, want 200", r.Status)
		}
	})
}

func TestUnknownFrameInsideAHeaderBlockEndsTheConnection(t *testing.T) {
	attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{})
		c.Must(c.Framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.Block(h2test.Get("/")...)}))
		c.Must(c.Framer.WriteRawFrame(0x0b, 0, 1, nil))
		if e := c.GoAway(); e.Code != http2.ErrCodeProtocol {
			t.Errorf("ended with %v, want PROTOCOL_ERROR", e.Code)
		}
	})
}

// A client that asks for answers and does not read them: what waits to be sent
// is bounded, whatever the frames are that ask.
func TestControlFramesForAClientThatDoesNotRead(t *testing.T) {
	for name, tt := range map[string]struct {
		atMost int
		send   func(c *h2test.Client, i int) error
	}{
		"PING": {64<<10/17 + 2, func(c *h2test.Client, _ int) error {
			return c.Framer.WritePing(false, [8]byte{1})
		}},
		"SETTINGS": {510, func(c *h2test.Client, _ int) error {
			return c.Framer.WriteSettings()
		}},
		"requests that are reset": {1010, func(c *h2test.Client, i int) error {
			fields := append(h2test.Get("/"), "Upper", "case")
			return c.Open(uint32(2*i+1), true, fields...)
		}},
		"bodies whose window is given back": {1500, func(c *h2test.Client, i int) error {
			if err := c.Open(uint32(2*i+1), false, h2test.Post("/")...); err != nil {
				return err
			}
			return c.Framer.WriteDataPadded(uint32(2*i+1), true, nil, make([]byte, 8))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{Deaf: true})
				if sent := flood(c, 100_000, func(i int) error { return tt.send(c, i) }); sent > tt.atMost {
					t.Errorf("%d were accepted without an answer being read, want at most %d", sent, tt.atMost)
				}
				pass(time.Second)
				if open := x.h2.Connections(); len(open) != 0 {
					t.Error("the connection is still open")
				}
			})
		})
	}
}
