package h2

import (
	"bytes"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
)

// A request is parsed without the mutex. What the clock does in that moment
// must not end the connection: a GOAWAY that names the request would be a
// promise to answer it.
func TestARequestThatIsBeingOpenedCounts(t *testing.T) {
	for name, tick := range map[string]func(c *conn){
		"when the last GOAWAY leaves":    func(c *conn) { c.stage = draining; c.leave() },
		"when the connection is too old": func(c *conn) { c.checkConn(time.Now().Add(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			defer ours.Close()
			hs := &http.Server{IdleTimeout: time.Minute}
			s, err := Configure(hs, Config{})
			if err != nil {
				t.Fatal(err)
			}
			answered := make(chan struct{})
			c := newConn(t.Context(), s, ours, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(answered) }), nil)
			defer c.timer.Stop()
			c.idleSince = time.Now().Add(-time.Hour)
			var block bytes.Buffer
			enc := hpack.NewEncoder(&block)
			for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: "/"}} {
				if err := enc.WriteField(f); err != nil {
					t.Fatal(err)
				}
			}
			r := &c.reader
			r.id, r.end, r.complete = 1, true, true
			if err := r.block.begin(block.Bytes(), true); err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			if err := c.headerBlock(r); err != nil {
				t.Fatal(err)
			}
			tick(c)
			c.mu.Unlock()
			if err := r.openStream(time.Now()); err != nil {
				t.Errorf("the request is lost: %v", err)
				return
			}
			<-answered
			c.handlers.Wait()
		})
	}
}
