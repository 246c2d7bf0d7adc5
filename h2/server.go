package h2

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log" //nolint:depguard // net/http logs with it where there is no ErrorLog
	"net"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/net/http2"
)

// A Server serves the HTTP/2 connections of one http.Server.
type Server struct {
	cfg   Config
	hs    *http.Server
	dates dates

	mu       sync.Mutex
	conns    map[*conn]struct{} // those that are open
	draining bool               // Shutdown was called
	ended    Stats              // of connections that have ended
}

// Configure makes hs serve HTTP/2 by this package, over TLS and, by prior
// knowledge, on the plain connections it accepts. Everything else of hs stays
// as it is: HTTP/1.1, its time-outs, ErrorLog, BaseContext, ConnContext,
// ConnState, MaxHeaderBytes, Shutdown and Close. Only SetKeepAlivesEnabled does
// not count: nobody but package http can see it.
//
// It is called once, before hs serves. It replaces hs.TLSConfig by a copy that
// offers "h2", and adds to hs.Protocols and hs.TLSNextProto; whoever makes a
// TLS listener of his own takes that TLSConfig. The error names the fields of
// cfg that are out of range, or cipher suites with which HTTP/2 is not allowed;
// hs has not been changed then.
func Configure(hs *http.Server, cfg Config) (*Server, error) {
	if cfg.MaxHeaderBytes == 0 {
		cfg.MaxHeaderBytes = max(0, hs.MaxHeaderBytes) // negative means the default there
	}
	cfg.setDefaults() // first, since fields have to go with those that nobody gave
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure HTTP/2: %w", err)
	}
	tlsConfig, err := tlsFor(hs.TLSConfig)
	if err != nil {
		return nil, fmt.Errorf("configure HTTP/2: %w", err)
	}
	hs.TLSConfig = tlsConfig
	hs.Protocols = protocolsFor(hs.Protocols)
	s := &Server{cfg: cfg, hs: hs, conns: map[*conn]struct{}{}}
	if hs.TLSNextProto == nil {
		hs.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	hs.TLSNextProto[http2.NextProtoTLS] = func(_ *http.Server, nc *tls.Conn, h http.Handler) {
		s.serve(nc, h, nc)
	}
	hs.TLSNextProto["unencrypted_http2"] = func(_ *http.Server, nc *tls.Conn, h http.Handler) {
		s.serveUnencrypted(nc, h)
	}
	hs.RegisterOnShutdown(s.drain)
	return s, nil
}

// tlsFor offers h2 and refuses what RFC 9113, 9.2 does not allow: suites of its
// appendix A are not excluded one by one, since with TLS 1.2 the only one that
// every implementation has must be there.
func tlsFor(given *tls.Config) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if given != nil {
		config = given.Clone()
	}
	// Go begins with records of a packet each, so that a first byte need not wait
	// for others. Here a record is one frame or a few whole ones, and a preview
	// that comes in one piece is painted at once.
	config.DynamicRecordSizingDisabled = true
	if config.CipherSuites != nil && config.MinVersion < tls.VersionTLS13 &&
		!slices.Contains(config.CipherSuites, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256) &&
		!slices.Contains(config.CipherSuites, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) {
		return nil, errors.New("TLSConfig.CipherSuites: an ECDHE AES_128_GCM_SHA256 suite is required (RFC 9113, 9.2.2)")
	}
	for _, proto := range []string{http2.NextProtoTLS, "http/1.1"} {
		if !slices.Contains(config.NextProtos, proto) {
			config.NextProtos = append(slices.Clone(config.NextProtos), proto)
		}
	}
	return config, nil
}

// protocolsFor keeps what was asked for; without that, HTTP/1.1 stays.
func protocolsFor(given *http.Protocols) *http.Protocols {
	protocols := new(http.Protocols)
	if given != nil {
		*protocols = *given
	} else {
		protocols.SetHTTP1(true)
	}
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

// serveUnencrypted takes over a connection of which net/http has read the
// client's preface. It comes wrapped in a tls.Conn that was never used.
func (s *Server) serveUnencrypted(wrapped *tls.Conn, h http.Handler) {
	inner, ok := wrapped.NetConn().(interface{ UnencryptedNetConn() net.Conn })
	if !ok {
		s.logf("h2: a connection without encryption has the wrong type")
		return
	}
	s.serve(inner.UnencryptedNetConn(), h, nil)
}

// serve runs a connection to its end. secure is nil without TLS.
func (s *Server) serve(nc net.Conn, h http.Handler, secure *tls.Conn) {
	ctx := context.Background()
	if b, ok := h.(interface{ BaseContext() context.Context }); ok {
		ctx = b.BaseContext()
	}
	c := newConn(ctx, s, nc, h, secure)
	c.begin()
	draining := s.add(c)
	defer s.remove(c)
	if draining {
		c.drain()
	}
	c.serve()
}

func (s *Server) add(c *conn) (draining bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	return s.draining
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.ended.add(&c.count)
}

// drain asks every client to go elsewhere once it has its answers.
func (s *Server) drain() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	for _, c := range s.open() {
		c.drain()
	}
}

func (s *Server) open() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

func (s *Server) logf(format string, args ...any) {
	if s.hs.ErrorLog != nil {
		s.hs.ErrorLog.Printf(format, args...)
		return
	}
	log.Printf(format, args...)
}
