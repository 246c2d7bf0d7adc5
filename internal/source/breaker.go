package source

import "time"

// What opens a breaker, and for how long. Five in a row is a host that is
// down; half of twenty is one that is ill, but not when they are spread over
// more than half a minute: then few ask, and each may try.
const (
	breakAfter   = 5
	breakRecent  = 20
	breakWithin  = 30 * time.Second
	firstCoolOff = 5 * time.Second
	maxCoolOff   = time.Minute
	// probeWait is told to those who come while one is trying.
	probeWait = time.Second
)

// breaker decides whether an origin is asked at all. Closed, it lets everyone
// pass; open, nobody until a time; then a single probe, whose answer closes it
// and whose failure opens it for twice as long. The zero value is closed and
// remembers nothing. It is pure; whoever holds it guards it.
type breaker struct {
	row    int // failures without a success between them
	recent []outcome
	until  time.Time // zero when closed
	probe  bool      // someone is trying
	// era counts openings. What began before the last one proves nothing
	// about the time after it.
	era     uint64
	coolOff time.Duration // of the last opening; zero after a success
}

// outcome is how one visit to an origin ended.
type outcome struct {
	at  time.Time
	bad bool
}

// pass is the permission to ask an origin once. Exactly one of success,
// failure, leaveAlone or abandon ends it.
type pass struct {
	era   uint64
	probe bool
}

// ask gives a pass, or how long to stay away.
func (b *breaker) ask(now time.Time) (pass, time.Duration) {
	switch {
	case b.until.IsZero():
		return pass{era: b.era}, 0
	case now.Before(b.until):
		return pass{}, b.until.Sub(now)
	case b.probe:
		return pass{}, probeWait
	}
	b.probe = true
	return pass{era: b.era, probe: true}, 0
}

// answered is for a good answer whose body is still to come: enough to let
// others try, too, but not to forget what was.
func (b *breaker) answered(p pass) {
	if p.era == b.era && p.probe && b.probe {
		b.until, b.probe = time.Time{}, false
	}
}

// success is for an answer that came whole.
func (b *breaker) success(p pass, now time.Time) {
	if p.era != b.era {
		return
	}
	b.answered(p)
	b.row, b.coolOff = 0, 0
	b.remember(outcome{at: now})
}

// failure tells whether the breaker opened. The origin's own word on when to
// come back, if any, can only make it longer.
func (b *breaker) failure(p pass, now time.Time, retryAfter time.Duration) bool {
	if p.era != b.era {
		return false
	}
	b.row++
	b.remember(outcome{at: now, bad: true})
	tried := p.probe && b.probe
	if !tried && b.row < breakAfter && !b.ill(now) {
		return false
	}
	next := firstCoolOff
	if b.coolOff > 0 {
		next = min(2*b.coolOff, maxCoolOff)
	}
	b.coolOff = next
	b.open(now, max(next, retryAfter))
	return true
}

// leaveAlone is for an origin that says when it wants to be asked again. That
// is no failure of it, so later failures do not count from there.
func (b *breaker) leaveAlone(p pass, now time.Time, wait time.Duration) bool {
	if p.era != b.era {
		return false
	}
	b.open(now, wait)
	return true
}

// abandon gives a pass back of which nothing came to be known.
func (b *breaker) abandon(p pass) {
	if p.era == b.era && p.probe {
		b.probe = false
	}
}

func (b *breaker) open(now time.Time, wait time.Duration) {
	b.until, b.probe = now.Add(min(wait, maxCoolOff)), false
	b.row, b.recent = 0, nil
	b.era++
}

func (b *breaker) remember(o outcome) {
	if len(b.recent) == breakRecent {
		copy(b.recent, b.recent[1:])
		b.recent = b.recent[:breakRecent-1]
	}
	b.recent = append(b.recent, o)
}

// ill is true when at least half of the last visits failed, all of them
// lately.
func (b *breaker) ill(now time.Time) bool {
	if len(b.recent) < breakRecent || now.Sub(b.recent[0].at) > breakWithin {
		return false
	}
	bad := 0
	for _, o := range b.recent {
		if o.bad {
			bad++
		}
	}
	return 2*bad >= breakRecent
}
