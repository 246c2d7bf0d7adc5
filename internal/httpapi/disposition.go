package httpapi

import (
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spillway-media/spillway/internal/media"
)

// longestName bounds a suggested file name, extension excepted, in characters.
const longestName = 100

// disposition suggests a file name made of the source's name and the ending
// of what was really written (RFC 6266).
func disposition(ref string, format media.Format) string {
	return dispositionOf(baseName(ref), format)
}

func dispositionOf(name string, format media.Format) string {
	ending := format.Extension()
	if ending != "" {
		ending = "." + ending
	}
	plain := strings.Map(toPlain, name)
	header := `inline; filename="` + plain + ending + `"`
	if plain != name {
		header += "; filename*=UTF-8''" + encodeExtended(name+ending)
	}
	return header
}

// baseName is the last part of a reference without its ending, safe to stand
// in a header once toPlain or encodeExtended went over it.
func baseName(ref string) string {
	if strings.Contains(ref, "://") {
		ref = urlPath(ref)
	}
	name := path.Base(strings.TrimRight(ref, "/"))
	name = strings.TrimSuffix(name, path.Ext(name))
	name = strings.Map(toSafe, strings.ToValidUTF8(name, "_"))
	if utf8.RuneCountInString(name) > longestName {
		name = string([]rune(name)[:longestName])
	}
	name = strings.Trim(name, " .")
	if name == "" || name == "/" {
		return "image"
	}
	return name
}

func urlPath(ref string) string {
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	return u.Path
}

// toSafe replaces what file systems, headers and readers could trip over:
// separators, quotes, control and invisible formatting characters.
func toSafe(r rune) rune {
	if strings.ContainsRune(`/\:*?"<>|%`, r) || !unicode.IsPrint(r) {
		return '_'
	}
	return r
}

// toPlain leaves what every client reads in the plain form of the header.
func toPlain(r rune) rune {
	if r > unicode.MaxASCII {
		return '_'
	}
	return r
}

// encodeExtended writes the value of an RFC 8187 parameter.
func encodeExtended(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if isAttrChar(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

func isAttrChar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		strings.IndexByte("!#$&+-.^_`|~", c) >= 0
}
