package h2

import (
	"time"

	"golang.org/x/net/http2"
)

// A graceful end takes two steps (RFC 9113, 6.8). The first GOAWAY says that no
// new requests should come, and refuses none; once the client has answered the
// PING behind it, whatever it sent before it knew has come, and a little later
// the second GOAWAY names the last request that is served. The connection ends when that
// has been answered.

var (
	drainPing = [8]byte{'d', 'r', 'a', 'i', 'n'}
	alivePing = [8]byte{'a', 'l', 'i', 'v', 'e'}
)

// drainTime bounds how long the second step waits for the PING.
const drainTime = time.Second

// drainRest is how long requests are still taken up after the PING has come
// back. Go's client answers it in one goroutine while another is about to write
// a request that it had begun: one with a body that cannot be sent again would
// fail.
const drainRest = 50 * time.Millisecond

// drain begins a graceful end.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != serving {
		return
	}
	c.queueGoAway(maxWindow, http2.ErrCodeNo)
	c.count.goAway(http2.ErrCodeNo)
	c.queuePing(drainPing)
	c.stage = draining
	c.drainDue = time.Now().Add(drainTime)
	c.armBy(c.drainDue)
}

// leave is the second step, of the end that drain has counted.
func (c *conn) leave() {
	c.queueGoAway(c.newest, http2.ErrCodeNo)
	c.stage = leaving
	c.lastStream = c.newest
	c.drainDue = time.Time{}
	if len(c.streams) == 0 && !c.opening {
		c.quit(c.s.cfg.StallTimeout, gracefulTime)
	}
}

func (c *conn) queuePing(data [8]byte) {
	c.queueFrame(http2.FramePing, 0, 0, data[:]...)
}
