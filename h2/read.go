package h2

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// A reader is the side of a connection that its reading goroutine owns.
type reader struct {
	c     *conn
	br    *bufio.Reader
	fr    *http2.Framer
	block *headerBlock
	// The HEADERS frame whose block is under way.
	id       uint32
	end      bool
	prio     http2.PriorityParam
	hasPrio  bool
	signal   signal // what its priority says
	complete bool   // it has all its frames
	opens    bool   // it is a request that gets a stream
}

func (r *reader) init(c *conn) {
	r.c = c
	r.br = bufio.NewReaderSize(c.nc, 8<<10)
	r.fr = http2.NewFramer(nil, r.br)
	r.fr.SetMaxReadFrameSize(16 << 10)
	r.fr.SetReuseFrames()
	r.block = newHeaderBlock(&c.s.cfg)
}

// run reads until the connection ends, and says why. An http2.ConnectionError
// is to be told to the client.
func (r *reader) run() error {
	if r.c.needPreface {
		if err := r.preface(); err != nil {
			return err
		}
	}
	for {
		if err := r.next(); err != nil {
			return err
		}
	}
}

// preface takes what every client says first (RFC 9113, 3.4).
func (r *reader) preface() error {
	var got [len(http2.ClientPreface)]byte
	if _, err := io.ReadFull(r.br, got[:]); err != nil {
		return fmt.Errorf("read preface: %w", err)
	}
	if string(got[:]) != http2.ClientPreface {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil
}

// frame reads one frame. Errors of the Framer become those of RFC 9113: what
// it leaves open is of the connection.
//
// A client may leave the connection silent between frames, but not within one:
// half a frame cannot be told from a whole one that is on its way.
func (r *reader) frame() (http2.Frame, error) {
	if _, err := r.br.Peek(1); err != nil {
		return nil, err
	}
	if r.br.Buffered() < frameHeader {
		r.c.frameBegun(r.c.headerTime())
	}
	header, err := r.fr.ReadFrameHeader()
	if err != nil {
		return nil, frameError(err)
	}
	if r.br.Buffered() < int(header.Length) {
		patience := r.c.s.cfg.StallTimeout
		if header.Type == http2.FrameHeaders || header.Type == http2.FrameContinuation {
			patience = r.c.headerTime()
		}
		r.c.frameBegun(patience)
	}
	f, err := r.fr.ReadFrameForHeader(header)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		// The payload is too short for its fields, or the client has gone.
		return nil, http2.ConnectionError(http2.ErrCodeFrameSize)
	case header.Type == http2.FrameHeaders && errors.As(err, new(http2.StreamError)):
		// Its block was not decoded, so no later one can be.
		return nil, http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil, frameError(err)
}

func frameError(err error) error {
	if errors.Is(err, http2.ErrFrameTooLarge) {
		return http2.ConnectionError(http2.ErrCodeFrameSize)
	}
	return err
}

// next reads a frame and acts on it. The mutex is not held while a header block
// is decoded or a request is built of it.
func (r *reader) next() error {
	c := r.c
	f, err := r.frame()
	if err == nil {
		err = r.fragment(f)
	}
	now := time.Now()
	c.mu.Lock()
	if err == nil {
		err = c.heardFrame(f, now)
	}
	if err == nil {
		err = c.handle(r, f)
	}
	err = c.settleError(err)
	c.mu.Unlock()
	if err == nil && r.opens {
		r.opens = false
		err = r.openStream(now)
	}
	if r.complete {
		r.complete = false
		r.block.forget()
	}
	c.tell()
	return err
}

// fragment decodes what a HEADERS or CONTINUATION frame has of a block.
func (r *reader) fragment(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.HeadersFrame:
		r.id, r.end, r.prio, r.hasPrio = f.StreamID, f.StreamEnded(), f.Priority, f.HasPriority()
		r.complete = f.HeadersEnded()
		return r.block.begin(f.HeaderBlockFragment(), r.complete)
	case *http2.ContinuationFrame:
		r.complete = f.HeadersEnded()
		return r.block.proceed(f.HeaderBlockFragment(), r.complete)
	}
	return nil
}

