package h2_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// endless writes until it cannot, and tells why.
func endless(failed *chan error) http.HandlerFunc {
	piece := make([]byte, 4<<10)
	return func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(piece); err != nil {
				*failed <- err
				return
			}
		}
	}
}

// Slow reading: each way in which a client can leave what it asked for.
func TestStalledStreams(t *testing.T) {
	const stall = 10 * time.Second
	for name, tt := range map[string]struct {
		settings []http2.Setting
		before   func(c *h2test.Client) error
		leaves   bool // the connection ends, and not only its streams
	}{
		"windows of streams that are never opened": {
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}},
		},
		"windows of streams that stay full": {
			before: func(c *h2test.Client) error { return c.Framer.WriteWindowUpdate(0, 1<<30) },
		},
		"a window of the connection that stays full": {
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 30}}, leaves: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var failed chan error // a channel is part of the bubble it was made in
			attack(t, h2.Config{StallTimeout: stall, MaxConcurrentStreams: 20}, endless(&failed), func(t *testing.T, x *target) {
				failed = make(chan error, 20)
				c := x.client(h2test.Options{Settings: tt.settings, DropBodies: true, Patience: time.Hour})
				if tt.before != nil {
					c.Must(tt.before(c))
				}
				start := time.Now()
				for i := range 20 {
					c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/")...))
				}
				if tt.leaves {
					if e := c.GoAway(); e.Code != http2.ErrCodeEnhanceYourCalm {
						t.Errorf("ended with %v, want ENHANCE_YOUR_CALM", e.Code)
					}
				} else {
					for i := range 20 {
						if r := c.Response(uint32(2*i + 1)); r.Reset != http2.ErrCodeCancel {
							t.Errorf("stream %d ended with %v (reset: %v), want CANCEL", 2*i+1, r.Reset, r.WasReset)
						}
					}
				}
				if took := time.Since(start); took < stall || took > 2*stall {
					t.Errorf("the streams ended after %v, want %v", took, stall)
				}
				for range 20 {
					if err := <-failed; err == nil {
						t.Error("a handler was not told")
					}
				}
				synctest.Wait()
				if n := x.running.Load(); n != 0 {
					t.Errorf("%d handlers still run", n)
				}
			})
		})
	}
}

// A handler that has returned leaves bytes behind: they are not kept for ever.
func TestStalledStreamOfAHandlerThatHasReturned(t *testing.T) {
	attack(t, h2.Config{StallTimeout: 10 * time.Second}, hello, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, Patience: time.Hour})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		if r := c.Response(1); !r.WasReset || r.Status != "200" {
			t.Errorf("status %q, reset %v; want 200 and then a reset", r.Status, r.WasReset)
		}
	})
}

func TestClientThatTakesNothingAtAll(t *testing.T) {
	const stall = 10 * time.Second
	var failed chan error
	attack(t, h2.Config{StallTimeout: stall}, endless(&failed), func(t *testing.T, x *target) {
		failed = make(chan error, 1)
		c := x.client(h2test.Options{Deaf: true})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		start := time.Now()
		if err := <-failed; err == nil {
			t.Error("the handler was not told")
		}
		if took := time.Since(start); took > 2*stall {
			t.Errorf("the connection was left after %v, want %v", took, stall)
		}
		synctest.Wait()
		if open := x.h2.Connections(); len(open) != 0 {
			t.Error("the connection is still open")
		}
	})
}

// A client that leaves no window and then does not take the GOAWAY either has
// stalled once, whatever deadlines pass before the connection is closed.
func TestAConnectionThatStallsIsCountedOnce(t *testing.T) {
	attack(t, h2.Config{StallTimeout: time.Second}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(1200 * time.Millisecond))
		}
		_, _ = w.Write(make([]byte, 100_000))
	}, func(t *testing.T, x *target) {
		conn, err := x.listener.Dial()
		if err != nil {
			t.Fatal(err)
		}
		c := h2test.Dial(t, conn, h2test.Options{Deaf: true, Settings: wideSettings()})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		c.Must(c.Open(3, true, h2test.Get("/late")...))
		frames := http2.NewFramer(nil, conn)
		for window, answers := 65535, 2; window > 0 || answers > 0; {
			f, err := frames.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			switch f.Header().Type {
			case http2.FrameData:
				window -= int(f.Header().Length)
			case http2.FrameHeaders:
				answers--
			}
		}
		pass(5 * time.Second)
		if n := x.h2.Stats().Stalls; n != 1 {
			t.Errorf("%d have stalled", n)
		}
	})
}

