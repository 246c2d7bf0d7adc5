package source

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

const s3Scheme = "s3://"

// allowList is what may be opened besides the root. The empty one allows
// nothing.
type allowList struct {
	web     []webRule
	buckets []s3Rule
}

// webRule is one parsed entry for http and https.
type webRule struct {
	scheme string   // "" is both
	host   string   // without "*."; "" is every host
	below  bool     // only hosts below host
	port   string   // "" is the scheme's own
	path   []string // decoded segments that the path must begin with
	deeper bool     // and at least one more must follow
}

// s3Rule is a bucket and what its keys must begin with, whole segments.
type s3Rule struct{ bucket, prefix string }

// bucketName is what S3 allows for general purpose buckets; access points and
// ARNs are left out on purpose.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// plainHost needs no conversion. Underscores are no part of the standard but
// of many container networks.
var plainHost = regexp.MustCompile(`^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$`)

func parseAllow(entries []string) (allowList, error) {
	var list allowList
	var errs []error
	for _, entry := range entries {
		var err error
		if strings.HasPrefix(entry, s3Scheme) {
			var rule s3Rule
			rule, err = parseS3Rule(entry)
			list.buckets = append(list.buckets, rule)
		} else {
			var rule webRule
			rule, err = parseWebRule(entry)
			list.web = append(list.web, rule)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("allow-source: %w", err))
		}
	}
	return list, errors.Join(errs...)
}

func parseS3Rule(entry string) (s3Rule, error) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(entry, s3Scheme), "/")
	if !bucketName.MatchString(bucket) {
		return s3Rule{}, fmt.Errorf("%q does not name a bucket as in s3://bucket/prefix", entry)
	}
	prefix = strings.Trim(prefix, "/")
	if prefix != "" && checkKey(prefix) != nil {
		return s3Rule{}, fmt.Errorf("%q has an empty, '.' or '..' segment", entry)
	}
	return s3Rule{bucket: bucket, prefix: prefix}, nil
}

// matches is for keys that checkKey found good.
func (r s3Rule) matches(bucket, key string) bool {
	if bucket != r.bucket {
		return false
	}
	return r.prefix == "" || key == r.prefix || strings.HasPrefix(key, r.prefix+"/")
}

func parseWebRule(entry string) (webRule, error) {
	wrong := func(why string) (webRule, error) {
		return webRule{}, fmt.Errorf("%q %s; a host, host:port, *.domain or the beginning of a URL is expected", hideUserinfo(entry), why)
	}
	spelled := entry
	if !strings.Contains(entry, "://") {
		spelled = "//" + entry
	}
	u, err := url.Parse(escapeIllegal(spelled))
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return wrong("is not a host")
	case u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
		return wrong("has a scheme other than http, https and s3")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return wrong("has more than scheme, host, port and path")
	case climbs(u.EscapedPath()):
		return wrong("has a '.' or '..' segment")
	}
	rule := webRule{scheme: u.Scheme, port: u.Port(), deeper: strings.HasSuffix(u.Path, "/") && len(u.Path) > 1}
	if trimmed := strings.Trim(u.EscapedPath(), "/"); trimmed != "" {
		rule.path = segments(trimmed)
	}
	host := u.Hostname()
	if host == "*" {
		return rule, nil
	}
	host, rule.below = strings.CutPrefix(host, "*.")
	if rule.host, err = canonicalHost(host); err != nil {
		return wrong("is not a host")
	}
	return rule, checkPort(u)
}

func (r webRule) matches(u *url.URL) bool {
	if r.scheme != "" && r.scheme != u.Scheme {
		return false
	}
	port := r.port
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	return portOf(u) == port && r.matchesHost(u.Hostname()) && r.matchesPath(u.EscapedPath())
}

func (r webRule) matchesHost(host string) bool {
	switch {
	case r.host == "":
		return true
	case r.below:
		// An address has dots too, but nothing lies below one.
		return strings.HasSuffix(host, "."+r.host) && net.ParseIP(host) == nil
	}
	return host == r.host
}

// matchesPath compares decoded segments, so that an escaped spelling is the
// same path and an escaped slash is not a separator.
func (r webRule) matchesPath(raw string) bool {
	if len(r.path) == 0 {
		return true
	}
	have := segments(strings.TrimPrefix(raw, "/"))
	if len(have) < len(r.path) || climbs(raw) || (r.deeper && len(have) == len(r.path)) {
		return false
	}
	for i, want := range r.path {
		if have[i] != want {
			return false
		}
	}
	return true
}

func (l allowList) allowsURL(u *url.URL) bool {
	for _, rule := range l.web {
		if rule.matches(u) {
			return true
		}
	}
	return false
}

func (l allowList) allowsObject(bucket, key string) bool {
	for _, rule := range l.buckets {
		if rule.matches(bucket, key) {
			return true
		}
	}
	return false
}

// segments decodes each part between slashes; one that cannot be decoded
// stays as it is.
func segments(raw string) []string {
	parts := strings.Split(raw, "/")
	for i, part := range parts {
		if decoded, err := url.PathUnescape(part); err == nil {
			parts[i] = decoded
		}
	}
	return parts
}

// climbs tells whether a path has a dot segment in any spelling that some
// origin may understand: escaped, escaped twice, behind a backslash, or with
// a path parameter.
func climbs(raw string) bool {
	for range 4 {
		parts := strings.FieldsFunc(raw, func(r rune) bool { return r == '/' || r == '\\' })
		for _, part := range parts {
			part, _, _ = strings.Cut(part, ";")
			if part == ".." || part == "." {
				return true
			}
		}
		decoded, err := url.PathUnescape(raw)
		if err != nil || decoded == raw {
			return false
		}
		raw = decoded
	}
	return true // nobody escapes a good path four times
}

// canonicalHost is lower case, in ASCII, without a trailing dot.
func canonicalHost(host string) (string, error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip := net.ParseIP(host); ip != nil {
		return ip.String(), nil
	}
	ascii, err := host, error(nil)
	if !plainHost.MatchString(host) {
		ascii, err = idna.Lookup.ToASCII(host)
	}
	if err != nil || !plainHost.MatchString(ascii) || strings.Contains(ascii, "..") {
		return "", errors.New("host is not a valid name")
	}
	return ascii, nil
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return defaultPort(u.Scheme)
}
