package redisbell

import (
	"sync"
	"time"
)

// How long nobody asks a server that did not answer: doubled each time.
const (
	firstRest   = 100 * time.Millisecond
	longestRest = 5 * time.Second
	// steady is for how long a server has to answer after a rest until its next
	// failure is a first one again: a standby answers a ping and refuses the rest.
	steady = 30 * time.Second
)

// breaker keeps callers from a server that is away. One failure opens it,
// because each further one would cost somebody's enqueue a time-out. When it has
// rested, one caller tries. Time is a parameter.
type breaker struct {
	mu       sync.Mutex // guards all below
	open     bool
	trying   bool
	failures int       // since it was steady
	until    time.Time // when the next may try
	// turn grows whenever it opens or closes, so that an answer to something
	// that was asked before cannot undo it.
	turn int
}

// allow says whether to ask the server, and in which turn. Whoever is allowed
// must tell the outcome to ok or fail. Who insists is allowed always.
func (b *breaker) allow(now time.Time, insist bool) (turn int, allowed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		if !insist && (b.trying || now.Before(b.until)) {
			return 0, false
		}
		b.trying = true
	}
	return b.turn, true
}

// closed says whether the server is thought to answer, and in which turn. Its
// caller may tell an outcome, but need not.
func (b *breaker) closed() (turn int, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turn, !b.open
}

// ok is an answer; it tells whether the server is back by it.
func (b *breaker) ok(turn int) (back bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if turn != b.turn || !b.open {
		return false
	}
	b.open, b.trying = false, false
	b.turn++
	return true
}

// fail is no answer. now and random (within [0, 1)) are for the time to rest;
// it tells whether that counts, and whether the server is away only by it.
func (b *breaker) fail(turn int, now time.Time, random float64) (counts, away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if turn != b.turn {
		return false, false
	}
	away = !b.open
	if away && now.Sub(b.until) > steady {
		b.failures = 0
	}
	rest := min(firstRest<<min(b.failures, 10), longestRest)
	b.open, b.trying = true, false
	b.failures++
	b.turn++
	b.until = now.Add(time.Duration(float64(rest) * (0.75 + random/2)))
	return true, away
}

// state tells whether it is open, and until when nobody may try.
func (b *breaker) state() (open bool, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open, b.until
}