// A client that is slow but takes something is served.
func TestSlowClientIsServed(t *testing.T) {
	const size = 300 << 10
	attack(t, h2.Config{StallTimeout: 10 * time.Second}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{DropBodies: true, Patience: time.Hour, Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1000}}})
		c.Must(c.Framer.WriteWindowUpdate(0, 1<<20))
		c.Must(c.Open(1, true, h2test.Get("/")...))
		for range size / 1000 {
			pass(9 * time.Second)
			c.Must(c.Framer.WriteWindowUpdate(1, 1000))
		}
		if r := c.Response(1); r.WasReset || r.Length != size {
			t.Errorf("%d bytes, reset %v; want %d", r.Length, r.WasReset, size)
		}
	})
}

// A stream whose window is full holds back neither others nor their frames.
func TestBlockedStreamsBlockNobody(t *testing.T) {
	attack(t, h2.Config{StallTimeout: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, 200<<10))
	}, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{DropBodies: true, Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}})
		c.Must(c.Framer.WriteWindowUpdate(0, 1<<30))
		for i := range 200 {
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/", "priority", "u=0")...))
		}
		c.Must(c.Open(401, true, h2test.Get("/", "priority", "u=7")...))
		c.Must(c.Framer.WriteWindowUpdate(401, 1<<30))
		if r := c.Response(401); r.Length != 200<<10 {
			t.Errorf("the stream with a window got %d bytes, want %d", r.Length, 200<<10)
		}
		for _, e := range c.Events() {
			if e.Type == http2.FrameData && e.Stream != 401 {
				t.Fatalf("stream %d sent %d bytes into a window of 0", e.Stream, e.Length)
			}
		}
	})
}

// However urgent the others are, the least urgent stream is served.
func TestNoReadyStreamStarves(t *testing.T) {
	const urgent, size = 20, 400 << 10
	attack(t, h2.Config{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{DropBodies: true, Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}})
		c.Must(c.Framer.WriteWindowUpdate(0, 1<<30))
		c.Must(c.Open(1, true, h2test.Get("/", "priority", "u=7")...))
		for i := 1; i <= urgent; i++ {
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/", "priority", "u=0, i")...))
		}
		synctest.Wait() // all handlers have filled their buffers
		c.Must(c.Framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}))
		for i := 0; i <= urgent; i++ {
			c.Response(uint32(2*i + 1))
		}
		ahead, most := 0, 0
		for _, e := range c.Events() {
			switch {
			case e.Type != http2.FrameData:
			case e.Stream == 1:
				ahead = 0
			default:
				ahead++
				most = max(most, ahead)
			}
			if e.Stream == 1 && e.Ended() {
				break
			}
		}
		// One frame in sixteen goes to whoever has waited longest. The others
		// wait for the floor too, so that each of the 21 has its turn.
		if limit := 16 * (urgent + 1); most > limit {
			t.Errorf("%d frames in a row were of urgent streams, want at most %d", most, limit)
		}
	})
}

func TestSlowBody(t *testing.T) {
	const rate, grace = 1000, 10 * time.Second
	for name, tt := range map[string]struct {
		piece int
		every time.Duration
		ok    bool
	}{
		"a body that brings what is asked for": {5000, 4 * time.Second, true},
		"a body a byte at a time":              {1, time.Second, false},
		"a body that stops":                    {16_000, time.Hour, false},
		"a body a little too slow":             {5000, 6 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			var failed chan error
			attack(t, h2.Config{MinBodyRate: rate, BodyGrace: grace}, func(w http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				failed <- err
			}, func(t *testing.T, x *target) {
				failed = make(chan error, 1)
				c := x.client(h2test.Options{Patience: 24 * time.Hour})
				c.Must(c.Open(1, false, h2test.Post("/")...))
				start := time.Now()
				for range 20 {
					if c.Framer.WriteData(1, false, make([]byte, tt.piece)) != nil {
						break
					}
					pass(min(tt.every, time.Minute))
				}
				if tt.ok {
					c.Must(c.Framer.WriteData(1, true, nil))
					if err := <-failed; err != nil {
						t.Errorf("the body ended with %v", err)
					}
					if r := c.Response(1); r.Status != "200" {
						t.Errorf("status %q, reset %v", r.Status, r.Reset)
					}
					return
				}
				if err := <-failed; err == nil || errors.Is(err, io.EOF) {
					t.Errorf("reading ended with %v, want an error", err)
				}
				if r := c.Response(1); !r.WasReset {
					t.Errorf("status %q, want a reset", r.Status)
				}
				if took := time.Since(start); took < grace {
					t.Errorf("reset after %v, before the grace of %v", took, grace)
				}
			})
		})
	}
}

