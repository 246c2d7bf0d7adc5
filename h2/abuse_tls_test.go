package h2_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/h2test"
)

// RFC 9113, 9.2: TLS 1.2 or newer, and none of the suites of its appendix A.
func TestTLSOfAConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		client *tls.Config
		code   http2.ErrCode
	}{
		"TLS 1.3": {&tls.Config{MinVersion: tls.VersionTLS13}, http2.ErrCodeNo},
		"TLS 1.2 with a suite that is allowed": {&tls.Config{
			MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
		}, http2.ErrCodeNo},
		"TLS 1.2 with a suite of appendix A": {&tls.Config{
			MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA},
		}, http2.ErrCodeInadequateSecurity},
		"TLS 1.1": {&tls.Config{MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11}, http2.ErrCodeInadequateSecurity},
	} {
		t.Run(name, func(t *testing.T) {
			server := &http.Server{
				ReadHeaderTimeout: time.Minute,
				TLSConfig: &tls.Config{
					MinVersion:   tls.VersionTLS11,
					Certificates: []tls.Certificate{certificate(t)},
					CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA},
				},
			}
			x := newTarget(t, server, h2.Config{}, hello)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { defer close(done); _ = server.ServeTLS(listener, "", "") }()
			t.Cleanup(func() { _ = server.Close(); <-done })

			config := tt.client.Clone()
			config.InsecureSkipVerify = true
			config.NextProtos = []string{"h2"}
			conn, err := tls.Dial("tcp", listener.Addr().String(), config)
			if err != nil {
				t.Fatal(err)
			}
			c := h2test.Dial(t, conn, h2test.Options{})
			if tt.code != http2.ErrCodeNo {
				if e := c.GoAway(); e.Code != tt.code {
					t.Errorf("ended with %v, want %v", e.Code, tt.code)
				}
				if n := x.asked.Load(); n != 0 {
					t.Errorf("%d requests were served", n)
				}
				return
			}
			fields := h2test.Get("/")
			fields[3] = "https"
			c.Must(c.Open(1, true, fields...))
			if r := c.Response(1); r.Status != "200" {
				t.Errorf("status %q, reset %v; want 200", r.Status, r.Reset)
			}
		})
	}
}
