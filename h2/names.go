package h2

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// wireName is a field's name in lower case, without an allocation when it is a
// common one. False: it is no token, and must not be sent (RFC 9113, 8.2.1).
func wireName(name string) (string, bool) {
	if wire, ok := wireNames[name]; ok {
		return wire, true
	}
	if !httpguts.ValidHeaderFieldName(name) {
		return "", false
	}
	return strings.ToLower(name), true
}

// goName is the spelling that handlers know a field by.
func goName(wire string) string {
	if name, ok := goNames[wire]; ok {
		return name
	}
	return http.CanonicalHeaderKey(wire)
}

// wireNames and goNames translate the fields that browsers, proxies and media
// servers use, so that a usual request or response allocates no name. Any other
// name is translated each time, and remembered nowhere: a client that invents
// names fills no table.
//
//nolint:gochecknoglobals // lookup tables, made once and only read
var (
	wireNames = tableOfNames(func(canonical string) (key, value string) { return canonical, strings.ToLower(canonical) })
	goNames   = tableOfNames(func(canonical string) (key, value string) { return strings.ToLower(canonical), canonical })
)

func tableOfNames(entry func(canonical string) (key, value string)) map[string]string {
	table := make(map[string]string, len(commonNames))
	for _, name := range commonNames {
		key, value := entry(http.CanonicalHeaderKey(name))
		table[key] = value
	}
	return table
}

var commonNames = [...]string{
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Age",
	"Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age",
	"Access-Control-Request-Headers", "Access-Control-Request-Method",
	"Allow", "Alt-Svc", "Authorization", "Cache-Control", "Cache-Status", "Content-Disposition", "Content-Encoding",
	"Content-Language", "Content-Length", "Content-Location", "Content-Range", "Content-Security-Policy",
	"Content-Type", "Cookie", "Cross-Origin-Resource-Policy", "Date", "Digest", "DNT", "Etag", "Expect", "Expires", "Forwarded", "From", "Host",
	"If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Last-Event-Id",
	"Last-Modified", "Link", "Location", "Max-Forwards", "Origin", "Permissions-Policy", "Pragma", "Priority",
	"Proxy-Authenticate", "Proxy-Authorization", "Range", "Referer", "Referrer-Policy", "Refresh", "Retry-After",
	"Save-Data", "Sec-Ch-Dpr", "Sec-Ch-Ua", "Sec-Ch-Ua-Mobile", "Sec-Ch-Ua-Platform", "Sec-Ch-Viewport-Width", "Sec-Ch-Width",
	"Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-User", "Sec-Gpc", "Sec-Purpose",
	"Server", "Server-Timing", "Set-Cookie", "Strict-Transport-Security", "TE", "Timing-Allow-Origin", "Traceparent", "Tracestate",
	"Trailer", "Upgrade-Insecure-Requests", "User-Agent", "Vary", "Via", "WWW-Authenticate",
	"X-Cache", "X-Content-Type-Options", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
	"X-Frame-Options", "X-Real-Ip", "X-Request-Id", "X-Requested-With",
}
