package h2

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2/priority"
)

// A stream is one request and its answer.
//
// Its states are those of RFC 9113, 5.1, kept as two halves that close apart:
//
//	open:        both sides may send
//	half closed: recvDone, the request is complete (remote)
//	closed:      recvDone and sendDone, or reset by either side; gone is set
//
// Half closed (local) does not last: once our answer is complete nobody reads
// what the client still sends, and it is asked to stop (RST_STREAM, NO_ERROR).
//
// A stream leaves conn.streams the moment it is closed. Its handler may run on;
// whatever it calls then fails with err. Everything below the line belongs to
// conn.mu; cond, which shares that mutex, wakes the handler.
type stream struct {
	sched  priority.Stream // the stream's place in the connection's scheduler
	c      *conn
	id     uint32
	opened time.Time
	ctx    context.Context //nolint:containedctx // it is the request's: made with the stream, cancelled when it closes
	cancel context.CancelCauseFunc

	// Set by newExchange, before the handler starts; not changed later.
	method, path string      // for snapshots; the path is without its query
	declared     int64       // the request's content-length; -1 is not known
	announced    http.Header // the trailers that the request announces
	exchange     *exchange   // waits to be served; nil once its goroutine has it

	// ---- guarded by conn.mu ----

	cond sync.Cond // body arrived, buffer drained, deadline passed, closed

	recvDone bool  // END_STREAM was received
	sendDone bool  // END_STREAM has left
	err      error // why the stream was closed before its time

	// What comes in.
	body       buffer // received, not yet read
	bodyGot    int64  // bytes of body received
	bodyClosed bool   // the handler reads no more: what still comes is dropped
	recvWindow int64  // what the client may still send
	recvOwed   int64  // read by the handler, not yet given back to the client
	trailers   http.Header
	headerSize int       // of the request and its trailers, in conn.headerBytes
	readBy     time.Time // read deadline; zero is none
	// The body is due since bodySince, to which the time is added in which the
	// client waited for handlers; it was looked at last at bodyChecked.
	bodySince, bodyChecked time.Time

	// What goes out: heads, then out, then tail or an empty frame that ends.
	heads    []outHeaders // 1xx and the final header block, in order
	headBuf  [1]outHeaders
	out      buffer      // written by the handler, not yet in a frame
	tail     *outHeaders // trailers
	fin      bool        // nothing more is written
	marks    []mark      // where phases begin in out, in order
	phase    priority.Phase
	sent     int64     // bytes of body put into frames
	credit   int64     // the send window, less the peer's INITIAL_WINDOW_SIZE
	pass     uint64    // the write pass that took the stream's newest frame
	flushers int       // handlers that wait in flush
	writers  int       // handlers that wait for room
	hungry   bool      // in conn.hungry
	writeBy  time.Time // write deadline; zero is none
	stalled  time.Time // since when there are bytes that the client does not take
	pace     pace

	// Whose turn it is.
	client             priority.Wish // header field, PRIORITY_UPDATE or Chromium's chain
	server             priority.Wish // the response's priority field
	weight             uint16        // RFC 7540; 0 is none
	params             priority.Params
	inFront            bool    // in conn.front
	blocked            bool    // in conn.blocked: has bytes and no window
	isReady            bool    // as the scheduler knows it
	waits              bool    // in conn.pending
	silent             bool    // as conn.grace counts it
	served             bool    // its handler has been started
	gone               bool    // no longer in conn.streams
	prevLink, nextLink *stream // of conn.blocked or conn.pending
}

// mark says that the byte at offset at of the answer begins a phase.
type mark struct {
	at    int64
	phase priority.Phase
	size  int64
}

// queueHeaders puts a header block behind those that wait: informational ones,
// the final one, and after the body the trailers. The stream owns h from now on.
func (st *stream) queueHeaders(h outHeaders) error {
	return st.send(&h, nil, false)
}

// finish ends the answer behind what is buffered.
func (st *stream) finish() {
	// An error is that the stream is closed already, which is the same end.
	_ = st.send(nil, nil, true)
}

// send queues a header block, the bytes of p and the end, whichever are given,
// and wakes the writer once for all of it. p must fit the buffer, as
// minStreamBuffer bytes always do when nothing has been written before.
func (st *stream) send(h *outHeaders, p []byte, end bool) error {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := st.writable(); err != nil {
		if h != nil {
			h.release()
		}
		return err
	}
	if h != nil {
		if st.out.written == 0 && !st.fin {
			st.heads = append(st.heads, *h)
		} else {
			st.tail = h
		}
		end = end || h.endStream
	}
	if len(p) > 0 {
		st.out.append(p)
		c.buffered += len(p)
	}
	if end {
		st.fin = true
	}
	c.offer(st)
	return nil
}