// A handler that does not read is its own fault, not that of the client.
func TestBodyThatNobodyReadsIsNotSlow(t *testing.T) {
	attack(t, h2.Config{MinBodyRate: 1000, BodyGrace: time.Second, StreamWindow: 1000}, func(w http.ResponseWriter, r *http.Request) {
		pass(time.Minute)
		n, err := io.Copy(io.Discard, r.Body)
		if n != 3000 || err != nil {
			http.Error(w, "cut off", http.StatusTeapot)
		}
	}, func(t *testing.T, x *target) {
		c := x.client(h2test.Options{Patience: time.Hour})
		c.Must(c.Open(1, false, h2test.Post("/")...))
		c.Must(c.Framer.WriteData(1, false, make([]byte, 1000)))
		for sent := 1000; sent < 3000; {
			e := c.Until("window", func(e h2test.Event) bool { return e.Type == http2.FrameWindowUpdate && e.Stream == 1 })
			c.Must(c.Framer.WriteData(1, false, make([]byte, e.Increment)))
			sent += int(e.Increment)
		}
		c.Must(c.Framer.WriteData(1, true, nil))
		if r := c.Response(1); r.Status != "200" {
			t.Errorf("status %q, reset %v; want 200", r.Status, r.Reset)
		}
	})
}

// A client that waits to be told to go on is not slow, however late the handler
// comes to read. Once it has been told, or has been answered, it can be.
func TestABodyIsNotDueBeforeItsClientIsToldToSend(t *testing.T) {
	for name, tt := range map[string]struct {
		first func(http.ResponseWriter)
		sends bool
	}{
		"told by reading":             {func(http.ResponseWriter) {}, true},
		"told by the handler":         {func(w http.ResponseWriter) { w.WriteHeader(http.StatusContinue) }, true},
		"told, and sends nothing":     {func(http.ResponseWriter) {}, false},
		"answered, and sends nothing": {func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, h2.Config{MinBodyRate: 1000, BodyGrace: time.Second}, func(w http.ResponseWriter, r *http.Request) {
				pass(time.Minute)
				tt.first(w)
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					panic(http.ErrAbortHandler)
				}
			}, func(t *testing.T, x *target) {
				c := x.client(h2test.Options{Patience: time.Hour})
				c.Must(c.Open(1, false, h2test.Post("/", "expect", "100-continue")...))
				c.Until("something", func(e h2test.Event) bool { return e.Stream == 1 })
				if tt.sends {
					c.Must(c.Framer.WriteData(1, true, make([]byte, 100)))
				}
				r := c.Response(1)
				if tt.sends && (r.Status != "200" || r.WasReset) {
					t.Errorf("status %q, reset: %v", r.Status, r.Reset)
				}
				if !tt.sends && r.Reset != http2.ErrCodeEnhanceYourCalm {
					t.Errorf("status %q, reset: %v", r.Status, r.Reset)
				}
			})
		})
	}
}

// A byte now and then keeps no stream from stalling; MinSendRate ends it.
func TestClientThatTakesAByteNowAndThen(t *testing.T) {
	for name, tt := range map[string]struct {
		settings []http2.Setting
		drip     func(c *h2test.Client) error
		before   func(c *h2test.Client) error
	}{
		"of a stream": {
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}},
			drip:     func(c *h2test.Client) error { return c.Framer.WriteWindowUpdate(1, 1) },
		},
		"of the connection": {
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 30}},
			drip:     func(c *h2test.Client) error { return c.Framer.WriteWindowUpdate(0, 1) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			var failed chan error
			attack(t, h2.Config{StallTimeout: 10 * time.Second, MinSendRate: 1000}, endless(&failed), func(t *testing.T, x *target) {
				failed = make(chan error, 1)
				c := x.client(h2test.Options{Settings: tt.settings, DropBodies: true, Patience: time.Hour})
				c.Must(c.Open(1, true, h2test.Get("/")...))
				start := time.Now()
				for len(failed) == 0 && time.Since(start) < 10*time.Minute {
					pass(5 * time.Second)
					if tt.drip(c) != nil {
						break
					}
				}
				if err := <-failed; err == nil {
					t.Error("the handler was not told")
				}
				// 64 KiB were taken at once, which are worth a minute at that rate.
				if took := time.Since(start); took < 10*time.Second || took > 100*time.Second {
					t.Errorf("ended after %v", took)
				}
			})
		})
	}
}
