package h2

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"
)

// malformedError says why a request or its trailers are malformed (RFC 9113,
// 8.1.1). The stream is answered with RST_STREAM and PROTOCOL_ERROR: to tell a
// client in a response would be to trust the rest of its request.
type malformedError string

func (e malformedError) Error() string { return "malformed request: " + string(e) }

// request is what a header block asks for.
type request struct {
	method, scheme, authority, path string

	url            *url.URL    // nil: CONNECT
	header         http.Header // as handlers see it: neither Host, Expect nor Trailer
	trailer        http.Header // the announced names, without values yet; nil: none
	contentLength  int64       // -1: not declared
	expectContinue bool        // the client waits for 100 (Continue) before it sends the body
}

// parse checks the fields of a request's header block as RFC 9113, 8.1 to 8.3
// want it, and keeps their strings but not the slice. The error is a
// malformedError. endStream: no body follows.
func (r *request) parse(fields []hpack.HeaderField, endStream bool) error {
	r.contentLength = -1
	n, err := r.takePseudo(fields)
	if err != nil {
		return err
	}
	if err := r.takeFields(fields[n:]); err != nil {
		return err
	}
	if err := r.takeHost(); err != nil {
		return err
	}
	if err := r.takeLength(endStream); err != nil {
		return err
	}
	r.takeExpect(endStream)
	r.takeTrailer()
	return r.checkTarget()
}

// takePseudo reads the pseudo-header fields, which come first and each at most
// once, and answers how many there were (RFC 9113, 8.3).
func (r *request) takePseudo(fields []hpack.HeaderField) (int, error) {
	for i, f := range fields {
		if !f.IsPseudo() {
			return i, nil
		}
		into := r.pseudo(f.Name)
		switch {
		case into == nil:
			return 0, malformedError("a pseudo-header field that no request has")
		case *into != "":
			return 0, malformedError("a pseudo-header field comes twice")
		case f.Value == "":
			return 0, malformedError("a pseudo-header field is empty")
		}
		*into = f.Value
	}
	return len(fields), nil
}

// pseudo is where the value of a pseudo-header field goes; nil: it has no place
// in a request. SETTINGS_ENABLE_CONNECT_PROTOCOL is never sent, so there is no
// :protocol either (RFC 8441, 3).
func (r *request) pseudo(name string) *string {
	switch name {
	case ":method":
		return &r.method
	case ":scheme":
		return &r.scheme
	case ":authority":
		return &r.authority
	case ":path":
		return &r.path
	}
	return nil
}

