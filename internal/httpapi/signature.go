package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

const signatureName = "signature="

// Sign is the signature of a path and query such as
// "/resize?image_url=a.jpg&sizes=300x0": HMAC-SHA256 over exactly these
// bytes, in base64url without padding (43 characters).
func Sign(key []byte, pathAndQuery string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(pathAndQuery))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// SignURL is pathAndQuery with its signature as the last parameter.
func SignURL(key []byte, pathAndQuery string) string {
	mark := "?"
	if strings.Contains(pathAndQuery, "?") {
		mark = "&"
	}
	return pathAndQuery + mark + signatureName + Sign(key, pathAndQuery)
}

// Verify tells whether a path and query, exactly as received, carries a good
// signature by any of keys and, if it says when it expires, has not yet. The
// error is a *media.Error. It says nothing of expiry before the signature is
// known to be right, so nobody learns from it by guessing.
func Verify(keys [][]byte, pathAndQuery string, now time.Time) error {
	signed, signature, err := cutSignature(pathAndQuery)
	if err != nil {
		return err
	}
	good := false
	for _, key := range keys {
		// Every key is tried, so the time taken does not tell which matched.
		good = hmac.Equal([]byte(Sign(key, signed)), []byte(signature)) || good
	}
	if !good {
		return media.Errorf(codeSignatureInvalid, "The signature does not match the path and query before it, byte for byte.")
	}
	return checkExpiry(signed, now)
}

// cutSignature splits a target into what is signed and the signature, which
// has to be the last parameter and the only one of its name. A "signature="
// inside another parameter's value is no parameter.
func cutSignature(target string) (signed, signature string, err error) {
	path, query, _ := strings.Cut(target, "?")
	rest, last := "", query
	if i := strings.LastIndexByte(query, '&'); i >= 0 {
		rest, last = query[:i], query[i+1:]
	}
	if namesSignature(rest) {
		return "", "", media.Errorf(codeSignatureInvalid, "signature has to be the last parameter and to stand once.")
	}
	signature, found := strings.CutPrefix(last, signatureName)
	if !found || signature == "" {
		return "", "", media.Errorf(codeSignatureMissing, "This server only answers signed URLs: signature is missing at the end of the query.")
	}
	if rest == "" && last == query {
		return path, signature, nil
	}
	return path + "?" + rest, signature, nil
}

func namesSignature(query string) bool {
	return strings.HasPrefix(query, signatureName) || strings.Contains(query, "&"+signatureName)
}

// TakesSignature tells whether a path and query is of a route that is signed.
func TakesSignature(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	return path == resizePath || path == infoPath || path == srcsetPath || (strings.HasPrefix(path, assetsPrefix) && path != assetsPrefix)
}

// checkExpiry reads expires from a query whose signature is right.
func checkExpiry(signed string, now time.Time) error {
	_, query, _ := strings.Cut(signed, "?")
	values, err := parseQuery(query)
	if err != nil {
		return err
	}
	expires, err := takeExpires(values)
	if err != nil || expires.IsZero() {
		return err
	}
	if !now.Before(expires) {
		return media.Errorf(codeSignatureExpired, "The URL expired at %s.", expires.UTC().Format(time.RFC3339))
	}
	return nil
}

// takeExpires removes expires from values and gives its time, zero when there
// is none.
func takeExpires(values url.Values) (time.Time, error) {
	text, present, err := take(values, "expires")
	if err != nil || !present {
		return time.Time{}, err
	}
	// The upper end is the last second that RFC 3339 can write.
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 1 || seconds > 253402300799 {
		return time.Time{}, invalid("expires", "expires: %.100q is not a time in unix seconds, 1 to 253402300799.", text)
	}
	return time.Unix(seconds, 0), nil
}
