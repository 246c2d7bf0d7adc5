package source

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestAllowListMatchesURLs(t *testing.T) {
	cases := []struct {
		name, entry string
		allowed     []string
		refused     []string
	}{
		{"a host means its default ports",
			"img.example.com",
			[]string{"http://img.example.com/a", "https://img.example.com", "https://img.example.com:443/a", "http://IMG.Example.COM/a", "http://img.example.com./a"},
			[]string{"http://img.example.com:8080/a", "http://img.example.com:443/a", "https://example.com/", "https://evil-img.example.com/", "https://img.example.com.evil.net/", "https://img.example.comevil.net/", "https://x.img.example.com/"}},
		{"a host with a port means that port only",
			"img.example.com:8443",
			[]string{"https://img.example.com:8443/a", "http://img.example.com:8443/a"},
			[]string{"https://img.example.com/a", "https://img.example.com:443/a"}},
		{"a wildcard means what lies below",
			"*.example.com",
			[]string{"https://a.example.com/x", "https://a.b.example.com/x"},
			[]string{"https://example.com/x", "https://aexample.com/x", "https://a.example.com.evil.net/", "https://a.example.com:8443/"}},
		{"a wildcard does not reach into addresses",
			"*.0.0.1",
			nil,
			[]string{"http://127.0.0.1/", "http://10.0.0.1/"}},
		{"a star means every host on default ports",
			"*",
			[]string{"https://a.example.com/x", "http://127.0.0.1/"},
			[]string{"http://a.example.com:22/"}},
		{"a URL means scheme and whole path segments",
			"https://img.example.com/photos",
			[]string{"https://img.example.com/photos", "https://img.example.com/photos/", "https://img.example.com/photos/a.jpg?x=../..", "https://img.example.com/ph%6ftos/a.jpg"},
			[]string{"http://img.example.com/photos/a.jpg", "https://img.example.com/photosecret/a.jpg", "https://img.example.com/", "https://img.example.com/Photos/a.jpg", "https://img.example.com//photos/a.jpg"}},
		{"a path ending in a slash means what lies below it",
			"https://img.example.com/photos/",
			[]string{"https://img.example.com/photos/a.jpg", "https://img.example.com/photos/2024/a%20b.jpg", "https://img.example.com/photos/100%25.jpg", "https://img.example.com/photos/a..b.jpg"},
			[]string{
				"https://img.example.com/photos", "https://img.example.com/photos/../secret/a.jpg", "https://img.example.com/photos/%2e%2e/secret/a.jpg",
				"https://img.example.com/photos/.%2E/secret/a.jpg", "https://img.example.com/photos/%252e%252e/secret", "https://img.example.com/photos/%25252e%25252e/secret",
				"https://img.example.com/photos/..%2fsecret", "https://img.example.com/photos/..%5csecret", `https://img.example.com/photos/..\secret`,
				"https://img.example.com/photos/..;x=1/secret", "https://img.example.com/photos/./a.jpg", "https://img.example.com/photos%2fa.jpg", "https://img.example.com/x/../photos/a.jpg",
			}},
		{"IPv6 and IPv4 hosts are compared by value",
			"[2001:DB8:0::1]:8080",
			[]string{"http://[2001:db8::1]:8080/"},
			[]string{"http://[2001:db8::1]/", "http://[2001:db8::2]:8080/"}},
		{"other alphabets are compared in their ASCII form",
			"bücher.example",
			[]string{"https://bücher.example/a", "https://xn--bcher-kva.example/a", "https://BÜCHER.example/a"},
			[]string{"https://bucher.example/a"}},
		{"underscores are fine",
			"media_store:9000",
			[]string{"http://media_store:9000/a"},
			[]string{"http://media_store/a"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			list, err := parseAllow([]string{c.entry})
			if err != nil {
				t.Fatal(err)
			}
			check := func(refs []string, want bool) {
				for _, ref := range refs {
					u, err := parseURL(ref)
					if err != nil {
						t.Errorf("%s: %v", ref, err)
					} else if list.allowsURL(u) != want {
						t.Errorf("%s: allowed = %t", ref, !want)
					}
				}
			}
			check(c.allowed, true)
			check(c.refused, false)
			if (allowList{}).allowsURL(mustURL(t, "https://img.example.com/")) {
				t.Error("the empty list allows something")
			}
		})
	}
}

