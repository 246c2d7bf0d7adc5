package notify

import (
	"sync"
	"time"
)

// A receiver that does not answer holds up a request for all of its time. One
// that has not answered so many in a row is left alone for a while, and again
// for twice as long when it does not answer then.
const (
	silentAfter            = 5
	firstRest, longestRest = 30 * time.Second, 10 * time.Minute
	// mostSilent bounds how many hosts are remembered.
	mostSilent = 1000
)

// silence remembers which hosts do not answer, so that a thousand notices for
// one of them do not keep all others waiting.
type silence struct {
	mu    sync.Mutex
	hosts map[string]*quiet // guarded by mu; those that answered last are not in it
}

// quiet is one host that did not answer.
type quiet struct {
	failures int
	rest     time.Duration
	until    time.Time // it is left alone
}

// skips tells whether a host is left alone now. When its rest is over, one
// request finds out whether it answers again, and the others wait for that.
func (s *silence) skips(host string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.hosts[host]
	switch {
	case q == nil || q.failures < silentAfter:
		return false
	case now.Before(q.until):
		return true
	}
	q.until = now.Add(q.rest)
	return false
}

// heard forgets a host that answered, whatever it said.
func (s *silence) heard(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hosts, host)
}

// missed counts a request without an answer that began at some time. Those that
// were under way when a rest began say nothing new.
func (s *silence) missed(host string, began, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.hosts[host]
	if q == nil {
		s.makeRoom(now)
		q = &quiet{}
		s.hosts[host] = q
	}
	q.failures++
	switch {
	case q.failures < silentAfter:
	case q.rest == 0:
		q.rest = firstRest
		q.until = now.Add(q.rest)
	case q.failures > silentAfter && !began.Before(q.until.Add(-q.rest)):
		q.rest = min(2*q.rest, longestRest)
		q.until = now.Add(q.rest)
	}
}

// makeRoom forgets hosts when there are too many, first those that may be asked.
func (s *silence) makeRoom(now time.Time) {
	if len(s.hosts) < mostSilent {
		return
	}
	for host, q := range s.hosts {
		if now.After(q.until) {
			delete(s.hosts, host)
		}
	}
	if len(s.hosts) >= mostSilent {
		clear(s.hosts)
	}
}
