package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateEvery is how often files of a certificate are looked at, and only when
// somebody connects.
const certificateEvery = 10 * time.Second

// keyPair is a certificate in files that others renew, as ACME clients do.
type keyPair struct {
	certificate, key string // paths
	log              *slog.Logger
	now              func() time.Time

	mu     sync.Mutex
	pair   *tls.Certificate
	seen   [2]time.Time // when the files were changed that were read last
	looked time.Time
}

// openKeyPair reads the files, which must be right at a start.
func openKeyPair(certificate, key string, log *slog.Logger, now func() time.Time) (*keyPair, error) {
	p := &keyPair{certificate: certificate, key: key, log: log, now: now, looked: now()}
	p.seen = p.changed()
	return p, p.read()
}

// read takes the files as they are. The caller holds mu, or nobody else has p.
func (p *keyPair) read() error {
	pair, err := tls.LoadX509KeyPair(p.certificate, p.key)
	if err != nil {
		return fmt.Errorf("load certificate %q with key %q: %w", p.certificate, p.key, err)
	}
	p.pair = &pair
	return nil
}

// changed is when each of the files was; zero for one that is not there.
func (p *keyPair) changed() (times [2]time.Time) {
	for i, path := range []string{p.certificate, p.key} {
		if facts, err := os.Stat(path); err == nil {
			times[i] = facts.ModTime()
		}
	}
	return times
}

// get is for tls.Config.GetCertificate. Files that cannot be used, as when only
// one of the two has been written yet, leave the old certificate in force.
func (p *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.looked) < certificateEvery {
		return p.pair, nil
	}
	p.looked = now
	seen := p.changed()
	if seen == p.seen {
		return p.pair, nil
	}
	p.seen = seen
	if err := p.read(); err != nil {
		p.log.Warn("certificate not renewed", "error", err)
		return p.pair, nil
	}
	p.log.Info("certificate renewed", "file", p.certificate)
	return p.pair, nil
}
