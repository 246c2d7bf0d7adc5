package h2

import (
	"encoding/binary"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2/priority"
)

// writeLoop is the goroutine that writes. Each pass chooses, under the mutex,
// what goes into about one TLS record, and then writes that at once: nothing is
// chosen before the socket has taken what was chosen last.
func (c *conn) writeLoop() {
	defer close(c.writerDone)
	for c.pass() {
		c.tell()
	}
	// All has been said. When saying so fails the transport is broken, and
	// reading shows that.
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	// The reader may be waiting for a frame: it stops, and lingers.
	_ = c.nc.SetReadDeadline(time.Now())
}

// pass waits for something to write and writes it. False: there is no more.
func (c *conn) pass() bool {
	c.mu.Lock()
	for !c.assemble() {
		if c.stage >= quitting {
			c.mu.Unlock()
			return false
		}
		c.woken = false
		c.work.Wait()
	}
	c.woken = true // nobody needs to wake a writer that is about to look again
	c.passes++
	c.writeSince = time.Now()
	c.armBy(c.writeSince.Add(c.leftOfConn()))
	c.mu.Unlock()

	_, err := c.nc.Write(c.out)
	now := time.Now()
	if unsent, changed := c.ahead.wrote(len(c.out), now.Sub(c.writeSince), now); changed {
		setNotSentLowat(c.raw, unsent)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.since(c.writeSince, now)
	c.pace.taken += int64(len(c.out))
	c.writeSince = time.Time{}
	c.passed = c.passes
	c.wakeFlushers()
	if err != nil {
		c.kill(err)
	}
	return c.stage != dead
}

// wake makes the writer look for work. The caller holds mu.
func (c *conn) wake() {
	if !c.woken {
		c.woken = true
		c.work.Signal()
	}
}

func (c *conn) wakeFlushers() {
	if len(c.flushing) == 0 {
		return
	}
	waiting := c.flushing[:0]
	for _, st := range c.flushing {
		if st.flushers > 0 {
			st.cond.Broadcast()
			waiting = append(waiting, st)
		}
	}
	clear(c.flushing[len(waiting):])
	c.flushing = waiting
}

// assemble fills out with what goes next, and says whether that is anything.
func (c *conn) assemble() bool {
	c.out = append(c.out[:0], c.control...)
	c.control = c.control[:0]
	if c.stage < quitting {
		c.assembleFront()
		c.assembleData()
	}
	return len(c.out) > 0
}

// assembleFront takes the streams whose next frame is no DATA with bytes.
func (c *conn) assembleFront() {
	for len(c.out) < c.batch() {
		st := c.front.peek()
		if st == nil {
			return
		}
		c.front.pop()
		st.inFront = false
		if st.err != nil || st.sendDone {
			continue
		}
		st.pass = c.passes + 1
		switch {
		case len(st.heads) > 0:
			c.putHeads(st)
		case st.out.len() > 0:
			// More was written since: the end comes behind that.
		case st.tail != nil:
			tail := st.tail
			st.tail = nil
			c.putHeaders(st, tail, true)
		case st.fin:
			c.out = appendFrame(c.out, 0, http2.FrameData, http2.FlagDataEndStream, st.id)
			c.endSent(st)
		}
		if st.err == nil && !st.sendDone {
			c.offer(st)
		}
	}
}

func (c *conn) putHeads(st *stream) {
	for i := range st.heads {
		if st.err != nil || st.sendDone {
			st.heads[i].release()
			continue
		}
		h := &st.heads[i]
		c.putHeaders(st, h, h.endStream)
	}
	st.heads = st.heads[:0]
}

// putHeaders encodes a block, in the order of the wire, into as many frames as
// the client's MAX_FRAME_SIZE asks for.
func (c *conn) putHeaders(st *stream, h *outHeaders, end bool) {
	c.encoded.Reset()
	err := h.encode(c.enc, &c.encoded)
	h.release()
	if err != nil {
		c.resetStream(st, http2.ErrCodeInternal, err)
		return
	}
	block := c.encoded.Bytes()
	kind, flags := http2.FrameHeaders, http2.Flags(0)
	if end {
		flags = http2.FlagHeadersEndStream
	}
	for first := true; first || len(block) > 0; first = false {
		part := block[:min(len(block), c.peerFrame)]
		if block = block[len(part):]; len(block) == 0 {
			flags |= http2.FlagHeadersEndHeaders
		}
		c.out = appendFrame(c.out, len(part), kind, flags, st.id)
		c.out = append(c.out, part...)
		kind, flags = http2.FrameContinuation, 0
	}
	if end {
		c.endSent(st)
	}
}

// assembleData lets the scheduler choose frames until the record is full.
func (c *conn) assembleData() {
	if c.recheck && c.sendWindow > 0 {
		c.unblockAll()
	}
	for {
		room := c.batch() - frameHeader - len(c.out)
		if room < 512 || c.front.peek() != nil {
			return
		}
		picked, ok := c.sched.Pick()
		if !ok {
			c.connMoves()
			return
		}
		if c.sendWindow <= 0 {
			c.stallConn()
			return
		}
		if !c.s.cfg.IgnorePhases && c.grace.holds(picked.Owner.(*stream).phase, time.Now) {
			c.armBy(c.grace.until)
			return
		}
		st := picked.Owner.(*stream)
		if st.phase == priority.Preview {
			if len(c.out) > 0 && st.fitsOnlyAlone(room) {
				return
			}
			room = max(room, recordSize-frameHeader-len(c.out))
		} else {
			// The floor of the scheduler lets streams pass whose turn it is not,
			// with less than a whole frame.
			room = min(room, c.sched.Limit())
		}
		c.putData(st, room)
	}
}

// putData puts one frame of the stream's bytes into the write: never more than
// both windows, the client's frame size, the record and the phase allow.
func (c *conn) putData(st *stream, room int) {
	window := st.credit + c.peerWindow
	if window <= 0 {
		c.settle(st) // a SETTINGS frame has taken the window away
		return
	}
	n := min(room, c.peerFrame, st.inPhase(), int(min(window, c.sendWindow)))
	var flags http2.Flags
	end := st.fin && st.tail == nil && n == st.out.len()
	if end {
		flags = http2.FlagDataEndStream
	}
	c.out = appendFrame(c.out, n, http2.FrameData, flags, st.id)
	at := len(c.out)
	c.out = extend(c.out, n)
	held := st.out.held()
	st.out.read(c.out[at:])
	c.buffered -= held - st.out.held()
	st.sent += int64(n)
	st.pace.taken += int64(n)
	st.credit -= int64(n)
	c.sendWindow -= int64(n)
	st.pass = c.passes + 1
	c.connMoves()
	c.glitches.earn(int64(n))
	c.count.sent(st.phase, n)
	c.sched.Sent(&st.sched, n)
	if end {
		c.endSent(st)
		return
	}
	c.enterPhase(st)
	c.settle(st)
	if st.out.len() == 0 && (st.fin || st.tail != nil) {
		c.offer(st)
	}
	c.feed(st)
}

// fitsOnlyAlone says that what waits of the stream's phase would be cut in two by
// the end of this record, but not by that of the next. Previews are not: a
// browser paints at once what it gets together with the size of a picture, which
// is behind the header, and takes its time with what comes later (Chromium: a
// second).
func (st *stream) fitsOnlyAlone(room int) bool {
	n := st.inPhase()
	return n > room && n <= recordSize-frameHeader
}

// inPhase is how many of the waiting bytes belong to the phase of the first.
func (st *stream) inPhase() int {
	n := st.out.len()
	if len(st.marks) > 0 {
		n = int(min(int64(n), st.marks[0].at-st.sent))
	}
	return n
}

// enterPhase makes marks count that the sent bytes have reached.
func (c *conn) enterPhase(st *stream) {
	for len(st.marks) > 0 && st.marks[0].at <= st.sent {
		m := st.marks[0]
		st.marks = st.marks[:copy(st.marks, st.marks[1:])]
		st.phase = m.phase
		c.sched.Mark(&st.sched, m.phase, m.size)
	}
}

// offer puts a stream that has something to send where the writer finds it.
func (c *conn) offer(st *stream) {
	c.grace.answers(st)
	switch {
	case st.err != nil || st.sendDone:
		return
	case len(st.heads) > 0 || st.out.len() == 0 && (st.tail != nil || st.fin):
		if !st.inFront {
			st.inFront = true
			c.front.push(st)
		}
	case st.out.len() > 0:
		c.settle(st)
	default:
		return
	}
	c.wake()
}

// settle tells the scheduler whether the stream can send, and keeps those that
// only lack a window of their own aside.
func (c *conn) settle(st *stream) {
	has := st.err == nil && !st.sendDone && st.out.len() > 0 && len(st.heads) == 0
	blocked := has && st.credit+c.peerWindow <= 0
	if blocked != st.blocked {
		st.blocked = blocked
		if blocked {
			c.blocked.add(st)
			st.stalled = time.Now()
			c.armBy(st.stalled.Add(c.leftOf(st)))
		} else {
			c.blocked.remove(st)
			st.pace.since(st.stalled, time.Now())
			st.stalled = time.Time{}
		}
	}
	if ready := has && !blocked; ready != st.isReady {
		st.isReady = ready
		c.sched.SetReady(&st.sched, ready)
		if c.sched.Ready() == 0 {
			c.connMoves() // nothing waits for the connection's window any more
		}
	}
}

// unblockAll looks again at the streams that had no window, after the client
// has raised that of all streams: once for a write, however many SETTINGS came.
func (c *conn) unblockAll() {
	c.recheck = false
	for st := c.blocked.head; st != nil; {
		next := st.nextLink
		c.settle(st)
		st = next
	}
}

// endSent closes our half. A client that still sends a body is asked to stop:
// nobody reads it (RFC 9113, 8.1).
func (c *conn) endSent(st *stream) {
	st.sendDone = true
	c.glitches.earn(answeredCredit * glitchUnit)
	if !st.recvDone {
		c.queueReset(st.id, http2.ErrCodeNo)
		c.refused.add(st.id, max(st.declared-st.bodyGot, -1))
	}
	c.closeStream(st, nil)
}

// appendFrame appends a frame's header.
func appendFrame(b []byte, n int, kind http2.FrameType, flags http2.Flags, id uint32) []byte {
	b = append(b, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags))
	return binary.BigEndian.AppendUint32(b, id)
}

