package h2

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/spillway-media/spillway/h2/priority"
)

const (
	// recordSize is the most plaintext that one TLS record holds. A write is
	// about as long, so that what is chosen next is chosen late.
	recordSize  = 16 << 10
	frameHeader = 9
	// startWindow is the flow-control window of both sides before any SETTINGS
	// (RFC 9113, 6.9.2), maxWindow the largest there is.
	startWindow = 65535
	maxWindow   = 1<<31 - 1
	// maxControl bounds the control frames that wait while the client reads
	// nothing: some thousand answers to its own frames.
	maxControl = 64 << 10
	// lingerTime is how long a connection that has sent its last byte still
	// reads, so that nothing of it is destroyed by a reset of the transport
	// (RFC 9113, 6.8). Clients that hang up end it at once.
	lingerTime = 500 * time.Millisecond
	// gracefulTime is the same where answers may still be on their way.
	gracefulTime = 2 * time.Second
	// minRefused are remembered of streams that we reset, since a client may
	// open more than it may before it has read our SETTINGS; maxRefused bounds
	// what looking for one costs.
	minRefused, maxRefused = 128, 4096
	// prefaceTime bounds the client's preface and first SETTINGS where the
	// http.Server has no ReadHeaderTimeout.
	prefaceTime = 10 * time.Second
)

// How a connection goes.
type stage uint8

const (
	serving  stage = iota
	draining       // GOAWAY(2^31-1) is out: new streams are served until its PING comes back
	leaving        // the last GOAWAY is out: streams up to lastStream are served to their end
	quitting       // the writer sends what control frames wait, and ends
	dead           // the transport is closed or broken
)

// A conn is one connection: a goroutine that reads (serve), one that writes
// (writeLoop), and one for each handler.
type conn struct {
	s           *Server
	nc          net.Conn
	raw         net.Conn // nc, or what is under its TLS
	handler     http.Handler
	secure      *tls.Conn // nil without TLS
	tls         *tls.ConnectionState
	remote      string
	needPreface bool // net/http has not read the client's preface
	since       time.Time
	ctx         context.Context //nolint:containedctx // it is the connection's: every request's context comes from it
	cancel      context.CancelCauseFunc

	handlers   sync.WaitGroup
	writerDone chan struct{}

	hooks sync.Mutex // guards told, and that ConnState is called in order
	told  http.ConnState

	reader reader // owned by the goroutine that reads

	mu sync.Mutex // guards all that follows

	stage      stage
	streams    map[uint32]*stream
	newest     uint32 // highest stream the client has opened
	opening    bool   // it has been accepted, and is not in streams yet
	lastStream uint32 // streams beyond it are ignored, once leaving
	cause      error  // why the connection ends
	running    int    // handlers, those of closed streams included
	pending    list   // streams that wait for a handler's place
	refused    ring   // streams that we reset: their client may not know yet

	// The client's settings.
	peerWindow   int64 // INITIAL_WINDOW_SIZE
	maxCredit    int64 // no stream's credit is larger
	peerFrame    int   // MAX_FRAME_SIZE
	settingsSeen bool
	settingsAck  bool // the client has acknowledged ours
	// settingsTaken: its first SETTINGS have been; what they say of RFC 7540's
	// priorities, that it has none, does not change.
	settingsTaken, noPriorities bool

	// What goes out.
	work       sync.Cond // there is something to write, or to stop for
	woken      bool
	control    []byte // frames that go first
	front      fifo   // streams whose next frame is HEADERS or an empty end
	sched      *priority.Scheduler
	grace      grace
	blocked    list // streams with bytes and no window of their own
	recheck    bool // peerWindow has grown: some of those may go on
	sendWindow int64
	buffered   int       // bytes of all streams' out
	hungry     []*stream // wait for room because of ConnBuffer
	flushing   []*stream
	out        []byte // the write under way; the writer's while it writes
	ahead      ahead  // of the link; the writer's own
	enc        *hpack.Encoder
	encoded    bytes.Buffer
	passes     uint64    // write passes begun
	passed     uint64    // write passes that are complete
	writeSince time.Time // when the write under way began; zero is none

	// What comes in.
	recvWindow int64 // what the client may still send
	recvOwed   int64 // consumed, not given back yet
	// headerBytes are those of requests and trailers whose handlers have not
	// returned, as RFC 9113, 6.5.2 counts them.
	headerBytes int

	// Whose wishes count.
	chain        priority.Chain
	early        map[uint32]priority.Wish // PRIORITY_UPDATE before HEADERS
	intermediary bool

	// Time.
	timer     *time.Timer
	armed     time.Time     // when the timer fires; zero is not set
	idleSince time.Time     // zero while there are streams
	readDue   time.Time     // preface, SETTINGS, or a header block under way
	frameDue  time.Time     // a frame of which a part has come
	heard     time.Time     // when the last frame came
	pinged    time.Time     // when our PING left; zero is none outstanding
	drainDue  time.Time     // when the second GOAWAY goes, answer or not
	quitDue   time.Time     // when the transport is closed, whatever waits
	patience  time.Duration // how long to linger
	connStall time.Time     // since when the connection's window holds streams back

	pace             pace // since there were no streams
	glitches, resets bucket
	count            Stats // of this connection
}

var (
	errFinished   = errors.New("h2: the answer is finished")
	errClientGone = errors.New("h2: the client has gone")
)

// A resetError is what handlers see of a stream that was reset.
type resetError struct {
	code     http2.ErrCode
	byClient bool
}

func (e resetError) Error() string {
	if e.byClient {
		return fmt.Sprintf("h2: the client has reset the stream: %v", e.code)
	}
	return fmt.Sprintf("h2: the stream was reset: %v", e.code)
}

