package h2

import "time"

// A pace tells slow clients from those that only seem to take something: a byte
// now and then keeps no stream from stalling, and yet its answer, and all that
// was kept to make it, would lie there for hours.
type pace struct {
	waited time.Duration // for the client, while there were bytes for it
	taken  int64         // bytes
}

// left is how much longer a client may be waited for: a stall, and the time that
// what it took was worth at a rate of so many bytes a second, but never more
// than a stall at once. Of a rate that several share each has its part. Rate 0
// takes any pace.
func (p pace) left(stall time.Duration, rate int64, sharers int) time.Duration {
	if rate <= 0 {
		return stall
	}
	earned := float64(p.taken) * float64(max(sharers, 1)) / float64(rate) * float64(time.Second)
	if earned >= float64(p.waited) { // of many bytes, more than a Duration holds
		return stall
	}
	return max(stall+time.Duration(earned)-p.waited, 1) // 0 would be for ever
}

// since adds the time from t, when the waiting began; zero adds nothing.
func (p *pace) since(t, now time.Time) {
	if !t.IsZero() {
		p.waited += now.Sub(t)
	}
}

// leftOf is how long the stream may still be without window.
func (c *conn) leftOf(st *stream) time.Duration {
	return st.pace.left(c.s.cfg.StallTimeout, c.s.cfg.MinSendRate, len(c.streams))
}

// leftOfConn is how long nothing may leave for want of the connection's window
// or of the client's acknowledgements.
func (c *conn) leftOfConn() time.Duration {
	return c.pace.left(c.s.cfg.StallTimeout, c.s.cfg.MinSendRate, 1)
}

// connMoves ends a wait for the connection's window.
func (c *conn) connMoves() {
	if c.connStall.IsZero() {
		return
	}
	c.pace.since(c.connStall, time.Now())
	c.connStall = time.Time{}
}
