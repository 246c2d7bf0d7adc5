package h2test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Options is what a client does by itself. The zero value reads everything,
// answers SETTINGS and PING, and leaves windows alone.
type Options struct {
	// Settings of the client's first frame.
	Settings []http2.Setting
	// Deaf clients read nothing until Listen is called.
	Deaf bool
	// Mute clients do not acknowledge SETTINGS or PING.
	Mute bool
	// DropBodies keeps the length of DATA frames and drops their bytes.
	DropBodies bool
	// Patience is how long a test waits for an answer (30 s). It outlasts the
	// timeouts of the server that is tested.
	Patience time.Duration
}

// An Event is a frame that came in. Only what its type has is set.
type Event struct {
	Type      http2.FrameType
	Flags     http2.Flags
	Stream    uint32
	At        time.Time
	Fields    []hpack.HeaderField // HEADERS, CONTINUATION joined
	Data      []byte              // DATA, without padding
	Length    int                 // of the payload, with padding
	Code      http2.ErrCode       // RST_STREAM, GOAWAY
	Last      uint32              // GOAWAY
	Debug     string              // GOAWAY
	Increment uint32              // WINDOW_UPDATE
	Settings  []http2.Setting
	Ping      [8]byte
}

// Ended says that the frame is the last of its stream.
func (e Event) Ended() bool {
	return e.Type == http2.FrameRSTStream ||
		(e.Type == http2.FrameData || e.Type == http2.FrameHeaders) && e.Flags.Has(http2.FlagDataEndStream)
}

// Field is the first value of a field; "" when there is none.
func (e Event) Field(name string) string {
	for _, f := range e.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// A Client speaks HTTP/2 over one connection.
type Client struct {
	// Framer writes frames. Its errors say that the connection has ended.
	Framer *http2.Framer
	Conn   net.Conn

	tb   testing.TB
	opts Options
	enc  *hpack.Encoder
	buf  bytes.Buffer

	listen sync.Once
	done   chan struct{} // closed when the reader has returned

	answers sync.WaitGroup

	mu     sync.Mutex
	turn   chan struct{} // holds one token; who has it writes
	events []Event
	next   int // of events, the first that Next has not returned
	err    error
	more   chan struct{} // closed and replaced with each event
}

// Dial speaks HTTP/2 over conn, which it closes when the test ends: the preface
// and SETTINGS are sent at once.
func Dial(tb testing.TB, conn net.Conn, opts Options) *Client {
	tb.Helper()
	if opts.Patience == 0 {
		opts.Patience = 30 * time.Second
	}
	c := &Client{Conn: conn, tb: tb, opts: opts, done: make(chan struct{}), turn: make(chan struct{}, 1), more: make(chan struct{})}
	c.turn <- struct{}{}
	c.Framer = http2.NewFramer(&testWriter{c: c}, conn)
	c.Framer.AllowIllegalWrites = true
	c.enc = hpack.NewEncoder(&c.buf)
	tb.Cleanup(c.Close)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		tb.Fatal(err)
	}
	if err := c.Framer.WriteSettings(opts.Settings...); err != nil {
		tb.Fatal(err)
	}
	if !opts.Deaf {
		c.Listen() // not before: an acknowledgement must not come first
	}
	return c
}

// A testWriter writes the test's frames. A Framer writes each with one call.
// While a header block is open it keeps its turn: an acknowledgement inside one
// would end the connection.
type testWriter struct {
	c    *Client
	held bool
}

func (w *testWriter) Write(p []byte) (int, error) {
	if !w.held {
		<-w.c.turn
	}
	n, err := w.c.Conn.Write(p)
	if len(p) > 4 && (http2.FrameType(p[3]) == http2.FrameHeaders || http2.FrameType(p[3]) == http2.FrameContinuation) {
		w.held = !http2.Flags(p[4]).Has(http2.FlagHeadersEndHeaders)
	}
	if !w.held {
		w.c.turn <- struct{}{}
	}
	return n, err
}

