package h2

import (
	"time"

	"golang.org/x/net/http2"
)

// Flow control, both ways (RFC 9113, 5.2 and 6.9). All callers hold mu.

// data takes a DATA frame: into the stream's buffer when somebody will read it.
// Padding, and what nobody reads, is given back at once.
func (c *conn) data(f *http2.DataFrame) error {
	length := int64(f.Length)
	if length > c.recvWindow {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	c.recvWindow -= length
	st := c.streams[f.StreamID]
	if st == nil || st.recvDone {
		c.owe(length)
		return c.strayData(f)
	}
	if length > st.recvWindow {
		c.owe(length)
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeFlowControl}
	}
	st.recvWindow -= length
	data := f.Data()
	st.bodyGot += int64(len(data))
	if st.declared >= 0 && st.bodyGot > st.declared {
		c.owe(length)
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeProtocol}
	}
	if st.bodyClosed {
		c.owe(length)
	} else {
		st.body.append(data)
		if padding := length - int64(len(data)); padding > 0 {
			c.giveBack(st, padding)
		}
		st.cond.Broadcast()
	}
	if f.StreamEnded() {
		return c.bodyEnded(st)
	}
	return nil
}

// strayData is DATA for a stream that takes none: one that we reset, of which
// the client may not know yet, or one that is closed (RFC 9113, 5.1).
func (c *conn) strayData(f *http2.DataFrame) error {
	id, known := f.StreamID, c.refused.find(f.StreamID)
	switch {
	case id > c.newest && c.stage >= leaving:
		return c.ignore() // a request that is not served
	case id > c.newest:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	case c.streams[id] == nil && known != nil:
		return c.lateData(f, known)
	}
	return http2.StreamError{StreamID: id, Code: http2.ErrCodeStreamClosed}
}

// lateData is DATA that was under way when its stream ended. A request whose
// body is not as long as it declares is malformed, even when it has been
// answered (RFC 9113, 8.1.1).
func (c *conn) lateData(f *http2.DataFrame, known *refusal) error {
	if known.left >= 0 {
		known.left -= int64(len(f.Data()))
		if known.left < 0 || f.StreamEnded() && known.left > 0 {
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
		}
	}
	return c.ignore()
}

// bodyEnded is END_STREAM of a request.
func (c *conn) bodyEnded(st *stream) error {
	if st.declared >= 0 && st.bodyGot != st.declared {
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeProtocol}
	}
	st.recvDone = true
	st.cond.Broadcast()
	return nil
}

// giveBack returns n bytes of a body, which have been read, to the client's
// windows: in portions, so that an update is worth its frame.
func (c *conn) giveBack(st *stream, n int64) {
	if !st.recvDone && st.err == nil {
		st.recvOwed += n
		if st.recvOwed >= (int64(c.s.cfg.StreamWindow)+1)/2 {
			st.recvWindow += st.recvOwed
			c.queueWindowUpdate(st.id, st.recvOwed)
			st.recvOwed = 0
		}
	}
	c.owe(n)
}

// owe returns n bytes to the connection's window.
func (c *conn) owe(n int64) {
	c.recvOwed += n
	if c.recvOwed >= int64(c.s.cfg.ConnWindow)/4 {
		c.recvWindow += c.recvOwed
		c.queueWindowUpdate(0, c.recvOwed)
		c.recvOwed = 0
	}
}

// dropBody forgets what was received and not read.
func (c *conn) dropBody(st *stream) {
	if n := st.body.drop(); n > 0 {
		c.owe(int64(n))
	}
}

// windowUpdate lets us send more.
func (c *conn) windowUpdate(f *http2.WindowUpdateFrame) error {
	more := int64(f.Increment)
	if f.StreamID == 0 {
		if c.sendWindow+more > maxWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		c.sendWindow += more
		c.connMoves()
		if c.sched.Ready() > 0 || c.recheck {
			c.wake()
		}
		return nil
	}
	st := c.streams[f.StreamID]
	switch {
	case st == nil && f.StreamID > c.newest && c.stage < leaving:
		return http2.ConnectionError(http2.ErrCodeProtocol) // idle (RFC 9113, 5.1)
	case st == nil:
		return nil // closed: it was under way
	case st.credit+c.peerWindow+more > maxWindow:
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeFlowControl}
	}
	st.credit += more
	c.maxCredit = max(c.maxCredit, st.credit)
	if st.blocked {
		c.offer(st)
	}
	return nil
}

// setPeerWindow changes the window of all streams at once, in O(1): each has its
// own credit on top of it. Only where one might overflow are they looked at.
func (c *conn) setPeerWindow(window int64) error {
	if window > maxWindow {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	if c.maxCredit+window > maxWindow {
		c.maxCredit = 0
		for _, st := range c.streams {
			c.maxCredit = max(c.maxCredit, st.credit)
		}
		if c.maxCredit+window > maxWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
	}
	if window > c.peerWindow && c.blocked.n > 0 {
		c.recheck = true
		c.wake()
	}
	c.peerWindow = window
	return nil
}

// room is how much the stream's handler may write now: as far as the stream's
// own limit while the connection has room, and a little whatever happens.
func (c *conn) room(st *stream) int {
	limit := c.s.cfg.StreamBuffer
	if c.buffered >= c.s.cfg.ConnBuffer {
		limit = min(limit, minStreamBuffer)
	}
	return limit - st.out.len()
}

// minStreamBuffer is what each stream may buffer, however full the connection is.
const minStreamBuffer = 4 << 10

// awaitRoom waits until room may have changed.
func (c *conn) awaitRoom(st *stream) {
	if !st.hungry && st.out.len() < c.s.cfg.StreamBuffer {
		st.hungry = true
		c.hungry = append(c.hungry, st)
	}
	st.writers++
	st.cond.Wait()
	st.writers--
	if st.err != nil && st.hungry {
		st.hungry = false
		c.hungry = without(c.hungry, st)
	}
}

// feed wakes handlers that wait for room, once it is worth the while.
func (c *conn) feed(st *stream) {
	if st.writers > 0 && (st.out.len() <= c.s.cfg.StreamBuffer/2) {
		st.cond.Broadcast()
	}
	if len(c.hungry) > 0 && c.buffered < c.s.cfg.ConnBuffer {
		for _, waiting := range c.hungry {
			waiting.hungry = false
			waiting.cond.Broadcast()
		}
		clear(c.hungry)
		c.hungry = c.hungry[:0]
	}
}

// stallConn notes since when the connection's window holds every stream back.
func (c *conn) stallConn() {
	if c.connStall.IsZero() {
		c.connStall = time.Now()
		c.armBy(c.connStall.Add(c.leftOfConn()))
	}
}
