package httpapi

import (
	"mime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-media/spillway/internal/media"
)

// FuzzIfNoneMatch holds that any list ends, that a tag put in front of it is
// found, and that a list without the tag's text never matches.
func FuzzIfNoneMatch(f *testing.F) {
	for _, seed := range []string{"", "*", `"a"`, `W/"a", "b,c"`, `"a`, `,,"a" "b"`, `"a"W/"x"`} {
		f.Add(seed)
	}
	const etag = `"JIooipfbvOvsCLpA5WUuSQ"`
	f.Fuzz(func(t *testing.T, list string) {
		if !matchesAny(`"first", W/`+etag+","+list, etag) {
			t.Errorf("%q hides the tag before it", list)
		}
		if matchesAny(list, etag) && !strings.Contains(list, etag) && strings.TrimSpace(list) != "*" {
			t.Errorf("%q matches", list)
		}
	})
}

// FuzzDisposition holds that no name gets out of the header's value and that
// every reader finds the ending of what was written.
func FuzzDisposition(f *testing.F) {
	for _, seed := range []string{"", "/", "a.jpg", "http://h/p/a.jpg?x", `a"; filename="b.exe`, "a\r\nSet-Cookie: x", "é\u202e.png", "\xff", "..", "a/.b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		header := disposition(ref, media.WebP)
		if strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q leaves plain text in %q", ref, header)
		}
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "inline" {
			t.Fatalf("%q makes %q: %v", ref, header, err)
		}
		name := params["filename"]
		if !strings.HasSuffix(name, ".webp") || strings.ContainsAny(name, "/\\\"") || !utf8.ValidString(name) || len(params) != 1 {
			t.Fatalf("%q makes %q, read as %q", ref, header, params)
		}
	})
}
