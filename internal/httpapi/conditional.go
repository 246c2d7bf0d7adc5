package httpapi

import (
	"net/http"
	"strings"
	"time"
)

// isFresh tells whether the copy a client has, by its conditional headers, is
// the one named by etag and modified. If-Modified-Since only counts where
// there is no If-None-Match (RFC 9110, section 13.1.3).
func isFresh(header http.Header, etag string, modified time.Time) bool {
	if lists := header.Values("If-None-Match"); len(lists) > 0 {
		return matchesAny(strings.Join(lists, ","), etag)
	}
	since, err := http.ParseTime(header.Get("If-Modified-Since"))
	if err != nil || modified.IsZero() {
		return false
	}
	return !modified.Truncate(time.Second).After(since)
}

// matchesAny compares weakly, as If-None-Match asks: W/"a" is "a".
func matchesAny(list, etag string) bool {
	if strings.TrimSpace(list) == "*" {
		return true
	}
	if etag == "" {
		return false
	}
	opaque := strings.TrimPrefix(etag, "W/")
	for list != "" {
		var tag string
		if tag, list = nextTag(list); tag == opaque {
			return true
		}
	}
	return false
}

// nextTag takes the first entity tag, quotes included, off a list. A tag may
// hold commas, so the list cannot be split at them. What is no tag ends it.
func nextTag(list string) (tag, rest string) {
	list = strings.TrimLeft(list, " \t,")
	list = strings.TrimPrefix(list, "W/")
	if !strings.HasPrefix(list, `"`) {
		return "", ""
	}
	end := strings.IndexByte(list[1:], '"')
	if end < 0 {
		return "", ""
	}
	return list[:end+2], list[end+2:]
}

// quote makes the header form of a strong tag.
func quote(etag string) string {
	if etag == "" {
		return ""
	}
	return `"` + etag + `"`
}
