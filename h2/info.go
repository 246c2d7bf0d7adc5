package h2

import (
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2/priority"
)

// ConnInfo is a connection at one moment.
type ConnInfo struct {
	Remote string // the client's address and port
	TLS    bool
	State  string // "open", "draining" once a GOAWAY was sent, or "closing"
	Since  time.Time
	// Window is how many bytes the client lets us send over all streams.
	Window int64
	// Buffered is how many bytes of bodies wait to be sent.
	Buffered int64
	Streams  []StreamInfo // by ID
}

// StreamInfo is a stream at one moment.
type StreamInfo struct {
	ID           uint32
	Method, Path string // the path without its query, where secrets may stand
	Urgency      uint8  // of the client's wish and the answer's own, 0 to 7
	Incremental  bool
	Phase        priority.Phase // of what is written at the moment
	Buffered     int64          // bytes that wait to be sent
	Sent         int64          // bytes of the body that have left
	Window       int64          // bytes that the client lets us send; may be below 0
	Since        time.Time      // when its request came
}

// Stats counts since the server was configured; what is open is of the moment.
type Stats struct {
	ConnectionsOpen, StreamsOpen   int
	ConnectionsTotal, StreamsTotal uint64
	// Frames and Bytes are those of DATA that was sent, by priority.Phase.
	Frames, Bytes [priority.Rest + 1]uint64
	// ResetsSent are RST_STREAM frames of ours, ResetsReceived the clients'.
	ResetsSent, ResetsReceived uint64
	// GoAways are those that we sent, by code. A graceful one counts once.
	GoAways map[http2.ErrCode]uint64
	// Stalls are streams and connections that were ended because their client
	// took nothing.
	Stalls uint64
}