// write puts p into the stream's buffer. It waits while that is full, and ends
// early when the stream is closed or its write deadline passes. What is longer
// than a buffer is sent from where it is: only the end of it is copied.
func (st *stream) write(p []byte) (int, error) {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(p) {
		if err := st.writable(); err != nil {
			return n, err
		}
		room := c.room(st)
		switch {
		case len(p)-n > c.s.cfg.StreamBuffer:
			m, err := st.lend(p[n:])
			return n + m, err
		case room <= 0:
			c.awaitRoom(st)
			continue
		}
		part := p[n:min(len(p), n+room)]
		st.out.append(part)
		c.buffered += len(part)
		n += len(part)
		c.offer(st)
	}
	return n, st.writable()
}

// lend lets the writer take p itself, and waits until so little is left of it
// that it fits the buffer. It says how much of p was taken or copied.
func (st *stream) lend(p []byte) (int, error) {
	c := st.c
	st.out.lend(p)
	c.offer(st)
	for st.err == nil && c.room(st) < 0 {
		c.awaitRoom(st)
	}
	if st.err != nil {
		return int(max(st.sent-(st.out.written-int64(len(p))), 0)), st.err
	}
	c.buffered += st.out.keep()
	return len(p), nil
}

// writable is nil while the handler may write.
func (st *stream) writable() error {
	switch {
	case st.err != nil:
		return st.err
	case st.fin:
		return errFinished
	}
	return nil
}

// flush waits until what has been written was given to the socket.
func (st *stream) flush() error {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	st.flushers++
	defer func() {
		if st.flushers--; st.flushers == 0 {
			c.flushing = without(c.flushing, st)
		}
	}()
	if st.flushers == 1 {
		c.flushing = append(c.flushing, st)
	}
	for !st.failed() && (st.unsent() || c.passed < st.pass) {
		st.cond.Wait()
	}
	if st.failed() {
		return st.err
	}
	return nil
}

// failed says that the stream ended before its answer was complete.
func (st *stream) failed() bool { return st.gone && !st.sendDone }

// unsent says that something of the answer is not in a frame yet.
func (st *stream) unsent() bool {
	return len(st.heads) > 0 || st.out.len() > 0 || st.tail != nil
}

// reset ends the stream in both directions, dropping what is buffered.
func (st *stream) reset(code http2.ErrCode) {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resetStream(st, code, errReset(code))
}

// setPhase says what is written from now on, and how much of it there will be.
func (st *stream) setPhase(p priority.Phase, size int64) {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if st.err != nil {
		return
	}
	m := mark{at: st.out.written, phase: p, size: size}
	if n := len(st.marks); n > 0 && st.marks[n-1].at == m.at {
		st.marks[n-1] = m
	} else {
		st.marks = append(st.marks, m)
	}
	c.enterPhase(st)
}

// setWish takes the response's priority field.
func (st *stream) setWish(w priority.Wish) {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	st.server = w
	c.reprioritize(st)
}

// setReadDeadline bounds how long readBody waits; the zero time is for ever.
func (st *stream) setReadDeadline(t time.Time) {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	st.readBy = t
	st.cond.Broadcast()
	c.armBy(t)
}

// setWriteDeadline resets the stream when t passes before its answer has left,
// even after the handler has returned. The zero time is for ever.
func (st *stream) setWriteDeadline(t time.Time) {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	st.writeBy = t
	c.armBy(t)
}

// expectBody is for a client that waits no longer to be told to send.
func (st *stream) expectBody() {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expectBody(st, time.Now())
}

// readBody reads what has come of the request's body and gives the client its
// window back. At the end it is io.EOF, and the trailers are in place.
func (st *stream) readBody(p []byte) (int, error) {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case st.bodyClosed:
			return 0, http.ErrBodyReadAfterClose
		case st.body.len() > 0:
			n := st.body.read(p)
			c.giveBack(st, int64(n))
			return n, nil
		case st.recvDone:
			return 0, io.EOF
		case st.err != nil:
			return 0, st.err
		case !st.readBy.IsZero() && !time.Now().Before(st.readBy):
			return 0, os.ErrDeadlineExceeded
		}
		st.cond.Wait()
	}
}

// closeBody drops what has come of the body and what will.
func (st *stream) closeBody() {
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if st.bodyClosed {
		return
	}
	st.bodyClosed = true
	c.dropBody(st)
	st.cond.Broadcast()
}
