package httpapi

import (
	"net/http"
	"strings"
	"time"
)

// asked is what a client has of an answer, by its conditional headers.
type asked struct {
	header http.Header
	// wrapping is what stands behind a result's tag in the tags of this kind
	// of answer: one picture travels in more than one form.
	wrapping string
}

// has tells whether the client has the result of that key, and by which tag:
// the key, or the key, a dot and a variant. If-Modified-Since only counts where
// there is no If-None-Match (RFC 9110, section 13.1.3).
func (a asked) has(key string, modified time.Time) (etag string, fresh bool) {
	if lists := a.header.Values("If-None-Match"); len(lists) > 0 {
		return a.find(strings.Join(lists, ","), key)
	}
	since, err := http.ParseTime(a.header.Get("If-Modified-Since"))
	if err != nil || modified.IsZero() {
		return key, false
	}
	return key, !modified.Truncate(time.Second).After(since)
}

// find compares weakly, as If-None-Match asks: W/"a" is "a".
func (a asked) find(list, key string) (etag string, found bool) {
	if strings.TrimSpace(list) == "*" {
		return key, true
	}
	for list != "" && key != "" {
		var tag string
		tag, list = nextTag(list)
		etag, wrapped := strings.CutSuffix(strings.Trim(tag, `"`), a.wrapping)
		if wrapped && (etag == key || isVariant(etag, key)) {
			return etag, true
		}
	}
	return key, false
}

// isVariant takes what stands behind the key only where it could be ours, for
// it goes back to the client.
func isVariant(etag, key string) bool {
	variant, found := strings.CutPrefix(etag, key+".")
	return found && isPlainID(variant) && !strings.Contains(variant, ".")
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