// takeFields copies the regular fields under the names that handlers know. One
// array holds the values of all names that come once, as nearly all do.
func (r *request) takeFields(fields []hpack.HeaderField) error {
	r.header = make(http.Header, len(fields))
	values := make([]string, 0, len(fields))
	crumbs := 0
	for _, f := range fields {
		if err := checkField(f); err != nil {
			return err
		}
		if f.Name == "cookie" {
			crumbs++
		}
		name := goName(f.Name)
		if had, ok := r.header[name]; ok {
			r.header[name] = append(had, f.Value)
			continue
		}
		values = append(values, f.Value)
		r.header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if crumbs > 1 { // split for HPACK's sake only (RFC 9113, 8.2.3)
		r.header["Cookie"] = []string{strings.Join(r.header["Cookie"], "; ")}
	}
	if te, ok := r.header["Te"]; ok && (len(te) > 1 || te[0] != "" && te[0] != "trailers") {
		return malformedError("TE says something else than trailers")
	}
	return nil
}

// checkField holds a regular field to RFC 9113, 8.2.1 and 8.2.2.
func checkField(f hpack.HeaderField) error {
	switch {
	case f.IsPseudo():
		return malformedError("a pseudo-header field after a regular one")
	case !validWireName(f.Name):
		return malformedError("a field's name is no lower-case token")
	case connectionSpecific(f.Name):
		return malformedError("a field that belongs to a connection of HTTP/1.1")
	case !validFieldValue(f.Value):
		return malformedError("a field's value has characters or outer white space that no value has")
	}
	return nil
}

func validWireName(name string) bool {
	if _, ok := goNames[name]; ok {
		return true
	}
	for i := range len(name) {
		if c := name[i]; 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return httpguts.ValidHeaderFieldName(name)
}

func validFieldValue(v string) bool {
	if v == "" {
		return true
	}
	return !isBlank(v[0]) && !isBlank(v[len(v)-1]) && httpguts.ValidHeaderFieldValue(v)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// takeHost settles who is asked: :authority, or else Host. Where both are given
// and differ, whatever stands before or behind this server may believe the
// other one (RFC 9113, 8.3.1).
func (r *request) takeHost() error {
	hosts := r.header["Host"]
	delete(r.header, "Host")
	if len(hosts) > 1 {
		return malformedError("more than one Host")
	}
	if len(hosts) == 1 {
		if r.authority != "" && !sameHost(r.authority, hosts[0], r.scheme) {
			return malformedError(":authority and Host differ")
		}
		if r.authority == "" {
			r.authority = hosts[0]
		}
	}
	if !httpguts.ValidHostHeader(r.authority) || strings.Contains(r.authority, "@") {
		return malformedError(":authority or Host is no host and port")
	}
	return nil
}

func sameHost(a, b, scheme string) bool {
	if a == b {
		return true
	}
	port := ":80"
	if scheme == "https" {
		port = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(a, port), strings.TrimSuffix(b, port))
}

// takeLength reads the declared length. Equal repetitions are one (RFC 9110,
// 8.6); anything else that is no number makes the end of the body a guess.
func (r *request) takeLength(endStream bool) error {
	values := r.header["Content-Length"]
	if len(values) == 0 {
		if endStream {
			r.contentLength = 0
		}
		return nil
	}
	for _, v := range values {
		n, ok := parseLength(v)
		if !ok || v != values[0] {
			return malformedError("Content-Length is not one number")
		}
		r.contentLength = n
	}
	if len(values) > 1 {
		r.header["Content-Length"] = values[:1:1]
	}
	if endStream && r.contentLength != 0 {
		return malformedError("a length is declared, and no body follows")
	}
	return nil
}

// parseLength reads digits, and nothing but digits, into a non-negative number.
func parseLength(v string) (int64, bool) {
	if v == "" || len(v) > 18 { // an exabyte less one byte is enough for everybody
		return 0, false
	}
	var n int64
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(v[i]-'0')
	}
	return n, true
}

// takeExpect takes away the one expectation that this server answers itself.
func (r *request) takeExpect(endStream bool) {
	if expect := r.header["Expect"]; expect != nil && httpguts.HeaderValuesContainsToken(expect, "100-continue") {
		delete(r.header, "Expect")
		r.expectContinue = !endStream
	}
}

// takeTrailer turns the announced trailers into keys of Request.Trailer.
func (r *request) takeTrailer() {
	announced := r.header["Trailer"]
	if announced == nil {
		return
	}
	delete(r.header, "Trailer")
	for _, list := range announced {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(strings.Trim(name, " \t"))
			if !httpguts.ValidTrailerHeader(name) || !httpguts.ValidHeaderFieldName(name) {
				continue
			}
			if r.trailer == nil {
				r.trailer = make(http.Header)
			}
			r.trailer[name] = nil
		}
	}
}

// checkTarget holds method, scheme and path to RFC 9113, 8.3.1 and 8.5, and
// parses the path.
func (r *request) checkTarget() error {
	switch {
	case !httpguts.ValidHeaderFieldName(r.method): // the same grammar: a token
		return malformedError(":method is no token")
	case r.method == http.MethodConnect:
		if r.scheme != "" || r.path != "" || r.authority == "" {
			return malformedError("CONNECT has an authority and nothing else")
		}
		return nil
	case r.scheme != "http" && r.scheme != "https":
		return malformedError(":scheme is neither http nor https")
	case r.path == "*" && r.method == http.MethodOptions:
	case !validPath(r.path):
		return malformedError(":path is no absolute path")
	}
	u, err := url.ParseRequestURI(r.path)
	if err != nil {
		return malformedError(":path cannot be parsed")
	}
	r.url = u
	return nil
}

// validPath is about what would change the meaning of a request that is passed
// on as HTTP/1.1; other characters that RFC 3986 wants escaped are in use.
func validPath(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c == 0x7f || c == '#' {
			return false
		}
	}
	return true
}

// build makes the http.Request of it.
func (r *request) build(ctx context.Context, body io.ReadCloser, remote string, state *tls.ConnectionState) *http.Request {
	u := r.url
	if u == nil {
		u = &url.URL{Host: r.authority}
	}
	req := http.Request{
		Method:        r.method,
		URL:           u,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        r.header,
		Body:          body,
		ContentLength: r.contentLength,
		Host:          r.authority,
		Trailer:       r.trailer,
		RemoteAddr:    remote,
		RequestURI:    r.path,
		TLS:           state,
	}
	return req.WithContext(ctx)
}

// parseTrailers reads the fields behind a body. Those that were announced go
// into announced, as net/http has it; the others are checked and dropped.
func parseTrailers(fields []hpack.HeaderField, announced http.Header) (http.Header, error) {
	var trailers http.Header
	for _, f := range fields {
		if err := checkField(f); err != nil {
			return nil, err
		}
		name := goName(f.Name)
		if !httpguts.ValidTrailerHeader(name) {
			return nil, malformedError("a field that no trailer has")
		}
		if _, ok := announced[name]; !ok {
			continue
		}
		if trailers == nil {
			trailers = make(http.Header, len(announced))
		}
		trailers[name] = append(trailers[name], f.Value)
	}
	return trailers, nil
}
