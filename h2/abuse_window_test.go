package h2_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

const maxWindow = 1<<31 - 1

// RFC 9113, 6.9.1: no window is larger than 2^31-1, whatever makes it so.
func TestWindowOverflow(t *testing.T) {
	t.Run("of a stream resets the stream", func(t *testing.T) {
		attack(t, h2.Config{}, hold, func(t *testing.T, x *target) {
			c := x.client(h2test.Options{})
			c.Must(c.Open(1, true, h2test.Get("/")...))
			c.Must(c.Framer.WriteWindowUpdate(1, maxWindow))
			if r := c.Response(1); r.Reset != http2.ErrCodeFlowControl {
				t.Errorf("reset with %v, want FLOW_CONTROL_ERROR", r.Reset)
			}
			c.Must(c.Open(3, true, h2test.Get("/")...))
			synctest.Wait()
			if n := x.asked.Load(); n != 2 {
				t.Errorf("%d requests were served, want 2: the connection stays", n)
			}
		})
	})
	for name, send := range map[string]func(c *h2test.Client) error{
		"of the connection": func(c *h2test.Client) error { return c.Framer.WriteWindowUpdate(0, maxWindow) },
		"by a setting that is too large": func(c *h2test.Client) error {
			return c.Framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31})
		},
		"of an open stream by a setting": func(c *h2test.Client) error {
			if err := c.Framer.WriteWindowUpdate(1, maxWindow-65535); err != nil {
				return err
			}
			return c.Framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65536})
		},
	} {
		t.Run(name+" ends the connection", func(t *testing.T) {
			attack(t, h2.Config{}, hold, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				c.Must(c.Open(1, true, h2test.Get("/")...))
				c.Must(send(c))
				if e := c.GoAway(); e.Code != http2.ErrCodeFlowControl {
					t.Errorf("ended with %v, want FLOW_CONTROL_ERROR", e.Code)
				}
			})
		})
	}
}

func TestWindowUpdateOfNothing(t *testing.T) {
	attack(t, h2.Config{}, hold, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{})
		c.Must(c.Framer.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4)))
		if e := c.GoAway(); e.Code != http2.ErrCodeProtocol {
			t.Errorf("ended with %v, want PROTOCOL_ERROR", e.Code)
		}
	})
}

// Bodies beyond the windows that we gave are not kept.
func TestBodiesBeyondTheirWindow(t *testing.T) {
	send := func(c *h2test.Client, id uint32, size int) error {
		for size > 0 {
			n := min(size, 16<<10)
			if err := c.Framer.WriteData(id, false, make([]byte, n)); err != nil {
				return err
			}
			size -= n
		}
		return nil
	}
	t.Run("of a stream reset the stream", func(t *testing.T) {
		attack(t, h2.Config{StreamWindow: 64 << 10}, hold, func(t *testing.T, x *target) {
			c := x.client(h2test.Options{})
			c.Must(c.Open(1, false, h2test.Post("/")...))
			c.Must(send(c, 1, 64<<10+1))
			if r := c.Response(1); r.Reset != http2.ErrCodeFlowControl {
				t.Errorf("reset with %v, want FLOW_CONTROL_ERROR", r.Reset)
			}
		})
	})
	t.Run("of the connection end it", func(t *testing.T) {
		attack(t, h2.Config{StreamWindow: 64 << 10, ConnWindow: 128 << 10}, hold, func(t *testing.T, x *target) {
			c := x.client(h2test.Options{})
			for i := range 3 {
				c.Must(c.Open(uint32(2*i+1), false, h2test.Post("/")...))
				_ = send(c, uint32(2*i+1), 60<<10)
			}
			if e := c.GoAway(); e.Code != http2.ErrCodeFlowControl {
				t.Errorf("ended with %v, want FLOW_CONTROL_ERROR", e.Code)
			}
		})
	})
}

