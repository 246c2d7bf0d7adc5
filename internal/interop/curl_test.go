package interop_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answer is what curl tells of a response; fields that differ each time, or by
// protocol, are left out.
type answer struct {
	Code  string
	Asked string // "100" when the server asked for the body
	Field map[string]string
	Body  string
}

// request is what curl is told to do.
type request struct {
	name, path string
	args       []string
}

func requests(t *testing.T) []request {
	t.Helper()
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, bytes.Repeat([]byte("0123456789abcdef"), 40_000), 0o600); err != nil {
		t.Fatal(err)
	}
	upload := []string{
		"--data-binary", "@" + body, "-H", "Expect: 100-continue", "-H", "Content-Type: application/octet-stream",
		"-H", "Authorization: Bearer " + shared.token,
	}
	return []request{
		{"a picture", picture(0, 320, "&format=webp"), nil},
		{"its header", picture(0, 320, "&format=webp"), []string{"--head", "-o", os.DevNull}},
		{"a part of it", picture(0, 320, "&format=webp"), []string{"--range", "100-299"}},
		{"a part behind its end", picture(0, 320, "&format=webp"), []string{"--range", "9999999-"}},
		{"a picture that the client has", picture(0, 320, "&format=webp"), []string{"-H", "If-None-Match: *"}},
		{"several pictures in one answer", "/assets/01.jpg?sizes=320x0,160x0,80x0&format=webp", nil},
		{"a picture that is not there", "/assets/none.jpg?sizes=320x0", nil},
		{"a method that is not known", picture(0, 320, ""), []string{"-X", "DELETE"}},
		{"a body that is not wanted", picture(0, 320, ""), []string{"--data-binary", "hello"}},
		{"an upload that asks first", "/v1/uploads", upload},
	}
}

// curl asks in one version of HTTP, and fails where another came.
func curl(t *testing.T, s *server, r request, flag, version string) answer {
	t.Helper()
	dir := t.TempDir()
	args := append(slices.Clone(r.args), "-sSk", flag, "-D", filepath.Join(dir, "header"), "-w", "%{http_version} %{http_code}",
		s.at(r.path), "-o", filepath.Join(dir, "body"))
	got := mustRun(t, "curl", args...)
	used, code, _ := strings.Cut(got.out, " ")
	if used != version {
		t.Errorf("curl %s was answered in HTTP/%s, want HTTP/%s", flag, used, version)
	}
	header, err := os.ReadFile(filepath.Join(dir, "header"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, "body"))
	if err != nil && !os.IsNotExist(err) { // a 304 has none, and a header goes elsewhere
		t.Fatal(err)
	}
	a := answer{Code: code, Field: map[string]string{}, Body: string(body)}
	if regexp.MustCompile(`(?m)^HTTP/[0-9.]+ 100`).Match(header) {
		a.Asked = "100"
	}
	for line := range strings.Lines(string(header)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name = strings.ToLower(name); name {
		case "content-type", "content-length", "content-range", "etag", "cache-control", "vary", "allow", "accept-ranges":
			a.Field[name] = value
		}
	}
	a.Body = unlike.ReplaceAllString(a.Body, "")
	return a
}

// unlike is what no two answers share: names of requests, uploads and parts.
var unlike = regexp.MustCompile(`"request_id":"[^"]*"|"input":"[^"]*"|--[0-9a-zA-Z]{20,}`)

// TestCurl asks the same things over HTTP/2 and over HTTP/1.1 on the same port:
// what comes has to be the same.
func TestCurl(t *testing.T) {
	for _, c := range []struct {
		site
		flag string
	}{
		{sites[0], "--http2"},
		{sites[1], "--http2-prior-knowledge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.site)
			asked, codes := 0, map[string]int{}
			for _, r := range requests(t) {
				t.Run(r.name, func(t *testing.T) {
					two := curl(t, s, r, c.flag, "2")
					one := curl(t, s, r, "--http1.1", "1.1")
					for _, a := range []*answer{&one, &two} {
						delete(a.Field, boundary(a))
					}
					if diff := cmp.Diff(one, two); diff != "" {
						t.Errorf("HTTP/1.1 (-) and HTTP/2 (+) differ:\n%s", diff)
					}
					if two.Asked != "" {
						asked++
					}
					codes[two.Code]++
				})
			}
			want := map[string]int{"200": 3, "206": 1, "416": 1, "304": 1, "404": 1, "405": 2, "201": 1}
			if diff := cmp.Diff(want, codes); diff != "" {
				t.Errorf("answers by status: want (-), got (+):\n%s", diff)
			}
			if asked != 1 {
				t.Errorf("%d uploads got a 100, want the one with a token", asked)
			}
			t.Logf("summary: curl %s: %d requests answered alike over HTTP/2 and HTTP/1.1, %d after a 100", c.name, len(requests(t)), asked)
		})
	}
}

// boundary names the field that holds one, which differs each time.
func boundary(a *answer) string {
	if strings.HasPrefix(a.Field["content-type"], "multipart/") {
		return "content-type"
	}
	return ""
}

// RFC 9113 has dropped the upgrade from HTTP/1.1; whoever asks for it is
// answered in HTTP/1.1.
func TestCurlAskingForAnUpgradeIsAnsweredInHTTP1(t *testing.T) {
	s := serve(t, sites[1])
	if a := curl(t, s, request{path: "/healthz"}, "--http2", "1.1"); a.Code != "200" {
		t.Errorf("it was answered %s", a.Code)
	}
}

// Many requests by one process share its connection. (In the clear curl 7.88
// loses a second request by prior knowledge to whatever server.)
func TestCurlKeepsOneConnection(t *testing.T) {
	s := serve(t, sites[0])
	args := []string{"-sSk", "--http2", "-w", "%{http_version} %{http_code} %{num_connects}\n"}
	for n := range 20 {
		args = append(args, "-o", os.DevNull, s.at(picture(n, 64, "&format=webp")))
	}
	got := mustRun(t, "curl", args...)
	if want := "2 200 1\n" + strings.Repeat("2 200 0\n", 19); got.out != want {
		t.Errorf("it said\n%s", got.out)
	}
}
