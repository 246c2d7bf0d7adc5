package h2

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2/hpack"
)

// fieldsOf reads "name: value" lines; a pseudo-header's colon comes first.
func fieldsOf(lines ...string) []hpack.HeaderField {
	fields := make([]hpack.HeaderField, 0, len(lines))
	for _, line := range lines {
		cut := 1 + strings.Index(line[1:], ": ")
		fields = append(fields, hpack.HeaderField{Name: line[:cut], Value: line[cut+2:]})
	}
	return fields
}

func get(more ...string) []hpack.HeaderField {
	return fieldsOf(append([]string{":method: GET", ":scheme: https", ":authority: example.com", ":path: /a?b=c"}, more...)...)
}

func TestParseRequestRefuses(t *testing.T) {
	tests := map[string]struct {
		fields    []hpack.HeaderField
		endStream bool
	}{
		"a request without a single field":            {nil, true},
		"a missing method":                            {fieldsOf(":scheme: https", ":authority: a", ":path: /"), true},
		"a missing scheme":                            {fieldsOf(":method: GET", ":authority: a", ":path: /"), true},
		"a missing path":                              {fieldsOf(":method: GET", ":scheme: https", ":authority: a"), true},
		"an empty path":                               {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: "), true},
		"an empty authority":                          {fieldsOf(":method: GET", ":scheme: https", ":authority: ", ":path: /"), true},
		"a method with a space":                       {fieldsOf(":method: GET /x", ":scheme: https", ":authority: a", ":path: /"), true},
		"a scheme of another protocol":                {fieldsOf(":method: GET", ":scheme: ftp", ":authority: a", ":path: /"), true},
		"a path in absolute form":                     {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: https://a/"), true},
		"a path without a slash":                      {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: a"), true},
		"a path with a space":                         {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: /a HTTP/1.1"), true},
		"a path with a fragment":                      {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: /a#b"), true},
		"a path with half an escape":                  {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: /%2"), true},
		"an asterisk for another method than OPTIONS": {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: *"), true},
		"user information in the authority":           {fieldsOf(":method: GET", ":scheme: https", ":authority: u@a", ":path: /"), true},
		"an authority with a slash":                   {fieldsOf(":method: GET", ":scheme: https", ":authority: a/b", ":path: /"), true},
		"a pseudo-header field twice":                 {get(":path: /"), true},
		"the same pseudo-header field twice":          {fieldsOf(":method: GET", ":method: GET", ":scheme: https", ":authority: a", ":path: /"), true},
		"a pseudo-header field of responses":          {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: /", ":status: 200"), true},
		"a pseudo-header field nobody knows":          {fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: /", ":x: y"), true},
		"extended CONNECT, which was not offered":     {fieldsOf(":method: CONNECT", ":protocol: websocket", ":scheme: https", ":authority: a", ":path: /"), false},
		"CONNECT with a path":                         {fieldsOf(":method: CONNECT", ":authority: a:443", ":path: /"), false},
		"CONNECT with a scheme":                       {fieldsOf(":method: CONNECT", ":authority: a:443", ":scheme: https"), false},
		"CONNECT without an authority":                {fieldsOf(":method: CONNECT"), false},
		"a pseudo-header field after a regular one":   {fieldsOf(":method: GET", ":scheme: https", "accept: */*", ":authority: a", ":path: /"), true},
		"an upper-case name":                          {get("Accept: */*"), true},
		"a name with a space":                         {get("a b: c"), true},
		"an empty name":                               {append(get(), hpack.HeaderField{Value: "x"}), true},
		"a name of a byte beyond ASCII":               {get("na\xefve: x"), true},
		"a value with a line feed":                    {get("x: a\nb"), true},
		"a value with a carriage return":              {get("x: a\rb"), true},
		"a value with a zero byte":                    {get("x: a\x00b"), true},
		"a value that starts with a space":            {get("x:  a"), true},
		"a value that ends with a tab":                {get("x: a\t"), true},
		"Connection":                                  {get("connection: close"), true},
		"Keep-Alive":                                  {get("keep-alive: timeout=5"), true},
		"Proxy-Connection":                            {get("proxy-connection: keep-alive"), true},
		"Transfer-Encoding":                           {get("transfer-encoding: chunked"), false},
		"Upgrade":                                     {get("upgrade: websocket"), true},
		"TE with a coding":                            {get("te: trailers, gzip"), true},
		"TE twice":                                    {get("te: trailers", "te: trailers"), true},
		"a Host that differs from the authority":      {get("host: other.example"), true},
		"a Host at another port":                      {get("host: example.com:8443"), true},
		"two hosts":                                   {get("host: example.com", "host: example.com"), true},
		"a length that is no number":                  {get("content-length: x"), false},
		"a negative length":                           {get("content-length: -1"), false},
		"a length with a sign":                        {get("content-length: +1"), false},
		"two lengths that differ":                     {get("content-length: 1", "content-length: 2"), false},
		"a length beyond all numbers":                 {get("content-length: 99999999999999999999"), false},
		"a length without a body":                     {get("content-length: 1"), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r request
			err := r.parse(tt.fields, tt.endStream)
			if _, ok := errors.AsType[malformedError](err); !ok {
				t.Fatalf("parse = %v, %+v; want a malformedError", err, r)
			}
		})
	}
}

func TestParseRequestAccepts(t *testing.T) {
	type wanted struct {
		Host, Path     string
		Header         http.Header
		Trailer        http.Header
		Length         int64
		ExpectContinue bool
	}
	tests := map[string]struct {
		fields    []hpack.HeaderField
		endStream bool
		want      wanted
	}{
		"a plain GET": {
			get("accept: */*"), true,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{"Accept": {"*/*"}}},
		},
		"a body of unknown length": {
			get(), false,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{}, Length: -1},
		},
		"the crumbs of a cookie, which become one": {
			get("cookie: a=1", "x: y", "cookie: b=2", "cookie: c=3"), true,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{"Cookie": {"a=1; b=2; c=3"}, "X": {"y"}}},
		},
		"repeated fields in their order": {
			get("x: 1", "y: 2", "x: 3"), true,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{"X": {"1", "3"}, "Y": {"2"}}},
		},
		"Host in the place of the authority": {
			fieldsOf(":method: GET", ":scheme: http", ":path: /", "host: example.com"), true,
			wanted{Host: "example.com", Path: "/", Header: http.Header{}},
		},
		"a Host that is the authority, spelled otherwise": {
			get("host: EXAMPLE.com:443"), true,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{}},
		},
		"nobody being asked, as in net/http": {
			fieldsOf(":method: GET", ":scheme: http", ":path: /"), true,
			wanted{Path: "/", Header: http.Header{}},
		},
		"an expectation, which handlers do not see": {
			get("expect: 100-continue", "content-length: 3"), false,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{"Content-Length": {"3"}}, Length: 3, ExpectContinue: true},
		},
		"an expectation without a body, which needs no answer": {
			get("expect: 100-continue"), true,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{}},
		},
		"announced trailers, less those that cannot be": {
			get("trailer: x-sum, content-length ,Y", "te: trailers"), false,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{"Te": {"trailers"}}, Trailer: http.Header{"X-Sum": nil, "Y": nil}, Length: -1},
		},
		"the same length twice": {
			get("content-length: 7", "content-length: 7"), false,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{"Content-Length": {"7"}}, Length: 7},
		},
		"a question about the whole server": {
			fieldsOf(":method: OPTIONS", ":scheme: https", ":authority: a", ":path: *"), true,
			wanted{Host: "a", Path: "*", Header: http.Header{}},
		},
		"a path that starts with two slashes, as browsers send it": {
			fieldsOf(":method: GET", ":scheme: https", ":authority: a", ":path: //b/c"), true,
			wanted{Host: "a", Path: "//b/c", Header: http.Header{}},
		},
		"a value with bytes beyond ASCII": {
			get("x: na\xc3\xafve"), true,
			wanted{Host: "example.com", Path: "/a", Header: http.Header{"X": {"na\xc3\xafve"}}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r request
			if err := r.parse(tt.fields, tt.endStream); err != nil {
				t.Fatal(err)
			}
			req := r.build(t.Context(), http.NoBody, "192.0.2.1:5", nil)
			got := wanted{req.Host, req.URL.Path, req.Header, req.Trailer, req.ContentLength, r.expectContinue}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseTrailersKeepsWhatWasAnnounced(t *testing.T) {
	announced := http.Header{"X-Sum": nil}
	got, err := parseTrailers(fieldsOf("x-sum: 1", "y: 2", "x-sum: 3"), announced)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(http.Header{"X-Sum": {"1", "3"}}, got); diff != "" {
		t.Error(diff)
	}
	for name, fields := range map[string][]hpack.HeaderField{
		"a pseudo-header field":  fieldsOf(":path: /"),
		"an upper-case name":     fieldsOf("X-Sum: 1"),
		"a length after a body":  fieldsOf("content-length: 1"),
		"a connection's field":   fieldsOf("connection: close"),
		"a value with a newline": fieldsOf("y: a\nb"),
	} {
		if _, err := parseTrailers(fields, announced); err == nil {
			t.Errorf("%s was accepted in trailers", name)
		}
	}
}

// FuzzParseRequest holds whatever is accepted to an independent reading of RFC
// 9113, 8.2 and 8.3.
func FuzzParseRequest(f *testing.F) {
	f.Add(":method\nGET\n:scheme\nhttps\n:authority\nexample.com\n:path\n/", true)
	f.Add(":method\nPOST\n:scheme\nhttp\n:authority\na:80\n:path\n/x?y\ncontent-length\n3\nhost\na\nte\ntrailers\ntrailer\nx", false)
	f.Add(":method\nOPTIONS\n:scheme\nhttps\n:path\n*\ncookie\na=b\ncookie\nc=d", true)
	f.Add(":method\nCONNECT\n:authority\na:443", false)
	f.Add(":method\nGET\n:path\n//\n:scheme\nhttp\nX\ny", true)
	f.Fuzz(func(t *testing.T, text string, endStream bool) {
		parts := strings.Split(text, "\n")
		var fields []hpack.HeaderField
		for i := 0; i+1 < len(parts); i += 2 {
			fields = append(fields, hpack.HeaderField{Name: parts[i], Value: strings.ReplaceAll(parts[i+1], "\\n", "\n")})
		}
		var r request
		err := r.parse(fields, endStream)
		if _, trailerErr := parseTrailers(fields, http.Header{"X": nil}); trailerErr == nil && len(fields) > 0 && fields[0].IsPseudo() {
			t.Error("a pseudo-header field was accepted in trailers")
		}
		if err != nil {
			return
		}
		r.build(t.Context(), http.NoBody, "", nil)
		if fault := forbidden(fields); fault != "" {
			t.Errorf("accepted: %s in %q", fault, fields)
		}
	})
}

// forbidden names what RFC 9113 forbids in a request's fields; "" is nothing.
func forbidden(fields []hpack.HeaderField) string {
	seen := map[string]string{}
	regular := false
	for _, f := range fields {
		if strings.HasPrefix(f.Name, ":") {
			if _, twice := seen[f.Name]; twice || regular {
				return "a pseudo-header field again, or late"
			}
			seen[f.Name] = f.Value
			continue
		}
		regular = true
		if f.Name == "" || strings.ContainsFunc(f.Name, func(c rune) bool {
			return c <= ' ' || c >= 0x7f || 'A' <= c && c <= 'Z' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c)
		}) {
			return "a bad name"
		}
		if strings.ContainsAny(f.Value, "\x00\r\n") || f.Value != strings.Trim(f.Value, " \t") {
			return "a bad value"
		}
		switch f.Name {
		case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
			return "a field of a connection"
		case "te":
			if f.Value != "" && f.Value != "trailers" {
				return "a transfer coding"
			}
		}
	}
	if seen[":method"] == "CONNECT" {
		if len(seen) != 2 || seen[":authority"] == "" {
			return "a bad CONNECT"
		}
		return ""
	}
	for name := range seen {
		switch name {
		case ":method", ":scheme", ":authority", ":path":
		default:
			return "an unknown pseudo-header field"
		}
	}
	path := seen[":path"]
	switch {
	case seen[":method"] == "" || seen[":scheme"] != "http" && seen[":scheme"] != "https":
		return "a bad method or scheme"
	case path == "*" && seen[":method"] != "OPTIONS", path != "*" && !strings.HasPrefix(path, "/"):
		return "a bad path"
	case strings.Contains(seen[":authority"], "@"):
		return "user information"
	}
	return ""
}
