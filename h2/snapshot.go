package h2

import (
	"cmp"
	"slices"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2/priority"
)

// sent counts a DATA frame.
func (s *Stats) sent(phase priority.Phase, n int) {
	s.Frames[phase]++
	s.Bytes[phase] += uint64(n)
}

// goAway counts a GOAWAY.
func (s *Stats) goAway(code http2.ErrCode) {
	if s.GoAways == nil {
		s.GoAways = make(map[http2.ErrCode]uint64)
	}
	s.GoAways[code]++
}

// add sums up what is counted; what is open is the caller's to say.
func (s *Stats) add(o *Stats) {
	s.ConnectionsTotal += o.ConnectionsTotal
	s.StreamsTotal += o.StreamsTotal
	for i := range s.Frames {
		s.Frames[i] += o.Frames[i]
		s.Bytes[i] += o.Bytes[i]
	}
	s.ResetsSent += o.ResetsSent
	s.ResetsReceived += o.ResetsReceived
	s.Stalls += o.Stalls
	for code, n := range o.GoAways {
		if s.GoAways == nil {
			s.GoAways = make(map[http2.ErrCode]uint64)
		}
		s.GoAways[code] += n
	}
}

// Stats returns the counters of all connections, the ended ones included.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	var total Stats
	total.add(&s.ended)
	for c := range s.conns {
		c.mu.Lock()
		total.add(&c.count)
		total.ConnectionsOpen++
		total.StreamsOpen += len(c.streams)
		c.mu.Unlock()
	}
	return total
}

// Connections returns what is open at the moment, the oldest connection first.
func (s *Server) Connections() []ConnInfo {
	conns := s.open()
	infos := make([]ConnInfo, len(conns))
	for i, c := range conns {
		infos[i] = c.info()
	}
	slices.SortFunc(infos, func(a, b ConnInfo) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Remote, b.Remote))
	})
	return infos
}

func (c *conn) info() ConnInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := ConnInfo{
		Remote: c.remote, TLS: c.secure != nil, State: c.stage.String(), Since: c.since,
		Window: c.sendWindow, Buffered: int64(c.buffered),
		Streams: make([]StreamInfo, 0, len(c.streams)),
	}
	for _, st := range c.streams {
		info.Streams = append(info.Streams, st.info())
	}
	slices.SortFunc(info.Streams, func(a, b StreamInfo) int { return cmp.Compare(a.ID, b.ID) })
	return info
}

func (st *stream) info() StreamInfo {
	return StreamInfo{
		ID: st.id, Method: st.method, Path: st.path, Since: st.opened,
		Urgency: st.params.Urgency, Incremental: st.params.Incremental, Phase: st.phase,
		Buffered: int64(st.out.held()), Sent: st.sent, Window: st.credit + st.c.peerWindow,
	}
}

// String is what ConnInfo calls the stage.
func (g stage) String() string {
	switch g {
	case serving:
		return "open"
	case draining, leaving:
		return "draining"
	default:
		return "closing"
	}
}
