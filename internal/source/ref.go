package source

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
)

// hasScheme finds references that mean something else than a key.
var hasScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// UploadScheme begins references to what was uploaded for a job: upload:ID. A
// Router opens none; those who do wrap it, and the image endpoints refuse them.
const UploadScheme = "upload:"

// badRef is what a client is told about a reference nothing can be made of.
func badRef(format string, args ...any) error {
	err := media.Errorf(media.CodeInvalidParameter, format, args...)
	err.Param = "image_url"
	return err
}

// parseURL reads an http or https reference whose one level of query decoding
// is done. What is legal in a URL goes to the origin as it stands, escapes
// included; what is not (a space, UTF-8, a lone '%') is escaped once.
func parseURL(ref string) (*url.URL, error) {
	if strings.ContainsFunc(ref, isControl) {
		return nil, badRef("The source URL holds a control character, which no URL may.")
	}
	u, err := url.Parse(escapeIllegal(ref))
	if err != nil {
		// The library's error quotes the URL with all its secrets.
		return nil, badRef("The source URL cannot be read; it should look like https://host/path.")
	}
	return u, settle(u)
}

// settle checks what surrounds the path and brings the host to one spelling.
// Redirect targets pass through it as well.
func settle(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return badRef("The source URL has the scheme %q; http and https are allowed.", u.Scheme)
	case u.User != nil:
		return badRef("The source URL holds a user name or password; sources that need one are not supported.")
	case u.Opaque != "" || u.Hostname() == "":
		return badRef("The source URL names no host; it should look like https://host/path.")
	case strings.Contains(u.Hostname(), "%"):
		return badRef("The source URL names an IPv6 zone, which is not allowed.")
	}
	if err := checkPort(u); err != nil {
		return badRef("The source URL has the port %q; 1 to 65535 are allowed.", u.Port())
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return badRef("The host of the source URL is not a valid name.")
	}
	u.Host = joinHost(host, u.Port())
	u.Fragment, u.RawFragment = "", ""
	// RawPath makes the client send this spelling instead of its own; it
	// is a valid encoding of Path because escapeIllegal made it one.
	u.RawPath = u.EscapedPath()
	return nil
}

func joinHost(host, port string) string {
	if port != "" {
		return net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func checkPort(u *url.URL) error {
	if u.Port() == "" {
		return nil
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
		return errors.New("port is not within 1 to 65535")
	}
	return nil
}

// escapeIllegal percent-encodes every byte that may not stand in a URL, and a
// '%' that begins no escape. It changes nothing in a well-formed URL.
func escapeIllegal(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isURLByte(c) || (c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])) {
			out.WriteByte(c)
			continue
		}
		out.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
	}
	return out.String()
}

// isURLByte is unreserved, gen-delims and sub-delims of RFC 3986, section 2.
func isURLByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-._~:/?#[]@!$&'()*+,;=", c) >= 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// hideUserinfo keeps a password in a mistyped setting out of its message.
func hideUserinfo(s string) string {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return "…" + s[at:]
	}
	return s
}

// errKey is the one fault of a key; the caller words it.
var errKey = errors.New("key is not a clean relative path")

// checkKey accepts keys of files and objects: segments between single
// slashes, none of them a dot segment, without NUL. Keys are literal: a '%'
// in one is a percent sign.
func checkKey(key string) error {
	if strings.ContainsRune(key, 0) {
		return errKey
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return errKey
		}
	}
	return nil
}

// cleanKey takes away one leading slash, as a client writes /photos/a.jpg
// and photos/a.jpg alike.
func cleanKey(key string) (string, error) {
	key = strings.TrimPrefix(key, "/")
	if err := checkKey(key); err != nil {
		return "", media.Errorf(media.CodeSourceForbidden,
			"The key %q is refused: it must be names with single slashes between them, none of them '.' or '..'.", shorten(key))
	}
	return key, nil
}

// shorten keeps a client's value in a message readable.
func shorten(s string) string { return cut(s, 100) }

// cut keeps at most limit bytes, and says so.
func cut(s string, limit int) string {
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
