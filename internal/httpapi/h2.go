package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
)

// H2Listener is a listener whose HTTP/2 connections can be looked at.
type H2Listener struct {
	Name   string // "public" or "admin"
	Server H2Server
}

// H2Server tells of its connections; *h2.Server is the one there is.
type H2Server interface {
	Connections() []h2.ConnInfo
	Stats() h2.Stats
}

// phasesShown are in the order in which they leave.
var phasesShown = [...]priority.Phase{priority.Header, priority.Preview, priority.Body, priority.Good, priority.Rest}

// h2Document is the answer of /debug/h2. Times are in seconds.
type h2Document struct {
	At        time.Time    `json:"at"`
	Listeners []h2Listener `json:"listeners"`
}

type h2Listener struct {
	Listener    string         `json:"listener"`
	Stats       h2Counts       `json:"stats"`
	Connections []h2Connection `json:"connections"`
}

type h2Counts struct {
	ConnectionsOpen  int               `json:"connections_open"`
	ConnectionsTotal uint64            `json:"connections_total"`
	StreamsOpen      int               `json:"streams_open"`
	StreamsTotal     uint64            `json:"streams_total"`
	Frames           map[string]uint64 `json:"frames"`
	Bytes            map[string]uint64 `json:"bytes"`
	ResetsByServer   uint64            `json:"resets_by_server"`
	ResetsByClients  uint64            `json:"resets_by_clients"`
	GoAways          map[string]uint64 `json:"goaways"`
	Stalls           uint64            `json:"stalls"`
}

type h2Connection struct {
	Remote   string     `json:"remote"`
	TLS      bool       `json:"tls"`
	State    string     `json:"state"`
	Age      float64    `json:"age_s"`
	Window   int64      `json:"window"`
	Buffered int64      `json:"buffered"`
	Streams  []h2Stream `json:"streams"`
}

type h2Stream struct {
	ID          uint32  `json:"id"`
	Method      string  `json:"method"`
	Path        string  `json:"path"`
	Urgency     uint8   `json:"urgency"`
	Incremental bool    `json:"incremental"`
	Phase       string  `json:"phase"`
	Buffered    int64   `json:"buffered"`
	Sent        int64   `json:"sent"`
	Window      int64   `json:"window"`
	Age         float64 `json:"age_s"`
}

// describeH2 is all there is to see at one moment.
func describeH2(listeners []H2Listener, now time.Time) h2Document {
	d := h2Document{At: now, Listeners: []h2Listener{}}
	for _, l := range listeners {
		shown := h2Listener{Listener: l.Name, Stats: describeCounts(l.Server.Stats()), Connections: []h2Connection{}}
		for _, c := range l.Server.Connections() {
			shown.Connections = append(shown.Connections, describeConnection(c, now))
		}
		d.Listeners = append(d.Listeners, shown)
	}
	return d
}

func describeCounts(s h2.Stats) h2Counts {
	counts := h2Counts{
		ConnectionsOpen: s.ConnectionsOpen, ConnectionsTotal: s.ConnectionsTotal,
		StreamsOpen: s.StreamsOpen, StreamsTotal: s.StreamsTotal,
		Frames: map[string]uint64{}, Bytes: map[string]uint64{},
		ResetsByServer: s.ResetsSent, ResetsByClients: s.ResetsReceived,
		GoAways: map[string]uint64{}, Stalls: s.Stalls,
	}
	for _, phase := range phasesShown {
		counts.Frames[phase.String()], counts.Bytes[phase.String()] = s.Frames[phase], s.Bytes[phase]
	}
	for code, n := range s.GoAways {
		counts.GoAways[code.String()] = n
	}
	return counts
}

func describeConnection(c h2.ConnInfo, now time.Time) h2Connection {
	shown := h2Connection{
		Remote: c.Remote, TLS: c.TLS, State: c.State, Age: now.Sub(c.Since).Seconds(),
		Window: c.Window, Buffered: c.Buffered, Streams: []h2Stream{},
	}
	for _, s := range c.Streams {
		shown.Streams = append(shown.Streams, h2Stream{
			ID: s.ID, Method: shorten(s.Method), Path: shorten(s.Path), Urgency: s.Urgency, Incremental: s.Incremental,
			Phase: s.Phase.String(), Buffered: s.Buffered, Sent: s.Sent, Window: s.Window, Age: now.Sub(s.Since).Seconds(),
		})
	}
	return shown
}

// answerH2 shows the streams of the moment: to browsers as a page that keeps up
// with them, to programs as JSON.
func (s *Server) answerH2(x *exchange) error {
	var listeners []H2Listener
	if s.cfg.H2 != nil {
		listeners = s.cfg.H2()
	}
	d := describeH2(listeners, s.cfg.Now())
	x.w.Header().Set("Vary", "Accept")
	if strings.Contains(x.r.Header.Get("Accept"), "text/html") {
		return s.writeH2Page(x, d)
	}
	document, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("write streams: %w", err)
	}
	return s.writeState(x, string(document))
}

// writeH2Page answers a browser.
func (s *Server) writeH2Page(x *exchange, d h2Document) error {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return refuseMethod(x, "GET, HEAD")
	}
	page, err := s.h2page.render(d)
	if err != nil {
		return fmt.Errorf("write page of streams: %w", err)
	}
	h := x.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", s.h2page.policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	s.writeDocument(x, http.StatusOK, page)
	return nil
}
