package h2_test

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// A target is a whole http.Server with this package in it, in a synctest bubble.
type target struct {
	tb       testing.TB
	listener *h2test.Listener
	http     *http.Server
	h2       *h2.Server

	running, most atomic.Int64 // handlers
	asked         atomic.Int64
}

// attack runs test in a bubble against a server with this configuration. When
// the test is over nothing of the package may be left running: not after the
// client has gone, and before the server is closed.
func attack(t *testing.T, cfg h2.Config, handler http.HandlerFunc, test func(t *testing.T, x *target)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := newTarget(t, &http.Server{}, cfg, handler)
		x.serve(t)
		test(t, x)
	})
}

// newTarget configures a server that is not yet listening.
func newTarget(t *testing.T, server *http.Server, cfg h2.Config, handler http.HandlerFunc) *target {
	t.Helper()
	x := &target{tb: t, listener: h2test.Listen(), http: server}
	server.Handler = x.count(handler)
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	ours, err := h2.Configure(server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	x.h2 = ours
	return x
}

// serve accepts until the test ends.
func (x *target) serve(t *testing.T) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- x.http.Serve(x.listener) }()
	t.Cleanup(func() {
		// Clients closed their connections before this, in their own cleanup.
		synctest.Wait()
		if left := leftovers(); left != "" {
			t.Errorf("left running after the client had gone:\n%s", left)
		}
		if open := x.h2.Connections(); len(open) != 0 {
			t.Errorf("%d connections are open after their clients have gone", len(open))
		}
		_ = x.http.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
}

// leftovers is the stacks of goroutines that run this package's code in a bubble;
// servers of other tests, on sockets, may still be closing.
func leftovers() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, "synctest bubble") && strings.Contains(stack, "spillway/h2.(*") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// count watches how many handlers run at once.
func (x *target) count(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.asked.Add(1)
		n := x.running.Add(1)
		defer x.running.Add(-1)
		for {
			most := x.most.Load()
			if n <= most || x.most.CompareAndSwap(most, n) {
				break
			}
		}
		next(w, r)
	})
}

// client connects, and returns once SETTINGS are acknowledged: else that could
// come between the frames of a header block.
func (x *target) client(opts h2test.Options) *h2test.Client {
	x.tb.Helper()
	conn, err := x.listener.Dial()
	if err != nil {
		x.tb.Fatal(err)
	}
	c := h2test.Dial(x.tb, conn, opts)
	synctest.Wait()
	return c
}

// flood calls send at most n times, until the server has said that it goes away,
// and says how often it did. What is sent while a connection that has ended is
// still read, so that its GOAWAY arrives, does not count.
func flood(c *h2test.Client, n int, send func(i int) error) int {
	const few, look = 64, 16 // each of the first ones is looked at
	for i := range n {
		if send(i) != nil {
			return i
		}
		if i < few || i%look == look-1 {
			synctest.Wait()
			if c.Left() {
				return i + 1
			}
		}
	}
	return n
}

// pass lets the bubble's time go by.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock, not the machine's
}
