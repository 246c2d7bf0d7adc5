package httpapi_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// byOurs serves b by our own server of HTTP/2 and gives a client's connection.
// It belongs into a bubble, where the time of the tests costs none.
func byOurs(t *testing.T, b *bench, cfg h2.Config) net.Conn {
	t.Helper()
	listener := h2test.Listen()
	server := &http.Server{Handler: b.public}
	if _, err := h2.Configure(server, cfg); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); server.Serve(listener) }()
	t.Cleanup(func() { server.Close(); <-ended })
	conn, err := listener.Dial()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// assertGivenBack holds a server to what it had before anybody came.
func assertGivenBack(t *testing.T, b *bench) {
	t.Helper()
	synctest.Wait()
	if s := b.images.Stats(); s.Running != 0 || s.ReservedBytes != 0 || s.Flights != 0 {
		t.Errorf("work is held: %+v", s)
	}
	if s := b.spools.Stats(); s.Open != 0 {
		t.Errorf("%d spools are still held", s.Open)
	}
}

func TestAStreamWhoseClientTakesNothingIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		makes(b, 2<<20)
		conn := byOurs(t, b, h2.Config{StallTimeout: 10 * time.Second})
		client := h2test.Dial(t, conn, h2test.Options{
			Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, Patience: time.Minute,
		})
		began := time.Now()
		client.Must(client.Open(1, true, h2test.Get("/assets/a.jpg?format=png")...))
		synctest.Wait()
		if s := b.images.Stats(); s.Running != 0 || s.Done != 1 {
			t.Errorf("a client without window holds a worker: %+v", s)
		}
		client.Until("a reset", func(e h2test.Event) bool { return e.Type == http2.FrameRSTStream && e.Stream == 1 })
		if waited := time.Since(began); waited < 10*time.Second || waited > 12*time.Second {
			t.Errorf("was dropped after %s", waited)
		}
		assertGivenBack(t, b)
		client.Must(client.Open(3, true, h2test.Get("/healthz")...))
		client.Must(client.Framer.WriteWindowUpdate(3, 1000))
		if res := client.Response(3); res.Status != "200" {
			t.Errorf("the connection answers %+v", res)
		}
		conn.Close()
		synctest.Wait()
	})
}

func TestAConnectionWhoseClientReadsNothingIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		makes(b, 2<<20)
		conn := byOurs(t, b, h2.Config{StallTimeout: 10 * time.Second})
		client := h2test.Dial(t, conn, h2test.Options{Deaf: true, Patience: time.Minute})
		client.Must(client.Open(1, true, h2test.Get("/assets/a.jpg?format=png")...))
		client.Must(client.Open(3, true, h2test.Get("/assets/b.jpg?format=png")...))
		<-time.After(12 * time.Second)
		assertGivenBack(t, b)
		if err := client.Open(5, true, h2test.Get("/healthz")...); err == nil {
			t.Error("the connection is still there")
		}
		conn.Close()
		synctest.Wait()
	})
}

// What a client does not take lies in memory or on disk, so nobody may make it
// lie there for hours by a window of a few bytes now and then.
func TestAClientHasToOpenItsWindowForSoManyBytesASecond(t *testing.T) {
	const size = 512 << 10
	for name, c := range map[string]struct {
		window uint32 // each second
		least  int64
		whole  bool
	}{
		"half the rate":             {2 << 10, 4 << 10, false},
		"twice the rate":            {8 << 10, 4 << 10, true},
		"half the rate, none asked": {2 << 10, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil)
				makes(b, size)
				conn := byOurs(t, b, h2.Config{StallTimeout: 30 * time.Second, MinSendRate: c.least})
				client := h2test.Dial(t, conn, h2test.Options{
					Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, Patience: time.Hour,
				})
				client.Must(client.Open(1, true, h2test.Get("/assets/a.jpg?format=png")...))
				client.Must(client.Framer.WriteWindowUpdate(0, size))
				ended := make(chan struct{})
				opened := make(chan struct{})
				go func() {
					defer close(opened)
					for tick := time.NewTicker(time.Second); ; {
						select {
						case <-tick.C:
							_ = client.Framer.WriteWindowUpdate(1, c.window)
						case <-ended:
							return
						}
					}
				}()
				began := time.Now()
				res := client.Response(1)
				close(ended)
				<-opened
				if whole := len(res.Body) == size && !res.WasReset; whole != c.whole {
					t.Errorf("got %d of %d bytes in %s: reset %t", len(res.Body), size, time.Since(began), res.WasReset)
				}
				if taken := time.Since(began); !c.whole && taken > 2*time.Minute {
					t.Errorf("was served for %s", taken)
				}
				assertGivenBack(t, b)
				conn.Close()
				synctest.Wait()
			})
		})
	}
}

// A page of many pictures on a thin line takes longer than a stall: the last
// ones wait for the first, and not for a client that stands still.
func TestPicturesThatWaitForOthersAreNotStalled(t *testing.T) {
	const pictures, size = 100, 60 << 10
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *settings) { s.http.StallTimeout, s.http.MinWriteRate = 5*time.Second, 2<<10 })
		makes(b, size)
		conn := byOurs(t, b, h2.Config{StallTimeout: 5 * time.Second, MinSendRate: 2 << 10})
		client := h2test.Dial(t, thin{conn, 100 << 10}, h2test.Options{
			Settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 6 << 20}}, DropBodies: true, Patience: time.Hour,
		})
		client.Must(client.Framer.WriteWindowUpdate(0, 15<<20))
		for i := range uint32(pictures) {
			client.Must(client.Open(2*i+1, true, h2test.Get(fmt.Sprintf("/assets/%d.jpg?format=png", i), "priority", "u=2, i")...))
		}
		began := time.Now()
		for i := range uint32(pictures) {
			if res := client.Response(2*i + 1); res.WasReset || res.Status != "200" {
				t.Fatalf("picture %d after %s: %+v", i, time.Since(began), res)
			}
		}
		if took := time.Since(began); took < 30*time.Second {
			t.Errorf("the line was not thin: all came in %s", took)
		}
		assertGivenBack(t, b)
		conn.Close()
		synctest.Wait()
	})
}

// thin is a line that brings so many bytes a second.
type thin struct {
	net.Conn
	rate int
}

func (l thin) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p[:min(len(p), 4<<10)])
	<-time.After(time.Duration(n) * time.Second / time.Duration(l.rate))
	return n, err
}

var _ io.Reader = thin{}