// handle acts on a frame. The caller holds mu.
func (c *conn) handle(r *reader, f http2.Frame) error {
	switch f := f.(type) {
	case *http2.HeadersFrame:
		if !r.complete {
			c.blockBegun()
			return nil
		}
		return c.headerBlock(r)
	case *http2.ContinuationFrame:
		if !r.complete {
			return nil
		}
		c.readDue = time.Time{}
		return c.headerBlock(r)
	case *http2.DataFrame:
		return c.data(f)
	case *http2.WindowUpdateFrame:
		return c.windowUpdate(f)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.RSTStreamFrame:
		return c.rstStream(f)
	case *http2.PingFrame:
		return c.ping(f)
	case *http2.PriorityFrame:
		return c.priorityFrame(f.StreamID, f.PriorityParam)
	case *http2.PriorityUpdateFrame:
		return c.priorityUpdate(f.PrioritizedStreamID, f.Priority)
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol) // clients do not push (RFC 9113, 8.4)
	default:
		return nil // GOAWAY of a client ends nothing; unknown frames are ignored (5.5)
	}
}

// discard reads what still comes.
func (r *reader) discard() {
	// Whatever ends it, the connection is closed next.
	_, _ = io.Copy(io.Discard, io.LimitReader(r.br, 1<<20))
}

// settleError turns an error of a stream into its reset. What it returns ends
// the connection. Reading also ends once nothing more is to be served. The
// caller holds mu.
func (c *conn) settleError(err error) error {
	c.frameDue = time.Time{}
	if se, ok := errors.AsType[http2.StreamError](err); ok {
		err = c.streamError(se.StreamID, se.Code)
	}
	if err == nil && c.stage >= quitting {
		err = errQuit
	}
	return err
}

