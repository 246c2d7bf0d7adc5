package h2_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/h2test"
)

// goAways are the GOAWAY frames that have come.
func goAways(c *h2test.Client) []h2test.Event {
	var frames []h2test.Event
	for _, e := range c.Events() {
		if e.Type == http2.FrameGoAway {
			frames = append(frames, e)
		}
	}
	return frames
}

func TestShutdownTakesTwoStepsAndServesWhatWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, _ *http.Request) {
			<-release
			_, _ = io.WriteString(w, "answer")
		})
		c := s.dial(h2test.Options{Mute: true}) // it answers the PING when the test says so
		c.Must(c.Open(1, true, h2test.Get("/")...))
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- s.hs.Shutdown(t.Context()) }()
		ping := c.Until("PING", func(e h2test.Event) bool { return e.Type == http2.FramePing })
		if away := goAways(c); len(away) != 1 || away[0].Last != 1<<31-1 || away[0].Code != http2.ErrCodeNo {
			t.Fatalf("first step: %+v", away)
		}
		// It was on its way when the server spoke.
		c.Must(c.Open(3, true, h2test.Get("/")...))
		c.Must(c.Framer.WritePing(true, ping.Ping))
		last := c.Until("second GOAWAY", func(e h2test.Event) bool { return e.Type == http2.FrameGoAway })
		if last.Last != 3 || last.Code != http2.ErrCodeNo {
			t.Fatalf("second step: %+v", last)
		}
		c.Must(c.Open(5, true, h2test.Get("/")...)) // ignored: it is told so already
		synctest.Wait()
		close(release)
		for _, id := range []uint32{1, 3} {
			if r := c.Response(id); string(r.Body) != "answer" {
				t.Errorf("stream %d: %q", id, r.Body)
			}
		}
		if _, said := c.Ended(); said {
			t.Error("a third GOAWAY")
		}
		if err := <-ended; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if n := s.h2.Stats().GoAways[http2.ErrCodeNo]; n != 1 {
			t.Errorf("%d ends are counted", n)
		}
		for _, e := range c.Events() {
			if e.Stream == 5 {
				t.Errorf("stream 5 was answered: %v", e.Type)
			}
		}
	})
}

func TestShutdownDoesNotWaitForAPingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, func(http.ResponseWriter, *http.Request) {})
		c := s.dial(h2test.Options{Mute: true})
		before := time.Now()
		if err := s.hs.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(before); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		if away := goAways(c); len(away) != 2 {
			t.Errorf("%d GOAWAYs", len(away))
		}
	})
}

func TestConnectionEndsWhenItIsNotUsed(t *testing.T) {
	tests := []struct {
		name  string
		cfg   h2.Config
		hs    func(*http.Server)
		mute  bool
		after time.Duration // the end comes then
		code  http2.ErrCode
		said  bool
	}{
		{"for IdleTimeout", h2.Config{}, func(hs *http.Server) { hs.IdleTimeout = time.Minute }, false, time.Minute, http2.ErrCodeNo, true},
		{"for an IdleTimeout shorter than a header may take", h2.Config{}, func(hs *http.Server) { hs.IdleTimeout = time.Second }, false, time.Second, http2.ErrCodeNo, true},
		{"for ReadTimeout, without an IdleTimeout", h2.Config{}, func(hs *http.Server) { hs.ReadTimeout = 20 * time.Second }, false, 20 * time.Second, http2.ErrCodeNo, true},
		{"and PING is not answered", h2.Config{PingTimeout: 15 * time.Second}, nil, true, 30 * time.Second, 0, false},
		{"and PING is not answered, which comes soon", h2.Config{PingTimeout: time.Second}, nil, true, 2 * time.Second, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, test.cfg, test.hs, func(http.ResponseWriter, *http.Request) {})
				c := s.dial(h2test.Options{Mute: test.mute, Patience: time.Hour})
				before := time.Now()
				code, said := c.Ended()
				if code != test.code || said != test.said {
					t.Errorf("ended with %v, said: %v", code, said)
				}
				if took := time.Since(before); took < test.after || took > test.after+5*time.Second {
					t.Errorf("ended after %v", took)
				}
			})
		})
	}
}

func TestConnectionThatAnswersPingStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{PingTimeout: 15 * time.Second}, nil, func(http.ResponseWriter, *http.Request) {})
		c := s.dial(h2test.Options{})
		<-time.After(time.Hour)
		c.Must(c.Open(1, true, h2test.Get("/")...))
		if r := c.Response(1); r.Status != "200" {
			t.Errorf("status %s", r.Status)
		}
	})
}

func TestConnectionEndsWithoutAFirstRequestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, func(hs *http.Server) { hs.ReadHeaderTimeout = 5 * time.Second }, nil)
		conn, err := s.listener.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		_, _ = io.Copy(io.Discard, conn)
		if took := time.Since(before); took < 5*time.Second || took > 10*time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestDeadlinesOfARequest(t *testing.T) {
	tests := []struct {
		name    string
		change  func(*http.Server)
		handler http.HandlerFunc
		code    http2.ErrCode
	}{
		{"ReadTimeout ends reading, and the handler can still answer", func(hs *http.Server) { hs.ReadTimeout = 10 * time.Second }, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); !errors.Is(err, os.ErrDeadlineExceeded) {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusRequestTimeout)
		}, http2.ErrCodeNo},
		{"SetReadDeadline too", nil, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
			if _, err := io.ReadAll(r.Body); !errors.Is(err, os.ErrDeadlineExceeded) {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusRequestTimeout)
		}, http2.ErrCodeNo},
		{"WriteTimeout resets the stream", func(hs *http.Server) { hs.WriteTimeout = 10 * time.Second }, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, http2.ErrCodeInternal},
		{"SetWriteDeadline ends a Write that waits", nil, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Second))
			if _, err := w.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
				panic(err)
			}
		}, http2.ErrCodeInternal},
		{"SetWriteDeadline counts after the handler has returned", nil, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = w.Write(make([]byte, 10_000))
		}, http2.ErrCodeInternal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, h2.Config{}, test.change, test.handler)
				c := s.dial(h2test.Options{Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 100}}})
				c.Must(c.Open(1, false, h2test.Post("/")...))
				reset := c.Until("RST_STREAM", func(e h2test.Event) bool { return e.Type == http2.FrameRSTStream })
				if reset.Code != test.code {
					t.Errorf("code %v", reset.Code)
				}
				if status := c.Response(1).Status; test.code == http2.ErrCodeNo && status != "408" {
					t.Errorf("status %q", status)
				}
			})
		})
	}
}

func TestHandlersWriteAheadAsFarAsBuffersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := h2.Config{StreamBuffer: 32 << 10, ConnBuffer: 64 << 10}
		s := serve(t, cfg, nil, func(w http.ResponseWriter, _ *http.Request) {
			for range 128 {
				_, _ = w.Write(make([]byte, 8<<10))
			}
		})
		c := s.dial(h2test.Options{Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}})
		for i := range 10 {
			c.Must(c.Open(uint32(2*i+1), true, h2test.Get("/bulk")...))
		}
		synctest.Wait()
		conns := s.h2.Connections()
		if len(conns) != 1 || len(conns[0].Streams) != 10 {
			t.Fatalf("got %+v", conns)
		}
		most := int64(64<<10 + 32<<10 + 9*4<<10)
		if got := conns[0].Buffered; got < 64<<10 || got > most {
			t.Errorf("%d bytes are buffered", got)
		}
		for _, st := range conns[0].Streams {
			if st.Buffered < 4<<10 || st.Buffered > 32<<10 {
				t.Errorf("stream %d: %d bytes are buffered", st.ID, st.Buffered)
			}
		}
		// All come to their end, those too that waited for others' room.
		wide(c)
		c.Must(c.Framer.WriteSettings(wideSettings()...))
		for i := range 10 {
			if r := c.Response(uint32(2*i + 1)); len(r.Body) != 1<<20 {
				t.Errorf("stream %d: %d bytes", 2*i+1, len(r.Body))
			}
		}
		if got := s.h2.Connections()[0].Buffered; got != 0 {
			t.Errorf("%d bytes are left over", got)
		}
	})
}

func TestFlushWaitsForTheSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flushed := make(chan error, 1)
		s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "first")
			flushed <- http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		c := s.dial(h2test.Options{Deaf: true})
		c.Must(c.Open(1, true, h2test.Get("/")...))
		synctest.Wait()
		select {
		case <-flushed:
			t.Fatal("it did not wait")
		default:
		}
		c.Listen()
		if err := <-flushed; err != nil {
			t.Errorf("Flush: %v", err)
		}
		synctest.Wait()
		if frames := data(c); len(frames) != 1 || string(frames[0].Data) != "first" {
			t.Errorf("got %+v", frames)
		}
	})
}

func TestConnStateIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var states []string
		s := serve(t, h2.Config{}, func(hs *http.Server) {
			hs.ConnState = func(_ net.Conn, state http.ConnState) {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, state.String())
			}
		}, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
		})
		c := s.dial(h2test.Options{})
		c.Must(c.Open(1, false, h2test.Post("/")...))
		synctest.Wait()
		c.Must(c.Framer.WriteData(1, true, nil))
		c.Response(1)
		synctest.Wait()
		c.Close()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"new", "active", "idle", "active", "idle", "closed"}; !slices.Equal(states, want) {
			t.Errorf("got %v, want %v", states, want)
		}
	})
}

func TestWhatIsGoingOnCanBeSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, r *http.Request) {
			_ = h2.SetPhase(w, priority.Header, 160)
			_, _ = w.Write(make([]byte, 160))
			_ = h2.SetPhase(w, priority.Preview, 5000)
			_, _ = w.Write(make([]byte, 5000))
			if r.URL.Path == "/stay" {
				<-r.Context().Done()
			}
		})
		c := s.dial(h2test.Options{Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1000}}})
		c.Must(c.Open(1, true, h2test.Get("/stay?secret=1", "priority", "u=2, i")...))
		synctest.Wait()
		conns := s.h2.Connections()
		if len(conns) != 1 || len(conns[0].Streams) != 1 {
			t.Fatalf("got %+v", conns)
		}
		st := conns[0].Streams[0]
		want := h2.StreamInfo{
			ID: 1, Method: "GET", Path: "/stay", Urgency: 2, Incremental: true,
			Phase: priority.Preview, Buffered: 160 + 5000 - 1000, Sent: 1000, Window: 0, Since: st.Since,
		}
		if st != want {
			t.Errorf("got %+v, want %+v", st, want)
		}
		c.Must(c.Framer.WriteRSTStream(1, http2.ErrCodeCancel))
		synctest.Wait()
		stats := s.h2.Stats()
		if stats.ConnectionsOpen != 1 || stats.StreamsOpen != 0 || stats.StreamsTotal != 1 || stats.ResetsReceived != 1 ||
			stats.Bytes[priority.Header] != 160 || stats.Bytes[priority.Preview] != 840 || stats.Frames[priority.Preview] != 1 {
			t.Errorf("got %+v", stats)
		}
		c.Close()
		synctest.Wait()
		if after := s.h2.Stats(); after.ConnectionsOpen != 0 || after.StreamsTotal != 1 || after.Bytes != stats.Bytes {
			t.Errorf("after the end: %+v", after)
		}
	})
}

func TestHandlersOfAClosedConnectionAreCancelledAndWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended sync.WaitGroup
		ended.Add(2)
		s := serve(t, h2.Config{}, nil, func(w http.ResponseWriter, r *http.Request) {
			defer ended.Done()
			if r.URL.Path == "/write" {
				for {
					if _, err := w.Write(make([]byte, 10_000)); err != nil {
						break
					}
				}
			}
			<-r.Context().Done()
			if cause := context.Cause(r.Context()); !strings.Contains(cause.Error(), "client") {
				t.Errorf("cause: %v", cause)
			}
		})
		c := s.dial(h2test.Options{})
		c.Must(c.Open(1, true, h2test.Get("/write")...))
		c.Must(c.Open(3, true, h2test.Get("/")...))
		synctest.Wait()
		c.Close()
		ended.Wait()
	})
}
