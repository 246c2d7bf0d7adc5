package h2

import (
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/spillway-media/spillway/h2/priority"
)

// What frames other than HEADERS and DATA do. All callers hold mu.

// settings takes the client's SETTINGS, in their order (RFC 9113, 6.5.3), and
// acknowledges them. The acknowledgement goes before any frame that they
// change, since control frames go first.
func (c *conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		c.settingsAck = true
		return nil
	}
	said := c.noPriorities
	if err := f.ForeachSetting(c.setting); err != nil {
		return err
	}
	// What the first frame says of it holds for good (RFC 9218, 2.1).
	if c.settingsTaken && c.noPriorities != said {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	c.settingsTaken = true
	c.queueFrame(http2.FrameSettings, http2.FlagSettingsAck, 0)
	return nil
}

func (c *conn) setting(s http2.Setting) error {
	if err := s.Valid(); err != nil {
		return err
	}
	switch s.ID {
	case http2.SettingHeaderTableSize:
		// What we remember is bounded by us, however much the client would take.
		c.enc.SetMaxDynamicTableSize(min(s.Val, headerTableSize))
	case http2.SettingInitialWindowSize:
		return c.setPeerWindow(int64(s.Val))
	case http2.SettingMaxFrameSize:
		c.peerFrame = int(min(s.Val, recordSize))
	case http2.SettingNoRFC7540Priorities:
		if s.Val > 1 {
			return http2.ConnectionError(http2.ErrCodeProtocol) // RFC 9218, 2.1
		}
		c.noPriorities = s.Val == 1
	default:
		// MAX_CONCURRENT_STREAMS and ENABLE_PUSH are about pushes, of which there
		// are none; MAX_HEADER_LIST_SIZE is advice; others are unknown (6.5.2).
	}
	return nil
}

// ping answers a client's PING, and takes the answer to ours.
func (c *conn) ping(f *http2.PingFrame) error {
	if !f.IsAck() {
		c.queueFrame(http2.FramePing, http2.FlagPingAck, 0, f.Data[:]...)
		return nil
	}
	if f.Data == drainPing && c.stage == draining {
		c.drainDue = time.Now().Add(drainRest)
		c.armBy(c.drainDue)
	}
	return nil
}

// rstStream is the client's end of a stream.
func (c *conn) rstStream(f *http2.RSTStreamFrame) error {
	st := c.streams[f.StreamID]
	if st == nil {
		if f.StreamID > c.newest && c.stage < leaving {
			return http2.ConnectionError(http2.ErrCodeProtocol) // idle (RFC 9113, 6.4)
		}
		return nil
	}
	c.count.ResetsReceived++
	if !c.resets.spend(1, time.Now()) {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	c.closeStream(st, resetError{code: f.ErrCode, byClient: true})
	return nil
}

// maxEarly bounds the priorities that are kept for requests still to come.
const maxEarly = 32

// wishOf collects what a request says about its priority: an update that came
// before it, its header field, and where that has no opinion RFC 7540's fields.
func (c *conn) wishOf(st *stream, r *reader, fields []hpack.HeaderField) {
	field := ""
	for i := range fields {
		switch fields[i].Name {
		case "priority":
			// Lines of one name are one field (RFC 9110, 5.3).
			if field != "" {
				field += ", "
			}
			field += fields[i].Value
		case "via", "forwarded", "x-forwarded-for":
			c.behindProxy()
		}
	}
	st.client = priority.ParseField(field)
	st.heed(r.signal, st.client.Urgency < 0)
	if len(c.early) > 0 {
		if w, ok := c.early[st.id]; ok {
			st.client = w
		}
		for id := range c.early {
			if id <= st.id {
				delete(c.early, id)
			}
		}
	}
	st.params = c.paramsOf(st)
}

// behindProxy: the wishes are of people who know nothing of each other, and
// whoever asks for more would take it from the rest. From the first request that
// shows it on, all count as if nothing had been said, those before it too.
func (c *conn) behindProxy() {
	if c.intermediary {
		return
	}
	c.intermediary = true
	for _, st := range c.streams {
		c.reprioritize(st)
	}
}

// A signal is priority in RFC 7540's form. The zero one says nothing.
type signal struct {
	weight  int   // 1 to 256
	urgency uint8 // on Chromium's chain, where a weight is an urgency
	chained bool
}

// signalOf takes the priority of each HEADERS and PRIORITY frame, in the order
// in which they come: the chain has links of requests that are refused, too.
func (c *conn) signalOf(id uint32, p http2.PriorityParam) signal {
	if c.noPriorities {
		return signal{} // the client has said that it has none
	}
	s := signal{weight: int(p.Weight) + 1}
	s.urgency, s.chained = c.chain.Observe(id, p.StreamDep, p.Exclusive, s.weight)
	return s
}

// heed makes a signal a stream's wish. Off Chromium's chain a weight is a share.
func (st *stream) heed(s signal, speaks bool) {
	switch {
	case s.weight == 0:
	case !s.chained:
		st.weight = uint16(s.weight)
	case speaks:
		st.client.Urgency = int8(s.urgency)
	}
}

func (c *conn) paramsOf(st *stream) priority.Params {
	client, weight := st.client, st.weight
	if c.intermediary {
		client, weight = priority.NoWish(), 0
	}
	p := priority.Merge(client, st.server)
	p.Weight = weight
	return p
}

// reprioritize makes a changed wish count.
func (c *conn) reprioritize(st *stream) {
	if p := c.paramsOf(st); p != st.params && st.err == nil && !st.sendDone {
		st.params = p
		c.sched.Prioritize(&st.sched, p)
	}
}

// priorityFrame is how Chromium says that a picture has come into view.
func (c *conn) priorityFrame(id uint32, p http2.PriorityParam) error {
	if p.StreamDep == id {
		return http2.StreamError{StreamID: id, Code: http2.ErrCodeProtocol}
	}
	said := c.signalOf(id, p)
	if st := c.streams[id]; st != nil {
		st.heed(said, true)
		c.reprioritize(st)
	}
	return nil
}

// priorityUpdate is RFC 9218's frame, which may come before its request.
func (c *conn) priorityUpdate(id uint32, field string) error {
	if id%2 == 0 {
		return http2.ConnectionError(http2.ErrCodeProtocol) // no stream of ours is open, ever
	}
	wish := priority.ParseField(field)
	if st := c.streams[id]; st != nil {
		st.client = wish
		c.reprioritize(st)
		return nil
	}
	if id <= c.newest {
		return nil
	}
	if _, known := c.early[id]; known || len(c.early) < maxEarly {
		if c.early == nil {
			c.early = make(map[uint32]priority.Wish)
		}
		c.early[id] = wish
	}
	return nil
}
