package httpapi

import (
	"mime"
	"strconv"
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

// FuzzRange holds that what is read of a range lies within the body, or begins
// behind it, and that what a client may mean is read as it is written.
func FuzzRange(f *testing.F) {
	for _, seed := range []string{"", "bytes=0-1", "bytes=-5", "bytes=5-", "bytes=-0", "bytes=9-1", "bytes=1-2,3-4", "Bytes = 1-2", "bytes=18446744073709551616-"} {
		f.Add(seed, int64(100))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 1 {
			return
		}
		part, err := parseRange(header, size)
		if err != nil {
			return
		}
		if part.first < 0 || part.last >= size || part.first > part.last && part.first < size {
			t.Errorf("%q of %d bytes is %+v", header, size, part)
		}
		again, err := parseRange("bytes="+strconv.FormatInt(part.first, 10)+"-"+strconv.FormatInt(part.last, 10), size)
		if part.first <= part.last && (err != nil || again != part) {
			t.Errorf("%+v is read as %+v, %v", part, again, err)
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

func TestLogsShowNoSecretsOfURLs(t *testing.T) {
	for text, want := range map[string]string{
		`quality: "101" is not a whole number from 1 to 100.`:     `quality: "101" is not a whole number from 1 to 100.`,
		`Get "https://h/a.jpg?token=x": dial tcp: refused`:        `Get "https://h/a.jpg…": dial tcp: refused`,
		`image_url: "https://h/a?t=x y'z<\"s\\" holds \x01 at 9.`: `image_url: "https://h/a…" holds \x01 at 9.`,
		`open https://user:pw@h/a?t=x: no`:                        `open https:…h/a… no`,
		`"a" and "b?c", then "d?e" and "f"`:                       `"a" and "b…", then "d…" and "f"`,
		`cut off "https://h/a?token=x y`:                          `cut off "https://h/a…`,
	} {
		if got := withoutSecrets(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}
