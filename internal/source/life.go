package source

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// lifeOf reads what a response that arrived now says about reuse by a shared
// cache (RFC 9111, RFC 5861).
//
// s-maxage alone does not forbid staleness here, although section 5.2.2.10
// says so: whoever writes it with a CDN in mind means how long, and says
// proxy-revalidate for the rest.
func lifeOf(h http.Header, now time.Time) Life {
	said := cacheControl(h)
	switch {
	case said.has("no-store"), said.has("private"):
		return Life{NoStore: true}
	case said.has("no-cache"):
		return Life{}
	}
	lifetime, age := said.lifetime(), ageOf(h)
	if lifetime < 0 {
		lifetime = untilExpires(h, now)
	}
	life := Life{Fresh: -1, WhileRevalidate: said.span("stale-while-revalidate"), IfError: said.span("stale-if-error")}
	if lifetime >= 0 {
		life.Fresh = max(lifetime-age, 0)
		// Time it has been stale for on the way counts, too.
		life.WhileRevalidate = shortened(life.WhileRevalidate, age-lifetime)
		life.IfError = shortened(life.IfError, age-lifetime)
	}
	if said.has("must-revalidate") || said.has("proxy-revalidate") {
		life.WhileRevalidate, life.IfError = 0, 0
	}
	return life
}

// renewed is the life of what a 304 confirms: as the 304 says it, or as it
// was when the 304 says nothing about it (RFC 9111, section 3.2).
func (l Life) renewed(h http.Header, now time.Time) Life {
	if len(h.Values("Cache-Control")) > 0 || h.Get("Expires") != "" {
		return lifeOf(h, now)
	}
	l.Fresh = shortened(l.Fresh, ageOf(h))
	return l
}

// shortened takes by off d, down to zero; -1 stays what it is.
func shortened(d, by time.Duration) time.Duration {
	if d < 0 || by <= 0 {
		return d
	}
	return max(d-by, 0)
}

// maxAge is what Cache-Control leaves of a response's life in a shared cache;
// -1 when it says nothing.
func maxAge(h http.Header) time.Duration {
	said := cacheControl(h)
	if said.has("no-store") || said.has("no-cache") || said.has("private") {
		return 0
	}
	return shortened(said.lifetime(), ageOf(h))
}

// ageOf is how long a response has been held on its way. An age that cannot
// be counted is a very long one.
func ageOf(h http.Header) time.Duration {
	text := h.Get("Age")
	if text == "" {
		return 0
	}
	age, ok := seconds(text)
	if !ok && strings.Trim(text, "0123456789") == "" {
		return longest
	}
	return age
}

// untilExpires is -1 without Expires; one that cannot be read, such as the
// popular 0, is over. Both times are the origin's, so that its clock may be
// wrong.
func untilExpires(h http.Header, now time.Time) time.Duration {
	text := h.Get("Expires")
	if text == "" {
		return -1
	}
	expires, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(expires.Sub(now), 0), longest)
}

// sayings are the directives of Cache-Control by lower-case name.
type sayings map[string]string

func (s sayings) has(name string) bool {
	_, ok := s[name]
	return ok
}

// lifetime is -1 when none is given; s-maxage is the one for shared caches.
func (s sayings) lifetime() time.Duration {
	if s.has("s-maxage") {
		return s.span("s-maxage")
	}
	return s.span("max-age")
}

// span is -1 when name is not given, and zero when its value cannot be read
// (RFC 9111, section 4.2.1).
func (s sayings) span(name string) time.Duration {
	value, ok := s[name]
	if !ok {
		return -1
	}
	d, _ := seconds(value)
	return d
}

// longest is the most a cache needs to count (RFC 9111, section 1.2.2).
const longest = (1<<31 - 1) * time.Second

// seconds reads a number of seconds, none of them negative.
func seconds(text string) (time.Duration, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if errors.Is(err, strconv.ErrRange) && n > 0 {
		return longest, true
	}
	if err != nil || n < 0 {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// cacheControl reads the directives. Of one that stands there twice the first
// counts. A value in quotes may hold commas, which separate nothing.
func cacheControl(h http.Header) sayings {
	said := sayings{}
	rest := strings.Join(h.Values("Cache-Control"), ",")
	for rest != "" {
		end := strings.IndexAny(rest, ",=")
		if end < 0 {
			end = len(rest)
		}
		name, value := strings.ToLower(strings.TrimSpace(rest[:end])), ""
		if rest = rest[end:]; strings.HasPrefix(rest, "=") {
			value, rest = directiveValue(rest[1:])
		}
		rest = strings.TrimPrefix(rest, ",")
		if name != "" && !said.has(name) {
			said[name] = value
		}
	}
	return said
}

// directiveValue splits text behind a value, at the comma or the end.
func directiveValue(text string) (value, rest string) {
	quoted := strings.TrimLeft(text, " \t")
	if !strings.HasPrefix(quoted, `"`) {
		if end := strings.IndexByte(text, ','); end >= 0 {
			return text[:end], text[end:]
		}
		return text, ""
	}
	for i := 1; i < len(quoted); i++ {
		switch quoted[i] {
		case '\\':
			i++
		case '"':
			value, rest = quoted[1:i], quoted[i+1:]
			if end := strings.IndexByte(rest, ','); end >= 0 {
				return value, rest[end:]
			}
			return value, ""
		}
	}
	return quoted[1:], ""
}

// retryAfter reads the header of that name; zero without one (RFC 9110,
// section 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if d, ok := seconds(text); ok {
		return d
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longest)
	}
	return 0
}
