package originals

import (
	"time"

	"github.com/spillway-media/spillway/internal/source"
)

// verdict is what may be done with an edition at a moment.
type verdict int

const (
	askFirst  verdict = iota // nothing before its origin was asked
	useNow                   // it is fresh
	useBehind                // it is stale, and used while its origin is asked
)

// judge decides about what its origin vouched for at the time at. A clock
// that went back, which a restart can bring about, makes nothing younger.
func (c Config) judge(m source.Meta, at, now time.Time) verdict {
	age := now.Sub(at)
	fresh := c.freshFor(m)
	switch {
	case age < 0:
		return askFirst
	case age < fresh:
		return useNow
	case m.Validator() != "" && age < fresh+c.window(m, m.Life.WhileRevalidate, c.WhileRevalidate):
		return useBehind
	}
	return askFirst
}

// helpsOut tells whether an edition may stand in for an origin that cannot
// be asked.
func (c Config) helpsOut(m source.Meta, at, now time.Time) bool {
	age := now.Sub(at)
	return age >= 0 && m.Validator() != "" && age < c.freshFor(m)+c.window(m, m.Life.IfError, c.IfError)
}

// freshFor is how long an edition is used without a question. Looking at a
// file costs nothing, so files are always looked at.
func (c Config) freshFor(m source.Meta) time.Duration {
	switch {
	case m.Kind == source.KindFile || m.Life.NoStore:
		return 0
	case m.Life.Fresh >= 0:
		return min(m.Life.Fresh, longest)
	}
	return c.Fresh
}

// window is how long a stale edition may be used: as its origin says, else as
// the operator does.
func (c Config) window(m source.Meta, said, set time.Duration) time.Duration {
	switch {
	case m.Kind == source.KindFile || m.Life.NoStore:
		return 0
	case said >= 0:
		return min(said, longest)
	}
	return set
}

// mayKeep tells whether an edition may outlive those who hold it: not when
// its origin forbids it, not when it may be cut, and to no use when there
// will be neither a time without questions nor a way to ask.
func (c Config) mayKeep(m source.Meta) bool {
	return !m.Life.NoStore && !m.OpenEnded && (m.Validator() != "" || c.freshFor(m) > 0)
}

// aged is m for somebody who gets it later than its origin said it, in whole
// seconds, as caches count.
func aged(m source.Meta, by time.Duration) source.Meta {
	by = max(by, 0).Truncate(time.Second)
	if m.MaxAge > 0 {
		m.MaxAge = max(m.MaxAge-by, 0)
	}
	if m.Life.Fresh > 0 {
		m.Life.Fresh = max(m.Life.Fresh-by, 0)
	}
	return m
}
