package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// serveOne serves a single connection until the test ends and gives the
// client's side of it.
func serveOne(t *testing.T, srv *http.Server) net.Conn {
	t.Helper()
	server, client := net.Pipe()
	listener := &oneConn{conn: make(chan net.Conn, 1), done: make(chan struct{})}
	listener.conn <- server
	ended := make(chan struct{})
	go func() { defer close(ended); srv.Serve(listener) }()
	t.Cleanup(func() { client.Close(); srv.Close(); <-ended })
	return client
}

// makes lets every picture have so many bytes.
func makes(b *bench, size int) {
	b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
		out, _, err := beginOutput(plan, 0, begin)
		if err != nil {
			return err
		}
		_, err = out.Write(make([]byte, size))
		return err
	}
}

// What has no body waits for the client as well: nobody may hold a connection
// by asking and never reading.
func TestAStalledClientIsCutOffWithoutABody(t *testing.T) {
	for name, request := range map[string]string{
		"HEAD":    "HEAD /assets/a.jpg HTTP/1.1\r\nHost: x\r\n\r\n",
		"304":     "GET /assets/a.jpg HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\n",
		"OPTIONS": "OPTIONS /resize HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(s *settings) { s.http.StallTimeout = 10 * time.Second })
				client := serveOne(t, &http.Server{Handler: b.public})
				io.WriteString(client, request)
				<-time.After(30 * time.Second) // stands still
				if n, err := client.Read(make([]byte, 1)); err == nil {
					t.Errorf("a client that stood still got %d bytes more", n)
				}
			})
		})
	}
}

// overHTTP2 asks the public handler over a connection of its own.
func overHTTP2(t *testing.T, b *bench, target string) (*http.Response, error) {
	t.Helper()
	var only http.Protocols
	only.SetUnencryptedHTTP2(true)
	connection := serveOne(t, &http.Server{Handler: b.public, Protocols: &only})
	client := &http.Transport{Protocols: &only, DialContext: func(context.Context, string, string) (net.Conn, error) { return connection, nil }}
	t.Cleanup(client.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client.RoundTrip(r)
}

func TestAFailureAfterTheFirstByteEndsAnHTTP2StreamWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *settings) { s.transform.Hold = 4 })
		goOn := make(chan struct{})
		b.engine.run = slowly("head", goOn, func(io.Writer) error {
			return media.Errorf(media.CodeDecodeFailed, "The picture is broken further down.")
		})
		res, err := overHTTP2(t, b, "/assets/a.jpg?format=png")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		close(goOn)
		if text, err := io.ReadAll(res.Body); err == nil || res.ProtoMajor != 2 {
			t.Errorf("a cut answer over %s ends well, with %q", res.Proto, text)
		}
	})
}

// The deadline is the client's. An encoder that pauses for longer between two
// writes must not cost an HTTP/2 stream, whose deadlines end it at once.
func TestAnEncoderMayPauseForLongerThanAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *settings) { s.http.StallTimeout, s.transform.Hold = time.Second, 4 })
		b.engine.run = func(_ context.Context, plan *media.Plan, begin transform.Begin) error {
			out, _, err := beginOutput(plan, 0, begin)
			if err != nil {
				return err
			}
			for range 3 {
				if _, err := io.WriteString(out, "piece"); err != nil {
					return err
				}
				<-time.After(3 * time.Second)
			}
			return nil
		}
		res, err := overHTTP2(t, b, "/assets/a.jpg?format=png")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, err := io.ReadAll(res.Body); err != nil || string(text) != "piecepiecepiece" || res.ProtoMajor != 2 {
			t.Errorf("got %q over %s, %v", text, res.Proto, err)
		}
	})
}

// reading is a client that takes so many bytes a second, and how long it was
// served.
func reading(t *testing.T, b *bench, rate int) (taken int64, served time.Duration, err error) {
	t.Helper()
	client := serveOne(t, &http.Server{Handler: b.public})
	io.WriteString(client, "GET /assets/a.jpg?format=png HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	began, piece := time.Now(), make([]byte, rate)
	for {
		<-time.After(time.Second)
		n, err := io.ReadFull(client, piece)
		if taken += int64(n); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
				err = nil
			}
			return taken, time.Since(began), err
		}
	}
}

// What a client does not take lies in memory or on disk, so nobody may make it
// lie there for hours by taking a little of it now and then.
func TestAClientHasToTakeSoManyBytesASecond(t *testing.T) {
	const size = 2 << 20
	for name, c := range map[string]struct {
		rate  int
		least int64
		whole bool
	}{
		"half the rate":             {2 << 10, 4 << 10, false},
		"twice the rate":            {8 << 10, 4 << 10, true},
		"half the rate, none asked": {2 << 10, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(s *settings) { s.http.StallTimeout, s.http.MinWriteRate = time.Minute, c.least })
				makes(b, size)
				taken, served, err := reading(t, b, c.rate)
				if err != nil || (taken >= size) != c.whole {
					t.Errorf("got %d of %d bytes in %s, %v", taken, size, served, err)
				}
				if !c.whole && served > 5*time.Minute {
					t.Errorf("was served for %s", served)
				}
				synctest.Wait()
				if s := b.spools.Stats(); s.Open != 0 && !c.whole {
					t.Errorf("%d spools are still held", s.Open)
				}
			})
		})
	}
}

// A client that takes its time holds bytes, but neither worker nor pixels.
func TestASlowClientHoldsNoPlaceAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *settings) { s.transform.Jobs, s.transform.CacheMemory = 1, 0 })
		makes(b, 1<<20)
		client := serveOne(t, &http.Server{Handler: b.public})
		io.WriteString(client, "GET /assets/a.jpg?format=png HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := client.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the answer waits for the client from here on
		if s := b.images.Stats(); s.Running != 0 || s.ReservedBytes != 0 || s.Done != 1 {
			t.Errorf("work is held: %+v", s)
		}
		if s := b.spools.Stats(); s.Open == 0 {
			t.Error("the answer was over before it was read")
		}
		client.Close()
		synctest.Wait()
	})
}
