package source

import (
	"net/http"
	"strings"
	"time"
)

// condition asks an origin for what is not already held. The zero one asks
// for it anyhow.
type condition struct {
	place   string // Meta.Redirected: where the validators are valid
	headers http.Header
}

// conditionOf makes a condition of what is held, if that can be told from
// other versions and is known to be whole.
func conditionOf(have Meta) condition {
	c := condition{place: have.Redirected, headers: http.Header{}}
	if have.Kind != KindHTTP || have.OpenEnded {
		return condition{}
	}
	if have.ETag != "" {
		c.headers.Set("If-None-Match", have.ETag)
	}
	// Behind a redirect a date alone is not enough: the place is known
	// without its query, and another query may mean another, older picture.
	if !have.LastModified.IsZero() && (have.ETag != "" || have.Redirected == "") {
		c.headers.Set("If-Modified-Since", have.LastModified.UTC().Format(http.TimeFormat))
	}
	return c
}

// at is what to send to a place, with Meta.Redirected's words for it. A
// validator is only sent where it came from: to others it says nothing, and
// their 304 would be none.
func (c condition) at(place string) http.Header {
	if place != c.place {
		return nil
	}
	return c.headers
}

// confirmed brings m up to date with the 304 that confirmed it. What
// identifies the version stays, so that what was made from it stays known by
// it. It is false when the 304 speaks of another version.
func (m Meta) confirmed(h http.Header, now time.Time, honour bool) (Meta, bool) {
	if tag := cleanETag(h.Get("ETag")); tag != "" && m.ETag != "" && opaque(tag) != opaque(m.ETag) {
		return m, false
	}
	if at, err := http.ParseTime(h.Get("Last-Modified")); err == nil {
		if m.ETag == "" && !at.Equal(m.LastModified) {
			return m, false
		}
		m.LastModified = at
	}
	m.Life = m.Life.renewed(h, now)
	if said := maxAge(h); honour && said >= 0 {
		m.MaxAge = said
	}
	return m, true
}

// opaque is the part of an entity tag that a weak comparison looks at (RFC
// 9110, section 8.8.3.2), the one for If-None-Match.
func opaque(tag string) string { return strings.TrimPrefix(tag, "W/") }
