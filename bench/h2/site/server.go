package site

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Kind is a server to measure.
type Kind struct {
	Name string
	// Configure makes an http.Server speak HTTP/2 its way.
	Configure func(*http.Server) error
}

// Std is Go's own.
func Std() Kind {
	return Kind{"Go " + goVersion(), func(hs *http.Server) error {
		hs.Protocols = new(http.Protocols)
		hs.Protocols.SetHTTP2(true)
		hs.Protocols.SetUnencryptedHTTP2(true)
		return nil
	}}
}

// Server is one that serves.
type Server struct {
	Address string
	server  *http.Server
	ended   sync.WaitGroup
	err     error
}

// Serve starts a server on a listener, over TLS where there is a certificate.
// Close ends it.
func (k Kind) Serve(listener net.Listener, handler http.Handler, certificate *tls.Certificate) (*Server, error) {
	hs := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	if err := k.Configure(hs); err != nil {
		return nil, errors.Join(fmt.Errorf("configure %s: %w", k.Name, err), listener.Close())
	}
	s := &Server{Address: listener.Addr().String(), server: hs}
	s.ended.Go(func() {
		if certificate == nil {
			s.err = hs.Serve(listener)
			return
		}
		if hs.TLSConfig == nil {
			hs.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		hs.TLSConfig.Certificates = []tls.Certificate{*certificate}
		s.err = hs.ServeTLS(listener, "", "")
	})
	return s, nil
}

// Close ends all connections and waits for the server.
func (s *Server) Close() error {
	err := s.server.Close()
	s.ended.Wait()
	if errors.Is(s.err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(err, s.err)
}

func goVersion() string { return strings.TrimPrefix(runtime.Version(), "go") }