// An answerWriter writes what the client answers by itself, unless the
// connection is closed before it is its turn.
type answerWriter struct{ c *Client }

func (w answerWriter) Write(p []byte) (int, error) {
	select {
	case <-w.c.turn:
	case <-w.c.done:
		return 0, net.ErrClosed
	}
	defer func() { w.c.turn <- struct{}{} }()
	return w.c.Conn.Write(p)
}

// Listen starts to read, once.
func (c *Client) Listen() { c.listen.Do(func() { go c.read() }) }

// Close ends the connection and waits for all that Dial and Listen started.
func (c *Client) Close() {
	_ = c.Conn.Close()
	c.listen.Do(func() { close(c.done) })
	<-c.done
	c.answers.Wait()
}

// read takes frames down until the connection ends.
func (c *Client) read() {
	defer close(c.done)
	fr := http2.NewFramer(nil, c.Conn)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			c.mu.Lock()
			c.err = err
			close(c.more)
			c.mu.Unlock()
			return
		}
		c.note(f)
		c.answer(f)
	}
}

// answer acknowledges what asks for it, without waiting: a server that no longer
// reads may still have something to say.
func (c *Client) answer(f http2.Frame) {
	if c.opts.Mute {
		return
	}
	var frame func(*http2.Framer) error
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			frame = (*http2.Framer).WriteSettingsAck
		}
	case *http2.PingFrame:
		if data := f.Data; !f.IsAck() {
			frame = func(fr *http2.Framer) error { return fr.WritePing(true, data) }
		}
	}
	if frame != nil {
		c.answers.Go(func() { _ = frame(http2.NewFramer(answerWriter{c}, nil)) })
	}
}

func (c *Client) note(f http2.Frame) {
	h := f.Header()
	e := Event{Type: h.Type, Flags: h.Flags, Stream: h.StreamID, Length: int(h.Length), At: time.Now()} //nolint:forbidigo // tests measure when frames came
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		e.Fields = f.Fields
	case *http2.DataFrame:
		if !c.opts.DropBodies {
			e.Data = bytes.Clone(f.Data())
		}
	case *http2.RSTStreamFrame:
		e.Code = f.ErrCode
	case *http2.GoAwayFrame:
		e.Code, e.Last, e.Debug = f.ErrCode, f.LastStreamID, string(f.DebugData())
	case *http2.WindowUpdateFrame:
		e.Increment = f.Increment
	case *http2.PingFrame:
		e.Ping = f.Data
	case *http2.SettingsFrame:
		_ = f.ForeachSetting(func(s http2.Setting) error { e.Settings = append(e.Settings, s); return nil })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	close(c.more)
	c.more = make(chan struct{})
}

// ErrEnded is what Next returns once the connection has ended and all that
// came in was returned; it wraps why.
var ErrEnded = errors.New("the connection has ended")

// Next returns the next frame, in the order of their arrival.
func (c *Client) Next() (Event, error) {
	c.tb.Helper()
	patience := time.NewTimer(c.opts.Patience)
	defer patience.Stop()
	for {
		c.mu.Lock()
		if c.next < len(c.events) {
			c.next++
			e := c.events[c.next-1]
			c.mu.Unlock()
			return e, nil
		}
		err, more := c.err, c.more
		c.mu.Unlock()
		if err != nil {
			return Event{}, errors.Join(ErrEnded, err)
		}
		select {
		case <-more:
		case <-patience.C:
			c.tb.Fatalf("nothing came in for %v; so far:\n%s", c.opts.Patience, c.Log())
		}
	}
}

// Left says that the connection has ended, or that a GOAWAY with an error was
// the last thing that came in.
func (c *Client) Left() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return true
	}
	last := len(c.events) - 1
	return last >= 0 && c.events[last].Type == http2.FrameGoAway && c.events[last].Code != http2.ErrCodeNo
}

// Events returns all that has come in so far.
func (c *Client) Events() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events[:len(c.events):len(c.events)]
}