// streamError resets a stream that its client has broken a rule of. Such resets
// cost the client what its own would: it has made us do it.
func (c *conn) streamError(id uint32, code http2.ErrCode) error {
	if id > c.newest {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if !c.resets.spend(1, time.Now()) {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	if st := c.streams[id]; st != nil {
		c.resetStream(st, code, errReset(code))
		return nil
	}
	c.queueReset(id, code)
	c.refused.add(id, -1)
	return nil
}

// heardFrame counts a frame against what a client may spend. The caller holds mu.
func (c *conn) heardFrame(f http2.Frame, now time.Time) error {
	c.heard, c.pinged = now, time.Time{}
	cost := int64(glitchUnit)
	switch f := f.(type) {
	case *http2.HeadersFrame:
		return c.firstSettings(false)
	case *http2.DataFrame:
		if len(f.Data()) > 0 || f.StreamEnded() {
			return c.firstSettings(false)
		}
	case *http2.SettingsFrame:
		if err := c.firstSettings(!f.IsAck()); err != nil {
			return err
		}
		cost *= settingsCost
		if f.NumSettings() > maxSettings {
			return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
		}
	default:
		if err := c.firstSettings(false); err != nil {
			return err
		}
	}
	if !c.glitches.spend(cost, now) {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return nil
}

// firstSettings holds the client to SETTINGS as its first frame (RFC 9113, 3.4).
func (c *conn) firstSettings(isSettings bool) error {
	if c.settingsSeen {
		return nil
	}
	if !isSettings {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	c.settingsSeen = true
	c.readDue = time.Time{}
	return nil
}

// blockBegun starts the clock for a header block that takes several frames. The
// caller holds mu.
func (c *conn) blockBegun() {
	c.readDue = time.Now().Add(c.headerTime())
	c.armBy(c.readDue)
}

// frameBegun starts the clock for a frame that has come in part.
func (c *conn) frameBegun(patience time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frameDue = time.Now().Add(patience)
	c.armBy(c.frameDue)
}

// headerTime is how long a header block may take.
func (c *conn) headerTime() time.Duration {
	if d := c.s.hs.ReadHeaderTimeout; d > 0 {
		return d
	}
	return prefaceTime
}

// ignore passes over what was under way when a stream ended. It is the client's
// to pay for, since it can go on for ever.
func (c *conn) ignore() error {
	if !c.glitches.spend(glitchUnit, time.Now()) {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return nil
}

// headerBlock acts on a complete block: trailers at once, while a request is
// left to openStream if there is to be a stream for it. The caller holds mu.
func (c *conn) headerBlock(r *reader) error {
	if st := c.streams[r.id]; st != nil {
		return c.trailerBlock(st, r)
	}
	switch {
	case r.id%2 == 0:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	case r.id <= c.newest:
		if c.refused.find(r.id) != nil {
			return c.ignore() // it was under way when we reset the stream
		}
		return http2.ConnectionError(http2.ErrCodeStreamClosed)
	case c.stage >= leaving && r.id > c.lastStream:
		return c.ignore() // the client has read, or will, that it was not served
	}
	c.newest = r.id
	if r.hasPrio && r.prio.StreamDep == r.id {
		return http2.StreamError{StreamID: r.id, Code: http2.ErrCodeProtocol}
	}
	r.signal = signal{}
	if r.hasPrio {
		r.signal = c.signalOf(r.id, r.prio)
	}
	if uint32(len(c.streams)) >= c.s.cfg.MaxConcurrentStreams || !r.block.tooLarge() && !c.holds(r.block.size) {
		return http2.StreamError{StreamID: r.id, Code: http2.ErrCodeRefusedStream}
	}
	// From here on the request counts, although it is parsed without the mutex:
	// a GOAWAY that names it must not be the end of the connection.
	r.opens, c.opening = true, true
	c.idleSince = time.Time{}
	return nil
}

// openStream makes a stream of a request and starts its handler.
func (r *reader) openStream(now time.Time) error {
	c := r.c
	tooLarge, fields := r.block.tooLarge(), r.block.take()
	st := c.newStream(r.id, now)
	st.recvDone = r.end
	var x *exchange
	var err error
	if !tooLarge {
		x, err = newExchange(st, fields)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opening = false
	switch {
	case c.stage >= quitting:
		st.cancel(errQuit)
		return errQuit
	case err != nil:
		st.cancel(err)
		err = c.streamError(r.id, http2.ErrCodeProtocol)
		c.idle()
		return err
	}
	c.wishOf(st, r, fields)
	c.admit(st)
	if tooLarge {
		c.refuse(st)
		return nil
	}
	c.holdHeaders(st, r.block.size)
	c.deadlines(st, now)
	if !x.resp.expects {
		c.expectBody(st, now)
	}
	c.start(st, x)
	return nil
}

// refuse answers a request whose header is too large (RFC 6585, 5).
func (c *conn) refuse(st *stream) {
	st.cancel(nil) // there is no handler that would
	st.bodyClosed = true
	st.heads = append(st.heads, outHeaders{status: http.StatusRequestHeaderFieldsTooLarge, endStream: true})
	st.fin = true
	c.offer(st)
}

// trailerBlock ends a request's body.
func (c *conn) trailerBlock(st *stream, r *reader) error {
	tooLarge, fields := r.block.tooLarge(), r.block.take()
	switch {
	case st.recvDone:
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeStreamClosed}
	case !r.end || tooLarge:
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeProtocol}
	}
	trailers, err := parseTrailers(fields, st.announced)
	if err != nil {
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeProtocol}
	}
	if st.bodyClosed {
		return c.bodyEnded(st) // nobody will see them, or give their bytes back
	}
	if !c.holds(r.block.size) {
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeEnhanceYourCalm}
	}
	c.holdHeaders(st, r.block.size)
	st.trailers = trailers
	return c.bodyEnded(st)
}
