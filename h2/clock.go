package h2

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/net/http2"
)

// One timer serves all deadlines of a connection. It is set for the earliest of
// them; when it fires everything is looked at, and it is set again. A deadline
// that moves away costs nothing, as nearly all do.

var (
	errIdle    = errors.New("h2: the connection was idle")
	errSilent  = errors.New("h2: the client does not answer")
	errSlow    = errors.New("h2: the client was slow in what has a deadline")
	errStalled = errors.New("h2: the client takes nothing")
	errFlooded = errors.New("h2: the client asks and does not read the answers")
	errQuit    = errors.New("h2: the connection has ended")
	errTimeout = fmt.Errorf("h2: write: %w", os.ErrDeadlineExceeded)
)

// armBy makes the timer fire at t at the latest. The caller holds mu.
func (c *conn) armBy(t time.Time) {
	if t.IsZero() || c.stage == dead || (!c.armed.IsZero() && !t.Before(c.armed)) {
		return
	}
	c.armed = t
	c.timer.Reset(time.Until(t))
}

// tick is what the timer calls.
func (c *conn) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = time.Time{}
	now := time.Now()
	c.checkConn(now)
	for _, st := range c.streams {
		c.checkStream(st, now)
	}
}

// due says that t has come; when it has not, the timer is set for it.
func (c *conn) due(t, now time.Time) bool {
	if t.IsZero() {
		return false
	}
	if now.Before(t) {
		c.armBy(t)
		return false
	}
	return true
}

// after is t and d, or never when either is zero.
func after(t time.Time, d time.Duration) time.Time {
	if t.IsZero() || d <= 0 {
		return time.Time{}
	}
	return t.Add(d)
}

func (c *conn) checkConn(now time.Time) {
	patience := c.leftOfConn()
	switch {
	case c.due(c.quitDue, now):
		c.kill(c.cause)
	case c.stage >= quitting: // that is the last deadline
	case c.due(after(c.writeSince, patience), now):
		c.count.Stalls++
		c.kill(errStalled)
	case c.due(after(c.connStall, patience), now):
		c.count.Stalls++
		c.fail(http2.ErrCodeEnhanceYourCalm, errStalled)
	case c.due(c.readDue, now), c.due(c.frameDue, now):
		c.fail(http2.ErrCodeEnhanceYourCalm, errSlow)
	case c.due(after(c.idleSince, c.idleTimeout()), now):
		c.fail(http2.ErrCodeNo, errIdle)
	case c.due(c.drainDue, now) && c.stage == draining:
		c.leave()
	}
	if c.due(c.grace.until, now) && !c.grace.over {
		c.wake()
	}
	c.checkAlive(now)
}

// checkAlive asks a silent client whether it is there.
func (c *conn) checkAlive(now time.Time) {
	patience := c.s.cfg.PingTimeout
	switch {
	case patience <= 0 || c.stage >= quitting:
	case c.due(after(c.pinged, patience), now):
		c.kill(errSilent)
	case c.pinged.IsZero() && c.due(c.heard.Add(patience), now):
		c.pinged = now
		c.queuePing(alivePing)
		c.armBy(now.Add(patience))
	}
}

func (c *conn) checkStream(st *stream, now time.Time) {
	if c.due(st.writeBy, now) {
		c.resetStream(st, http2.ErrCodeInternal, errTimeout)
		return
	}
	if c.due(after(st.stalled, c.leftOf(st)), now) {
		c.count.Stalls++
		c.resetStream(st, http2.ErrCodeCancel, errStalled)
		return
	}
	if c.due(st.readBy, now) {
		st.cond.Broadcast()
	}
	c.checkBodyRate(st, now)
}

// checkBodyRate ends requests whose body comes too slowly. The clock stands while
// the client waits for handlers: bytes wait to be read, or windows are used up.
func (c *conn) checkBodyRate(st *stream, now time.Time) {
	rate := c.s.cfg.MinBodyRate
	if rate <= 0 || st.recvDone || st.bodyClosed || st.bodySince.IsZero() {
		return
	}
	if st.body.len() > 0 || st.recvWindow <= 0 || c.recvWindow < recordSize {
		st.bodySince = st.bodySince.Add(now.Sub(st.bodyChecked))
	}
	st.bodyChecked = now
	if !c.due(st.bodySince.Add(c.s.cfg.BodyGrace), now) {
		return
	}
	if want := float64(rate) * now.Sub(st.bodySince).Seconds(); float64(st.bodyGot) < want {
		c.resetStream(st, http2.ErrCodeEnhanceYourCalm, errSlow)
		return
	}
	c.armBy(now.Add(time.Second))
}

// idleTimeout is the http.Server's: IdleTimeout, or else ReadTimeout.
func (c *conn) idleTimeout() time.Duration {
	if d := c.s.hs.IdleTimeout; d != 0 {
		return max(d, 0)
	}
	return max(c.s.hs.ReadTimeout, 0)
}
