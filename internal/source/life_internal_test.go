package source

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// headers reads "Name: value" lines.
func headers(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestLifetimes(t *testing.T) {
	const s, unsaid = time.Second, time.Duration(-1)
	cases := []struct {
		name    string
		headers []string
		want    Life
	}{
		{"nothing is said", nil, Life{Fresh: unsaid, WhileRevalidate: unsaid, IfError: unsaid}},
		{"max-age", []string{"Cache-Control: max-age=60"}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"s-maxage is the one for shared caches", []string{"Cache-Control: s-maxage=10, max-age=60"}, Life{Fresh: 10 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"age is taken off", []string{"Cache-Control: max-age=60", "Age: 20"}, Life{Fresh: 40 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"an age beyond the life leaves none", []string{"Cache-Control: max-age=60", "Age: 90"}, Life{Fresh: 0, WhileRevalidate: unsaid, IfError: unsaid}},
		{"an age beyond counting leaves none", []string{"Cache-Control: max-age=60", "Age: 99999999999999999999"}, Life{Fresh: 0, WhileRevalidate: unsaid, IfError: unsaid}},
		{"an age that is none is not counted", []string{"Cache-Control: max-age=60", "Age: old"}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"staleness may be allowed", []string{"Cache-Control: max-age=60, stale-while-revalidate=30, stale-if-error=600"}, Life{Fresh: 60 * s, WhileRevalidate: 30 * s, IfError: 600 * s}},
		{"staleness on the way counts", []string{"Cache-Control: max-age=60, stale-while-revalidate=30, stale-if-error=600", "Age: 100"}, Life{Fresh: 0, WhileRevalidate: 0, IfError: 560 * s}},
		{"directives may be spread over lines", []string{"Cache-Control: max-age=60", "Cache-Control: stale-if-error=5"}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: 5 * s}},
		{"no-cache is to ask each time", []string{"Cache-Control: no-cache, max-age=60, stale-if-error=5"}, Life{}},
		{"no-store is to keep nothing", []string{"Cache-Control: max-age=60, no-store"}, Life{NoStore: true}},
		{"private is not for shared caches", []string{"Cache-Control: PRIVATE, max-age=60"}, Life{NoStore: true}},
		{"private for some headers is taken as private", []string{`Cache-Control: private="set-cookie", max-age=60`}, Life{NoStore: true}},
		{"must-revalidate forbids staleness", []string{"Cache-Control: max-age=60, must-revalidate, stale-if-error=5"}, Life{Fresh: 60 * s}},
		{"must-revalidate says nothing of freshness", []string{"Cache-Control: must-revalidate"}, Life{Fresh: unsaid}},
		{"proxy-revalidate is the same for shared caches", []string{"Cache-Control: max-age=60, proxy-revalidate, stale-while-revalidate=5"}, Life{Fresh: 60 * s}},
		{"a life that cannot be read is over", []string{"Cache-Control: max-age=soon"}, Life{Fresh: 0, WhileRevalidate: unsaid, IfError: unsaid}},
		{"a directive without its value is over", []string{"Cache-Control: max-age=60, stale-if-error"}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: 0}},
		{"of two the first counts", []string{"Cache-Control: max-age=10, max-age=60"}, Life{Fresh: 10 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"commas in quotes separate nothing", []string{`Cache-Control: ext="a, no-store, \", private", max-age="60"`}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"an open quote swallows the rest", []string{`Cache-Control: max-age=60, ext="a, no-store`}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"spaces and empty directives are nothing", []string{"Cache-Control:  ,, max-age = 60 , "}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"Expires counts from Date", []string{"Expires: Mon, 30 Nov 2026 13:00:00 GMT", "Date: Mon, 30 Nov 2026 12:59:00 GMT"}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"Expires counts from now without Date", []string{"Expires: Mon, 30 Nov 2026 12:01:00 GMT", "Age: 10"}, Life{Fresh: 50 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"Expires in the past is over", []string{"Expires: Mon, 30 Nov 2020 12:01:00 GMT"}, Life{Fresh: 0, WhileRevalidate: unsaid, IfError: unsaid}},
		{"Expires of 0 is over", []string{"Expires: 0"}, Life{Fresh: 0, WhileRevalidate: unsaid, IfError: unsaid}},
		{"max-age beats Expires", []string{"Cache-Control: max-age=60", "Expires: 0"}, Life{Fresh: 60 * s, WhileRevalidate: unsaid, IfError: unsaid}},
		{"an Expires of the year 9999 does not overflow", []string{"Expires: Fri, 31 Dec 9999 23:59:59 GMT"}, Life{Fresh: longest, WhileRevalidate: unsaid, IfError: unsaid}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lifeOf(headers(c.headers...), noon)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestA304RenewsALife(t *testing.T) {
	had := Life{Fresh: time.Minute, WhileRevalidate: 5 * time.Second, IfError: -1}
	cases := []struct {
		name    string
		headers []string
		want    Life
	}{
		{"as it was when it says nothing", nil, had},
		{"less its age", []string{"Age: 20"}, Life{Fresh: 40 * time.Second, WhileRevalidate: 5 * time.Second, IfError: -1}},
		{"as it says itself", []string{"Cache-Control: max-age=5"}, Life{Fresh: 5 * time.Second, WhileRevalidate: -1, IfError: -1}},
		{"also by Expires", []string{"Expires: 0"}, Life{Fresh: 0, WhileRevalidate: -1, IfError: -1}},
		{"also to forbid it", []string{"Cache-Control: no-store"}, Life{NoStore: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, had.renewed(headers(c.headers...), noon)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "Mon, 30 Nov 2026 12:00:30 GMT": 30 * time.Second,
		"Mon, 30 Nov 2026 11:00:00 GMT": 0, "99999999999999": longest,
	} {
		if got := retryAfter(headers("Retry-After: "+text), noon); got != want {
			t.Errorf("Retry-After: %s is %s, want %s", text, got, want)
		}
	}
}

// FuzzLifetimes holds what callers add up without looking: nothing is negative
// but -1, and what may not be kept is never fresh.
func FuzzLifetimes(f *testing.F) {
	f.Add(`max-age=60, private="a, b", stale-if-error=9`, "12", "Mon, 30 Nov 2026 13:00:00 GMT")
	f.Add(`a="\`, "99999999999", "0")
	f.Add(`no-cache=,s-maxage="1`, "-1", "")
	f.Fuzz(func(t *testing.T, control, age, expires string) {
		h := http.Header{"Cache-Control": {control}, "Age": {age}, "Expires": {expires}}
		life := lifeOf(h, noon)
		for _, d := range []time.Duration{life.Fresh, life.WhileRevalidate, life.IfError, maxAge(h)} {
			if d < -1 || d > longest {
				t.Errorf("%q has a time of %s", control, d)
			}
		}
		if life.NoStore && life != (Life{NoStore: true}) {
			t.Errorf("%q may not be kept and is %+v", control, life)
		}
	})
}