func TestURLsThatAreRefusedWhateverTheListSays(t *testing.T) {
	for name, ref := range map[string]string{
		"a password":                     "https://user:pass@img.example.com/",
		"a user name":                    "https://img.example.com@evil.net/",
		"a backslash before an at sign":  `https://evil.net\@img.example.com/`,
		"an escaped at sign in the host": "https://user%40img.example.com/",
		"no host":                        "https:///a.jpg",
		"only a port":                    "https://:443/a.jpg",
		"a port out of range":            "https://img.example.com:70000/",
		"port zero":                      "https://img.example.com:0/",
		"a port with a sign":             "https://img.example.com:+80/",
		"a line break":                   "https://img.example.com/\r\nHost: evil",
		"a NUL":                          "https://img.example.com/\x00",
		"a space in the host":            "https://img .example.com/",
		"an IPv6 zone":                   "https://[fe80::1%25eth0]/",
		"empty labels":                   "https://img..example.com/",
		"a host of dots":                 "https://../",
	} {
		t.Run(name, func(t *testing.T) {
			if u, err := parseURL(ref); err == nil {
				t.Errorf("%q was read as %s", ref, u)
			}
		})
	}
}

func TestAllowListMatchesObjects(t *testing.T) {
	list, err := parseAllow([]string{"s3://photos/2024/", "s3://open"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bucket, key string
		want        bool
	}{
		{"photos", "2024/a.jpg", true}, {"photos", "2024", true}, {"open", "any/thing", true},
		{"photos", "2025/a.jpg", false}, {"photos", "2024secret/a.jpg", false}, {"photos2", "2024/a.jpg", false}, {"other", "a", false},
	} {
		if got := list.allowsObject(c.bucket, c.key); got != c.want {
			t.Errorf("%s/%s: allowed = %t", c.bucket, c.key, got)
		}
	}
}

func TestConfigFaultsAreAllNamed(t *testing.T) {
	cfg := Config{
		Root:     "s3://Not_A_Bucket",
		Allow:    []string{"ftp://x", "https://u:hidden@h/", "a b", "https://h/?q", "s3://", "h/../x", "h:99999", ""},
		MaxBytes: -1, Retries: 11, UserAgent: "a\nb", IdleTimeout: time.Nanosecond, TotalTimeout: 2 * time.Hour,
		S3: S3{Endpoint: "minio", AccessKey: "only"},
	}
	err := cfg.Validate()
	if err == nil {
		t.Fatal("no fault was found")
	}
	text := err.Error()
	for _, want := range []string{
		"source-root:", `"ftp://x"`, "…@h/", `"a b"`, `"https://h/?q"`, `"s3://"`, `"h/../x"`, "port", `""`,
		"max-source-bytes", "source-retries", "source-user-agent", "source-idle-timeout", "source-timeout", "s3-endpoint", "s3-access-key",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the error does not name %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "hidden") {
		t.Errorf("the error holds a password:\n%s", text)
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero value is refused: %v", err)
	}
}

func TestMaxAge(t *testing.T) {
	for _, c := range []struct {
		header string
		age    time.Duration
		want   time.Duration
	}{
		{"", 0, -1}, {"public", 0, -1}, {"max-age=60", 0, time.Minute}, {"MAX-AGE=60", 20 * time.Second, 40 * time.Second},
		{"max-age=60", time.Hour, 0}, {"max-age=60, s-maxage=10", 0, 10 * time.Second}, {"s-maxage=10, max-age=60", 0, 10 * time.Second},
		{"max-age=60, no-store", 0, 0}, {"private, max-age=60", 0, 0}, {"no-cache", 0, 0}, {`max-age="60"`, 0, time.Minute},
		{"max-age=x", 0, 0}, {"max-age=-5", 0, 0}, {"max-age=99999999999999999999", 0, (1<<31 - 1) * time.Second},
	} {
		h := http.Header{"Cache-Control": {c.header}, "Age": {strconv.Itoa(int(c.age / time.Second))}}
		if got := maxAge(h); got != c.want {
			t.Errorf("maxAge(%q, %s) = %s, want %s", c.header, c.age, got, c.want)
		}
	}
}

func TestETagsThatAreNoneAreDropped(t *testing.T) {
	for tag, want := range map[string]string{
		`"a"`: `"a"`, `W/"a"`: `W/"a"`, `""`: `""`, ``: ``, `a`: ``, `"a`: ``, `"a"b"`: ``, `"a b"`: ``, `"`: ``, `W/`: ``,
		`"` + strings.Repeat("x", 300) + `"`: ``,
	} {
		if got := cleanETag(tag); got != want {
			t.Errorf("cleanETag(%q) = %q, want %q", tag, got, want)
		}
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	for attempt := range 100 {
		low, high := backoff(attempt, 0), backoff(attempt, 0.999)
		want := min(float64(firstBackoff)*float64(uint64(1)<<min(attempt, 20)), float64(maxBackoff))
		if float64(low) != want/2 || float64(high) > want || high <= low {
			t.Errorf("attempt %d: %s to %s, want %s to %s", attempt, low, high, time.Duration(want/2), time.Duration(want))
		}
	}
}

// FuzzParseURL holds what the rest of the package relies on: a URL that is
// read asks for what was given, and reading its own spelling changes nothing.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{
		"https://img.example.com/a%20b c.jpg?x=%2B#y", "http://[::1]:80/", "https://bücher.example/é", "https://a/%", "https://a/%%20%2",
		`https://a\@b/`, "https://a:b@c/", "https://a?x", "https://a/../b", "HTTPS://A/", "https://a/(b)[c]{d}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		u, err := parseURL(ref)
		if err != nil {
			return
		}
		if u.User != nil || u.Host == "" || strings.ContainsAny(u.RequestURI(), " \r\n\t\x00") || strings.ContainsAny(u.Host, " \r\n/@?#\\") {
			t.Fatalf("%q was read as %#v", ref, u)
		}
		_, rest, _ := strings.Cut(ref, "://")
		if cut := strings.IndexAny(rest, "/?#"); cut >= 0 && rest[cut] == '/' {
			want, _, _ := strings.Cut(escapeIllegal(rest[cut:]), "#")
			if got := u.RequestURI(); got != want {
				t.Fatalf("%q asks for %q, want %q", ref, got, want)
			}
		}
		again, err := parseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q became %q and then %v, %v", ref, u, again, err)
		}
	})
}

// TestClimbingPathsNeverMatchAPrefix tries random mixtures of what a dot
// segment can be made of.
func TestClimbingPathsNeverMatchAPrefix(t *testing.T) {
	list, err := parseAllow([]string{"https://h/photos/"})
	if err != nil {
		t.Fatal(err)
	}
	dots := []string{".", "%2e", "%2E", "%252e", "%25%32%65"}
	slashes := []string{"/", "%2f", "%5c", `\`, "%252F"}
	random := rand.New(rand.NewPCG(1, 1))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	for range 2000 {
		ref := fmt.Sprintf("https://h/photos/a%s%s%s%ssecret", pick(slashes), pick(dots), pick(dots), pick(slashes))
		if list.allowsURL(mustURL(t, ref)) {
			t.Errorf("%s is allowed", ref)
		}
	}
}

func mustURL(t *testing.T, ref string) *url.URL {
	t.Helper()
	u, err := parseURL(ref)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
