package h2

import (
	"context"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2/priority"
)

// The life of streams. All callers hold mu.

func (c *conn) newStream(id uint32, now time.Time) *stream {
	st := &stream{c: c, id: id, opened: now, declared: -1, client: priority.NoWish(), server: priority.NoWish()}
	st.cond.L = &c.mu
	st.sched.ID, st.sched.Owner = id, st
	st.recvWindow = int64(c.s.cfg.StreamWindow)
	if !c.settingsAck {
		st.recvWindow = max(st.recvWindow, startWindow)
	}
	st.heads = st.headBuf[:0]
	st.ctx, st.cancel = context.WithCancelCause(c.ctx)
	return st
}

// admit makes a stream one of the connection's.
func (c *conn) admit(st *stream) {
	c.streams[st.id] = st
	c.grace.asked(st, st.opened)
	c.sched.Open(&st.sched, st.params)
	c.count.StreamsTotal++
}

// deadlines are those that the http.Server has for every request.
func (c *conn) deadlines(st *stream, now time.Time) {
	if d := c.s.hs.ReadTimeout; d > 0 && !st.recvDone {
		st.readBy = now.Add(d)
		c.armBy(st.readBy)
	}
	if d := c.s.hs.WriteTimeout; d > 0 {
		st.writeBy = now.Add(d)
		c.armBy(st.writeBy)
	}
}

// expectBody starts the clock for a request's body.
func (c *conn) expectBody(st *stream, now time.Time) {
	if c.s.cfg.MinBodyRate > 0 && !st.recvDone {
		st.bodySince, st.bodyChecked = now, now
		c.armBy(now.Add(c.s.cfg.BodyGrace))
	}
}

// start runs the stream's handler, or lets it wait for a place: those of streams
// that were reset keep theirs until they return.
func (c *conn) start(st *stream, x *exchange) {
	st.exchange = x
	if c.running >= int(c.s.cfg.MaxConcurrentStreams) {
		st.waits = true
		c.pending.add(st)
		return
	}
	c.running++
	st.served = true
	c.handlers.Go(func() { c.runHandlers(st) })
}

// runHandlers runs a handler, and then those that wait for its place. It is the
// goroutine of the handlers, and takes mu itself.
func (c *conn) runHandlers(st *stream) {
	defer func() {
		if st == nil {
			return
		}
		// The handler has ended the goroutine, with runtime.Goexit. Its place
		// is free all the same.
		if next := c.handlerDone(st); next != nil {
			c.handlers.Go(func() { c.runHandlers(next) })
		}
	}()
	for st != nil {
		x := st.exchange
		st.exchange = nil
		x.serve(c.handler)
		st = c.handlerDone(st)
	}
}

// holds says that a header list fits beside those that are held.
func (c *conn) holds(size int) bool { return c.headerBytes+size <= c.s.cfg.ConnHeaderBytes }

// holdHeaders counts a header list while a handler may hold on to it.
func (c *conn) holdHeaders(st *stream, size int) {
	st.headerSize += size
	c.headerBytes += size
}

func (c *conn) freeHeaders(st *stream) {
	c.headerBytes -= st.headerSize
	st.headerSize = 0
}

func (c *conn) handlerDone(st *stream) *stream {
	st.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freeHeaders(st)
	st.bodyClosed = true
	c.dropBody(st)
	next := c.pending.head
	if next != nil {
		c.pending.remove(next)
		next.waits, next.served = false, true
		return next
	}
	c.running--
	return nil
}

// resetStream ends a stream with RST_STREAM.
func (c *conn) resetStream(st *stream, code http2.ErrCode, cause error) {
	if st.gone {
		return
	}
	c.queueReset(st.id, code)
	c.refused.add(st.id, -1)
	c.closeStream(st, cause)
}

// closeStream takes a stream out. cause is nil when both sides are complete.
func (c *conn) closeStream(st *stream, cause error) {
	if st.gone {
		return
	}
	st.gone = true
	delete(c.streams, st.id)
	c.grace.answers(st)
	if st.waits {
		st.waits = false
		c.pending.remove(st)
		c.freeHeaders(st) // its handler will never return
	}
	if st.inFront {
		c.front.forget()
	}
	st.err = cause
	if cause == nil {
		st.err = errFinished
	}
	c.settle(st) // out of the scheduler's order and of blocked
	c.sched.Close(&st.sched)
	c.buffered -= st.out.drop()
	c.discardHeads(st)
	if !st.served {
		c.dropBody(st) // a handler may still read what came before the end
	}
	c.feed(st)
	st.cond.Broadcast()
	if cause != nil {
		st.cancel(cause)
	}
	c.idle()
}

func (c *conn) discardHeads(st *stream) {
	for i := range st.heads {
		st.heads[i].release()
	}
	st.heads = nil
	if st.tail != nil {
		st.tail.release()
		st.tail = nil
	}
}

// idle looks whether there are streams. A connection without any waits for the
// next, or ends.
func (c *conn) idle() {
	if len(c.streams) > 0 || c.opening {
		return
	}
	c.maxCredit, c.pace = 0, pace{}
	c.idleSince = time.Now()
	if c.stage == leaving {
		c.quit(c.s.cfg.StallTimeout, gracefulTime)
		return
	}
	if d := c.idleTimeout(); d > 0 {
		c.armBy(c.idleSince.Add(d))
	}
}