// What a stream that ended held of the connection's window is given back:
// else a client could use it up, by accident or not.
func TestWindowOfTheConnectionOutlivesStreams(t *testing.T) {
	for name, end := range map[string]func(c *h2test.Client, id uint32) error{
		"that the client resets": func(c *h2test.Client, id uint32) error {
			return c.Framer.WriteRSTStream(id, http2.ErrCodeCancel)
		},
		"that end": func(c *h2test.Client, id uint32) error { return c.Framer.WriteData(id, true, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{StreamWindow: 64 << 10, ConnWindow: 128 << 10}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.CopyN(io.Discard, r.Body, 1) // and leaves the rest
			}, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				for i := range 100 {
					id := uint32(2*i + 1)
					c.Must(c.Open(id, false, h2test.Post("/")...))
					for range 3 {
						c.Must(c.Framer.WriteDataPadded(id, false, make([]byte, 16<<10-300), make([]byte, 200)))
					}
					c.Must(end(c, id))
					synctest.Wait()
				}
				c.Must(c.Open(1001, true, h2test.Get("/")...))
				if r := c.Response(1001); r.Status != "200" {
					t.Errorf("status %q after 4.8 MB into a window of 128 KiB, want 200", r.Status)
				}
			})
		})
	}
}

// CVE-2026-78669: a new initial window counts for every open stream. It is
// right for each of them, the negative ones too (RFC 9113, 6.9.2).
func TestInitialWindowChurn(t *testing.T) {
	const streams, size = 200, 3000
	attack(t, h2.Config{StallTimeout: time.Hour}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{DropBodies: true, Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1000}}})
		c.Must(c.Framer.WriteWindowUpdate(0, 1<<30))
		for i := range streams {
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/")...))
		}
		got := func() map[uint32]int {
			synctest.Wait()
			sent := map[uint32]int{}
			for _, e := range c.Events() {
				if e.Type == http2.FrameData {
					sent[e.Stream] += e.Length
				}
			}
			return sent
		}
		expect := func(when string, want int) {
			t.Helper()
			sent := got()
			for i := range streams {
				if n := sent[uint32(2*i+1)]; n != want {
					t.Fatalf("%s: stream %d got %d bytes, want %d", when, 2*i+1, n, want)
				}
			}
		}
		expect("with a window of 1000", 1000)
		for range 400 { // as often as the budget allows; only the last one counts
			c.Must(c.Framer.WriteSettings(
				http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0},
				http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20},
				http2.Setting{ID: http2.SettingInitialWindowSize, Val: 500},
			))
		}
		expect("with a window of 500, of which 1000 were used", 1000)
		for i := range streams {
			c.Must(c.Framer.WriteWindowUpdate(uint32(2*i+1), 500))
		}
		expect("with the 500 given back", 1000)
		for i := range streams {
			c.Must(c.Framer.WriteWindowUpdate(uint32(2*i+1), 200))
		}
		expect("with 200 more", 1200)
		c.Must(c.Framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10_000}))
		expect("with a window for all of it", size)
	})
}

func TestSettingsThatAreNoSettings(t *testing.T) {
	many := make([]http2.Setting, 33)
	for i := range many {
		many[i] = http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(i)}
	}
	for name, tt := range map[string]struct {
		settings []http2.Setting
		code     http2.ErrCode
	}{
		"more entries than there are settings": {many, http2.ErrCodeEnhanceYourCalm},
		"a frame size too small":               {[]http2.Setting{{ID: http2.SettingMaxFrameSize, Val: 16383}}, http2.ErrCodeProtocol},
		"a frame size too large":               {[]http2.Setting{{ID: http2.SettingMaxFrameSize, Val: 1 << 24}}, http2.ErrCodeProtocol},
		"a push that is neither on nor off":    {[]http2.Setting{{ID: http2.SettingEnablePush, Val: 2}}, http2.ErrCodeProtocol},
		"priorities neither wanted nor not":    {[]http2.Setting{{ID: http2.SettingNoRFC7540Priorities, Val: 2}}, http2.ErrCodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{}, hello, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{})
				c.Must(c.Framer.WriteSettings(tt.settings...))
				if e := c.GoAway(); e.Code != tt.code {
					t.Errorf("ended with %v, want %v", e.Code, tt.code)
				}
			})
		})
	}
}

// A table of 4 GiB that a client offers is not filled by us.
func TestOurTableIsOurChoice(t *testing.T) {
	attack(t, h2.Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Path", r.URL.Path)
	}, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{Settings: []http2.Setting{{ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1}}})
		for i := range 200 {
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/")...))
			if r := c.Response(uint32(2*i + 1)); r.Status != "200" {
				t.Fatalf("status %q", r.Status)
			}
		}
	})
}
