package app

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/app/settings"
)

// What the setting http2 may be besides "priority".
const (
	http2Std = "std"
	http2Off = "off"
)

// speak settles the protocols of a door: HTTP/1.1 always, and HTTP/2 beside it,
// which clients negotiate over TLS (ALPN) and begin with in clear when they know
// that it is spoken (RFC 9113, 3.2 and 3.3).
func (d *door) speak(c settings.Config) (err error) {
	spoken := new(http.Protocols)
	spoken.SetHTTP1(true)
	spoken.SetHTTP2(c.HTTP2 != http2Off)
	spoken.SetUnencryptedHTTP2(c.HTTP2 != http2Off)
	d.server.Protocols = spoken
	switch c.HTTP2 {
	case http2Off:
	case http2Std:
		d.server.HTTP2 = &http.HTTP2Config{
			MaxConcurrentStreams: c.HTTP2Streams,
			SendPingTimeout:      c.IdleTimeout, WriteByteTimeout: c.StallTimeout,
		}
	default:
		if d.h2, err = h2.Configure(d.server, h2Config(c)); err != nil {
			return fmt.Errorf("configure HTTP/2: %w", err)
		}
	}
	return nil
}

// h2Config is what the settings say of our own server of HTTP/2.
func h2Config(c settings.Config) h2.Config {
	return h2.Config{
		MaxConcurrentStreams: uint32(c.HTTP2Streams),
		ConnBuffer:           int(c.HTTP2Buffer), StreamBuffer: min(64<<10, int(c.HTTP2Buffer)),
		StallTimeout: c.StallTimeout, MinSendRate: int64(c.MinWriteRate), PingTimeout: c.IdleTimeout,
		IgnorePhases: c.HTTP2Order == "urgency", Fair: c.HTTP2Order == "fair",
	}
}

// credentials are what a door shows to clients over TLS.
type credentials struct {
	get         func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	fingerprint string // when the certificate is the server's own
}

// config takes the suites of TLS 1.2 that HTTP/2 does not forbid (RFC 9113,
// appendix A); those of TLS 1.3 are all good and not for us to choose.
func (own *credentials) config() *tls.Config {
	return &tls.Config{
		GetCertificate: own.get, MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
	}
}
