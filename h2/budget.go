package h2

import "time"

// What frames cost that bring a request no further, and what a client has to
// spend. An honest client stays far below: a browser that leaves a page cancels
// some hundred requests at once, and sends some hundred PRIORITY frames while
// it is scrolled.
const (
	// glitchBurst frames may come at once, glitchRate a second after that.
	glitchBurst = 10_000
	glitchRate  = 330
	// settingsCost is that of a SETTINGS frame: no client has a reason to send
	// more than a few in the life of a connection.
	settingsCost = 20
	// maxSettings bounds the entries of one SETTINGS frame.
	maxSettings = 32
	// answeredCredit is what a complete answer earns: whoever is served may
	// send a window update, a priority and a ping for each answer, at any rate.
	answeredCredit = 4
	// resetBurst streams may be reset at once, resetRate a second after that,
	// no matter whether the client resets them or makes the server do it.
	resetBurst = 1_000
	resetRate  = 33
	// glitchUnit is one frame in the bucket's own unit. A byte of DATA that a
	// client has taken earns one unit, so that it may update a window once for
	// every KiB that it takes, as fast as it takes them.
	glitchUnit = 1024
)

// A bucket holds tokens that come back with time. It is plain arithmetic: who
// uses it says what time it is, and guards it.
type bucket struct {
	burst, perSecond int64 // in units
	tokens           int64
	last             time.Time
}

// newGlitches returns a full bucket for frames that bring nothing.
func newGlitches(now time.Time) bucket {
	return newBucket(glitchBurst*glitchUnit, glitchRate*glitchUnit, now)
}

// newResets returns a full bucket for streams that end before their answer.
func newResets(now time.Time) bucket { return newBucket(resetBurst, resetRate, now) }

func newBucket(burst, perSecond int64, now time.Time) bucket {
	return bucket{burst: burst, perSecond: perSecond, tokens: burst, last: now}
}

// spend takes n units and says whether they were there. Once a bucket is
// overdrawn its connection ends, so nothing is given back.
func (b *bucket) spend(n int64, now time.Time) bool {
	b.refill(now)
	b.tokens -= n
	return b.tokens >= 0
}

// earn gives n units back before their time.
func (b *bucket) earn(n int64) { b.tokens = min(b.tokens+n, b.burst) }

// refill adds what time has brought. The clock moves only by what whole units
// account for, so that many small steps bring as much as one large one.
func (b *bucket) refill(now time.Time) {
	elapsed := now.Sub(b.last)
	if elapsed <= 0 {
		return
	}
	if missing := b.burst - b.tokens; elapsed >= time.Duration(missing/b.perSecond+1)*time.Second {
		b.tokens, b.last = b.burst, now
		return
	}
	units := int64(elapsed) * b.perSecond / int64(time.Second)
	b.tokens += units
	b.last = b.last.Add(time.Duration(units * int64(time.Second) / b.perSecond))
}
