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
	const key = "JIooipfbvOvsCLpA5WUuSQ"
	f.Fuzz(func(t *testing.T, list string) {
		for _, wrapping := range []string{"", "+json"} {
			a := asked{wrapping: wrapping}
			if tag, found := a.find(`"first", W/"`+key+".0a1b2c3d"+wrapping+`",`+list, key); !found || tag != key+".0a1b2c3d" {
				t.Errorf("%q hides the tag before it: %q", list, tag)
			}
			tag, found := a.find(list, key)
			if found && !strings.Contains(list, `"`+key) && strings.TrimSpace(list) != "*" {
				t.Errorf("%q matches", list)
			}
			if !strings.HasPrefix(tag, key) || strings.ContainsAny(tag, "\"+\r\n ") {
				t.Errorf("%q gives back %q", list, tag)
			}
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