func errReset(code http2.ErrCode) error { return resetError{code: code} }

func newConn(ctx context.Context, s *Server, nc net.Conn, h http.Handler, secure *tls.Conn) *conn {
	now := time.Now()
	c := &conn{
		s: s, nc: nc, handler: h, secure: secure, needPreface: secure != nil, since: now,
		remote:     nc.RemoteAddr().String(),
		writerDone: make(chan struct{}),
		streams:    map[uint32]*stream{},
		peerWindow: startWindow, peerFrame: 16 << 10,
		sendWindow: startWindow, recvWindow: startWindow,
		sched:     priority.New(priority.Options{IgnorePhases: s.cfg.IgnorePhases, Fair: s.cfg.Fair}),
		refused:   ring{size: int(min(max(s.cfg.MaxConcurrentStreams, minRefused), maxRefused))},
		idleSince: now, heard: now,
		glitches: newGlitches(now), resets: newResets(now),
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.raw = nc
	if secure != nil {
		c.raw = secure.NetConn()
		state := secure.ConnectionState()
		c.tls = &state
	}
	c.work.L = &c.mu
	c.timer = time.AfterFunc(time.Hour, c.tick)
	c.timer.Stop()
	c.enc = hpack.NewEncoder(&c.encoded)
	c.count.ConnectionsTotal = 1
	c.reader.init(c)
	return c
}

// serve runs the connection to its end, with all its handlers.
func (c *conn) serve() {
	setNotSentLowat(c.raw, minUnsent)
	c.tell()
	go c.writeLoop()
	err := c.reader.run()
	c.end(err)
	<-c.writerDone
	c.linger()
	c.nc.Close()
	c.cancel(err)
	c.mu.Lock()
	c.stage = dead // nothing sets the timer any more
	c.timer.Stop()
	c.mu.Unlock()
	c.handlers.Wait()
}

// begin queues our SETTINGS and sets the clock going. It comes before anybody
// else knows the connection: SETTINGS is the first frame, whatever follows
// (RFC 9113, 3.4).
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	cfg := &c.s.cfg
	c.queueSettings(
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: cfg.MaxConcurrentStreams},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(cfg.StreamWindow)},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: uint32(cfg.MaxHeaderBytes)},
		// The priorities of RFC 7540 count here, since Chromium has no other way
		// to say that a picture has come into view (RFC 9218, 2.1).
		http2.Setting{ID: http2.SettingNoRFC7540Priorities, Val: 0},
	)
	if more := int64(cfg.ConnWindow) - startWindow; more > 0 {
		c.recvWindow += more
		c.queueWindowUpdate(0, more)
	}
	c.readDue = c.since.Add(c.headerTime())
	c.armBy(c.readDue)
	c.armBy(after(c.idleSince, c.idleTimeout()))
	c.armBy(after(c.heard, cfg.PingTimeout))
	if !secureEnough(c.tls) {
		c.fail(http2.ErrCodeInadequateSecurity, errors.New("h2: the connection's TLS is too weak for HTTP/2"))
	}
}

// secureEnough holds TLS 1.2 to the suites that RFC 9113, appendix A leaves.
func secureEnough(state *tls.ConnectionState) bool {
	if state == nil || state.Version >= tls.VersionTLS13 {
		return true
	}
	switch state.CipherSuite {
	case tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256:
		return state.Version == tls.VersionTLS12
	}
	return false
}

// tell calls the http.Server's ConnState when there is news, as net/http does.
// The caller does not hold mu: the hook may look at the connections.
func (c *conn) tell() {
	if c.s.hs.ConnState == nil {
		return
	}
	c.hooks.Lock()
	defer c.hooks.Unlock()
	c.mu.Lock()
	state := http.StateActive
	if c.settingsSeen && len(c.streams) == 0 {
		state = http.StateIdle
	}
	c.mu.Unlock()
	if state != c.told {
		c.told = state
		c.s.hs.ConnState(c.nc, state)
	}
}

// end is called when reading has: with an error of the protocol the client is
// told, with any other there is nobody left to tell.
func (c *conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ce http2.ConnectionError
	if errors.As(err, &ce) {
		c.fail(http2.ErrCode(ce), err)
	} else if c.stage < quitting {
		c.kill(err)
	}
	for _, st := range c.streams {
		c.closeStream(st, errClientGone)
	}
}

// fail ends the connection with a GOAWAY. The caller holds mu.
func (c *conn) fail(code http2.ErrCode, cause error) {
	if c.stage >= quitting {
		return
	}
	c.cause = cause
	c.queueGoAway(c.newest, code)
	c.count.goAway(code)
	c.quit(lingerTime, lingerTime)
}

// quit lets the writer send what control frames wait, and no more: within the
// first time, and then lingers for the second. The caller holds mu.
func (c *conn) quit(send, linger time.Duration) {
	c.stage = quitting
	c.patience = linger
	c.quitDue = time.Now().Add(send)
	c.armBy(c.quitDue)
	c.wake()
}

// kill closes the transport, which ends reader and writer. The caller holds mu.
func (c *conn) kill(cause error) {
	if c.stage == dead {
		return
	}
	if c.cause == nil {
		c.cause = cause
	}
	c.stage = dead
	c.raw.Close() // under TLS, whose Close may wait to say goodbye
	c.wake()
}

// linger reads what the client had under way, so that it gets to see why the
// connection ends.
func (c *conn) linger() {
	c.mu.Lock()
	over, patience := c.stage == dead, c.patience
	c.quitDue = time.Time{} // from here on it is the read deadline that ends it
	c.mu.Unlock()
	if over {
		return
	}
	if err := c.nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return
	}
	c.reader.discard()
}
