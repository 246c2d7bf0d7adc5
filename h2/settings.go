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
	if err := f.ForeachSetting(c.setting); err != nil {
		return err
	}
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
		c.fieldsOnly = s.Val == 1
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
		c.leave()
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
			// Behind a proxy the wishes are of people who know nothing of each
			// other: whoever asks for more would take it from the rest.
			c.intermediary = true
		}
	}
	st.client = priority.ParseField(field)
	if r.hasPrio {
		c.observe(st, st.client.Urgency < 0, r.prio)
	}
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

// observe takes priority in RFC 7540's form. On Chromium's chain a weight is an
// urgency; elsewhere it is a share. Of a client that has said so it is ignored
// (RFC 9218, 2.1.1).
func (c *conn) observe(st *stream, speaks bool, p http2.PriorityParam) {
	if c.fieldsOnly {
		return
	}
	weight := int(p.Weight) + 1
	urgency, known := c.chain.Observe(st.id, p.StreamDep, p.Exclusive, weight)
	switch {
	case !known:
		st.weight = uint16(weight)
	case speaks:
		st.client.Urgency = int8(urgency)
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
	st := c.streams[id]
	if st == nil {
		c.chain.Observe(id, p.StreamDep, p.Exclusive, int(p.Weight)+1)
		return nil
	}
	c.observe(st, true, p)
	c.reprioritize(st)
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