// extend makes room for n bytes more, whatever they are.
func extend(b []byte, n int) []byte {
	if len(b)+n <= cap(b) {
		return b[:len(b)+n]
	}
	return append(b, make([]byte, n)...)
}

// The frames of the connection itself. They wait in control and go first; the
// caller holds mu.

func (c *conn) queueFrame(kind http2.FrameType, flags http2.Flags, id uint32, payload ...byte) {
	if c.stage >= quitting {
		return
	}
	if len(c.control) > maxControl {
		c.kill(errFlooded)
		return
	}
	c.control = appendFrame(c.control, len(payload), kind, flags, id)
	c.control = append(c.control, payload...)
	if kind == http2.FrameRSTStream {
		c.count.ResetsSent++
	}
	c.wake()
}

func (c *conn) queueSettings(settings ...http2.Setting) {
	var payload []byte
	for _, s := range settings {
		payload = binary.BigEndian.AppendUint16(payload, uint16(s.ID))
		payload = binary.BigEndian.AppendUint32(payload, s.Val)
	}
	c.queueFrame(http2.FrameSettings, 0, 0, payload...)
}

func (c *conn) queueWindowUpdate(id uint32, n int64) {
	c.queueFrame(http2.FrameWindowUpdate, 0, id, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func (c *conn) queueReset(id uint32, code http2.ErrCode) {
	c.queueFrame(http2.FrameRSTStream, 0, id, byte(code>>24), byte(code>>16), byte(code>>8), byte(code))
}

func (c *conn) queueGoAway(last uint32, code http2.ErrCode) {
	var payload [8]byte
	binary.BigEndian.PutUint32(payload[:4], last)
	binary.BigEndian.PutUint32(payload[4:], uint32(code))
	c.queueFrame(http2.FrameGoAway, 0, 0, payload[:]...)
}
